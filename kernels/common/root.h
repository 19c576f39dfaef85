// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXACTVQ_KERNELS_COMMON_ROOT_H
#define EXACTVQ_KERNELS_COMMON_ROOT_H

#include "kernels/common/platform.h"
#if defined(__AMDGCN__)
#include "kernels/common/amd_root.h"
#endif

namespace exactvq {

// Square root, correctly rounded.
EXACTVQ_HD float root(float x) {
#if defined(__CUDA_ARCH__) && defined(__CUDACC__)
    return __fsqrt_rn(x);
#elif defined(__CUDA_ARCH__)
    return __nvvm_sqrt_rn_f(x);
#elif defined(__AMDGCN__)
    return amd_root(x, [](float v) { return __builtin_amdgcn_sqrtf(v); });
#else
    return std::sqrt(x);
#endif
}
EXACTVQ_HD double root(double x) {
#if defined(__CUDA_ARCH__) && defined(__CUDACC__)
    return __dsqrt_rn(x);
#elif defined(__CUDA_ARCH__)
    return __nvvm_sqrt_rn_d(x);
#elif defined(__AMDGCN__)
    return amd_root(x, [](double v) { return __builtin_amdgcn_rsq(v); });
#else
    return std::sqrt(x);
#endif
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_ROOT_H
