// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel tables in plain C++, for processors and compilers without a SIMD target and for `-cpuflags 0`.
#ifndef EXACTVQ_KERNELS_CPU_PLAIN_H
#define EXACTVQ_KERNELS_CPU_PLAIN_H

#include "kernels/cpu/kernels.h"

namespace exactvq::cpu {

SseKernels plain_sse_kernels();
PsnrHvsKernels plain_psnr_hvs_kernels();
MotionKernels plain_motion_kernels();

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_PLAIN_H
