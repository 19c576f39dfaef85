// SPDX-License-Identifier: BSD-2-Clause
//
// ADM (detail loss metric) in integers: wavelet transform, decoupling of detail and additive impairment, masking thresholds, terms. One function a
// formula; what overflows wraps as the specification says (spec sections are named). Bands: a (approximation), h (vertical high-pass), v
// (horizontal high-pass), d (both); orientations are h, v, d in this order. Reference samples are o, those of main t.
#ifndef EXACTVQ_KERNELS_COMMON_ADM_H
#define EXACTVQ_KERNELS_COMMON_ADM_H

#include "kernels/common/platform.h"

namespace exactvq {

inline constexpr uint32_t kAdmScales = 4;
inline constexpr uint32_t kAdmOrientations = 3;
inline constexpr uint32_t kAdmMinSide = 17;

// One scale: sizes, the region that is scored, weights and shifts. All of it is computed once a session (host/adm_parameters.h).
struct AdmScale {
    uint32_t width = 0, height = 0;                     // of each band
    uint32_t left = 0, right = 0, top = 0, bottom = 0;  // scored samples; right and bottom exclusive
    uint32_t weight[3] = {};                            // fixed-point contrast sensitivity of h, v, d: 16 bits at scale 0 (2^-21, 2^-21, 2^-23), else 32 (2^-32)
    uint32_t term_shift[3] = {};                        // of each term of a numerator
    uint32_t row_shift = 0;                             // of a row's sum of a numerator, at least 1
    uint32_t den_term_shift = 0;                        // of each term of the denominator; 0 at scale 0
    uint32_t den_row_shift = 0;                         // of a row's sum of the denominator

    bool operator==(const AdmScale&) const = default;
};

// What the accumulators depend on besides the samples.
struct AdmParameters {
    AdmScale scale[kAdmScales];
    double gain_limit = 100.0;  // 1 .. 100
    bool skip_aim = false;      // the AIM accumulators stay 0
    bool skip_scale0 = false;   // the accumulators of scale 0 stay 0

    bool operator==(const AdmParameters&) const = default;
};

// Accumulators of a frame: sums of rows, each rounded once. The denominators are unsigned, the others signed.
enum AdmSum : uint32_t { kAdmDenominator = 0, kAdmDetail = 1, kAdmAdditive = 2 };
inline constexpr uint32_t kAdmWords = kAdmScales * 3 * kAdmOrientations;
EXACTVQ_HD constexpr uint32_t adm_word(uint32_t scale, AdmSum sum, uint32_t orientation) {
    return (scale * 3 + sum) * kAdmOrientations + orientation;
}

// ---- integers that wrap ----------------------------------------------------------------------------------------------

EXACTVQ_HD int32_t adm_i16(int64_t x) { return static_cast<int16_t>(static_cast<uint16_t>(x)); }
EXACTVQ_HD int32_t adm_i32(int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }
EXACTVQ_HD int64_t adm_i64(uint64_t x) { return static_cast<int64_t>(x); }
EXACTVQ_HD uint32_t adm_magnitude(int32_t x) { return x < 0 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(x); }

// ---- wavelet transform (spec 4) --------------------------------------------------------------------------------------

inline constexpr int32_t kAdmLow[4] = {15826, 27411, 7345, -4240};     // Daubechies-2, sum 46342
inline constexpr int32_t kAdmHigh[4] = {-4240, -7345, 27411, -15826};  // sum 0
inline constexpr int32_t kAdmLowSum = 46342;

// Index of tap 0..3 of output i in an input of n samples: mirrored without the edge in front, with it behind.
EXACTVQ_HD uint32_t adm_tap(uint32_t i, uint32_t tap, uint32_t n) {
    const uint32_t p = 2 * i + tap;  // one more than the index
    if (p == 0) return 1;
    return p - 1 >= n ? 2 * n - p : p - 1;
}

// Rounding of the two passes at scales 1 to 3. Scale 0 has its own: depth, and 16.
inline constexpr uint32_t kAdmVerticalShift[kAdmScales] = {0, 0, 16, 16};
inline constexpr uint32_t kAdmHorizontalShift[kAdmScales] = {16, 15, 16, 15};

EXACTVQ_HD int64_t adm_round_shift(int64_t x, uint32_t shift) { return (x + (shift ? int64_t{1} << (shift - 1) : 0)) >> shift; }

// Scale 0, vertical: samples s of `depth` bits around mid-grey. mid is 46342 * 2^(depth-1) for the low-pass, 0 for the high-pass.
EXACTVQ_HD int32_t adm_vertical0(const int32_t* filter, const uint32_t s[4], int64_t mid, uint32_t depth) {
    int64_t sum = -mid;
    for (int t = 0; t < 4; ++t) sum += static_cast<int64_t>(filter[t]) * s[t];
    return adm_i16(adm_round_shift(sum, depth));
}

// Everything else: 32-bit inputs, 64-bit sum.
EXACTVQ_HD int64_t adm_filter(const int32_t* filter, const int32_t x[4], uint32_t shift) {
    int64_t sum = 0;
    for (int t = 0; t < 4; ++t) sum += static_cast<int64_t>(filter[t]) * x[t];
    return adm_round_shift(sum, shift);
}

// ---- decoupling (spec 5) ---------------------------------------------------------------------------------------------

// True if the detail vectors (h, v) of reference and main point in directions less than a degree apart.
// `wide`: scales 1 to 3. At scale 0 products are of 32 bits, which the specified samples never exceed.
EXACTVQ_HD bool adm_same_angle(int32_t oh, int32_t ov, int32_t th, int32_t tv, bool wide) {
    const auto dot = [wide](int32_t a, int32_t b, int32_t c, int32_t d) {
        const int64_t p = int64_t{a} * c, q = int64_t{b} * d;
        if (!wide) return static_cast<double>(static_cast<float>(adm_i32(p + q)));
        if (p == q && p == int64_t{1} << 62) return 0x1p63;  // the one sum beyond 64 bits
        return static_cast<double>(static_cast<float>(p + q));
    };
    const double D = dot(oh, ov, th, tv), O = dot(oh, ov, oh, ov), T = dot(th, tv, th, tv);
    constexpr double kCosine = 0x1.ffd814p-1;  // binary32 of cos^2(1 degree)
    return D >= 0 && D * D >= (kCosine * O) * T;
}

EXACTVQ_HD uint32_t adm_bit_length(uint32_t x) {
    uint32_t n = 0;
    for (; x; x >>= 1) ++n;
    return n;
}

// t / o in units of 2^-15, between 0 and 1.
EXACTVQ_HD int32_t adm_ratio(int32_t o, int32_t t) {
    if (o == 0) return 32768;
    uint32_t m = adm_magnitude(o), e = 0;
    if (m >= 32768) {
        e = adm_bit_length(m) - 15;
        m = static_cast<uint32_t>((uint64_t{m} + (uint64_t{1} << (e - 1))) >> e);
    }
    const int64_t p = static_cast<int64_t>((1u << 30) / m) * t;
    const int64_t k = adm_round_shift(o < 0 ? -p : p, 15 + e);
    return static_cast<int32_t>(k < 0 ? 0 : k > 32768 ? 32768 : k);
}

// The part of t that restores detail of o. What is left, t - r, is the additive impairment.
EXACTVQ_HD int32_t adm_restored(int32_t o, int32_t t, bool same_angle, double gain_limit) {
    const int32_t k = adm_ratio(o, t);
    const int32_t r = static_cast<int32_t>((int64_t{k} * o + 16384) >> 15);
    if (!same_angle || k == 0 || o == 0) return r;
    const double enhanced = static_cast<double>(r) * gain_limit, limit = static_cast<double>(t);
    return static_cast<int32_t>((o > 0 ? enhanced < limit : enhanced > limit) ? enhanced : limit);
}

// ---- masking (spec 8.1) ----------------------------------------------------------------------------------------------

// Weighted sample u of the masking plane.
EXACTVQ_HD int32_t adm_weighted0(int32_t y, uint32_t weight, bool diagonal) {
    const int64_t p = static_cast<int64_t>(y) * static_cast<int64_t>(weight);
    return adm_i16(diagonal ? (p + 65535) >> 17 : (p + 16384) >> 15);
}
EXACTVQ_HD int32_t adm_weighted(int32_t y, uint32_t weight) { return adm_i32((static_cast<int64_t>(y) * static_cast<int64_t>(weight) + (1 << 27)) >> 28); }

// What it adds to the thresholds of its eight neighbours (1/30) and to its own (1/15).
EXACTVQ_HD int32_t adm_neighbour0(int32_t u) { return adm_i16((4369 * int64_t{adm_magnitude(u)} + 2048) >> 12); }
EXACTVQ_HD int32_t adm_centre0(int32_t u) { return adm_i16((8738 * int64_t{adm_magnitude(u)} + 2048) >> 12); }
// The constant is minus 2^31: rounded, less one.
EXACTVQ_HD int32_t adm_neighbour(int32_t u) { return adm_i32((143165577 * int64_t{adm_magnitude(u)} - (int64_t{1} << 31)) >> 32); }
EXACTVQ_HD int32_t adm_centre(int32_t u) { return adm_i32((286331153 * int64_t{adm_magnitude(u)} - (int64_t{1} << 31)) >> 32); }

// ---- terms (spec 7, 8.3) ---------------------------------------------------------------------------------------------

inline constexpr uint32_t kAdmThresholdShift0[3] = {10, 10, 12};
inline constexpr uint32_t kAdmSquareShift0[3] = {29, 29, 30};
inline constexpr uint32_t kAdmSquareShift = 30;

// What exceeds the threshold, at scale 0 from the sample X of the measured plane, else from its weighted value u.
EXACTVQ_HD int32_t adm_excess0(int32_t x, uint32_t weight, int32_t threshold, uint32_t shift) {
    const uint32_t weighted = adm_magnitude(x) * weight;
    const int32_t excess = adm_i32(weighted - (static_cast<uint32_t>(threshold) << shift));
    return excess > 0 ? excess : 0;
}
EXACTVQ_HD int32_t adm_excess(int32_t u, int32_t threshold) {
    const int32_t excess = adm_i32(adm_magnitude(u) - static_cast<uint32_t>(threshold));
    return excess > 0 ? excess : 0;
}

// Cube of an excess x >= 0, rounded twice. The square wraps at 32 bits, so that the term can be negative.
EXACTVQ_HD int64_t adm_term(int32_t x, uint32_t square_shift, uint32_t term_shift) {
    const int64_t square = adm_i32(adm_round_shift(int64_t{x} * x, square_shift));
    return adm_round_shift(square * x, term_shift);
}

inline constexpr uint32_t kAdmDenSquareShift[kAdmScales] = {0, 31, 30, 31};

// Term of the denominator, c a sample of the reference. Scale 0 cubes exactly; the others add 1 to the square.
EXACTVQ_HD uint64_t adm_den_term0(int32_t c) {
    const uint64_t m = adm_magnitude(c);
    return m * m * m;
}
EXACTVQ_HD uint64_t adm_den_term(int32_t c, uint32_t square_shift, uint32_t term_shift) {
    const uint64_t m = adm_magnitude(c);
    const uint64_t square = static_cast<uint32_t>((m * m + (uint64_t{1} << square_shift)) >> square_shift);  // fits, but for m = 2^31, which no picture has
    const uint64_t cube = square * m;
    return (cube + (term_shift ? uint64_t{1} << (term_shift - 1) : 0)) >> term_shift;
}

// Sums of a row, rounded once a row.
EXACTVQ_HD uint64_t adm_fold_den(uint64_t sum, uint32_t shift) { return (sum + (shift ? uint64_t{1} << (shift - 1) : 0)) >> shift; }
EXACTVQ_HD uint64_t adm_fold(uint64_t sum, uint32_t shift) { return static_cast<uint64_t>(adm_i64(sum + (uint64_t{1} << (shift - 1))) >> shift); }

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_ADM_H
