// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/common/adm_fast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "host/adm_parameters.h"

namespace exactvq {
namespace {

TEST(Adm, Parameters) {
    EXPECT_EQ(ceil_log2(1), 0u);
    EXPECT_EQ(ceil_log2(2), 1u);
    EXPECT_EQ(ceil_log2(3), 2u);
    EXPECT_EQ(ceil_log2(1u << 20), 20u);
    EXPECT_EQ(ceil_log2((1u << 20) + 1), 21u);
    // The area is 2^21 + 1: the shift must not be that of 2^21.
    const AdmParameters tall = make_adm_parameters({962, 13542});
    EXPECT_EQ(tall.scale[0].width, 481u);
    EXPECT_EQ(tall.scale[0].height, 6771u);
    EXPECT_EQ(tall.scale[0].left, 47u);
    EXPECT_EQ(tall.scale[0].top, 676u);
    EXPECT_EQ(adm_area(tall.scale[0]), (1u << 21) + 1);
    EXPECT_EQ(tall.scale[0].den_row_shift, 2u);
    // Bands below 15 samples have no border; below 17 columns of scale 0 terms of h and v are not shifted.
    const AdmParameters small = make_adm_parameters({17, 29});
    EXPECT_EQ(small.scale[0].width, 9u);
    EXPECT_EQ(small.scale[0].left, 0u);
    EXPECT_EQ(small.scale[0].top, 1u);
    EXPECT_EQ(small.scale[0].term_shift[0], 0u);
    EXPECT_EQ(small.scale[0].term_shift[2], 1u);
    EXPECT_EQ(small.scale[3].width, 2u);
    EXPECT_EQ(small.scale[3].height, 2u);
    for (const AdmScale& s : small.scale) EXPECT_GE(s.row_shift, 1u);
}

TEST(Adm, Taps) {
    for (uint32_t n = 3; n <= 12; ++n) {
        for (uint32_t i = 0; i < (n + 1) / 2; ++i) {
            for (uint32_t t = 0; t < 4; ++t) {
                const int p = 2 * static_cast<int>(i) - 1 + static_cast<int>(t), size = static_cast<int>(n);
                EXPECT_EQ(adm_tap(i, t, n), static_cast<uint32_t>(p < 0 ? 1 : p >= size ? 2 * size - 1 - p : p)) << n << " " << i << " " << t;
            }
        }
    }
}

// What spares the fast loops the ratio: below 16384 the restored part is the sample of main between 0 and that of the reference. Every pair.
TEST(Adm, RestoredPartWithoutRatio) {
    uint64_t wrong = 0;
    for (int32_t m = 1; m <= 16384; ++m) {
        for (int32_t t = -1; t <= m + 1; ++t) {
            const int32_t expected = std::clamp(t, 0, m);
            if (m < 16384 && adm_restored(m, t, false, 100.0) != expected) ++wrong;
            if (adm_restored(-m, -t, false, 100.0) != -expected) ++wrong;
        }
        // The ratio is monotonic in t: far away nothing changes any more.
        for (int32_t t : {-32768, -16384, -m, 2 * m, 16383, 32767}) {
            if (t > m + 1 && adm_restored(m, t, false, 100.0) != (m < 16384 ? m : adm_restored(m, m + 1, false, 100.0))) ++wrong;
            if (t < 0 && adm_restored(m, t, false, 100.0) != 0) ++wrong;
        }
    }
    EXPECT_EQ(wrong, 0u);
}

// With enhancement: the product is compared with the sample of main, truncated.
TEST(Adm, EnhancedPart) {
    for (double gain : {1.0, 1.2, 2.0, 3.7, 99.5, 100.0}) {
        for (int32_t m : {1, 2, 3, 5, 10, 163, 164, 165, 1000, 8191, 16383}) {
            for (int32_t t : {0, 1, m - 1, m, m + 1, static_cast<int32_t>(m * gain) - 1, static_cast<int32_t>(m * gain), static_cast<int32_t>(m * gain) + 1, 16383}) {
                if (t < 0 || t > 32767) continue;
                const int32_t expected = std::min(std::clamp(t, 0, static_cast<int32_t>(m * gain)), t);
                EXPECT_EQ(adm_restored(m, t, true, gain), expected) << m << " " << t << " " << gain;
                EXPECT_EQ(adm_restored(-m, -t, true, gain), -expected) << m << " " << t << " " << gain;
                EXPECT_EQ(adm_restored(m, -t - 1, true, gain), 0);
            }
        }
    }
}

TEST(Adm, Angle) {
    EXPECT_TRUE(adm_same_angle(0, 0, 0, 0, false));
    EXPECT_TRUE(adm_same_angle(0, 0, 5, 7, true));
    EXPECT_TRUE(adm_same_angle(100, 50, 200, 100, false));
    EXPECT_FALSE(adm_same_angle(100, 50, -200, -100, false));
    EXPECT_FALSE(adm_same_angle(100, 0, 0, 100, true));
    // tan(1 degree) = 0.017455: 10000 : 174 is within a degree, 10000 : 175 is not.
    EXPECT_TRUE(adm_same_angle(10000, 0, 10000, 174, false));
    EXPECT_FALSE(adm_same_angle(10000, 0, 10000, 175, false));
    EXPECT_TRUE(adm_same_angle(INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, true));
}

TEST(Adm, Thresholds) {
    // A flat neighbourhood at scales 1 to 3: each value is -1.
    EXPECT_EQ(adm_neighbour(0), -1);
    EXPECT_EQ(adm_centre(0), -1);
    EXPECT_EQ(adm_neighbour(30), 0);
    EXPECT_EQ(adm_neighbour(-30), 0);
    EXPECT_EQ(adm_neighbour(3000), 99);
    EXPECT_EQ(adm_neighbour0(0), 0);
    EXPECT_EQ(adm_neighbour0(30), 32);
    EXPECT_EQ(adm_centre0(15359), 32765);
    EXPECT_EQ(adm_centre0(15360), -32768);  // wraps at 16 bits
    // 65535, not 65536
    EXPECT_EQ(adm_weighted0(2, 65536 / 2 - 1, true), 0);
    EXPECT_EQ(adm_weighted0(2, 32769, true), 1);
    EXPECT_EQ(adm_weighted(1, 0xffffffffu), 16);
}

// ---- the forms that GPUs compute -------------------------------------------------------------------------------------

TEST(AdmFast, Reciprocals) {
    for (uint32_t m = 16384; m <= 32768; ++m) ASSERT_EQ(adm_reciprocal_fast(m), (1u << 30) / m) << m;
}

TEST(AdmFast, RestoredPart) {
    std::mt19937 random(1);
    for (double limit : {100.0, 1.0, 64.0, 1.2, 99.9}) {
        const AdmGain gain = make_adm_gain(limit);
        for (int i = 0; i < 4000000; ++i) {
            // Half of them at a step of the ratio, in every binade.
            int64_t m = random() >> (random() % 32), t = random() >> (random() % 32);
            if (i % 2) {
                const uint32_t e = random() % 17;
                m = ((16384 + random() % 16384) << e) + (random() % 3 ? random() & ((1u << e) - 1) : (1u << e) >> 1);
                const int64_t reciprocal = (1 << 30) / std::max<int64_t>(1, (m + ((1 << e) >> 1)) >> e), k = random() % 4 ? random() % 32769 : 32768 - random() % 3;
                t = ((k << (15 + e)) - (int64_t{1} << (14 + e))) / reciprocal + random() % 3;
            }
            m = std::min<int64_t>(m, INT32_MAX);
            t = std::clamp<int64_t>(t, 0, INT32_MAX);
            const int32_t o = static_cast<int32_t>(random() % 2 ? m : -m), main = static_cast<int32_t>(random() % 2 ? t : -t);
            const bool same = random() % 2;
            ASSERT_EQ(adm_restored_fast(o, main, same, gain), adm_restored(o, main, same, limit)) << o << " " << main << " " << same << " " << limit;
        }
    }
}

TEST(AdmFast, AnglesOfOneDegree) {
    std::mt19937 random(2);
    uint32_t yes = 0, no = 0;
    for (int i = 0; i < 4000000; ++i) {
        const bool wide = i % 2;
        const double length = (wide ? 1.4e9 : 16000.0) / (1u << random() % (wide ? 28 : 12)), angle = random() * 1.4629180792671596e-09;
        const double other = angle + (random() % 2 ? 1 : -1) * (0.017453292519943295 + (random() % 2 ? 0 : (static_cast<int32_t>(random()) * 1e-15)));
        const double scale = 1.0 / (1 + random() % 9);
        const auto at = [](double v) { return static_cast<int32_t>(v); };
        const int32_t oh = at(length * std::cos(angle)), ov = at(length * std::sin(angle)), th = at(length * scale * std::cos(other)) + static_cast<int32_t>(random() % 3) - 1,
                      tv = at(length * scale * std::sin(other));
        const bool expected = adm_same_angle(oh, ov, th, tv, wide);
        ASSERT_EQ(adm_same_angle_fast(oh, ov, th, tv, wide), expected) << oh << " " << ov << " " << th << " " << tv << " " << wide;
        ++(expected ? yes : no);
    }
    EXPECT_GT(yes, 1000000u);
    EXPECT_GT(no, 1000000u);
}

TEST(AdmFast, Scale0) {
    for (uint32_t weight : {0u, 1u, 4u, 8u, 24809u, 32767u, 32768u, 36453u, 49417u, 65535u}) {
        for (int32_t y = -32768; y <= 32767; ++y) {
            for (bool diagonal : {false, true}) {
                const int32_t u = adm_weighted0(y, weight, diagonal);
                ASSERT_EQ(adm_weighted0_fast(y, weight, diagonal), u) << y << " " << weight;
                ASSERT_EQ(adm_neighbour0_fast(u), adm_neighbour0(u)) << u;
                ASSERT_EQ(adm_centre0_fast(u), adm_centre0(u)) << u;
            }
        }
    }
    std::mt19937 random(3);
    for (int i = 0; i < 1000000; ++i) {
        const uint32_t depth = 8 + random() % 9, largest = (1u << depth) - 1;
        uint32_t s[4];
        for (uint32_t& v : s) v = random() % 4 ? random() & largest : random() % 2 ? largest : 0;
        ASSERT_EQ(adm_vertical0_fast<false>(s, depth), adm_vertical0(kAdmLow, s, static_cast<int64_t>(kAdmLowSum) << (depth - 1), depth));
        ASSERT_EQ(adm_vertical0_fast<true>(s, depth), adm_vertical0(kAdmHigh, s, 0, depth));
        int32_t x[4];
        for (int32_t& v : x) v = static_cast<int32_t>(random()) >> (random() % 16);
        ASSERT_EQ((adm_filter_fast<false, 15>(x)), adm_i32(adm_filter(kAdmLow, x, 15)));
        ASSERT_EQ((adm_filter_fast<true, 16>(x)), adm_i32(adm_filter(kAdmHigh, x, 16)));
        ASSERT_EQ((adm_filter_fast<false, 0>(x)), adm_i32(adm_filter(kAdmLow, x, 0)));
    }
}

}  // namespace
}  // namespace exactvq
