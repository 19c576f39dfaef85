// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/common/vif.h"

#include <gtest/gtest.h>

#include <vector>

#include "host/vif_log.h"
#include "kernels/common/mirror.h"
#include "kernels/common/motion.h"

namespace exactvq {
namespace {

// The specification's table, from ours.
uint32_t table(uint32_t i) { return static_cast<uint32_t>(vif_log(vif_log_table(), i)); }

TEST(VifLog, TableIsTheSpecifications) {
    uint64_t sum = 0, fnv = 0xcbf29ce484222325u;
    for (uint32_t i = 32768; i < 65536; ++i) {
        sum += table(i);
        for (uint32_t byte : {table(i) & 0xff, table(i) >> 8}) fnv = (fnv ^ byte) * 0x100000001b3u;
    }
    EXPECT_EQ(sum, 1044032097u);
    EXPECT_EQ(fnv, 0xd6509fd850265c09u);
    const uint32_t samples[][2] = {{32768, 30720}, {40000, 31309}, {46341, 31744}, {50000, 31969}, {60000, 32507}, {65535, 32768}};
    for (const auto& s : samples) EXPECT_EQ(table(s[0]), s[1]) << s[0];
}

// T[v >> k] + 2048 k, of integers with every exponent and mantissas around every entry.
TEST(VifLog, DropsTheLowBits) {
    const uint8_t* excess = vif_log_table();
    for (uint32_t top = 16; top <= 52; ++top) {
        for (uint64_t entry = 32768; entry < 65536; entry += top == 16 || top == 43 ? 1 : 97) {
            const uint32_t k = top - 15;
            const int32_t expected = static_cast<int32_t>(table(static_cast<uint32_t>(entry)) + 2048 * k);
            const uint64_t first = entry << k;
            for (uint64_t v : {first, first + 1, first + (uint64_t{1} << k) / 2, first + (uint64_t{1} << k) - 1}) ASSERT_EQ(vif_log(excess, static_cast<double>(v)), expected) << v;
        }
    }
    EXPECT_EQ(vif_log(excess, kVifNoise), kVifNoiseLog);
}

TEST(VifFilters, AreSymmetricAndSumTo65536) {
    for (uint32_t s = 0; s < kVifScales; ++s) {
        uint32_t sum = 0;
        for (uint32_t t = 0; t <= 2 * vif_half(s); ++t) {
            sum += vif_tap(s, t);
            EXPECT_EQ(vif_tap(s, t), vif_tap(s, 2 * vif_half(s) - t));
        }
        EXPECT_EQ(sum, 65536u);
    }
    EXPECT_EQ(vif_half(0), 8u);
    EXPECT_EQ(vif_half(3), 1u);
    EXPECT_EQ(kMotionMiddle + 2 * (kMotionNear + kMotionFar), 65536);
}

// Largest and smallest sums.
TEST(VifFilters, Limits) {
    for (uint32_t depth = 8; depth <= 16; ++depth) {
        const uint64_t largest = (1u << depth) - 1;
        EXPECT_EQ(vif_vertical_mean(static_cast<uint32_t>(65536 * largest), 0, depth), largest << (16 - depth));
        const uint64_t square = vif_vertical_product(65536 * largest * largest, 0, depth);
        EXPECT_EQ(square, (largest * largest) << (32 - 2 * depth)) << depth;
        // A flat picture has no variance.
        const uint64_t mean = largest << (16 - depth);
        EXPECT_LE(std::abs(vif_moment(65536 * square, static_cast<uint32_t>(65536 * mean), static_cast<uint32_t>(65536 * mean))), 1);
    }
    EXPECT_EQ(vif_moment(0, 0xffff0000u, 0xffff0000u), 0x1ffff);  // 0 - 65535^2 wraps
}

VifTerms terms(int32_t s1, int32_t s2, int32_t s12, double limit = 100.0) {
    VifTerms result;
    vif_add(result, s1, s2, s12, limit, vif_log_table());
    return result;
}

TEST(VifTermsOfASample, FlatReference) {
    for (int32_t s1 : {-65536, 0, kVifNoise - 1}) {
        EXPECT_EQ(terms(s1, 7, 5).sum[kVifFlatMain], 7);
        EXPECT_EQ(terms(s1, -7, 5).sum[kVifFlatMain], 0);
        EXPECT_EQ(terms(s1, 7, 5).sum[kVifFlat], 1);
        EXPECT_EQ(terms(s1, 7, 5).sum[kVifDenominator], 0);
        EXPECT_EQ(terms(s1, 7, 5).sum[kVifNumerator], 0);
    }
    EXPECT_EQ(terms(kVifNoise, 7, 5).sum[kVifFlat], 0);
    EXPECT_EQ(terms(kVifNoise, 7, 5).sum[kVifDenominator], 2048);
}

TEST(VifTermsOfASample, NothingOfTheReferenceInMain) {
    for (const auto& [s2, s12] : {std::pair{0, 5}, {-1, 5}, {5, 0}, {5, -5}, {1 << 30, -(1 << 30)}}) EXPECT_EQ(terms(1 << 20, s2, s12).sum[kVifNumerator], 0);
}

// Identical pictures: the small addend of the divisor makes the signal one unit less than the variance.
TEST(VifTermsOfASample, Identical) {
    const uint8_t* excess = vif_log_table();
    for (int32_t s : {kVifNoise, 1 << 20, 0x12345678, (1 << 30) - 1}) {
        const VifTerms t = terms(s, s, s);
        EXPECT_EQ(t.sum[kVifNumerator], vif_log(excess, s - 1.0 + kVifNoise) - kVifNoiseLog);
        EXPECT_EQ(t.sum[kVifDenominator], vif_log(excess, s + double{kVifNoise}) - kVifNoiseLog);
    }
}

TEST(VifTermsOfASample, GainIsLimitedAfterTheRest) {
    const uint8_t* excess = vif_log_table();
    const int32_t s1 = 1 << 20, s12 = 3 << 20, s2 = 10 << 20;  // gain 3, rest 1 << 20
    const double b = (1 << 20) + kVifNoise;
    EXPECT_EQ(terms(s1, s2, s12, 2.0).sum[kVifNumerator], vif_log(excess, 4.0 * s1 + b) - vif_log(excess, b));
    // The largest signal.
    EXPECT_EQ(terms(kVifNoise, 1, 0x7fffffff, 100.0).sum[kVifNumerator], vif_log(excess, 1e4 * kVifNoise + kVifNoise) - kVifNoiseLog);
}

TEST(Motion, RoundsDownAndTakesMagnitudes) {
    const int32_t one[5] = {1, 1, 1, 1, 1}, minus[5] = {-1, -1, -1, -1, -1};
    EXPECT_EQ(motion_vertical(one, 8), 256);
    EXPECT_EQ(motion_vertical(minus, 8), -256);
    EXPECT_EQ(motion_vertical(one, 16), 1);
    EXPECT_EQ(motion_horizontal(minus), 1u);
    const int32_t half[5] = {0, 0, 0, 0, 0}, edge[5] = {-1, 0, 0, 0, 0}, middle[5] = {0, -1, -1, 0, 1};
    EXPECT_EQ(motion_horizontal(half), 0u);
    EXPECT_EQ(motion_vertical(edge, 8), -14);    // -3571 + 128 is -13.4 units
    EXPECT_EQ(motion_vertical(middle, 16), -1);  // -38819 + 32768 rounds down
    for (uint32_t depth = 8; depth <= 16; ++depth) {
        const int32_t m = (1 << depth) - 1, largest[5] = {m, m, m, m, m}, smallest[5] = {-m, -m, -m, -m, -m};
        EXPECT_EQ(motion_vertical(largest, depth), m << (16 - depth));
        EXPECT_EQ(motion_vertical(smallest, depth), -(m << (16 - depth)));
    }
    const int32_t m = 65535, largest[5] = {m, m, m, m, m}, smallest[5] = {-m, -m, -m, -m, -m};
    EXPECT_EQ(motion_horizontal(largest), 65535u);
    EXPECT_EQ(motion_horizontal(smallest), 65535u);
}

TEST(Mirror, DoesNotRepeatTheEdge) {
    for (int32_t n : {2, 3, 9, 40}) {
        for (int32_t i = 0; i < n; ++i) {
            EXPECT_EQ(mirrored(i, static_cast<uint32_t>(n)), static_cast<uint32_t>(i));
            EXPECT_EQ(mirrored(-i, static_cast<uint32_t>(n)), static_cast<uint32_t>(i));
            EXPECT_EQ(mirrored(n - 1 + i, static_cast<uint32_t>(n)), static_cast<uint32_t>(n - 1 - i));
        }
    }
}

}  // namespace
}  // namespace exactvq
