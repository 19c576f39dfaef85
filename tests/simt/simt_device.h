// SPDX-License-Identifier: BSD-2-Clause
//
// A GPU's memory, streams and events on the CPU, for SimtRuntime; see kernels/gpu/runtime.h for what a runtime promises.
//
// Memory holds garbage when it is allocated and has guard zones around it. Streams are lazy: work runs only when somebody waits for it or has asked a few
// times whether it is finished. Sometimes nothing but what was waited for runs, sometimes work of other streams in between, as the seed has it. So a missing
// wait gives a wrong result with some seed.
#ifndef EXACTVQ_TESTS_SIMT_SIMT_DEVICE_H
#define EXACTVQ_TESTS_SIMT_SIMT_DEVICE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "host/backend.h"
#include "tests/simt/random.h"

namespace exactvq::gpu {

// What goes wrong, and what happened. Numbers count from 1, over all devices that share the object, one device at a time; 0: never.
struct SimtFaults {
    uint64_t lost_launch = 0;     // this launch is accepted but never runs
    uint64_t failing_call = 0;    // this call throws, of those that may
    bool fails_for_good = false;  // so do all calls after it
    size_t memory = SIZE_MAX;     // bytes of device memory

    uint64_t launches = 0, calls = 0;
    size_t allocated = 0;  // bytes, now
};

struct SimtOptions {
    uint64_t seed = 0;
    uint32_t workers = 1;          // OS threads for the blocks of a launch
    SimtFaults* faults = nullptr;  // outlives the device
    // Mistakes found where nothing can be thrown: guard zones overwritten, memory freed twice, left over, or freed while work is queued.
    // Empty: message and abort().
    std::function<void(const std::string& sentence)> report;
};

// Of devices made without options.
SimtOptions& simt_default_options();

// Work in its order. Streams of a device come from create_stream(); a test may have its own, to be the producer of frames in device memory.
struct SimtStream {
    struct Work {
        std::function<void()> run;    // empty: waits until `other` has done so much
        SimtStream* other = nullptr;
        uint64_t position = 0;
    };

    void push(Work work) {
        queue.push_back(std::move(work));
        ++queued;
    }

    std::deque<Work> queue;
    uint64_t queued = 0, ran = 0;
    bool destroyed = false;
};

// The stream of null handles.
SimtStream& simt_default_stream();

class SimtDevice {
    struct EventState;

public:
    using Address = uint64_t;
    using Stream = SimtStream*;
    using Event = EventState*;

    SimtDevice(const BackendConfig& config, const SimtOptions& options, uint32_t wave);
    ~SimtDevice();
    SimtDevice(const SimtDevice&) = delete;
    SimtDevice& operator=(const SimtDevice&) = delete;

    std::string description() const;

    // All calls but construction and destruction need one on their thread.
    class Scope {
    public:
        explicit Scope(const SimtDevice& device);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        const SimtDevice* const outer_;
    };

    Address allocate(size_t bytes);
    void free(Address address) noexcept;
    void* allocate_host(size_t bytes);
    void free_host(void* p) noexcept;

    Stream create_stream();
    void destroy_stream(Stream stream) noexcept;
    Event create_event();
    void destroy_event(Event event) noexcept;

    void upload(Stream stream, Address to, size_t to_pitch, const void* from, ptrdiff_t from_pitch, size_t width_bytes, size_t rows);
    void download(Stream stream, void* to, Address from, size_t bytes);
    void record(Event event, Stream stream);
    void wait(Stream stream, Event event);
    void wait_for(Stream stream, Event event, void* producer);  // a SimtStream
    bool finished(Event event);
    void synchronize(Event event);

protected:
    // run(seed, workers) executes the kernel and throws what is wrong with it.
    void launch(Stream stream, const char* kernel, std::function<void(uint64_t seed, uint32_t workers)> run);

private:
    struct Memory;
    using Allocations = std::map<uint64_t, std::unique_ptr<Memory>>;  // by address

    void begin(const char* call);
    [[noreturn]] void fail(const std::string& what) const;
    void report(const std::string& sentence) const noexcept;
    void check_current(const char* call) const noexcept;
    void check_idle(const char* call) const noexcept;

    uint64_t allocate(Allocations& where, size_t bytes);
    void release(Allocations& where, uint64_t address, const char* call) noexcept;
    void check_range(const Allocations& where, uint64_t address, size_t bytes, const char* what) const;

    void queue(SimtStream& stream, SimtStream::Work work);
    bool reached(const EventState& event) const;
    void step(SimtStream& stream);
    SimtStream& any_busy_stream(SimtStream& otherwise);
    void run_until(const EventState& event, uint32_t steps);

    const SimtOptions options_;
    const uint32_t wave_;
    std::mutex mutex_;
    simt::Random random_;
    SimtFaults no_faults_;
    SimtFaults& faults_;
    std::string failed_;    // what the device died of
    bool injected_ = false;  // a fault was: what was queued is nobody's mistake
    Allocations memory_, host_memory_;
    std::vector<std::unique_ptr<SimtStream>> streams_;  // destroyed ones too, while others may wait for them
    std::vector<std::unique_ptr<EventState>> events_;
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_TESTS_SIMT_SIMT_DEVICE_H
