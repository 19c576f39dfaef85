// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/hip/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "host/error.h"

namespace exactvq::hip {

void Driver::Close::operator()(void* library) const { dlclose(library); }

Driver::Driver(std::span<const char* const> libraries) {
    std::string reason, found;
    for (const char* name : libraries) {
        // The runtime keeps threads and handlers of its own, so its code stays in the process once it is there.
        library_.reset(dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
        found = name;
        if (library_) break;
        const char* text = dlerror();
        if (reason.empty()) reason = text ? text : name;
    }
    if (!library_) throw Error(EXACTVQ_ERROR_DEVICE, "there is no HIP runtime (" + reason + "): install ROCm or use the CPU backend");
    const auto find = [&](const char* symbol) {
        void* function = dlsym(library_.get(), symbol);
        if (function) return function;
        throw Error(EXACTVQ_ERROR_DEVICE, "the HIP runtime is too old, its " + found + " has no " + symbol + ": install a newer ROCm");
    };
#define EXACTVQ_HIP_OPEN(name_, parameters) \
    name_.name = #name_; \
    name_.function = reinterpret_cast<Result(*) parameters>(find(#name_));
    EXACTVQ_HIP_FUNCTIONS(EXACTVQ_HIP_OPEN)
#undef EXACTVQ_HIP_OPEN
    error_name_ = reinterpret_cast<const char* (*)(Result)>(find("hipGetErrorName"));
    error_text_ = reinterpret_cast<const char* (*)(Result)>(find("hipGetErrorString"));
    void* properties = dlsym(library_.get(), "hipGetDevicePropertiesR0600");  // since ROCm 6
    properties_ = reinterpret_cast<Result (*)(Properties*, int)>(properties ? properties : find("hipGetDeviceProperties"));

    const Result result = attempt(hipInit, 0u);
    if (result == kNoDevice || result == kInvalidDevice) throw Error(EXACTVQ_ERROR_DEVICE, "there is no AMD GPU that this process may use: use the CPU backend");
    if (result != kSuccess) fail(hipInit.name, result);
}

std::string Driver::architecture(int device) const {
    const auto properties = std::make_unique<Properties>();
    if (properties_(properties.get(), device) != kSuccess) return {};
    const std::string_view bytes(properties->bytes, sizeof properties->bytes);
    for (size_t at = bytes.find("gfx"); at != std::string_view::npos; at = bytes.find("gfx", at + 1)) {
        const std::string_view name = bytes.substr(at, bytes.find('\0', at) - at);
        if (name.size() >= 6 && std::isdigit(static_cast<unsigned char>(name[3]))) return std::string(name);
    }
    return {};
}

void Driver::fail(const char* call, Result result) const {
    const char *name = error_name_(result), *text = error_text_(result);
    std::string sentence = std::string(call) + " failed: " + (name ? name : "HIP error " + std::to_string(static_cast<int>(result)));
    if (text) sentence += std::string(" (") + text + ")";
    throw Error(result == kOutOfMemory ? EXACTVQ_ERROR_NO_MEMORY : EXACTVQ_ERROR_DEVICE, sentence);
}

}  // namespace exactvq::hip
