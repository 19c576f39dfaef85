// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cuda/driver.h"

#include "kernels/gpu/errors.h"

namespace exactvq::cuda {

Driver::Driver(const char* library) : library_({&library, 1}) {
    if (!library_.is_open()) throw Error(EXACTVQ_ERROR_DEVICE, "there is no NVIDIA driver (" + library_.reason() + "): install it or use the CPU backend");
    const auto find = [&](const char* symbol) {
        if (void* function = library_.find(symbol)) return function;
        throw Error(EXACTVQ_ERROR_DEVICE, "the NVIDIA driver is too old, its " + library_.name() + " has no " + symbol + ": update the driver");
    };
#define EXACTVQ_CUDA_OPEN(name_, symbol, parameters) \
    name_.name = #name_; \
    name_.function = reinterpret_cast<Result(*) parameters>(find(#symbol));
    EXACTVQ_CUDA_FUNCTIONS(EXACTVQ_CUDA_OPEN)
#undef EXACTVQ_CUDA_OPEN

    const Result result = attempt(cuInit, 0u);
    if (result == kNoDevice) gpu::fail_without_gpu("NVIDIA");
    if (result != kSuccess) fail(cuInit.name, result);
    call(cuDriverGetVersion, &version_);
}

void Driver::fail(const char* call, Result result, const std::string& more) const {
    const char *name = nullptr, *text = nullptr;
    if (attempt(cuGetErrorName, result, &name) != kSuccess || !name) name = nullptr;
    if (attempt(cuGetErrorString, result, &text) != kSuccess || !text) text = nullptr;
    std::string sentence = std::string(call) + " failed: " + (name ? name : "CUDA error " + std::to_string(static_cast<int>(result)));
    if (text) sentence += std::string(" (") + text + ")";
    if (!more.empty()) sentence += ": " + more;
    throw Error(result == kOutOfMemory ? EXACTVQ_ERROR_NO_MEMORY : EXACTVQ_ERROR_DEVICE, sentence);
}

}  // namespace exactvq::cuda
