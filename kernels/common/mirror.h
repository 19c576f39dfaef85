// SPDX-License-Identifier: BSD-2-Clause
//
// Borders of vif and motion: mirrored without repeating the edge sample.
#ifndef EXACTVQ_KERNELS_COMMON_MIRROR_H
#define EXACTVQ_KERNELS_COMMON_MIRROR_H

#include "kernels/common/platform.h"

namespace exactvq {

// Index of a sample up to n - 1 outside of n samples.
EXACTVQ_HD uint32_t mirrored(int32_t i, uint32_t n) {
    const int32_t last = static_cast<int32_t>(n) - 1;
    return static_cast<uint32_t>(i < 0 ? -i : i > last ? 2 * last - i : i);
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_MIRROR_H
