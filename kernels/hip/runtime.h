// SPDX-License-Identifier: BSD-2-Clause
//
// The runtime concept of kernels/gpu/runtime.h on AMD's HIP.
#ifndef EXACTVQ_KERNELS_HIP_RUNTIME_H
#define EXACTVQ_KERNELS_HIP_RUNTIME_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "host/backend.h"
#include "kernels/gpu/kernel_list.h"
#include "kernels/gpu/shared_file.h"
#include "kernels/hip/driver.h"
#include "kernels/hip/images.h"

namespace exactvq::gpu {

class HipRuntime {
public:
    using Address = uint64_t;
    using Stream = hip::Stream;
    using Event = hip::Event;

    // Works on GPU config.device.
    explicit HipRuntime(const BackendConfig& config);
    // For tests: other libraries, other code.
    HipRuntime(const BackendConfig& config, std::span<const char* const> libraries, std::span<const hip::Image> images);
    ~HipRuntime();
    HipRuntime(const HipRuntime&) = delete;
    HipRuntime& operator=(const HipRuntime&) = delete;

    std::string description() const { return "hip (" + gpu_ + ")"; }

    // The thread's current device is ours while it lives.
    class Scope {
    public:
        explicit Scope(const HipRuntime& runtime);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        const hip::Driver& driver_;
        int before_ = -1;  // to be current again; -1: it is ours
    };

    Address allocate(size_t size);
    void free(Address address) noexcept;
    void* allocate_host(size_t size);
    void free_host(void* memory) noexcept;

    // Streams do not wait for the default stream. Waiting for an event lets the thread sleep.
    Stream create_stream();
    void destroy_stream(Stream stream) noexcept;
    Event create_event();
    void destroy_event(Event event) noexcept;

    // From pinned memory (what HIP copies from other memory may not be finished when the stream says so).
    void upload(Stream stream, Address to, size_t to_pitch, const void* from, ptrdiff_t from_pitch, size_t width_bytes, size_t rows);
    void download(Stream stream, void* to, Address from, size_t bytes);
    void launch(Stream stream, KernelId kernel, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size);

    struct SharedMemory {
        Address address = 0;
        hip::ExternalMemory handle = nullptr;
        LentFile file;
    };
    // The descriptor stays the caller's.
    SharedMemory import_shared(int fd, uint64_t size);
    void release_shared(SharedMemory& memory) noexcept;

    void record(Event event, Stream stream);
    void wait(Stream stream, Event event);
    // What is queued on `stream` from now on runs after what is queued on the hipStream_t `producer`, nullptr being the default one.
    void wait_for(Stream stream, Event event, void* producer);
    bool finished(Event event);
    void synchronize(Event event);

private:
    explicit HipRuntime(std::span<const char* const> libraries) : driver_(libraries) {}
    void open_device(const BackendConfig& config);
    void load(std::span<const hip::Image> images);

    hip::Driver driver_;
    int device_ = 0;
    hip::Module module_ = nullptr;
    std::string architecture_;  // "gfx90a"
    std::string gpu_;           // "AMD Instinct MI210, gfx90a"
    std::array<hip::Function, static_cast<size_t>(KernelId::kCount)> functions_{};
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_HIP_RUNTIME_H
