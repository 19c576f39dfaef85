// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/common/adm.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace exactvq
