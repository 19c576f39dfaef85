// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXACTVQ_KERNELS_COMMON_QUOTIENT_H
#define EXACTVQ_KERNELS_COMMON_QUOTIENT_H

#include "kernels/common/platform.h"
#if defined(__AMDGCN__)
#include "kernels/common/amd_quotient.h"
#endif

namespace exactvq {

// Correctly rounded quotient of positive numbers between 2^-200 and 2^200. (Binary32 is divided with `/` everywhere.)
EXACTVQ_HD double quotient(double a, double b) {
#if defined(__AMDGCN__)
    return amd_quotient(a, b, [](double v) { return __builtin_amdgcn_rcp(v); });
#else
    return a / b;
#endif
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_QUOTIENT_H
