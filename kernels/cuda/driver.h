// SPDX-License-Identifier: BSD-2-Clause
//
// The CUDA driver, opened at run time: the library needs nothing of CUDA to be built or to start. Types, constants and names of functions
// follow the published driver API, whose binary interface does not change under these (versioned) names.
#ifndef EXACTVQ_KERNELS_CUDA_DRIVER_H
#define EXACTVQ_KERNELS_CUDA_DRIVER_H

#include <cstddef>
#include <string>

#include "kernels/gpu/library.h"

namespace exactvq::cuda {

// Handles.
using Device = int;
using Context = struct ContextObject*;
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Address = unsigned long long;  // in device memory

// Results that mean something to us. All others are named by the driver.
enum Result : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNoDevice = 100,
    kInvalidImage = 200,
    kNoBinaryForGpu = 209,
    kUnsupportedPtxVersion = 222,
    kNotReady = 600
};

enum DeviceAttribute : int { kCapabilityMajor = 75, kCapabilityMinor = 76 };
enum JitOption : int { kJitErrorLog = 5, kJitErrorLogSize = 6 };
enum MemoryType : unsigned { kMemoryHost = 1, kMemoryDevice = 2 };
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2;

struct Copy2D {
    size_t source_x, source_y;
    MemoryType source_type;
    const void* source_host;
    Address source_device;
    void* source_array;
    size_t source_pitch;
    size_t destination_x, destination_y;
    MemoryType destination_type;
    void* destination_host;
    Address destination_device;
    void* destination_array;
    size_t destination_pitch;
    size_t width_bytes, rows;
};
static_assert(sizeof(void*) == 8 && sizeof(Copy2D) == 128);

// X(name, name of the symbol, parameters)
#define EXACTVQ_CUDA_FUNCTIONS(X) \
    X(cuInit, cuInit, (unsigned flags)) \
    X(cuDriverGetVersion, cuDriverGetVersion, (int* version)) \
    X(cuGetErrorName, cuGetErrorName, (Result result, const char** name)) \
    X(cuGetErrorString, cuGetErrorString, (Result result, const char** text)) \
    X(cuDeviceGetCount, cuDeviceGetCount, (int* count)) \
    X(cuDeviceGet, cuDeviceGet, (Device * device, int ordinal)) \
    X(cuDeviceGetName, cuDeviceGetName, (char* name, int size, Device device)) \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, (int* value, DeviceAttribute attribute, Device device)) \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (Context * context, Device device)) \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (Device device)) \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (Context context)) \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (Context * context)) \
    X(cuCtxGetDevice, cuCtxGetDevice, (Device * device)) \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, (Module * module, const void* image, unsigned count, JitOption* options, void** values)) \
    X(cuModuleGetFunction, cuModuleGetFunction, (Function * function, Module module, const char* name)) \
    X(cuModuleUnload, cuModuleUnload, (Module module)) \
    X(cuMemAlloc, cuMemAlloc_v2, (Address * address, size_t size)) \
    X(cuMemFree, cuMemFree_v2, (Address address)) \
    X(cuMemHostAlloc, cuMemHostAlloc, (void** memory, size_t size, unsigned flags)) \
    X(cuMemFreeHost, cuMemFreeHost, (void* memory)) \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const Copy2D* copy, Stream stream)) \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (Address to, const void* from, size_t size, Stream stream)) \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void* to, Address from, size_t size, Stream stream)) \
    X(cuStreamCreate, cuStreamCreate, (Stream * stream, unsigned flags)) \
    X(cuStreamDestroy, cuStreamDestroy_v2, (Stream stream)) \
    X(cuStreamWaitEvent, cuStreamWaitEvent, (Stream stream, Event event, unsigned flags)) \
    X(cuEventCreate, cuEventCreate, (Event * event, unsigned flags)) \
    X(cuEventDestroy, cuEventDestroy_v2, (Event event)) \
    X(cuEventRecord, cuEventRecord, (Event event, Stream stream)) \
    X(cuEventQuery, cuEventQuery, (Event event)) \
    X(cuEventSynchronize, cuEventSynchronize, (Event event)) \
    X(cuLaunchKernel, cuLaunchKernel, \
      (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
       Stream stream, void** parameters, void** extra))

class Driver : public gpu::Caller<Driver, Result> {
public:
    // Opens the driver's library and initialises it. Throws Error.
    explicit Driver(const char* library);

#define EXACTVQ_CUDA_MEMBER(name, symbol, parameters) gpu::Call<Result parameters> name;
    EXACTVQ_CUDA_FUNCTIONS(EXACTVQ_CUDA_MEMBER)
#undef EXACTVQ_CUDA_MEMBER

    int version() const { return version_; }  // of CUDA that the driver supports: 1000 * major + 10 * minor

    // Throws Error with the name of the call and the driver's name of what went wrong.
    [[noreturn]] void fail(const char* call, Result result, const std::string& more = {}) const;

private:
    const gpu::Library library_;
    int version_ = 0;
};

}  // namespace exactvq::cuda

#endif  // EXACTVQ_KERNELS_CUDA_DRIVER_H
