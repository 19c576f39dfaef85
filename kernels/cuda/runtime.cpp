// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cuda/runtime.h"

#include <algorithm>
#include <climits>

#include "kernels/gpu/errors.h"

namespace exactvq::gpu {
namespace {

std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

}  // namespace

// The constructor that this one calls makes an object, so that its destructor runs when the rest fails.
CudaRuntime::CudaRuntime(const BackendConfig& config, const char* library, std::span<const cuda::Image> images) : CudaRuntime(library) {
    open_device(config);
    const Scope scope(*this);
    load(images);
    for (size_t i = 0; i < functions_.size(); ++i) driver_.call(driver_.cuModuleGetFunction, &functions_[i], module_, kKernels[i].name);
}

CudaRuntime::~CudaRuntime() {
    if (module_ && driver_.attempt(driver_.cuCtxPushCurrent, context_) == cuda::kSuccess) {
        driver_.attempt(driver_.cuModuleUnload, module_);
        driver_.attempt(driver_.cuCtxPopCurrent, &context_);
    }
    if (primary_) driver_.attempt(driver_.cuDevicePrimaryCtxRelease, device_);
}

void CudaRuntime::open_device(const BackendConfig& config) {
    if (config.device_context) {
        context_ = static_cast<cuda::Context>(config.device_context);
        const Scope scope(*this);
        driver_.call(driver_.cuCtxGetDevice, &device_);
    } else {
        int count = 0;
        driver_.call(driver_.cuDeviceGetCount, &count);
        require_gpu("NVIDIA", config.device, count);
        driver_.call(driver_.cuDeviceGet, &device_, config.device);
    }
    char name[256] = "";
    int major = 0, minor = 0;
    driver_.call(driver_.cuDeviceGetName, name, static_cast<int>(sizeof name - 1), device_);
    driver_.call(driver_.cuDeviceGetAttribute, &major, cuda::kCapabilityMajor, device_);
    driver_.call(driver_.cuDeviceGetAttribute, &minor, cuda::kCapabilityMinor, device_);
    capability_ = 10 * major + minor;
    gpu_ = std::string(name) + ", sm_" + std::to_string(capability_);
    if (!context_) {
        driver_.call(driver_.cuDevicePrimaryCtxRetain, &context_, device_);
        primary_ = true;
    }
}

// The first code that fits GPU and driver. Machine code needs a driver of its toolkit's major version, PTX one of its version.
void CudaRuntime::load(std::span<const cuda::Image> images) {
    int needed = INT_MAX;  // by what fits the GPU
    cuda::Result failure = cuda::kUnsupportedPtxVersion;
    char log[1024] = "";
    for (const cuda::Image& image : images) {
        if (capability_ < image.lowest) continue;
        needed = std::min(needed, image.cuda);
        if (driver_.version() / 1000 < image.cuda / 1000) continue;
        cuda::JitOption options[] = {cuda::kJitErrorLog, cuda::kJitErrorLogSize};
        void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
        failure = driver_.attempt(driver_.cuModuleLoadDataEx, &module_, image.data, 2u, options, values);
        if (failure == cuda::kSuccess) return;
        module_ = nullptr;
        if (failure == cuda::kOutOfMemory) break;
    }
    if (needed == INT_MAX || failure == cuda::kNoBinaryForGpu) {
        std::string code;
        for (const cuda::Image& image : images) code += (code.empty() ? "" : "; ") + std::string(image.code);
        throw Error(EXACTVQ_ERROR_UNSUPPORTED, "this build of libexactvq has no code for the GPU (" + gpu_ + "), it has " + (code.empty() ? "none" : code));
    }
    if (failure == cuda::kUnsupportedPtxVersion) {
        throw Error(EXACTVQ_ERROR_DEVICE, "the NVIDIA driver is too old for this build of libexactvq: it supports CUDA " + version_text(driver_.version()) +
                                              ", the code for " + gpu_ + " needs CUDA " + version_text(needed) + ": update the driver");
    }
    const std::string text(log);
    driver_.fail(driver_.cuModuleLoadDataEx.name, failure, text.substr(0, text.find('\n')));
}

CudaRuntime::Address CudaRuntime::allocate(size_t size) {
    cuda::Address address = 0;
    const cuda::Result result = driver_.attempt(driver_.cuMemAlloc, &address, size);
    if (result == cuda::kOutOfMemory) fail_without_device_memory(gpu_, size);
    if (result != cuda::kSuccess) driver_.fail(driver_.cuMemAlloc.name, result);
    return address;
}

void CudaRuntime::free(Address address) noexcept {
    if (address) driver_.attempt(driver_.cuMemFree, address);
}

void* CudaRuntime::allocate_host(size_t size) {
    void* memory = nullptr;
    const cuda::Result result = driver_.attempt(driver_.cuMemHostAlloc, &memory, size, 0u);
    if (result == cuda::kOutOfMemory) fail_without_pinned_memory(size);
    if (result != cuda::kSuccess) driver_.fail(driver_.cuMemHostAlloc.name, result);
    return memory;
}

void CudaRuntime::free_host(void* memory) noexcept {
    if (memory) driver_.attempt(driver_.cuMemFreeHost, memory);
}

CudaRuntime::Stream CudaRuntime::create_stream() {
    Stream stream = nullptr;
    driver_.call(driver_.cuStreamCreate, &stream, cuda::kStreamNonBlocking);
    return stream;
}

void CudaRuntime::destroy_stream(Stream stream) noexcept {
    if (stream) driver_.attempt(driver_.cuStreamDestroy, stream);
}

CudaRuntime::Event CudaRuntime::create_event() {
    Event event = nullptr;
    driver_.call(driver_.cuEventCreate, &event, cuda::kEventBlockingSync | cuda::kEventDisableTiming);
    return event;
}

void CudaRuntime::destroy_event(Event event) noexcept {
    if (event) driver_.attempt(driver_.cuEventDestroy, event);
}

void CudaRuntime::upload(Stream stream, Address dst, size_t dst_pitch, const void* src, ptrdiff_t src_pitch, size_t width_bytes, size_t rows) {
    if (width_bytes == 0 || rows == 0) return;
    if (rows == 1) return driver_.call(driver_.cuMemcpyHtoDAsync, dst, src, width_bytes, stream);  // may be longer than any pitch
    cuda::Copy2D copy{};
    copy.source_type = cuda::kMemoryHost;
    copy.destination_type = cuda::kMemoryDevice;
    copy.width_bytes = width_bytes;
    // The driver wants rows in ascending order that do not overlap.
    const bool at_once = src_pitch >= 0 && static_cast<size_t>(src_pitch) >= width_bytes && src_pitch <= INT_MAX;
    copy.rows = at_once ? rows : 1;
    copy.source_pitch = at_once ? static_cast<size_t>(src_pitch) : width_bytes;
    copy.destination_pitch = copy.rows > 1 ? dst_pitch : width_bytes;
    for (size_t y = 0; y < rows; y += copy.rows) {
        copy.source_host = static_cast<const uint8_t*>(src) + static_cast<ptrdiff_t>(y) * src_pitch;
        copy.destination_device = dst + y * dst_pitch;
        driver_.call(driver_.cuMemcpy2DAsync, &copy, stream);
    }
}

void CudaRuntime::download(Stream stream, void* dst, Address src, size_t bytes) { driver_.call(driver_.cuMemcpyDtoHAsync, dst, src, bytes, stream); }

void CudaRuntime::launch(Stream stream, KernelId kernel, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size) {
    const KernelInfo& info = kernel_info(kernel);
    require_arguments_of(info, size);
    void* parameters[] = {const_cast<void*>(arguments)};  // the driver copies them during the call
    const cuda::Result result =
        driver_.attempt(driver_.cuLaunchKernel, functions_[static_cast<size_t>(kernel)], x, y, z, info.threads, 1u, 1u, 0u, stream, parameters, nullptr);
    if (result != cuda::kSuccess) driver_.fail((std::string(driver_.cuLaunchKernel.name) + " of " + info.name).c_str(), result);
}

void CudaRuntime::record(Event event, Stream stream) { driver_.call(driver_.cuEventRecord, event, stream); }

void CudaRuntime::wait(Stream stream, Event event) { driver_.call(driver_.cuStreamWaitEvent, stream, event, 0u); }

void CudaRuntime::wait_for(Stream stream, Event event, void* producer) {
    record(event, static_cast<Stream>(producer));
    wait(stream, event);
}

bool CudaRuntime::finished(Event event) {
    const cuda::Result result = driver_.attempt(driver_.cuEventQuery, event);
    if (result != cuda::kSuccess && result != cuda::kNotReady) driver_.fail(driver_.cuEventQuery.name, result);
    return result == cuda::kSuccess;
}

void CudaRuntime::synchronize(Event event) { driver_.call(driver_.cuEventSynchronize, event); }

}  // namespace exactvq::gpu
