// SPDX-License-Identifier: BSD-2-Clause
//
// Roots on AMD GPUs with approximations as bad as their instructions may be, against correctly rounded ones.
#include "kernels/common/amd_root.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace exactvq {
namespace {

float moved(float s, int ulps) { return float_from_bits(float_bits(s) + static_cast<uint32_t>(ulps)); }

// v_sqrt_f32: at most one unit in the last place off.
TEST(AmdRoot, EveryMantissaInBinary32) {
    for (uint32_t exponent : {0u, 1u, 30u, 31u, 126u, 127u, 128u, 253u, 254u}) {  // of both parities; 0: subnormal
        for (uint32_t mantissa = 0; mantissa < 1u << 23; mantissa += exponent == 127 || exponent == 128 ? 1 : 97) {
            const float x = float_from_bits(exponent << 23 | mantissa), expected = std::sqrt(x);
            for (int off : {-1, 0, 1}) {
                const float s = amd_root(x, [off](float v) { return v > 0 ? moved(std::sqrt(v), off) : std::sqrt(v); });
                ASSERT_EQ(float_bits(s), float_bits(expected)) << std::hexfloat << x << ", off by " << off;
            }
        }
    }
}

TEST(AmdRoot, ZeroAndInfinity) {
    for (float x : {0.0f, INFINITY}) EXPECT_EQ(amd_root(x, [](float v) { return std::sqrt(v); }), x);
    for (double x : {0.0, static_cast<double>(INFINITY)}) EXPECT_EQ(amd_root(x, [](double v) { return 1 / std::sqrt(v); }), x);
}

// v_rsq_f64: at most 2^29 units in the last place off.
TEST(AmdRoot, Binary64WithBadSeeds) {
    std::mt19937_64 random(11);
    const double largest = 0x1p29;
    for (int n = 0; n < 3000000; ++n) {
        double x;
        switch (n % 5) {
        case 0: x = std::ldexp(1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), static_cast<int>(random() % 2000) - 1000); break;
        case 1: {  // beside squares of numbers with 53 bits
            const double s = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52);
            x = double_from_bits(double_bits(s * s) + random() % 5 - 2);
            break;
        }
        case 2: {  // beside squares of midpoints between roots
            const double s = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52), middle = s * s + s * 0x1p-53;
            x = double_from_bits(double_bits(middle) + random() % 5 - 2);
            break;
        }
        case 3: x = double_from_bits((random() % 2 ? 0x3ff0000000000000u : 0x4000000000000000u) + random() % 4096); break;  // just above powers of two
        default: x = static_cast<double>(float_from_bits(static_cast<uint32_t>(random() % 0x7f800000u))) * static_cast<double>(float_from_bits(static_cast<uint32_t>(random() % 0x7f800000u)));
        }
        if (!(x > 0 && std::isfinite(x))) continue;
        const double share = static_cast<double>(random() % 2001) / 1000 - 1, extreme = n % 3 == 0 ? (n % 2 ? 1 : -1) : share;
        const auto rsq = [extreme, largest](double v) { return 1 / std::sqrt(v) * (1 + extreme * largest * 0x1p-53); };
        ASSERT_EQ(double_bits(amd_root(x, rsq)), double_bits(std::sqrt(x))) << std::hexfloat << x << ", seed off by " << extreme;
    }
    // The repair alone: from one unit below and above.
    for (int n = 0; n < 300000; ++n) {
        const double x = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -51), s = std::sqrt(x);
        for (int off : {-1, 0, 1}) ASSERT_EQ(repaired_root(x, double_from_bits(double_bits(s) + static_cast<uint64_t>(off))), s) << std::hexfloat << x << ", off by " << off;
    }
}

}  // namespace
}  // namespace exactvq
