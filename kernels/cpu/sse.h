// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of sse.cpp, by Highway target. Only kernels.cpp needs them.
#ifndef EXACTVQ_KERNELS_CPU_SSE_H
#define EXACTVQ_KERNELS_CPU_SSE_H

#include "kernels/cpu/kernels.h"

namespace exactvq::cpu {

// `target` is one bit of Highway's target mask that this CPU supports.
SseKernels sse_kernels(int64_t target);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_SSE_H
