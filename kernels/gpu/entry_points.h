// SPDX-License-Identifier: BSD-2-Clause
//
// Defines the entry points of all kernels, for the Platform of the file that includes it, with EXACTVQ_BLOCK(K) and EXACTVQ_PARAMETER as the attributes of a kernel
// and of its arguments.
#include "kernels/gpu/kernel_list.h"

namespace exactvq::gpu {

#define EXACTVQ_ENTRY_POINT(K) \
    static_assert(K::kThreads % 64 == 0 && K::kThreads <= 1024 && sizeof(K::Arguments) <= 4096 && sizeof(K::Shared<Platform>) <= 48 * 1024); \
    extern "C" __global__ void EXACTVQ_BLOCK(K) exactvq_##K(EXACTVQ_PARAMETER K::Arguments arguments) { \
        __shared__ K::Shared<Platform> shared; \
        K::run<Platform>(arguments, shared); \
    }
EXACTVQ_GPU_KERNELS(EXACTVQ_ENTRY_POINT)

}  // namespace exactvq::gpu
