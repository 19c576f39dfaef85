// SPDX-License-Identifier: BSD-2-Clause
//
// Correctly rounded square roots from the approximations that AMD GPUs have: v_sqrt_f32 (one unit in the last place off at most) and v_rsq_f64 (2^29 units).
// The functions take the approximation as a parameter, so that tests try bad ones.
#ifndef EXACTVQ_KERNELS_COMMON_AMD_ROOT_H
#define EXACTVQ_KERNELS_COMMON_AMD_ROOT_H

#include "kernels/common/platform.h"

namespace exactvq {

EXACTVQ_HD float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
EXACTVQ_HD double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// The root s of x, given one that is at most one unit u in the last place off: s is right if and only if s * (s - u) < x <= s * (s + u) (Tuckerman). Signs
// of a * b - c survive the rounding of a fused multiply-add.
template <class Float>
EXACTVQ_HD Float repaired_root(Float x, Float s) {
    using Fields = FloatFields<Float>;
    const Float below = Fields::value(Fields::bits(s) - 1), above = Fields::value(Fields::bits(s) + 1);
    if (fused(-below, s, x) <= 0) return below;
    return fused(-above, s, x) > 0 ? above : s;
}

// Of 0 and of positive numbers. `sqrt` approximates.
template <class Sqrt>
EXACTVQ_HD float amd_root(float x, Sqrt sqrt) {
    if (!(x > 0.0f && x < float_from_bits(kFloatExponent))) return x;
    const bool small = x < 0x1p-96f;  // residuals must be normal
    const float scaled = small ? x * 0x1p32f : x, s = repaired_root(scaled, sqrt(scaled));
    return small ? s * 0x1p-16f : s;
}

// Likewise; `rsq` approximates 1 / sqrt(x).
template <class Rsq>
EXACTVQ_HD double amd_root(double x, Rsq rsq) {
    if (!(x > 0.0 && x < double_from_bits(FloatFields<double>::kExponent))) return x;
    const bool small = x < 0x1p-767;
    const double scaled = small ? x * 0x1p256 : x, y = rsq(scaled);
    double g = scaled * y, h = 0.5 * y;  // Goldschmidt: g to the root, h to half its reciprocal
    const double r = fused(-h, g, 0.5);
    g = fused(g, r, g);
    h = fused(h, r, h);
    g = fused(fused(-g, g, scaled), h, g);
    g = fused(fused(-g, g, scaled), h, g);
    g = repaired_root(scaled, g);
    return small ? g * 0x1p-128 : g;
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_AMD_ROOT_H
