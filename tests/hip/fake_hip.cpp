// SPDX-License-Identifier: BSD-2-Clause
//
// libamdhip64 without an AMD GPU, for tests: device memory is host memory, and kernels run on the CPU, on fibers (tests/simt), in the waves of the architecture that
// it claims to be. Everything happens at once; handles, bounds and the current device are checked as HIP does. The code objects that it is given are
// looked at, not run. The environment variable EXACTVQ_FAKE_HIP says what is different, as a list "key=value,key=value":
//
//     devices=2 arch=gfx90a:xnack-    what it claims to be (one GPU, gfx1030)
//     hipMalloc=2                     this function always gives this result
//     fail_at=7 result=999            the seventh call since fake_reset() gives this result
//     lose=3                          the third launch is accepted and never runs
//     dry=1                           no launch runs
//     fd=keep                         what becomes of an imported descriptor: it is closed at once, at the end (late), or not at all (keep)
//     wrong=1                         the last word of all that is downloaded is another one
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/gpu/kernel_list.h"
#include "kernels/hip/driver.h"
#include "tests/simt/simt_platform.h"
#include "tests/support/fake_settings.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace exactvq::hip {
struct ModuleObject {
    int device;
};
struct FunctionObject {
    gpu::KernelId kernel;
};
struct StreamObject {
    int device;
};
struct EventObject {};
struct ExternalMemoryObject {
    int fd;
    void* address;
    size_t size;
    bool mapped;
};

namespace {

constexpr Result kInvalidHandle{400}, kNotFound{500}, kLaunchFailure{719};

struct State {
    int calls = 0, launches = 0, imports = 0;
    std::map<char*, std::vector<char>> memory;  // by address
    std::map<void*, std::vector<char>> host;
    std::set<ModuleObject*> modules;
    std::set<StreamObject*> streams;
    std::set<EventObject*> events;
    std::set<ExternalMemoryObject*> external;
    FunctionObject functions[static_cast<size_t>(gpu::KernelId::kCount)];
    std::string last_launch, failed;
};
State state;
std::recursive_mutex mutex;
thread_local int current = 0;

const test::FakeSettings settings("EXACTVQ_FAKE_HIP");

Result enter(const char* name) {
    ++state.calls;
    if (const int result = settings.number(name, 0)) return Result{result};
    if (state.calls != settings.number("fail_at", 0)) return kSuccess;
    state.failed = name;
    return Result{settings.number("result", 999)};
}

#define ENTER() \
    const std::lock_guard lock(mutex); \
    if (const Result entered = enter(__func__); entered != kSuccess) return entered

bool inside(const void* address, size_t size) {
    const char* const first = static_cast<const char*>(address);
    for (const auto& [begin, block] : state.memory)
        if (first >= begin && first + size <= begin + block.size()) return true;
    return false;
}

template <class T>
Result destroy(std::set<T*>& all, T* object) {
    return test::destroy(all, object) ? kSuccess : kInvalidHandle;
}

template <uint32_t kWave>
void run(gpu::KernelId kernel, const simt::Launch& launch, const void* arguments) {
    using namespace gpu;
    switch (kernel) {
#define EXACTVQ_RUN(K) \
    case KernelId::K: return run_kernel<K, kWave>(launch, *static_cast<const K::Arguments*>(arguments));
        EXACTVQ_GPU_KERNELS(EXACTVQ_RUN)
#undef EXACTVQ_RUN
    case KernelId::kCount: break;
    }
}

bool has_stream(Stream stream) { return state.streams.count(stream) && stream->device == current; }

}  // namespace

// ---- for the tests -----------------------------------------------------------------------------------------------------

EXPORT void fake_reset() { state.calls = state.launches = state.imports = 0; }
// Frees all objects.
EXPORT void fake_clear() {
    for (ModuleObject* module : state.modules) delete module;
    for (StreamObject* stream : state.streams) delete stream;
    for (EventObject* event : state.events) delete event;
    state.memory.clear();
    state.host.clear();
    state.modules.clear();
    state.streams.clear();
    for (ExternalMemoryObject* memory : state.external) {
        munmap(memory->address, memory->size);
        if (memory->fd >= 0) close(memory->fd);
        delete memory;
    }
    state.events.clear();
    state.external.clear();
}
EXPORT int fake_calls() { return state.calls; }
EXPORT int fake_imports() { return state.imports; }
EXPORT int fake_alive() {
    return static_cast<int>(state.memory.size() + state.host.size() + state.modules.size() + state.streams.size() + state.events.size() + state.external.size());
}
// The function that fail_at made fail.
EXPORT const char* fake_failed() { return state.failed.c_str(); }
EXPORT const char* fake_last_launch() { return state.last_launch.c_str(); }

// ---- HIP -----------------------------------------------------------------------------------------------------------------

EXPORT const char* hipGetErrorName(Result result) {
    static const std::map<int, const char*> names = {{1, "hipErrorInvalidValue"}, {2, "hipErrorOutOfMemory"}, {100, "hipErrorNoDevice"}, {101, "hipErrorInvalidDevice"},
        {200, "hipErrorInvalidImage"}, {209, "hipErrorNoBinaryForGpu"}, {400, "hipErrorInvalidHandle"}, {500, "hipErrorNotFound"}, {719, "hipErrorLaunchFailure"},
        {999, "hipErrorUnknown"}};
    const auto found = names.find(result);
    return found == names.end() ? nullptr : found->second;
}
EXPORT const char* hipGetErrorString(Result result) { return result == 719 ? "unspecified launch failure" : result == 999 ? "unknown error" : nullptr; }

EXPORT Result hipInit(unsigned) {
    ENTER();
    return kSuccess;
}
EXPORT Result hipGetDeviceCount(int* count) {
    ENTER();
    *count = settings.number("devices", 1);
    return *count ? kSuccess : kNoDevice;
}
EXPORT Result hipGetDevice(int* device) {
    ENTER();
    *device = current;
    return kSuccess;
}
EXPORT Result hipSetDevice(int device) {
    ENTER();
    if (device < 0 || device >= settings.number("devices", 1)) return kInvalidDevice;
    current = device;
    return kSuccess;
}
EXPORT Result hipDeviceGetName(char* name, int size, int device) {
    ENTER();
    snprintf(name, static_cast<size_t>(size), "Fake GPU %d", device);
    return kSuccess;
}
EXPORT Result hipGetDevicePropertiesR0600(Properties* properties, int device) {
    ENTER();
    memset(properties, 0x5a, 1000);  // less than the caller has room for
    snprintf(properties->bytes, 256, "Fake GPU %d with a gfx in its name", device);
    snprintf(properties->bytes + 600, 256, "%s", settings.text("arch", "gfx1030").c_str());
    return kSuccess;
}
EXPORT Result hipModuleLoadData(Module* module, const void* image) {
    ENTER();
    const unsigned char* const elf = static_cast<const unsigned char*>(image);
    if (memcmp(elf, "\177ELF", 4) != 0) return kInvalidImage;
    if (elf[18] + 256 * elf[19] != 224) return kNoBinaryForGpu;
    *module = *state.modules.insert(new ModuleObject{current}).first;
    return kSuccess;
}
EXPORT Result hipModuleGetFunction(Function* function, Module module, const char* name) {
    ENTER();
    if (!state.modules.count(module) || module->device != current) return kInvalidHandle;
    for (size_t i = 0; i < static_cast<size_t>(gpu::KernelId::kCount); ++i) {
        if (strcmp(name, gpu::kKernels[i].name) != 0) continue;
        state.functions[i].kernel = static_cast<gpu::KernelId>(i);
        *function = &state.functions[i];
        return kSuccess;
    }
    return kNotFound;
}
EXPORT Result hipModuleUnload(Module module) {
    ENTER();
    return destroy(state.modules, module);
}
EXPORT Result hipMalloc(void** address, size_t size) {
    ENTER();
    std::vector<char> block(size, '\xcd');
    *address = block.data();
    state.memory.emplace(block.data(), std::move(block));
    return kSuccess;
}
EXPORT Result hipFree(void* address) {
    ENTER();
    for (ExternalMemoryObject* memory : state.external) {
        if (!memory->mapped || memory->address != address) continue;
        memory->mapped = false;
        return kSuccess;
    }
    return state.memory.erase(static_cast<char*>(address)) ? kSuccess : kInvalidValue;
}
EXPORT Result hipHostMalloc(void** memory, size_t size, unsigned) {
    ENTER();
    std::vector<char> pinned(size + 4096, '\xcd');
    *memory = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(pinned.data()) + 4095) / 4096 * 4096);
    state.host.emplace(*memory, std::move(pinned));
    return kSuccess;
}
EXPORT Result hipHostFree(void* memory) {
    ENTER();
    return state.host.erase(memory) ? kSuccess : kInvalidValue;
}
EXPORT Result hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width_bytes, size_t rows, CopyKind kind, Stream stream) {
    ENTER();
    if (!has_stream(stream)) return kInvalidHandle;
    if (kind != kHostToDevice || from_pitch < width_bytes || to_pitch < width_bytes || !inside(to, (rows - 1) * to_pitch + width_bytes)) return kInvalidValue;
    for (size_t y = 0; y < rows; ++y) memcpy(static_cast<char*>(to) + y * to_pitch, static_cast<const char*>(from) + y * from_pitch, width_bytes);
    return kSuccess;
}
EXPORT Result hipMemcpyAsync(void* to, const void* from, size_t size, CopyKind kind, Stream stream) {
    ENTER();
    if (!has_stream(stream)) return kInvalidHandle;
    if (!inside(kind == kHostToDevice ? to : from, size) || (kind != kHostToDevice && kind != kDeviceToHost)) return kInvalidValue;
    memcpy(to, from, size);
    if (kind == kDeviceToHost && settings.number("wrong", 0)) static_cast<char*>(to)[size - 8] ^= 1;
    return kSuccess;
}
EXPORT Result hipStreamCreateWithFlags(Stream* stream, unsigned flags) {
    ENTER();
    if (flags != kStreamNonBlocking) return kInvalidValue;
    *stream = *state.streams.insert(new StreamObject{current}).first;
    return kSuccess;
}
EXPORT Result hipStreamDestroy(Stream stream) {
    ENTER();
    return destroy(state.streams, stream);
}
EXPORT Result hipStreamWaitEvent(Stream stream, Event event, unsigned) {
    ENTER();
    return has_stream(stream) && state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result hipEventCreateWithFlags(Event* event, unsigned) {
    ENTER();
    *event = *state.events.insert(new EventObject).first;
    return kSuccess;
}
EXPORT Result hipEventDestroy(Event event) {
    ENTER();
    return destroy(state.events, event);
}
EXPORT Result hipEventRecord(Event event, Stream stream) {
    ENTER();
    return (!stream || has_stream(stream)) && state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result hipEventQuery(Event event) {
    ENTER();
    return state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result hipEventSynchronize(Event event) {
    ENTER();
    return state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result hipImportExternalMemory(ExternalMemory* memory, const ExternalMemoryDescription* description) {
    ENTER();
    if (description->type != kOpaqueFd || description->flags) return kInvalidValue;
    ++state.imports;
    void* address = mmap(nullptr, description->size, PROT_READ, MAP_SHARED, description->handle.fd, 0);
    if (address == MAP_FAILED) return kOutOfMemory;  // as HIP says
    const std::string fate = settings.text("fd", "close");
    if (fate == "close") close(description->handle.fd);
    *memory = *state.external.insert(new ExternalMemoryObject{fate == "late" ? description->handle.fd : -1, address, description->size, false}).first;
    return kSuccess;
}
EXPORT Result hipExternalMemoryGetMappedBuffer(void** address, ExternalMemory memory, const ExternalBufferDescription* description) {
    ENTER();
    if (!state.external.count(memory) || description->flags || description->offset + description->size > memory->size) return kInvalidValue;
    memory->mapped = true;
    *address = static_cast<char*>(memory->address) + description->offset;
    return kSuccess;
}
EXPORT Result hipDestroyExternalMemory(ExternalMemory memory) {
    ENTER();
    if (!state.external.count(memory) || memory->mapped) return kInvalidHandle;
    munmap(memory->address, memory->size);
    if (memory->fd >= 0) close(memory->fd);
    return destroy(state.external, memory);
}
EXPORT Result hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                    unsigned shared_bytes, Stream stream, void** parameters, void** extra) {
    ENTER();
    if (!has_stream(stream) || !function) return kInvalidHandle;
    const gpu::KernelInfo& info = gpu::kernel_info(function->kernel);
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || block_x != info.threads || block_y != 1 || block_z != 1 || !parameters || extra) return kInvalidValue;
    uint64_t first;
    memcpy(&first, parameters[0], sizeof first);
    char text[200];
    snprintf(text, sizeof text, "%s %ux%ux%u of %ux%ux%u, %u bytes, %llx", info.name, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
             static_cast<unsigned long long>(first));
    state.last_launch = text;
    if (++state.launches == settings.number("lose", 0) || settings.number("dry", 0)) return kSuccess;
    struct alignas(16) {
        char bytes[4096];
    } arguments;
    memcpy(arguments.bytes, parameters[0], info.arguments);
    simt::Launch launch;
    launch.kernel = info.name;
    launch.blocks = {grid_x, grid_y, grid_z};
    launch.seed = static_cast<uint64_t>(state.launches);
    try {
        settings.text("arch", "gfx1030").rfind("gfx9", 0) == 0 ? run<64>(function->kernel, launch, arguments.bytes) : run<32>(function->kernel, launch, arguments.bytes);
    } catch (const std::exception& error) {
        fprintf(stderr, "fake_hip: %s\n", error.what());
        return kLaunchFailure;
    }
    return kSuccess;
}

}  // namespace exactvq::hip
