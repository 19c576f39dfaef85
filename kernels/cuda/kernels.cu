// SPDX-License-Identifier: BSD-2-Clause
//
// Entry points of all kernels.
#include "kernels/cuda/platform.h"
#include "kernels/gpu/kernel_list.h"

namespace exactvq::gpu {

#if defined(__CUDACC__)
#define EXACTVQ_PARAMETER const __grid_constant__  // read in place, whatever a kernel does with its address
#else
#define EXACTVQ_PARAMETER const
#endif

#define EXACTVQ_ENTRY_POINT(K) \
    static_assert(K::kThreads % 64 == 0 && K::kThreads <= 1024 && sizeof(K::Arguments) <= 4096 && sizeof(K::Shared<CudaPlatform>) <= 48 * 1024); \
    extern "C" __global__ void __launch_bounds__(K::kThreads, K::kBlocks) exactvq_##K(EXACTVQ_PARAMETER K::Arguments arguments) { \
        __shared__ K::Shared<CudaPlatform> shared; \
        K::run<CudaPlatform>(arguments, shared); \
    }
EXACTVQ_GPU_KERNELS(EXACTVQ_ENTRY_POINT)

}  // namespace exactvq::gpu
