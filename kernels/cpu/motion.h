// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of motion_rows.cpp, by Highway target. Only kernels.cpp needs them.
#ifndef EXACTVQ_KERNELS_CPU_MOTION_H
#define EXACTVQ_KERNELS_CPU_MOTION_H

#include "kernels/cpu/kernels.h"

namespace exactvq::cpu {

// `target` is one bit of Highway's target mask that this CPU supports.
MotionKernels motion_kernels(int64_t target);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_MOTION_H
