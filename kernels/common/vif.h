// SPDX-License-Identifier: BSD-2-Clause
//
// VIF (visual information fidelity) in integers and a few binary64 operations a sample: filters, local statistics, what a sample adds to the
// accumulators. One function a formula (sections are those of the specification). Both sides of a picture are at least kVifMinSide, so one reflection at
// the borders (mirror.h) is enough at every scale.
#ifndef EXACTVQ_KERNELS_COMMON_VIF_H
#define EXACTVQ_KERNELS_COMMON_VIF_H

#include "kernels/common/platform.h"

namespace exactvq {

inline constexpr uint32_t kVifScales = 4;
inline constexpr uint32_t kVifMinSide = 16;

// What the accumulators depend on besides the samples.
struct VifParameters {
    double gain_limit = 100.0;  // 1 .. 100
    bool skip_scale0 = false;   // the accumulators of scale 0 stay 0

    bool operator==(const VifParameters&) const = default;
};

// Accumulators of a frame, four for each scale, 64-bit integers. A sample of the reference with a variance of at least kVifNoise adds to the logarithms, any
// other one to the rest.
enum VifSum : uint32_t {
    kVifNumerator = 0,    // NL: logarithms of the numerator, in units of 1/2048
    kVifDenominator = 1,  // DL: those of the denominator
    kVifFlat = 2,         // C: number of samples of little variance
    kVifFlatMain = 3      // NN: variances of main at those
};
inline constexpr uint32_t kVifSums = 4;
inline constexpr uint32_t kVifWords = kVifScales * kVifSums;
EXACTVQ_HD constexpr uint32_t vif_word(uint32_t scale, VifSum sum) { return scale * kVifSums + sum; }

// ---- filters (1.2, 1.4, 1.5) -----------------------------------------------------------------------------------------

// Scale s filters its own planes with kernel s; the planes of scale s + 1 are those of scale s filtered with kernel s + 1, every second sample.
inline constexpr uint32_t kVifMaxHalf = 8;
EXACTVQ_HD constexpr uint32_t vif_half(uint32_t scale) { return kVifMaxHalf >> scale; }  // taps on either side of the middle

// Tap t, 0 .. 2 * vif_half(), of the symmetric kernel of a scale; their sum is 65536.
EXACTVQ_HD constexpr uint32_t vif_tap(uint32_t scale, uint32_t t) {
    constexpr uint16_t taps[kVifScales][kVifMaxHalf + 1] = {  // from the outermost to the middle
        {489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784}, {1244, 3663, 7925, 12590, 14692}, {3571, 16004, 26386}, {10904, 43728}};
    return taps[scale][t <= vif_half(scale) ? t : 2 * vif_half(scale) - t];
}

// The vertically filtered mean, or sample of the next scale: `sum` of taps times samples. Samples are 16-bit values from scale 1 on.
EXACTVQ_HD uint32_t vif_vertical_mean(uint32_t sum, uint32_t scale, uint32_t depth) {
    const uint32_t shift = scale == 0 ? depth : 16;
    return (sum + (1u << (shift - 1))) >> shift;
}

// The shift of vertically filtered products.
EXACTVQ_HD constexpr uint32_t vif_product_shift(uint32_t scale, uint32_t depth) { return scale == 0 ? 2 * (depth - 8) : 16; }

// A vertically filtered product of two samples: `sum` of taps times products.
EXACTVQ_HD uint32_t vif_vertical_product(uint64_t sum, uint32_t scale, uint32_t depth) {
    const uint32_t shift = vif_product_shift(scale, depth);
    return static_cast<uint32_t>(shift == 0 ? sum : (sum + (uint64_t{1} << (shift - 1))) >> shift);
}

// A horizontally filtered sample of the next scale.
EXACTVQ_HD uint32_t vif_horizontal_sample(uint32_t sum) { return (sum + 32768) >> 16; }

// Variance or covariance: `products` and the means `u` are horizontal sums of taps times vertical results. Wraps as specified.
EXACTVQ_HD int32_t vif_moment(uint64_t products, uint32_t u1, uint32_t u2) {
    const uint32_t mean_of_products = static_cast<uint32_t>((products + 32768) >> 16);
    const uint32_t product_of_means = static_cast<uint32_t>((uint64_t{u1} * u2 + 0x80000000u) >> 32);
    return static_cast<int32_t>(mean_of_products - product_of_means);
}

// ---- logarithm (1.3) -------------------------------------------------------------------------------------------------

// LOG(v) in units of 1/2048 of an integer v, 65536 <= v < 2^53: it looks at the exponent and the 15 leading bits of the mantissa. The exponent and 11 of those
// bits make a straight line from one power of two to the next; `excess` is what the specification's table has above that line, at most 177 (host/vif_log.h
// makes it).
inline constexpr uint32_t kVifLogEntries = 32768;
EXACTVQ_HD int32_t vif_log(const uint8_t* excess, double v) {
    const uint64_t bits = double_bits(v);
    return static_cast<int32_t>(bits >> 41) - (1023 << 11) + excess[(bits >> 37) & (kVifLogEntries - 1)];
}

// ---- what a sample adds (1.6) ----------------------------------------------------------------------------------------

inline constexpr int32_t kVifNoise = 131072;
inline constexpr int32_t kVifNoiseLog = 17 << 11;  // its LOG
inline constexpr double kVifEpsilon = 65536 * 1.0e-10;

struct VifTerms {
    int64_t sum[kVifSums] = {};
};

// `s1`, `s2`, `s12`: variances of reference and main, their covariance.
EXACTVQ_HD void vif_add(VifTerms& terms, int32_t s1, int32_t s2, int32_t s12, double gain_limit, const uint8_t* excess) {
    if (s2 < 0) s2 = 0;
    if (s1 < kVifNoise) {
        terms.sum[kVifFlat] += 1;
        terms.sum[kVifFlatMain] += s2;
        return;
    }
    const double variance = s1;
    terms.sum[kVifDenominator] += vif_log(excess, variance + kVifNoise) - kVifNoiseLog;
    if (s12 <= 0 || s2 == 0) return;
    double gain = s12 / (variance + kVifEpsilon);
    const double rest = s2 - gain * s12;  // of main's variance: what the reference does not explain
    // From here on integers, exact in binary64.
    const double noise = kVifNoise + (rest > 0 ? static_cast<int32_t>(rest) : 0);
    if (!(gain < gain_limit)) gain = gain_limit;
    const double signal = static_cast<double>(static_cast<int64_t>(gain * gain * variance));
    terms.sum[kVifNumerator] += vif_log(excess, signal + noise) - vif_log(excess, noise);
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_VIF_H
