// SPDX-License-Identifier: BSD-2-Clause
//
// Entry points of all kernels, for AMD GPUs. (By nvcc too: tests/hip runs them and HIP's host code on NVIDIA GPUs.)
#include "kernels/gpu/kernel_list.h"
#if defined(__CUDACC__)
#include "kernels/cuda/platform.h"
#else
#include "kernels/hip/platform.h"
#endif

namespace exactvq::gpu {

#if defined(__CUDACC__)
using Platform = CudaPlatform;
#define EXACTVQ_BLOCK(K) __launch_bounds__(K::kThreads, K::kBlocks)
#define EXACTVQ_PARAMETER const __grid_constant__
#else
using Platform = HipPlatform<__AMDGCN_WAVEFRONT_SIZE>;
#define EXACTVQ_BLOCK(K) __attribute__((amdgpu_flat_work_group_size(K::kThreads, K::kThreads), amdgpu_waves_per_eu(1)))
#define EXACTVQ_PARAMETER const
#endif

#define EXACTVQ_ENTRY_POINT(K) \
    static_assert(K::kThreads % 64 == 0 && K::kThreads <= 1024 && sizeof(K::Arguments) <= 4096 && sizeof(K::Shared<Platform>) <= 48 * 1024); \
    extern "C" __global__ void EXACTVQ_BLOCK(K) exactvq_##K(EXACTVQ_PARAMETER K::Arguments arguments) { \
        __shared__ K::Shared<Platform> shared; \
        K::run<Platform>(arguments, shared); \
    }
EXACTVQ_GPU_KERNELS(EXACTVQ_ENTRY_POINT)

}  // namespace exactvq::gpu
