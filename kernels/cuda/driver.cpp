// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cuda/driver.h"

#include <dlfcn.h>

#include "host/error.h"

namespace exactvq::cuda {

void Driver::Close::operator()(void* library) const { dlclose(library); }

Driver::Driver(const char* library) {
    // The driver keeps threads and handlers of its own, so its code stays in the process once it is there.
    library_.reset(dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
    if (!library_) {
        const char* reason = dlerror();
        throw Error(EXACTVQ_ERROR_DEVICE, "there is no NVIDIA driver (" + std::string(reason ? reason : library) + "): install it or use the CPU backend");
    }
    const auto find = [&](const char* symbol) {
        void* function = dlsym(library_.get(), symbol);
        if (function) return function;
        throw Error(EXACTVQ_ERROR_DEVICE, "the NVIDIA driver is too old, its " + std::string(library) + " has no " + symbol + ": update the driver");
    };
#define EXACTVQ_CUDA_OPEN(name_, symbol, parameters) \
    name_.name = #name_; \
    name_.function = reinterpret_cast<Result(*) parameters>(find(#symbol));
    EXACTVQ_CUDA_FUNCTIONS(EXACTVQ_CUDA_OPEN)
#undef EXACTVQ_CUDA_OPEN

    const Result result = attempt(cuInit, 0u);
    if (result == kNoDevice) throw Error(EXACTVQ_ERROR_DEVICE, "there is no NVIDIA GPU that this process may use: use the CPU backend");
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
