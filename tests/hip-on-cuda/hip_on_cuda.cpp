// SPDX-License-Identifier: BSD-2-Clause
//
// libamdhip64 on an NVIDIA GPU, for tests: HIP's host code (HipRuntime, the scheduling, the filter) runs as on an AMD machine, asynchronously, on a real GPU. It claims to
// be a gfx1030; the code object that it is given is looked at, and kernels/hip/kernels.hip as nvcc compiles it runs instead. It says nothing of AMD's
// compiler, runtime or hardware.
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/images.h"
#include "kernels/hip/driver.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace exactvq::hip {
namespace {

constexpr Result kUnknown{999}, kNotSupported{801};

struct Gpu {
    cuda::Device device = 0;
    cuda::Context context = nullptr;
};

struct Cuda {
    std::unique_ptr<cuda::Driver> driver;
    std::vector<Gpu> gpus;
};

// Nothing if there is no NVIDIA driver.
const Cuda& cuda_() {
    static const Cuda instance = [] {
        Cuda c;
        try {
            auto driver = std::make_unique<cuda::Driver>("libcuda.so.1");
            int count = 0;
            driver->call(driver->cuDeviceGetCount, &count);
            for (int i = 0; i < count; ++i) {
                Gpu gpu;
                driver->call(driver->cuDeviceGet, &gpu.device, i);
                driver->call(driver->cuDevicePrimaryCtxRetain, &gpu.context, gpu.device);
                c.gpus.push_back(gpu);
            }
            c.driver = std::move(driver);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "hip_on_cuda: %s\n", error.what());
        }
        return c;
    }();
    return instance;
}

thread_local int current = 0;

// The context of the thread's device, as long as it lives.
class Scope {
public:
    Scope() {
        const Cuda& c = cuda_();
        if (c.driver) c.driver->attempt(c.driver->cuCtxPushCurrent, c.gpus[static_cast<size_t>(current)].context);
    }
    ~Scope() {
        cuda::Context context;
        const Cuda& c = cuda_();
        if (c.driver) c.driver->attempt(c.driver->cuCtxPopCurrent, &context);
    }
};

// The numbers that HipRuntime knows are the same in both.
template <class Call, class... Arguments>
Result forward(Call cuda::Driver::*call, Arguments... arguments) {
    const Cuda& c = cuda_();
    if (!c.driver) return kNoDevice;
    const Scope scope;
    return Result{static_cast<int>(c.driver->attempt(*c.driver.*call, arguments...))};
}

cuda::Stream stream_of(Stream stream) { return reinterpret_cast<cuda::Stream>(stream); }
cuda::Event event_of(Event event) { return reinterpret_cast<cuda::Event>(event); }
cuda::Address address_of(const void* pointer) { return reinterpret_cast<cuda::Address>(pointer); }

}  // namespace

EXPORT const char* hipGetErrorName(Result result) {
    const char* name = nullptr;
    if (cuda_().driver) cuda_().driver->attempt(cuda_().driver->cuGetErrorName, cuda::Result{static_cast<int>(result)}, &name);
    return name;
}
EXPORT const char* hipGetErrorString(Result result) {
    const char* text = nullptr;
    if (cuda_().driver) cuda_().driver->attempt(cuda_().driver->cuGetErrorString, cuda::Result{static_cast<int>(result)}, &text);
    return text;
}
EXPORT Result hipInit(unsigned) { return cuda_().driver ? kSuccess : kNoDevice; }
EXPORT Result hipGetDeviceCount(int* count) {
    *count = static_cast<int>(cuda_().gpus.size());
    return *count ? kSuccess : kNoDevice;
}
EXPORT Result hipGetDevice(int* device) {
    *device = current;
    return kSuccess;
}
EXPORT Result hipSetDevice(int device) {
    if (device < 0 || device >= static_cast<int>(cuda_().gpus.size())) return kInvalidDevice;
    current = device;
    return kSuccess;
}
EXPORT Result hipDeviceGetName(char* name, int size, int device) {
    char nvidia[128] = "";
    const Result result = forward(&cuda::Driver::cuDeviceGetName, nvidia, static_cast<int>(sizeof nvidia), cuda_().gpus[static_cast<size_t>(device)].device);
    std::snprintf(name, static_cast<size_t>(size), "%s in place of an AMD GPU", nvidia);
    return result;
}
EXPORT Result hipGetDevicePropertiesR0600(Properties* properties, int) {
    std::strcpy(properties->bytes + 1000, "gfx1030");
    return kSuccess;
}
EXPORT Result hipModuleLoadData(Module* module, const void* image) {
    const unsigned char* const elf = static_cast<const unsigned char*>(image);
    if (std::memcmp(elf, "\177ELF", 4) != 0) return kInvalidImage;
    if (elf[18] + 256 * elf[19] != 224) return kNoBinaryForGpu;
    for (const cuda::Image& code : cuda::images()) {
        const Result result = forward(&cuda::Driver::cuModuleLoadDataEx, reinterpret_cast<cuda::Module*>(module), code.data, 0u, static_cast<cuda::JitOption*>(nullptr),
                                      static_cast<void**>(nullptr));
        if (result == kSuccess) return result;
    }
    return kNoBinaryForGpu;
}
EXPORT Result hipModuleGetFunction(Function* function, Module module, const char* name) {
    return forward(&cuda::Driver::cuModuleGetFunction, reinterpret_cast<cuda::Function*>(function), reinterpret_cast<cuda::Module>(module), name);
}
EXPORT Result hipModuleUnload(Module module) { return forward(&cuda::Driver::cuModuleUnload, reinterpret_cast<cuda::Module>(module)); }
EXPORT Result hipMalloc(void** address, size_t size) { return forward(&cuda::Driver::cuMemAlloc, reinterpret_cast<cuda::Address*>(address), size); }
EXPORT Result hipFree(void* address) { return forward(&cuda::Driver::cuMemFree, address_of(address)); }
EXPORT Result hipHostMalloc(void** memory, size_t size, unsigned flags) { return forward(&cuda::Driver::cuMemHostAlloc, memory, size, flags); }
EXPORT Result hipHostFree(void* memory) { return forward(&cuda::Driver::cuMemFreeHost, memory); }
EXPORT Result hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width_bytes, size_t rows, CopyKind kind, Stream stream) {
    if (kind != kHostToDevice) return kInvalidValue;
    cuda::Copy2D copy{};
    copy.source_type = cuda::kMemoryHost;
    copy.destination_type = cuda::kMemoryDevice;
    copy.source_host = from;
    copy.destination_device = address_of(to);
    copy.source_pitch = from_pitch;
    copy.destination_pitch = to_pitch;
    copy.width_bytes = width_bytes;
    copy.rows = rows;
    return forward(&cuda::Driver::cuMemcpy2DAsync, static_cast<const cuda::Copy2D*>(&copy), stream_of(stream));
}
EXPORT Result hipMemcpyAsync(void* to, const void* from, size_t size, CopyKind kind, Stream stream) {
    if (kind == kHostToDevice) return forward(&cuda::Driver::cuMemcpyHtoDAsync, address_of(to), from, size, stream_of(stream));
    if (kind != kDeviceToHost) return kInvalidValue;
    return forward(&cuda::Driver::cuMemcpyDtoHAsync, to, address_of(from), size, stream_of(stream));
}
EXPORT Result hipStreamCreateWithFlags(Stream* stream, unsigned flags) { return forward(&cuda::Driver::cuStreamCreate, reinterpret_cast<cuda::Stream*>(stream), flags); }
EXPORT Result hipStreamDestroy(Stream stream) { return forward(&cuda::Driver::cuStreamDestroy, stream_of(stream)); }
EXPORT Result hipStreamWaitEvent(Stream stream, Event event, unsigned flags) { return forward(&cuda::Driver::cuStreamWaitEvent, stream_of(stream), event_of(event), flags); }
EXPORT Result hipEventCreateWithFlags(Event* event, unsigned flags) { return forward(&cuda::Driver::cuEventCreate, reinterpret_cast<cuda::Event*>(event), flags); }
EXPORT Result hipEventDestroy(Event event) { return forward(&cuda::Driver::cuEventDestroy, event_of(event)); }
EXPORT Result hipEventRecord(Event event, Stream stream) { return forward(&cuda::Driver::cuEventRecord, event_of(event), stream_of(stream)); }
EXPORT Result hipEventQuery(Event event) { return forward(&cuda::Driver::cuEventQuery, event_of(event)); }
EXPORT Result hipEventSynchronize(Event event) { return forward(&cuda::Driver::cuEventSynchronize, event_of(event)); }
// CUDA's driver imports no dma-bufs.
EXPORT Result hipImportExternalMemory(ExternalMemory*, const ExternalMemoryDescription*) { return kNotSupported; }
EXPORT Result hipExternalMemoryGetMappedBuffer(void**, ExternalMemory, const ExternalBufferDescription*) { return kNotSupported; }
EXPORT Result hipDestroyExternalMemory(ExternalMemory) { return kNotSupported; }
EXPORT Result hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                    unsigned shared_bytes, Stream stream, void** parameters, void** extra) {
    return forward(&cuda::Driver::cuLaunchKernel, reinterpret_cast<cuda::Function>(function), grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                   stream_of(stream), parameters, extra);
}

}  // namespace exactvq::hip
