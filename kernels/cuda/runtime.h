// SPDX-License-Identifier: BSD-2-Clause
//
// The runtime concept of kernels/gpu/runtime.h on the CUDA driver.
#ifndef EXACTVQ_KERNELS_CUDA_RUNTIME_H
#define EXACTVQ_KERNELS_CUDA_RUNTIME_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "host/backend.h"
#include "kernels/cuda/driver.h"
#include "kernels/cuda/images.h"
#include "kernels/gpu/kernel_list.h"

namespace exactvq::gpu {

class CudaRuntime {
public:
    using Address = uint64_t;
    using Stream = cuda::Stream;
    using Event = cuda::Event;

    // Works in config.device_context (a CUcontext) or in the primary context of GPU config.device.
    explicit CudaRuntime(const BackendConfig& config) : CudaRuntime(config, "libcuda.so.1", cuda::images()) {}
    // For tests: another driver, other code.
    CudaRuntime(const BackendConfig& config, const char* library, std::span<const cuda::Image> images);
    ~CudaRuntime();
    CudaRuntime(const CudaRuntime&) = delete;
    CudaRuntime& operator=(const CudaRuntime&) = delete;

    std::string description() const { return "cuda (" + gpu_ + ")"; }

    // All other calls but free_*() and destroy_*() of null handles need the context.
    class Scope {
    public:
        explicit Scope(const CudaRuntime& runtime) : driver_(runtime.driver_) { driver_.call(driver_.cuCtxPushCurrent, runtime.context_); }
        ~Scope() {
            cuda::Context context;
            driver_.attempt(driver_.cuCtxPopCurrent, &context);
        }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        const cuda::Driver& driver_;
    };

    Address allocate(size_t size);
    void free(Address address) noexcept;
    void* allocate_host(size_t size);
    void free_host(void* memory) noexcept;

    // Streams do not wait for the context's default stream. Waiting for an event lets the thread sleep.
    Stream create_stream();
    void destroy_stream(Stream stream) noexcept;
    Event create_event();
    void destroy_event(Event event) noexcept;

    // Any pitch of the source will do; the copy of rows that lie further apart than they are long is one call, others are one call a row.
    void upload(Stream stream, Address dst, size_t dst_pitch, const void* src, ptrdiff_t src_pitch, size_t width_bytes, size_t rows);
    void download(Stream stream, void* dst, Address src, size_t bytes);
    void launch(Stream stream, KernelId kernel, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size);

    void record(Event event, Stream stream);
    void wait(Stream stream, Event event);
    // What is queued on `stream` from now on runs after what is queued on the CUstream `producer`, nullptr being the context's default one.
    void wait_for(Stream stream, Event event, void* producer);
    bool finished(Event event);
    void synchronize(Event event);

private:
    explicit CudaRuntime(const char* library) : driver_(library) {}
    void open_device(const BackendConfig& config);
    void load(std::span<const cuda::Image> images);

    cuda::Driver driver_;
    cuda::Device device_ = 0;
    bool primary_ = false;  // the context is the device's primary one, which we hold
    cuda::Context context_ = nullptr;
    cuda::Module module_ = nullptr;
    int capability_ = 0;  // 10 * major + minor
    std::string gpu_;     // "NVIDIA H200, sm_90"
    std::array<cuda::Function, static_cast<size_t>(KernelId::kCount)> functions_{};
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_CUDA_RUNTIME_H
