// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of psnr_hvs.cpp, by Highway target. Only kernels.cpp needs them.
#ifndef EXACTVQ_KERNELS_CPU_PSNR_HVS_H
#define EXACTVQ_KERNELS_CPU_PSNR_HVS_H

#include "kernels/cpu/kernels.h"

namespace exactvq::cpu {

// `target` is one bit of Highway's target mask that this CPU supports.
PsnrHvsKernels psnr_hvs_kernels(int64_t target);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_PSNR_HVS_H
