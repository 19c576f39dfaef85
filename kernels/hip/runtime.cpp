// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/hip/runtime.h"

#include "kernels/gpu/errors.h"

namespace exactvq::gpu {
namespace {

constexpr const char* kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

HipRuntime::HipRuntime(const BackendConfig& config) : HipRuntime(config, kLibraries, hip::images()) {}

// The constructor that this one calls makes an object, so that its destructor runs when the rest fails.
HipRuntime::HipRuntime(const BackendConfig& config, std::span<const char* const> libraries, std::span<const hip::Image> images) : HipRuntime(libraries) {
    open_device(config);
    const Scope scope(*this);
    load(images);
    for (size_t i = 0; i < functions_.size(); ++i) driver_.call(driver_.hipModuleGetFunction, &functions_[i], module_, kKernels[i].name);
}

HipRuntime::~HipRuntime() {
    if (!module_) return;
    try {
        const Scope scope(*this);
        driver_.attempt(driver_.hipModuleUnload, module_);
    } catch (const Error&) {  // the device failed: it frees what it held
    }
}

HipRuntime::Scope::Scope(const HipRuntime& runtime) : driver_(runtime.driver_) {
    int current = -1;
    driver_.call(driver_.hipGetDevice, &current);
    if (current == runtime.device_) return;
    driver_.call(driver_.hipSetDevice, runtime.device_);
    before_ = current;
}

HipRuntime::Scope::~Scope() {
    if (before_ >= 0) driver_.attempt(driver_.hipSetDevice, before_);
}

void HipRuntime::open_device(const BackendConfig& config) {
    int count = 0;
    const hip::Result result = driver_.attempt(driver_.hipGetDeviceCount, &count);
    if (result != hip::kSuccess && result != hip::kNoDevice) driver_.fail(driver_.hipGetDeviceCount.name, result);
    require_gpu("AMD", config.device, result == hip::kSuccess ? count : 0);
    device_ = config.device;
    char name[256] = "";
    driver_.call(driver_.hipDeviceGetName, name, static_cast<int>(sizeof name - 1), device_);
    const std::string full = driver_.architecture(device_);
    if (full.empty()) throw Error(EXACTVQ_ERROR_DEVICE, "the HIP runtime does not tell the architecture of GPU " + std::to_string(device_) + " (" + name + "): use the CPU backend");
    architecture_ = full.substr(0, full.find(':'));  // without features such as xnack: the code runs with and without them
    gpu_ = std::string(name) + ", " + architecture_;
}

void HipRuntime::load(std::span<const hip::Image> images) {
    hip::Result result = hip::kNoBinaryForGpu;
    std::string architectures;
    for (const hip::Image& image : images) {
        if (architecture_ == image.architecture) result = driver_.attempt(driver_.hipModuleLoadData, &module_, image.data);
        architectures += (architectures.empty() ? "" : ", ") + std::string(image.architecture);
    }
    if (result == hip::kSuccess) return;
    module_ = nullptr;
    if (result == hip::kNoBinaryForGpu) {
        throw Error(EXACTVQ_ERROR_UNSUPPORTED, "this build of libexactvq has no code for the GPU (" + gpu_ + "), it has " +
                                                   (architectures.empty() ? "none" : "code for " + architectures) + ": use the CPU backend");
    }
    driver_.fail(driver_.hipModuleLoadData.name, result);
}

HipRuntime::Address HipRuntime::allocate(size_t size) {
    void* address = nullptr;
    const hip::Result result = driver_.attempt(driver_.hipMalloc, &address, size);
    if (result == hip::kOutOfMemory) fail_without_device_memory(gpu_, size);
    if (result != hip::kSuccess) driver_.fail(driver_.hipMalloc.name, result);
    return reinterpret_cast<Address>(address);
}

void HipRuntime::free(Address address) noexcept {
    if (address) driver_.attempt(driver_.hipFree, pointer(address));
}

void* HipRuntime::allocate_host(size_t size) {
    void* memory = nullptr;
    const hip::Result result = driver_.attempt(driver_.hipHostMalloc, &memory, size, 0u);
    if (result == hip::kOutOfMemory) fail_without_pinned_memory(size);
    if (result != hip::kSuccess) driver_.fail(driver_.hipHostMalloc.name, result);
    return memory;
}

void HipRuntime::free_host(void* memory) noexcept {
    if (memory) driver_.attempt(driver_.hipHostFree, memory);
}

HipRuntime::Stream HipRuntime::create_stream() {
    Stream stream = nullptr;
    driver_.call(driver_.hipStreamCreateWithFlags, &stream, hip::kStreamNonBlocking);
    return stream;
}

void HipRuntime::destroy_stream(Stream stream) noexcept {
    if (stream) driver_.attempt(driver_.hipStreamDestroy, stream);
}

HipRuntime::Event HipRuntime::create_event() {
    Event event = nullptr;
    driver_.call(driver_.hipEventCreateWithFlags, &event, hip::kEventBlockingSync | hip::kEventDisableTiming);
    return event;
}

void HipRuntime::destroy_event(Event event) noexcept {
    if (event) driver_.attempt(driver_.hipEventDestroy, event);
}

void HipRuntime::upload(Stream stream, Address to, size_t to_pitch, const void* from, ptrdiff_t from_pitch, size_t width_bytes, size_t rows) {
    if (width_bytes == 0 || rows == 0) return;
    if (rows == 1) return driver_.call(driver_.hipMemcpyAsync, pointer(to), from, width_bytes, hip::kHostToDevice, stream);
    driver_.call(driver_.hipMemcpy2DAsync, pointer(to), to_pitch, from, static_cast<size_t>(from_pitch), width_bytes, rows, hip::kHostToDevice, stream);
}

void HipRuntime::download(Stream stream, void* to, Address from, size_t bytes) {
    driver_.call(driver_.hipMemcpyAsync, to, const_cast<const void*>(pointer(from)), bytes, hip::kDeviceToHost, stream);
}

void HipRuntime::launch(Stream stream, KernelId kernel, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size) {
    const KernelInfo& info = kernel_info(kernel);
    require_arguments_of(info, size);
    void* parameters[] = {const_cast<void*>(arguments)};  // HIP copies them during the call
    const hip::Result result = driver_.attempt(driver_.hipModuleLaunchKernel, functions_[static_cast<size_t>(kernel)], x, y, z, info.threads, 1u, 1u, 0u, stream,
                                               parameters, nullptr);
    if (result != hip::kSuccess) driver_.fail((std::string(driver_.hipModuleLaunchKernel.name) + " of " + info.name).c_str(), result);
}

HipRuntime::SharedMemory HipRuntime::import_shared(int fd, uint64_t size) {
    const auto refuse = [this](const char* call, hip::Result result) {
        throw Error(EXACTVQ_ERROR_UNSUPPORTED, "the GPU (" + gpu_ + ") does not take a dma-buf: " + driver_.sentence(call, result));
    };
    SharedMemory memory;
    memory.file = LentFile(fd);
    hip::ExternalMemoryDescription whole;
    whole.handle.fd = memory.file.get();
    whole.size = size;
    hip::Result result = driver_.attempt(driver_.hipImportExternalMemory, &memory.handle, &whole);
    if (result != hip::kSuccess) refuse(driver_.hipImportExternalMemory.name, result);
    memory.file.look();
    void* address = nullptr;
    hip::ExternalBufferDescription buffer;
    buffer.size = size;
    result = driver_.attempt(driver_.hipExternalMemoryGetMappedBuffer, &address, memory.handle, &buffer);
    if (result != hip::kSuccess) {
        release_shared(memory);
        refuse(driver_.hipExternalMemoryGetMappedBuffer.name, result);
    }
    memory.address = reinterpret_cast<Address>(address);
    return memory;
}

void HipRuntime::release_shared(SharedMemory& memory) noexcept {
    if (memory.address && driver_.frees_mappings()) free(memory.address);
    driver_.attempt(driver_.hipDestroyExternalMemory, memory.handle);
}

void HipRuntime::record(Event event, Stream stream) { driver_.call(driver_.hipEventRecord, event, stream); }

void HipRuntime::wait(Stream stream, Event event) { driver_.call(driver_.hipStreamWaitEvent, stream, event, 0u); }

void HipRuntime::wait_for(Stream stream, Event event, void* producer) {
    record(event, static_cast<Stream>(producer));
    wait(stream, event);
}

bool HipRuntime::finished(Event event) {
    const hip::Result result = driver_.attempt(driver_.hipEventQuery, event);
    if (result != hip::kSuccess && result != hip::kNotReady) driver_.fail(driver_.hipEventQuery.name, result);
    return result == hip::kSuccess;
}

void HipRuntime::synchronize(Event event) { driver_.call(driver_.hipEventSynchronize, event); }

}  // namespace exactvq::gpu
