// SPDX-License-Identifier: BSD-2-Clause
//
// What runtimes of all vendors find wrong.
#ifndef EXACTVQ_KERNELS_GPU_ERRORS_H
#define EXACTVQ_KERNELS_GPU_ERRORS_H

#include <cstddef>
#include <string>

#include "host/error.h"
#include "kernels/gpu/kernel_list.h"

namespace exactvq::gpu {

// vendor: "NVIDIA"
[[noreturn]] inline void fail_without_gpu(const std::string& vendor) {
    throw Error(EXACTVQ_ERROR_DEVICE, "there is no " + vendor + " GPU that this process may use: use the CPU backend");
}

inline void require_gpu(const std::string& vendor, int ordinal, int count) {
    if (count <= 0) fail_without_gpu(vendor);
    if (ordinal >= 0 && ordinal < count) return;
    throw Error(EXACTVQ_ERROR_ARGUMENT, "there is no " + vendor + " GPU " + std::to_string(ordinal) + ": this process may use " + std::to_string(count) +
                                            (count == 1 ? ", which is 0" : ", numbered from 0"));
}

// gpu: its name and architecture
[[noreturn]] inline void fail_without_device_memory(const std::string& gpu, size_t bytes) {
    throw Error(EXACTVQ_ERROR_NO_MEMORY, "out of memory on the GPU (" + gpu + "): " + std::to_string(bytes) + " bytes were asked for; ask for fewer frames in flight");
}

[[noreturn]] inline void fail_without_pinned_memory(size_t bytes) {
    throw Error(EXACTVQ_ERROR_NO_MEMORY, "out of page-locked memory: " + std::to_string(bytes) + " bytes were asked for");
}

inline void require_arguments_of(const KernelInfo& kernel, size_t bytes) {
    if (bytes != kernel.arguments) throw Error(EXACTVQ_ERROR_DEVICE, std::string(kernel.name) + " was launched with arguments of another kernel");
}

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_ERRORS_H
