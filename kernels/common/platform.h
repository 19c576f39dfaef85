// SPDX-License-Identifier: BSD-2-Clause
//
// What the shared arithmetic may assume of every compiler that reads it: C++17, IEEE-754 binary32/binary64 with rounding to nearest,
// no contraction of a * b + c (-ffp-contract=off, -fmad=false) and correctly rounded division and square root.
#ifndef EXACTVQ_KERNELS_COMMON_PLATFORM_H
#define EXACTVQ_KERNELS_COMMON_PLATFORM_H

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define EXACTVQ_HD __host__ __device__ inline
#else
#define EXACTVQ_HD inline
#endif

namespace exactvq {

EXACTVQ_HD uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

EXACTVQ_HD float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

EXACTVQ_HD uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

EXACTVQ_HD double double_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_PLATFORM_H
