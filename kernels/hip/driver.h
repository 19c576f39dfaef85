// SPDX-License-Identifier: BSD-2-Clause
//
// AMD's HIP runtime, opened at run time: the library needs nothing of ROCm to be built or to start. Types, constants and names of functions follow the
// published HIP API, in the parts that are the same in ROCm 5, 6 and 7.
#ifndef EXACTVQ_KERNELS_HIP_DRIVER_H
#define EXACTVQ_KERNELS_HIP_DRIVER_H

#include <cstddef>
#include <span>
#include <string>

#include "kernels/gpu/library.h"

namespace exactvq::hip {

// Handles.
using Module = struct ModuleObject*;
using Function = struct FunctionObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using ExternalMemory = struct ExternalMemoryObject*;

// Results that mean something to us. All others are named by HIP.
enum Result : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kNoBinaryForGpu = 209,
    kNotReady = 600
};

enum CopyKind : int { kHostToDevice = 1, kDeviceToHost = 2 };
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1, kEventDisableTiming = 2;

inline constexpr int kOpaqueFd = 1;  // hipExternalMemoryHandleTypeOpaqueFd: a dma-buf, too

// hipExternalMemoryHandleDesc
struct ExternalMemoryDescription {
    int type = kOpaqueFd;
    union {
        int fd;
        void* win32[2];
    } handle{};
    unsigned long long size = 0;
    unsigned flags = 0;
    unsigned reserved[16] = {};
};

// hipExternalMemoryBufferDesc
struct ExternalBufferDescription {
    unsigned long long offset = 0, size = 0;
    unsigned flags = 0;
    unsigned reserved[16] = {};
};

// hipDeviceProp_t, whose layout differs between versions of ROCm: only the name of the architecture is looked for, as text.
struct Properties {
    char bytes[8192];
};

// X(name, parameters)
#define EXACTVQ_HIP_FUNCTIONS(X) \
    X(hipInit, (unsigned flags)) \
    X(hipGetDeviceCount, (int* count)) \
    X(hipGetDevice, (int* device)) \
    X(hipSetDevice, (int device)) \
    X(hipDeviceGetName, (char* name, int size, int device)) \
    X(hipModuleLoadData, (Module * module, const void* image)) \
    X(hipModuleGetFunction, (Function * function, Module module, const char* name)) \
    X(hipModuleUnload, (Module module)) \
    X(hipMalloc, (void** address, size_t size)) \
    X(hipFree, (void* address)) \
    X(hipHostMalloc, (void** memory, size_t size, unsigned flags)) \
    X(hipHostFree, (void* memory)) \
    X(hipMemcpy2DAsync, (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width_bytes, size_t rows, CopyKind kind, Stream stream)) \
    X(hipMemcpyAsync, (void* to, const void* from, size_t size, CopyKind kind, Stream stream)) \
    X(hipStreamCreateWithFlags, (Stream * stream, unsigned flags)) \
    X(hipStreamDestroy, (Stream stream)) \
    X(hipStreamWaitEvent, (Stream stream, Event event, unsigned flags)) \
    X(hipEventCreateWithFlags, (Event * event, unsigned flags)) \
    X(hipEventDestroy, (Event event)) \
    X(hipEventRecord, (Event event, Stream stream)) \
    X(hipEventQuery, (Event event)) \
    X(hipEventSynchronize, (Event event)) \
    X(hipImportExternalMemory, (ExternalMemory * memory, const ExternalMemoryDescription* description)) \
    X(hipExternalMemoryGetMappedBuffer, (void** address, ExternalMemory memory, const ExternalBufferDescription* description)) \
    X(hipDestroyExternalMemory, (ExternalMemory memory)) \
    X(hipModuleLaunchKernel, \
      (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
       Stream stream, void** parameters, void** extra))

class Driver : public gpu::Caller<Driver, Result> {
public:
    // Opens the first library of these that is there, and initialises it. Throws Error.
    explicit Driver(std::span<const char* const> libraries);

#define EXACTVQ_HIP_MEMBER(name, parameters) gpu::Call<Result parameters> name;
    EXACTVQ_HIP_FUNCTIONS(EXACTVQ_HIP_MEMBER)
#undef EXACTVQ_HIP_MEMBER

    // "gfx90a:sramecc+:xnack-", or "" if HIP does not tell.
    std::string architecture(int device) const;

    // Whether hipFree() ends the mapping of external memory, as since ROCm 6: it is an error before.
    bool frees_mappings() const { return library_.name() != "libamdhip64.so.5"; }

    // The name of the call, and the HIP runtime's name of what went wrong.
    std::string sentence(const char* call, Result result) const;
    // Throws Error with that sentence.
    [[noreturn]] void fail(const char* call, Result result) const;

private:
    const gpu::Library library_;
    const char* (*error_name_)(Result) = nullptr;
    const char* (*error_text_)(Result) = nullptr;
    Result (*properties_)(Properties*, int) = nullptr;
};

}  // namespace exactvq::hip

#endif  // EXACTVQ_KERNELS_HIP_DRIVER_H
