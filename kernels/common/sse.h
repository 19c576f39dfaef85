// SPDX-License-Identifier: BSD-2-Clause
//
// Squared differences of samples: exact for psnr, rounded to binary32 for float_psnr.
#ifndef EXACTVQ_KERNELS_COMMON_SSE_H
#define EXACTVQ_KERNELS_COMMON_SSE_H

#include "kernels/common/platform.h"

namespace exactvq {

// (a - b)^2 of two samples of at most 16 bits: at most 65535^2, which fits.
EXACTVQ_HD uint32_t squared_difference(uint32_t a, uint32_t b) {
    const uint32_t d = a > b ? a - b : b - a;
    return d * d;
}

// The same rounded to 24 significant bits (binary32, ties to even): the term of float_psnr in units of 1/q^2. Largest: 2^32 - 2^17.
EXACTVQ_HD uint32_t rounded_squared_difference(uint32_t a, uint32_t b) {
    const float d = static_cast<float>(a > b ? a - b : b - a);
    return static_cast<uint32_t>(d * d);
}

// Sums of float_psnr terms are exact, whatever their order, up to here; beyond, binary64 additions round and the order counts.
inline constexpr uint64_t kExactDoubleSum = uint64_t{1} << 53;

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_SSE_H
