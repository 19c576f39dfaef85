// SPDX-License-Identifier: BSD-2-Clause
//
// One block at a time: its threads, who may run next, and the checks.
#ifndef EXACTVQ_TESTS_SIMT_BLOCK_H
#define EXACTVQ_TESTS_SIMT_BLOCK_H

#include <exception>
#include <memory>
#include <vector>

#include "tests/simt/fiber.h"
#include "tests/simt/random.h"
#include "tests/simt/simt.h"

namespace exactvq::simt {

// Keeps its threads' stacks from block to block and from launch to launch.
class Block {
public:
    Block() : waves_(new Wave[kMaxWaves]) {}

    // Runs a block on this OS thread, which is `host`.
    void run(const Launch& launch, const std::function<void(void*)>& body, Index index, Fiber& host);

    // Of the running thread.
    void barrier(Site site);
    uint64_t shuffle(Operation operation, uint64_t value, uint32_t source_lane, Site site);
    uint64_t ballot(bool b, Site site);

    // For ThreadSanitizer: what happens between blocks on the OS thread is ordered with what the threads do.
    void* sync_object() { return &sync_object_; }

private:
    enum class State : uint8_t { kNotStarted, kRunnable, kAtBarrier, kInWave, kReturned };
    struct Abandoned {};  // unwinds the threads of a block in which one failed

    struct Thread {
        explicit Thread(uint32_t number) : fiber(number) {}
        Fiber fiber;
        State state = State::kReturned;
        uint32_t barriers = 0;  // passed or waiting at
        Site site{};            // of the last barrier or wave operation
        Operation operation{};
    };

    // Two sets of values: a lane may store that of the next operation while another one has not yet read.
    struct Wave {
        uint32_t arrived = 0, turn = 0;
        uint32_t first_arrived = 0;  // thread
        uint64_t ballot[2];
        uint64_t value[2][64];
    };

    // Threads order_[begin] to order_[end - 1].
    struct Group {
        uint32_t begin, end;
    };

    static void thread_main();

    void prepare(Index index);
    void draw_order();
    void abandon();
    void check_guards();
    std::string explain_standstill(uint32_t& thread) const;

    Thread& running() { return *threads_[position.thread]; }
    void make_runnable(Group group) { runnable_[runnable_groups_++] = group; }
    uint32_t take_runnable();  // kNoThread: nobody can run
    void wait();
    Wave& arrive(Operation operation, Site site);
    uint32_t complete(Wave& wave);

    // Throw a Violation of the running thread. Not inline: barriers and shuffles stay short.
    [[noreturn, gnu::noinline, gnu::cold]] void different_barrier(Site site) const;
    [[noreturn, gnu::noinline, gnu::cold]] void different_operation(const Wave& wave, Operation operation, Site site) const;
    [[noreturn, gnu::noinline, gnu::cold]] void no_such_lane(Operation operation, uint32_t lane, Site site) const;
    [[noreturn]] void fail(const std::string& what) const;

    static constexpr size_t kGuardBytes = 256;
    static constexpr uint32_t kMaxWaves = kMaxThreads / 32;

    const Launch* launch_ = nullptr;
    const std::function<void(void*)>* body_ = nullptr;
    Fiber* host_ = nullptr;
    uint32_t wave_shift_ = 0;
    Index index_;
    std::exception_ptr error_;
    bool abandoned_ = false;

    std::vector<std::unique_ptr<Thread>> threads_;
    uint32_t returned_ = 0;
    uint32_t at_barrier_ = 0, first_at_barrier_ = 0;
    std::unique_ptr<Wave[]> waves_;

    uint16_t order_[kMaxThreads];         // wave after wave
    uint32_t place_in_order_[kMaxWaves];  // of each wave's first thread
    Group runnable_[kMaxWaves + 1];       // a stack: a wave goes on until it waits for others
    uint32_t runnable_groups_ = 0;

    // For ThreadSanitizer. Two barriers: a thread may arrive at the next one while another has not yet left this one.
    char sync_object_ = 0, barrier_object_[2] = {};
    alignas(256) uint8_t memory_[kGuardBytes + kMaxSharedBytes + kGuardBytes];
};

}  // namespace exactvq::simt

#endif  // EXACTVQ_TESTS_SIMT_BLOCK_H
