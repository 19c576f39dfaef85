// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXACTVQ_KERNELS_CPU_DISPATCH_H
#define EXACTVQ_KERNELS_CPU_DISPATCH_H

#include "hwy/targets.h"

namespace exactvq::cpu {

// The function of a Highway target (HWY_AVX2, ...) in what HWY_EXPORT made, HWY_DISPATCH_TABLE(name).
template <class Function>
Function for_target(Function const* table, int64_t target) {
    hwy::ChosenTarget chosen;
    chosen.Update(target);
    return table[chosen.GetIndex()];
}

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_DISPATCH_H
