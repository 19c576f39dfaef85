// SPDX-License-Identifier: BSD-2-Clause
//
// A sequential binary32 sum of non-negative terms, S = S + t for each t in order, computed from pieces that know only the binade of S.
//
// Let S = m * u with 2^23 <= m < 2^24. While the sum stays in its binade, adding t moves m by a whole number that depends on t and,
// in ties only, on whether m is odd. So a run of terms is a map from that one bit to an increment:
//     even = bits(E) - bits(B),      E = the run added to B,     B  = the float with S's exponent and mantissa 0 (even)
//     odd  = bits(O) - bits(B'),     O = the run added to B',    B' = the next float (odd)
// The map gives the sequential result exactly if m + increment < 2^24. Otherwise some step left the binade: add the run term by term.
#ifndef EXACTVQ_KERNELS_COMMON_ORDERED_SUM_H
#define EXACTVQ_KERNELS_COMMON_ORDERED_SUM_H

#include "kernels/common/platform.h"

namespace exactvq {

struct OrderedSumMap {
    uint32_t even, odd;  // increments of m; 2^23 and more always means that the binade was left
};

inline constexpr uint32_t kFloatMantissa = 0x007fffffu;
inline constexpr uint32_t kFloatExponent = 0x7f800000u;

// False for 0, subnormals, infinity and NaN: there is no binade to map in, add term by term.
EXACTVQ_HD bool has_binade(float sum) {
    const uint32_t exponent = float_bits(sum) & kFloatExponent;
    return exponent != 0 && exponent != kFloatExponent;
}

EXACTVQ_HD OrderedSumMap ordered_sum_map(float sum, const float* terms, uint32_t count, uint32_t stride) {
    const uint32_t base = float_bits(sum) & kFloatExponent;
    float even = float_from_bits(base), odd = float_from_bits(base | 1);
    for (uint32_t i = 0; i < count; ++i) {
        even = even + terms[static_cast<size_t>(i) * stride];
        odd = odd + terms[static_cast<size_t>(i) * stride];
    }
    return {float_bits(even) - base, float_bits(odd) - (base | 1)};
}

// Applies a map made for the binade of `sum`. False (and `sum` unchanged) if a step of the run left the binade.
EXACTVQ_HD bool apply_ordered_sum_map(float& sum, const OrderedSumMap& map) {
    const uint32_t bits = float_bits(sum);
    const uint32_t increment = bits & 1 ? map.odd : map.even;
    if (increment > kFloatMantissa || (bits & kFloatMantissa) + increment > kFloatMantissa) return false;
    sum = float_from_bits(bits + increment);
    return true;
}

// First `a`, then `c`, both made for the same binade. Increments saturate, so that "left the binade" is never lost.
EXACTVQ_HD OrderedSumMap compose(const OrderedSumMap& a, const OrderedSumMap& c) {
    const uint32_t limit = kFloatMantissa + 1;
    OrderedSumMap r;
    r.even = a.even >= limit ? limit : a.even + (a.even & 1 ? c.odd : c.even);
    r.odd = a.odd >= limit ? limit : a.odd + (a.odd & 1 ? c.even : c.odd);
    if (r.even > limit) r.even = limit;
    if (r.odd > limit) r.odd = limit;
    return r;
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_ORDERED_SUM_H
