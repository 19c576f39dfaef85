// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/hip/driver.h"

#include <cctype>
#include <memory>
#include <string_view>

#include "kernels/gpu/errors.h"

namespace exactvq::hip {

Driver::Driver(std::span<const char* const> libraries) : library_(libraries) {
    if (!library_.is_open()) throw Error(EXACTVQ_ERROR_DEVICE, "there is no HIP runtime (" + library_.reason() + "): install ROCm or use the CPU backend");
    const auto find = [&](const char* symbol) {
        if (void* function = library_.find(symbol)) return function;
        throw Error(EXACTVQ_ERROR_DEVICE, "the HIP runtime is too old, its " + library_.name() + " has no " + symbol + ": install a newer ROCm");
    };
#define EXACTVQ_HIP_OPEN(name_, parameters) \
    name_.name = #name_; \
    name_.function = reinterpret_cast<Result(*) parameters>(find(#name_));
    EXACTVQ_HIP_FUNCTIONS(EXACTVQ_HIP_OPEN)
#undef EXACTVQ_HIP_OPEN
    error_name_ = reinterpret_cast<const char* (*)(Result)>(find("hipGetErrorName"));
    error_text_ = reinterpret_cast<const char* (*)(Result)>(find("hipGetErrorString"));
    void* properties = library_.find("hipGetDevicePropertiesR0600");  // since ROCm 6
    properties_ = reinterpret_cast<Result (*)(Properties*, int)>(properties ? properties : find("hipGetDeviceProperties"));

    const Result result = attempt(hipInit, 0u);
    if (result == kNoDevice || result == kInvalidDevice) gpu::fail_without_gpu("AMD");
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

std::string Driver::sentence(const char* call, Result result) const {
    const char *name = error_name_(result), *text = error_text_(result);
    std::string sentence = std::string(call) + " failed: " + (name ? name : "HIP error " + std::to_string(static_cast<int>(result)));
    if (text) sentence += std::string(" (") + text + ")";
    return sentence;
}

void Driver::fail(const char* call, Result result) const {
    throw Error(result == kOutOfMemory ? EXACTVQ_ERROR_NO_MEMORY : EXACTVQ_ERROR_DEVICE, sentence(call, result));
}

}  // namespace exactvq::hip
