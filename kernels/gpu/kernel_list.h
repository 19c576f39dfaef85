// SPDX-License-Identifier: BSD-2-Clause
//
// All GPU kernels. Entry points, tables of handles and tests are made from this list.
#ifndef EXACTVQ_KERNELS_GPU_KERNEL_LIST_H
#define EXACTVQ_KERNELS_GPU_KERNEL_LIST_H

#include "kernels/common/gpu_adm.h"
#include "kernels/common/gpu_motion.h"
#include "kernels/common/gpu_psnr_hvs.h"
#include "kernels/common/gpu_sse.h"
#include "kernels/common/gpu_vif.h"

// clang-format off
#define EXACTVQ_GPU_KERNELS(X) \
    X(SseKernel) X(RoundedSseRowsKernel) X(RoundedSseSumKernel) \
    X(AdmScale0Kernel) X(AdmScale1Kernel) X(AdmScale2Kernel) X(AdmScale3Kernel) X(AdmFoldKernel) \
    X(PsnrHvsTermsKernel) X(PsnrHvsForecastKernel) X(PsnrHvsMapsKernel) X(PsnrHvsSumKernel) \
    X(VifScale0Kernel) X(VifDeepScale0Kernel) X(VifScale1Kernel) X(VifScale2Kernel) X(VifScale3Kernel) X(VifFoldKernel) \
    X(MotionKernel) X(DeepMotionKernel)
// clang-format on

namespace exactvq::gpu {

enum class KernelId : uint32_t {
#define EXACTVQ_GPU_KERNEL_ID(K) K,
    EXACTVQ_GPU_KERNELS(EXACTVQ_GPU_KERNEL_ID)
#undef EXACTVQ_GPU_KERNEL_ID
    kCount
};

struct KernelInfo {
    const char* name;  // of the entry point
    uint32_t threads;  // of a block
    size_t arguments;  // bytes
};

inline constexpr KernelInfo kKernels[] = {
#define EXACTVQ_GPU_KERNEL_INFO(K) {"exactvq_" #K, K::kThreads, sizeof(K::Arguments)},
    EXACTVQ_GPU_KERNELS(EXACTVQ_GPU_KERNEL_INFO)
#undef EXACTVQ_GPU_KERNEL_INFO
};

inline const KernelInfo& kernel_info(KernelId id) { return kKernels[static_cast<uint32_t>(id)]; }

// KernelId of a kernel's type.
template <class Kernel>
struct KernelIdOf;
#define EXACTVQ_GPU_KERNEL_ID_OF(K) \
    template <> \
    struct KernelIdOf<K> { static constexpr KernelId value = KernelId::K; };
EXACTVQ_GPU_KERNELS(EXACTVQ_GPU_KERNEL_ID_OF)
#undef EXACTVQ_GPU_KERNEL_ID_OF

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_KERNEL_LIST_H
