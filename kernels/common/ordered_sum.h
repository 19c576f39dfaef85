// SPDX-License-Identifier: BSD-2-Clause
//
// A sequential floating-point sum of non-negative terms, S = S + t for each t in order, computed from pieces that know only the binade of S.
//
// Let S = m * u with 2^23 <= m < 2^24 (binary32; 2^52 and 2^53 in binary64). While the sum stays in its binade, adding t moves m by a whole number that depends
// on t and, in ties only, on whether m is odd. So a run of terms is a map from that one bit to an increment:
//     even = bits(E) - bits(B),      E = the run added to B,     B  = the float with S's exponent and mantissa 0 (even)
//     odd  = bits(O) - bits(B'),     O = the run added to B',    B' = the next float (odd)
// The map gives the sequential result exactly if m + increment < 2^24. Otherwise some step left the binade: add the run term by term.
#ifndef EXACTVQ_KERNELS_COMMON_ORDERED_SUM_H
#define EXACTVQ_KERNELS_COMMON_ORDERED_SUM_H

#include "kernels/common/platform.h"

namespace exactvq {

template <class Float>
struct BasicOrderedSumMap {
    typename FloatFields<Float>::Bits even, odd;  // increments of m; 2^23 (2^52) and more always means that the binade was left
};
using OrderedSumMap = BasicOrderedSumMap<float>;
using DoubleOrderedSumMap = BasicOrderedSumMap<double>;

// False for 0, subnormals, infinity and NaN: there is no binade to map in, add term by term.
template <class Float>
EXACTVQ_HD bool has_binade(Float sum) {
    using Fields = FloatFields<Float>;
    const typename Fields::Bits exponent = Fields::bits(sum) & Fields::kExponent;
    return exponent != 0 && exponent != Fields::kExponent;
}

// A run of terms on its way to a map for the binade of `sum`.
template <class Float>
class OrderedSumRun {
    using Fields = FloatFields<Float>;

public:
    EXACTVQ_HD explicit OrderedSumRun(Float sum) : base_(Fields::bits(sum) & Fields::kExponent), even_(Fields::value(base_)), odd_(Fields::value(base_ | 1)) {}

    EXACTVQ_HD void add(Float term) {
        even_ = even_ + term;
        odd_ = odd_ + term;
    }

    EXACTVQ_HD BasicOrderedSumMap<Float> map() const { return {Fields::bits(even_) - base_, Fields::bits(odd_) - (base_ | 1)}; }

private:
    const typename Fields::Bits base_;
    Float even_, odd_;
};

template <class Float>
EXACTVQ_HD BasicOrderedSumMap<Float> ordered_sum_map(Float sum, const Float* terms, uint32_t count, uint32_t stride) {
    OrderedSumRun<Float> run(sum);
    for (uint32_t i = 0; i < count; ++i) run.add(terms[static_cast<size_t>(i) * stride]);
    return run.map();
}

// Applies a map made for the binade of `sum`. False (and `sum` unchanged) if a step of the run left the binade.
template <class Float>
EXACTVQ_HD bool apply_ordered_sum_map(Float& sum, const BasicOrderedSumMap<Float>& map) {
    using Fields = FloatFields<Float>;
    const typename Fields::Bits bits = Fields::bits(sum), increment = bits & 1 ? map.odd : map.even;
    if (increment > Fields::kMantissa || (bits & Fields::kMantissa) + increment > Fields::kMantissa) return false;
    sum = Fields::value(bits + increment);
    return true;
}

// First `a`, then `c`, both made for the same binade. Increments saturate, so that "left the binade" is never lost.
template <class Float>
EXACTVQ_HD BasicOrderedSumMap<Float> compose(const BasicOrderedSumMap<Float>& a, const BasicOrderedSumMap<Float>& c) {
    constexpr typename FloatFields<Float>::Bits limit = FloatFields<Float>::kMantissa + 1;
    BasicOrderedSumMap<Float> r;
    r.even = a.even >= limit ? limit : a.even + (a.even & 1 ? c.odd : c.even);
    r.odd = a.odd >= limit ? limit : a.odd + (a.odd & 1 ? c.even : c.odd);
    if (r.even > limit) r.even = limit;
    if (r.odd > limit) r.odd = limit;
    return r;
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_ORDERED_SUM_H
