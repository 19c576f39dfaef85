// SPDX-License-Identifier: BSD-2-Clause
// Preloaded into ffmpeg: an NVIDIA driver without a GPU, for what the filter itself does with CUDA frames. "Device memory" is host memory in which the CPU
// backend of the real libexactvq computes: sessions that are opened for CUDA frames are checked and handed on as sessions for system frames.
//   FAKE_CUDA_DEVICES=n     number of GPUs (default 2); 0: the driver finds none
//   FAKE_CUDA_LIBRARY=real  sessions go to libexactvq as they are
// Prints lines "fake_cuda: ..." to standard error: each session with its context, and what must not happen.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exactvq/exactvq.h>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace {

struct Context {
    int device;
};

std::mutex mutex;
std::map<char *, size_t> allocations;           // by address
std::set<void *> contexts;                      // alive
std::map<exactvq_session *, void *> sessions;   // on CUDA frames, with their context
Context *primary[16];
thread_local std::vector<void *> current;

constexpr int kInvalid = 1, kNoMemory = 2, kNoDevice = 100, kBadDevice = 101, kBadContext = 201, kNotSupported = 801;

int devices()
{
    const char *text = std::getenv("FAKE_CUDA_DEVICES");
    return text ? std::atoi(text) : 2;
}

void complain(const char *what)
{
    std::fprintf(stderr, "fake_cuda: error: %s\n", what);
}

bool in_device_memory(const void *data)
{
    std::lock_guard<std::mutex> lock(mutex);
    auto next = allocations.upper_bound(const_cast<char *>(static_cast<const char *>(data)));
    if (next == allocations.begin())
        return false;
    --next;
    return static_cast<const char *>(data) < next->first + next->second;
}

template <class F> F real(const char *name)
{
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

// The stream that all contexts here have is the default one.
void check(const exactvq_frame &frame, const char *name)
{
    if (frame.memory != EXACTVQ_MEMORY_CUDA || frame.stream)
        complain("a frame of another memory or stream");
    for (uint32_t i = 0; i < frame.format.planes; i++)
        if (!in_device_memory(frame.plane[i].data))
            complain(name);
}

}  // namespace

extern "C" {

// ---- the driver -----------------------------------------------------------------------------------------------------

typedef unsigned long long Address;

struct Copy2D {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    Address src_device;
    void *src_array;
    size_t src_pitch, dst_x, dst_y;
    int dst_type;
    void *dst_host;
    Address dst_device;
    void *dst_array;
    size_t dst_pitch, width, height;
};

int cuInit(unsigned) { return devices() > 0 ? 0 : kNoDevice; }
int cuDriverGetVersion(int *version) { return *version = 12010, 0; }
int cuDeviceGetCount(int *count) { return *count = devices(), 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, ordinal >= 0 && ordinal < devices() ? 0 : kBadDevice; }
int cuDeviceGetAttribute(int *value, int, int) { return *value = 512, 0; }
int cuDeviceGetName(char *name, int size, int) { return std::snprintf(name, size, "fake"), 0; }
int cuGetErrorName(int, const char **name) { return *name = "CUDA_ERROR_FAKE", 0; }
int cuGetErrorString(int, const char **text) { return *text = "fake error", 0; }

int cuCtxCreate_v2(void **context, unsigned, int device)
{
    *context = new Context{device};
    std::lock_guard<std::mutex> lock(mutex);
    contexts.insert(*context);
    current.push_back(*context);
    return 0;
}

int cuCtxDestroy_v2(void *context)
{
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &session : sessions)
        if (session.second == context)
            complain("a context is destroyed before its session is closed");
    if (!contexts.erase(context))
        return kBadContext;
    delete static_cast<Context *>(context);
    return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (!contexts.count(context))
        return kBadContext;
    current.push_back(context);
    return 0;
}

int cuCtxPopCurrent_v2(void **context)
{
    if (current.empty())
        return kBadContext;
    *context = current.back();
    current.pop_back();
    return 0;
}

int cuCtxGetCurrent(void **context) { return *context = current.empty() ? nullptr : current.back(), 0; }
int cuCtxGetDevice(int *device) { return current.empty() ? kBadContext : (*device = static_cast<Context *>(current.back())->device, 0); }
int cuDevicePrimaryCtxSetFlags(int, unsigned) { return 0; }
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return 0; }
int cuDevicePrimaryCtxRelease(int) { return 0; }
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    std::lock_guard<std::mutex> lock(mutex);
    if (!primary[device])
        primary[device] = new Context{device};
    contexts.insert(*context = primary[device]);
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    *flags  = 4;  // as FFmpeg wants them
    *active = !!primary[device];
    return 0;
}

int cuMemAlloc_v2(Address *address, size_t size)
{
    char *memory = static_cast<char *>(std::malloc(size));
    if (!memory)
        return kNoMemory;
    std::memset(memory, 0xA5, size);
    std::lock_guard<std::mutex> lock(mutex);
    allocations[memory] = size;
    *address = reinterpret_cast<Address>(memory);
    return 0;
}

int cuMemFree_v2(Address address)
{
    char *memory = reinterpret_cast<char *>(address);
    std::lock_guard<std::mutex> lock(mutex);
    auto found = allocations.find(memory);
    if (found == allocations.end())
        return kInvalid;
    std::memset(memory, 0x5A, found->second);
    allocations.erase(found);
    std::free(memory);
    return 0;
}

int cuMemcpy2D_v2(const Copy2D *copy)
{
    if (current.empty())
        return kBadContext;
    const char *src = copy->src_type == 1 ? static_cast<const char *>(copy->src_host) : reinterpret_cast<const char *>(copy->src_device);
    char *dst       = copy->dst_type == 1 ? static_cast<char *>(copy->dst_host) : reinterpret_cast<char *>(copy->dst_device);
    for (size_t y = 0; y < copy->height; y++)
        std::memcpy(dst + (copy->dst_y + y) * copy->dst_pitch + copy->dst_x, src + (copy->src_y + y) * copy->src_pitch + copy->src_x, copy->width);
    return 0;
}

int cuMemcpy2DAsync_v2(const Copy2D *copy, void *) { return cuMemcpy2D_v2(copy); }
int cuStreamSynchronize(void *) { return 0; }

// FFmpeg looks for all of these before it uses any.
#define ABSENT(name) int name() { return kNotSupported; }
ABSENT(cuDeviceComputeCapability) ABSENT(cuCtxSetLimit) ABSENT(cuMemAllocPitch_v2) ABSENT(cuMemAllocManaged) ABSENT(cuMemsetD8Async) ABSENT(cuMemcpy)
ABSENT(cuMemcpyAsync) ABSENT(cuMemcpyHtoD_v2) ABSENT(cuMemcpyHtoDAsync_v2) ABSENT(cuMemcpyDtoH_v2) ABSENT(cuMemcpyDtoHAsync_v2) ABSENT(cuMemcpyDtoD_v2)
ABSENT(cuMemcpyDtoDAsync_v2) ABSENT(cuDevicePrimaryCtxReset) ABSENT(cuStreamCreate) ABSENT(cuStreamQuery) ABSENT(cuStreamDestroy_v2)
ABSENT(cuStreamAddCallback) ABSENT(cuStreamWaitEvent) ABSENT(cuEventCreate) ABSENT(cuEventDestroy_v2) ABSENT(cuEventSynchronize) ABSENT(cuEventQuery)
ABSENT(cuEventRecord) ABSENT(cuLaunchKernel) ABSENT(cuLinkCreate) ABSENT(cuLinkAddData) ABSENT(cuLinkComplete) ABSENT(cuLinkDestroy)
ABSENT(cuModuleLoadData) ABSENT(cuModuleUnload) ABSENT(cuModuleGetFunction) ABSENT(cuModuleGetGlobal) ABSENT(cuTexObjectCreate)
ABSENT(cuTexObjectDestroy) ABSENT(cuGLGetDevices_v2) ABSENT(cuGraphicsGLRegisterImage) ABSENT(cuGraphicsUnregisterResource) ABSENT(cuGraphicsMapResources)
ABSENT(cuGraphicsUnmapResources) ABSENT(cuGraphicsSubResourceGetMappedArray) ABSENT(cuGraphicsResourceGetMappedPointer_v2) ABSENT(cuArrayCreate_v2)
ABSENT(cuArray3DCreate_v2) ABSENT(cuArrayDestroy)

// ---- the library ----------------------------------------------------------------------------------------------------

exactvq_status exactvq_open(const exactvq_config *config, exactvq_session **session)
{
    static const auto open = real<decltype(&exactvq_open)>("exactvq_open");
    if (config->memory != EXACTVQ_MEMORY_CUDA || std::getenv("FAKE_CUDA_LIBRARY"))
        return open(config, session);

    exactvq_config changed = *config;
    std::fprintf(stderr, "fake_cuda: session on CUDA frames, context %s, depth %u\n", contexts.count(config->device_context) ? "alive" : "unknown",
                 config->format.depth);
    if (config->backend != EXACTVQ_BACKEND_AUTO && config->backend != EXACTVQ_BACKEND_CUDA)
        complain("another backend for CUDA frames");
    changed.memory         = EXACTVQ_MEMORY_HOST;
    changed.backend        = EXACTVQ_BACKEND_CPU;
    changed.device_context = nullptr;
    exactvq_status status = open(&changed, session);
    std::lock_guard<std::mutex> lock(mutex);
    sessions[*session] = config->device_context;
    return status;
}

exactvq_status exactvq_submit(exactvq_session *session, const exactvq_frame *reference, const exactvq_frame *main, uint64_t index)
{
    static const auto submit = real<decltype(&exactvq_submit)>("exactvq_submit");
    if (!sessions.count(session))
        return submit(session, reference, main, index);

    check(*reference, "a reference plane outside of device memory");
    check(*main, "a main plane outside of device memory");
    exactvq_frame frames[2] = {*reference, *main};
    for (exactvq_frame &frame : frames)
        frame.memory = EXACTVQ_MEMORY_HOST;
    return submit(session, &frames[0], &frames[1], index);
}

void exactvq_close(exactvq_session *session)
{
    static const auto close = real<decltype(&exactvq_close)>("exactvq_close");
    close(session);
    std::lock_guard<std::mutex> lock(mutex);
    sessions.erase(session);
}

}  // extern "C"
