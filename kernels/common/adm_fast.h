// SPDX-License-Identifier: BSD-2-Clause
//
// The formulas of adm.h as GPUs compute them: no division, no loops, 32 bits where they suffice. Equal to adm.h for every argument that samples can bring
// (tests/unit/common/adm_test.cpp).
#ifndef EXACTVQ_KERNELS_COMMON_ADM_FAST_H
#define EXACTVQ_KERNELS_COMMON_ADM_FAST_H

#include "kernels/common/adm.h"

namespace exactvq {

// The limit of enhancement, as an integer where it is one.
struct AdmGain {
    double limit = 100.0;
    uint32_t factor = 100;  // 0: not an integer
};
inline AdmGain make_adm_gain(double limit) { return {limit, limit == static_cast<double>(static_cast<uint32_t>(limit)) ? static_cast<uint32_t>(limit) : 0}; }

// kAdmLow or kAdmHigh applied to four values, in the values' type (unsigned: modulo 2^32). Scalars, because device code cannot index arrays of the host.
template <bool kHigh, class T>
EXACTVQ_HD T adm_taps(const T x[4]) {
    constexpr int32_t f0 = kHigh ? kAdmHigh[0] : kAdmLow[0], f1 = kHigh ? kAdmHigh[1] : kAdmLow[1], f2 = kHigh ? kAdmHigh[2] : kAdmLow[2],
                      f3 = kHigh ? kAdmHigh[3] : kAdmLow[3];
    return static_cast<T>(f0) * x[0] + static_cast<T>(f1) * x[1] + static_cast<T>(f2) * x[2] + static_cast<T>(f3) * x[3];
}

// adm_vertical0() in 32 bits that wrap: the complete value fits.
template <bool kHigh>
EXACTVQ_HD int32_t adm_vertical0_fast(const uint32_t s[4], uint32_t depth) {
    const uint32_t half = 1u << (depth - 1), mid = kHigh ? 0 : static_cast<uint32_t>(kAdmLowSum) * half;
    return static_cast<int16_t>(static_cast<int32_t>(adm_taps<kHigh>(s) - mid + half) >> depth);
}

// adm_filter() with a shift that is known.
template <bool kHigh, uint32_t kShift>
EXACTVQ_HD int32_t adm_filter_fast(const int32_t x[4]) {
    const int64_t wide[4] = {x[0], x[1], x[2], x[3]};
    return adm_i32(adm_round_shift(adm_taps<kHigh>(wide), kShift));
}

// Decided in binary32 where that is beyond doubt: its dot products are off by less than 4 * 2^-24 of sqrt(O T), both sides of the comparison together by
// less than 1.5e-6.
EXACTVQ_HD bool adm_same_angle_fast(int32_t oh, int32_t ov, int32_t th, int32_t tv, bool wide) {
    float D, O, T;
    if (wide) {
        const float a = static_cast<float>(oh), b = static_cast<float>(ov), c = static_cast<float>(th), d = static_cast<float>(tv);
        D = a * c + b * d;
        O = a * a + b * b;
        T = c * c + d * d;
    } else {
        D = static_cast<float>(oh * th + ov * tv);
        O = static_cast<float>(oh * oh + ov * ov);
        T = static_cast<float>(th * th + tv * tv);
    }
    const float square = D * D, limit = (O * 0x1.ffd814p-1f) * T;
    if (D < 0) return false;
    if (square >= limit * 1.000004f) return true;
    if (square < limit * 0.999996f) return false;
    return adm_same_angle(oh, ov, th, tv, wide);
}

// 2^30 / m for m of 16384 to 32768: the rounded quotient, one less where it was rounded up.
EXACTVQ_HD uint32_t adm_reciprocal_fast(uint32_t m) {
    const uint32_t q = static_cast<uint32_t>(1073741824.0f / static_cast<float>(m));
    return q * m > (1u << 30) ? q - 1 : q;
}

// adm_restored(). In magnitudes: m of the reference, t of main where it has the reference's sign, else 0. Below 16384 the ratio and its roundings come to min(t, m).
EXACTVQ_HD int32_t adm_restored_fast(int32_t o, int32_t t, bool same_angle, const AdmGain& gain) {
    const uint32_t sign = static_cast<uint32_t>(o >> 31), m = (static_cast<uint32_t>(o) ^ sign) - sign;
    const uint32_t turned = static_cast<uint32_t>(t) ^ sign, tp = static_cast<int32_t>(turned) < 0 ? 0 : turned - sign;
    uint32_t r;
    if (m < 16384) {
        r = tp < m ? tp : m;
    } else {
        // Bits of m above 15, from the exponent of its float; where that rounds up to a power of two, so does m to 15 bits, and the ratio is the same.
        const uint32_t exponent = float_bits(static_cast<float>(m)) >> 23, e = exponent > 141 ? exponent - 141 : 0, half = (1u << e) >> 1;
        const uint64_t p = static_cast<uint64_t>(adm_reciprocal_fast((m + half) >> e)) * tp;
        const uint64_t wide_k = (p + (uint64_t{16384} << e)) >> (15 + e);
        const uint32_t k = wide_k > 32768 ? 32768 : static_cast<uint32_t>(wide_k);
        // Half up in the sign of o.
        r = static_cast<uint32_t>((static_cast<uint64_t>(k) * m + 16384 + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(sign)))) >> 15);
    }
    if (same_angle) {
        if (gain.factor) {
            const uint64_t enhanced = static_cast<uint64_t>(r) * gain.factor;
            r = enhanced < tp ? static_cast<uint32_t>(enhanced) : tp;
        } else {
            const double enhanced = static_cast<double>(r) * gain.limit, limit = static_cast<double>(tp);
            r = static_cast<uint32_t>(enhanced < limit ? enhanced : limit);
        }
    }
    return static_cast<int32_t>((r ^ sign) - sign);
}

// Scale 0 in 32 bits.
EXACTVQ_HD int32_t adm_weighted0_fast(int32_t y, uint32_t weight, bool diagonal) {
    const int32_t p = y * static_cast<int32_t>(weight);
    return static_cast<int16_t>(diagonal ? (p + 65535) >> 17 : (p + 16384) >> 15);
}
EXACTVQ_HD int32_t adm_neighbour0_fast(int32_t u) { return static_cast<int16_t>((4369 * (u < 0 ? -u : u) + 2048) >> 12); }
EXACTVQ_HD int32_t adm_centre0_fast(int32_t u) { return static_cast<int16_t>((8738 * (u < 0 ? -u : u) + 2048) >> 12); }

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_ADM_FAST_H
