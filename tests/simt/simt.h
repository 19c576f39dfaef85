// SPDX-License-Identifier: BSD-2-Clause
//
// GPU kernels on the CPU: one fiber for each thread of a block. Barriers and wave operations are where fibers switch, and are checked. What a GPU leaves to
// chance is drawn from a seed: the order of blocks, of waves in a block and of threads in a wave. Shared memory holds garbage before each block.
//
// What is found how:
//     barrier or wave operation that not all threads reach, or at different lines          Violation
//     lane that does not exist, write behind shared memory                                 Violation (AddressSanitizer: report at the line)
//     missing barrier, shared memory nobody wrote, literal wave size, order of blocks      wrong result, with some seed; missing barrier: also ThreadSanitizer
//     access to global memory by several blocks without an atomic operation or fence       ThreadSanitizer, with two workers
//     undefined integer arithmetic, index beyond an array inside shared memory             UndefinedBehaviorSanitizer
// What is not found: whatever needs real weak memory. A block that spins until another one has done something never ends.
#ifndef EXACTVQ_TESTS_SIMT_SIMT_H
#define EXACTVQ_TESTS_SIMT_SIMT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace exactvq::simt {

struct Index {
    uint32_t x = 0, y = 0, z = 0;
};

inline constexpr uint32_t kNoThread = 0xffffffff;
inline constexpr uint32_t kMaxThreads = 1024;         // of a block
inline constexpr size_t kMaxSharedBytes = 48 * 1024;  // of a block

struct Launch {
    const char* kernel = "kernel";  // for reports
    Index blocks{1, 1, 1};
    uint32_t threads = 64;  // of a block, a multiple of 64
    uint32_t wave = 32;     // or 64
    size_t shared_bytes = 0;
    uint64_t seed = 0;
    uint32_t workers = 1;  // OS threads
};

// A kernel did what GPUs leave undefined.
class Violation : public std::runtime_error {
public:
    Violation(const Launch& launch, Index block, uint32_t thread, const std::string& what);

    const std::string kernel;
    const Index block;
    const uint32_t thread;  // kNoThread: the block as a whole
};

// Runs body(shared memory) once for each thread of each block. Throws the first Violation or what body throws.
void launch(const Launch& launch, const std::function<void(void* shared)>& body);

// What the threads of a kernel call, by way of SimtPlatform.

struct Site {
    const char* file;
    int line;
};

enum class Operation : uint8_t { kShuffleDown, kShuffleXor, kShuffle, kBallot };

struct Position {
    uint32_t thread;
    Index block, blocks;
};
extern constinit thread_local Position position;  // of the running GPU thread

void barrier(Site site);
uint64_t shuffle(Operation operation, uint64_t value, uint32_t source_lane, Site site);  // the value of that lane
uint64_t ballot(bool b, Site site);
void fence();

}  // namespace exactvq::simt

#endif  // EXACTVQ_TESTS_SIMT_SIMT_H
