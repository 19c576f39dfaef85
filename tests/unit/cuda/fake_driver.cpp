// SPDX-License-Identifier: BSD-2-Clause
//
// A CUDA driver on host memory, for the tests of its user. Everything happens at once; handles, bounds and the current context are checked as
// the real one does. The environment variable EXACTVQ_FAKE_CUDA says what is different, as a list "key=value,key=value":
//
//     version=12040 devices=2 capability=90     what it claims to be
//     cuMemAlloc_v2=2                           this function always gives this result
//     fail_at=7 result=999                      the seventh call since fake_reset() gives this result
//     refuse=1                                  fat binaries are refused with "invalid image"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda/driver.h"
#include "tests/support/fake_settings.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace exactvq::cuda {
struct ContextObject {
    int device = 0;
    int uses = 0;
};
struct ModuleObject {
    const char* image;
};
struct FunctionObject {
    std::string name;
};
struct StreamObject {};
struct EventObject {};

namespace {

constexpr int kMaxDevices = 4;
constexpr Result kNotInitialized{3}, kInvalidDevice{101}, kInvalidContext{201}, kInvalidPtx{218}, kInvalidHandle{400}, kNotFound{500};

struct State {
    bool initialized = false;
    int calls = 0;
    ContextObject primary[kMaxDevices];
    std::map<char*, std::vector<char>> memory;  // by address
    std::map<void*, std::vector<char>> host;
    std::set<ModuleObject*> modules;
    std::set<StreamObject*> streams;
    std::set<EventObject*> events;
    std::map<std::string, FunctionObject> functions;
    std::string last_launch;
};
State state;
thread_local std::vector<ContextObject*> stack;

const test::FakeSettings settings("EXACTVQ_FAKE_CUDA");

// What every function does first.
Result enter(const char* symbol, bool needs_context) {
    ++state.calls;
    if (const int result = settings.number(symbol, 0)) return Result{result};
    if (state.calls == settings.number("fail_at", 0)) return Result{settings.number("result", 999)};
    if (!state.initialized) return kNotInitialized;
    if (needs_context && stack.empty()) return kInvalidContext;
    return kSuccess;
}

#define ENTER(needs_context) \
    if (const Result entered = enter(__func__, needs_context); entered != kSuccess) return entered

bool inside(Address address, size_t size) {
    for (const auto& [begin, block] : state.memory) {
        const Address first = reinterpret_cast<Address>(begin);
        if (address >= first && address + size <= first + block.size()) return true;
    }
    return false;
}

template <class T>
Result destroy(std::set<T*>& all, T* object) {
    return test::destroy(all, object) ? kSuccess : kInvalidHandle;
}

}  // namespace

// ---- for the tests -----------------------------------------------------------------------------------------------------

// Forgets the calls; what lives goes on living.
EXPORT void fake_reset() {
    state.initialized = false;
    state.calls = 0;
}
// Frees all objects.
EXPORT void fake_clear() {
    for (ModuleObject* module : state.modules) delete module;
    for (StreamObject* stream : state.streams) delete stream;
    for (EventObject* event : state.events) delete event;
    state = State{};
    stack.clear();
}
EXPORT int fake_calls() { return state.calls; }
// Objects that live, without contexts that the test made; the stack of the calling thread counts.
EXPORT int fake_alive() {
    size_t count = state.memory.size() + state.host.size() + state.modules.size() + state.streams.size() + state.events.size() + stack.size();
    for (const ContextObject& context : state.primary) count += static_cast<size_t>(context.uses);
    return static_cast<int>(count);
}
EXPORT int fake_primary_uses(int device) { return state.primary[device].uses; }
EXPORT void* fake_make_context(int device) { return new ContextObject{device, 0}; }
EXPORT void fake_free_context(void* context) { delete static_cast<ContextObject*>(context); }
EXPORT const char* fake_last_launch() { return state.last_launch.c_str(); }

// ---- the driver --------------------------------------------------------------------------------------------------------

EXPORT Result cuInit(unsigned) {
    state.initialized = true;
    const Result result = enter(__func__, false);
    state.initialized = result == kSuccess;
    return result;
}
EXPORT Result cuDriverGetVersion(int* version) {
    ENTER(false);
    *version = settings.number("version", 13000);
    return kSuccess;
}
EXPORT Result cuGetErrorName(Result result, const char** name) {
    static const std::map<int, const char*> names = {{1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {3, "CUDA_ERROR_NOT_INITIALIZED"},
        {101, "CUDA_ERROR_INVALID_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"}, {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {218, "CUDA_ERROR_INVALID_PTX"}, {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"}, {400, "CUDA_ERROR_INVALID_HANDLE"}, {500, "CUDA_ERROR_NOT_FOUND"},
        {719, "CUDA_ERROR_LAUNCH_FAILED"}, {999, "CUDA_ERROR_UNKNOWN"}};
    const auto found = names.find(result);
    *name = found == names.end() ? nullptr : found->second;
    return *name ? kSuccess : kInvalidValue;
}
EXPORT Result cuGetErrorString(Result result, const char** text) {
    *text = result == 719 ? "unspecified launch failure" : result == 999 ? "unknown error" : nullptr;
    return *text ? kSuccess : kInvalidValue;
}
EXPORT Result cuDeviceGetCount(int* count) {
    ENTER(false);
    *count = settings.number("devices", 1);
    return kSuccess;
}
EXPORT Result cuDeviceGet(Device* device, int ordinal) {
    ENTER(false);
    if (ordinal < 0 || ordinal >= settings.number("devices", 1)) return kInvalidDevice;
    *device = ordinal;
    return kSuccess;
}
EXPORT Result cuDeviceGetName(char* name, int size, Device device) {
    ENTER(false);
    snprintf(name, static_cast<size_t>(size), "Fake GPU %d", device);
    return kSuccess;
}
EXPORT Result cuDeviceGetAttribute(int* value, DeviceAttribute attribute, Device) {
    ENTER(false);
    const int capability = settings.number("capability", 90);
    *value = attribute == kCapabilityMajor ? capability / 10 : capability % 10;
    return kSuccess;
}
EXPORT Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
    ENTER(false);
    state.primary[device].device = device;
    ++state.primary[device].uses;
    *context = &state.primary[device];
    return kSuccess;
}
EXPORT Result cuDevicePrimaryCtxRelease_v2(Device device) {
    ENTER(false);
    if (state.primary[device].uses == 0) return kInvalidContext;
    --state.primary[device].uses;
    return kSuccess;
}
EXPORT Result cuCtxPushCurrent_v2(Context context) {
    ENTER(false);
    stack.push_back(context);
    return kSuccess;
}
EXPORT Result cuCtxPopCurrent_v2(Context* context) {
    if (stack.empty()) return kInvalidContext;
    *context = stack.back();
    stack.pop_back();
    return kSuccess;
}
EXPORT Result cuCtxGetDevice(Device* device) {
    ENTER(true);
    *device = stack.back()->device;
    return kSuccess;
}
EXPORT Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options, void** values) {
    ENTER(true);
    const char* text = static_cast<const char*>(image);
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    const bool fatbin = magic == 0xba55ed50u, ptx = strncmp(text, "//", 2) == 0;
    if (fatbin && settings.number("refuse", 0)) return kInvalidImage;
    if (!fatbin && !ptx) {
        for (unsigned i = 0; i < count; ++i)
            if (options[i] == kJitErrorLog) strcpy(static_cast<char*>(values[i]), "ptxas application input, line 1; fatal\nmore\n");
        return kInvalidPtx;
    }
    *module = *state.modules.insert(new ModuleObject{text}).first;
    return kSuccess;
}
EXPORT Result cuModuleGetFunction(Function* function, Module module, const char* name) {
    ENTER(true);
    if (!state.modules.count(module)) return kInvalidHandle;
    if (strncmp(module->image, "//", 2) == 0 && !strstr(module->image, (".entry " + std::string(name) + "(").c_str())) return kNotFound;
    *function = &(state.functions[name] = FunctionObject{name});
    return kSuccess;
}
EXPORT Result cuModuleUnload(Module module) {
    ENTER(true);
    return destroy(state.modules, module);
}
EXPORT Result cuMemAlloc_v2(Address* address, size_t size) {
    ENTER(true);
    if (size == 0) return kInvalidValue;
    std::vector<char> block(size, '\xcd');
    char* begin = block.data();
    *address = reinterpret_cast<Address>(begin);
    state.memory.emplace(begin, std::move(block));
    return kSuccess;
}
EXPORT Result cuMemFree_v2(Address address) {
    ENTER(true);
    return state.memory.erase(reinterpret_cast<char*>(address)) ? kSuccess : kInvalidValue;
}
EXPORT Result cuMemHostAlloc(void** memory, size_t size, unsigned) {
    ENTER(true);
    std::vector<char> block(size, '\xcd');
    *memory = block.data();
    state.host.emplace(block.data(), std::move(block));
    return kSuccess;
}
EXPORT Result cuMemFreeHost(void* memory) {
    ENTER(true);
    return state.host.erase(memory) ? kSuccess : kInvalidValue;
}
EXPORT Result cuMemcpy2DAsync_v2(const Copy2D* copy, Stream stream) {
    ENTER(true);
    if (!state.streams.count(stream)) return kInvalidHandle;
    constexpr size_t kLargestPitch = 0x7fffffff;  // as the real one
    if (copy->source_pitch > kLargestPitch || copy->destination_pitch > kLargestPitch || copy->source_type != kMemoryHost || copy->destination_type != kMemoryDevice || copy->source_pitch < copy->width_bytes ||
        copy->destination_pitch < copy->width_bytes || !inside(copy->destination_device, (copy->rows - 1) * copy->destination_pitch + copy->width_bytes))
        return kInvalidValue;
    for (size_t y = 0; y < copy->rows; ++y)
        memcpy(reinterpret_cast<char*>(copy->destination_device) + y * copy->destination_pitch,
               static_cast<const char*>(copy->source_host) + y * copy->source_pitch, copy->width_bytes);
    return kSuccess;
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t size, Stream stream) {
    ENTER(true);
    if (!state.streams.count(stream)) return kInvalidHandle;
    if (!inside(to, size)) return kInvalidValue;
    memcpy(reinterpret_cast<char*>(to), from, size);
    return kSuccess;
}
EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Address from, size_t size, Stream stream) {
    ENTER(true);
    if (!state.streams.count(stream)) return kInvalidHandle;
    if (!inside(from, size)) return kInvalidValue;
    memcpy(to, reinterpret_cast<const char*>(from), size);
    return kSuccess;
}
EXPORT Result cuStreamCreate(Stream* stream, unsigned flags) {
    ENTER(true);
    if (flags != kStreamNonBlocking) return kInvalidValue;
    *stream = *state.streams.insert(new StreamObject).first;
    return kSuccess;
}
EXPORT Result cuStreamDestroy_v2(Stream stream) {
    ENTER(true);
    return destroy(state.streams, stream);
}
EXPORT Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
    ENTER(true);
    return state.streams.count(stream) && state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result cuEventCreate(Event* event, unsigned) {
    ENTER(true);
    *event = *state.events.insert(new EventObject).first;
    return kSuccess;
}
EXPORT Result cuEventDestroy_v2(Event event) {
    ENTER(true);
    return destroy(state.events, event);
}
EXPORT Result cuEventRecord(Event event, Stream stream) {
    ENTER(true);
    return (!stream || state.streams.count(stream)) && state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result cuEventQuery(Event event) {
    ENTER(true);
    return state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result cuEventSynchronize(Event event) {
    ENTER(true);
    return state.events.count(event) ? kSuccess : kInvalidHandle;
}
EXPORT Result cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, Stream stream, void** parameters, void** extra) {
    ENTER(true);
    if (!state.streams.count(stream) || !function) return kInvalidHandle;
    if (grid_x == 0 || grid_y == 0 || grid_z == 0 || !parameters || !parameters[0] || extra) return kInvalidValue;
    uint64_t first;
    memcpy(&first, parameters[0], sizeof first);
    char text[200];
    snprintf(text, sizeof text, "%s %ux%ux%u of %ux%ux%u, %u bytes, %llx", function->name.c_str(), grid_x, grid_y, grid_z, block_x, block_y, block_z,
             shared_bytes, static_cast<unsigned long long>(first));
    state.last_launch = text;
    return kSuccess;
}

}  // namespace exactvq::cuda
