// SPDX-License-Identifier: BSD-2-Clause
//
// VIF's formulas as GPUs compute them against those of vif.h.
#include "kernels/common/gpu_vif.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/vif_log.h"

namespace exactvq {
namespace {

uint32_t expected_log(uint64_t v) { return static_cast<uint32_t>(vif_log(vif_log_table(), static_cast<double>(v))); }

// Every entry of the table, with the low bits that are dropped all clear and all set.
TEST(GpuVif, LogarithmsByLines) {
    for (uint64_t entry = 32768; entry < 65536; ++entry) {
        for (uint32_t shift = 1; shift < 30; ++shift) {
            const uint64_t first = entry << shift, last = first + (uint64_t{1} << shift) - 1;
            for (uint64_t v : {first, last}) {
                ASSERT_EQ(gpu::vif_log_by_lines(kVifLogLines, v), expected_log(v)) << v;
                if (v >> 32 != 0) continue;
                ASSERT_EQ(gpu::vif_log_by_lines(kVifLogLines, static_cast<uint32_t>(v)), expected_log(v)) << v;
            }
        }
    }
}

TEST(GpuVif, Truncated) {
    std::mt19937_64 random(3);
    for (int n = 0; n < 1000000; ++n) {
        const double v = std::ldexp(static_cast<double>(1 + (random() >> 11)), static_cast<int>(random() % 110) - 110);
        ASSERT_EQ(gpu::truncated(v), static_cast<uint64_t>(v)) << v;
    }
    for (uint64_t whole : {uint64_t{1}, uint64_t{131072}, (uint64_t{1} << 44) - 1, (uint64_t{1} << 44), (uint64_t{1} << 53) - 1}) {
        const double v = static_cast<double>(whole);
        EXPECT_EQ(gpu::truncated(v), whole);
        EXPECT_EQ(gpu::truncated(double_from_bits(double_bits(v) - 1)), whole - 1);
    }
    EXPECT_EQ(gpu::truncated(5e-324), 0u);
}

TEST(GpuVif, Terms) {
    std::mt19937_64 random(4);
    const auto any = [&](int32_t lowest) { return lowest + static_cast<int32_t>((random() >> 33) % (uint64_t{1} << (1 + random() % 30))); };
    for (int n = 0; n < 3000000; ++n) {
        const int32_t s1 = n % 4 ? any(kVifNoise - 1) : any(-70000);
        const int32_t s2 = n % 7 == 0 ? static_cast<int32_t>(random() % 3) - 1 : n % 7 == 1 ? s1 : any(-70000), largest = s1 > s2 ? s1 : s2;
        const int32_t likely = static_cast<int32_t>(random() % (largest > 0 ? static_cast<uint32_t>(largest) : 1));
        const int32_t s12 = n % 5 == 0 ? static_cast<int32_t>(random() % 3) - 1 : n % 5 == 1 ? s1 : n % 5 == 2 ? any(-70000) : likely;
        const double limit = n % 3 == 0 ? 1.0 : n % 3 == 1 ? 100.0 : 1.37;
        VifTerms terms;
        vif_add(terms, s1, s2, s12, limit, vif_log_table());
        gpu::VifSums sums;
        sums.add(kVifLogLines, limit, s1, s2, s12);
        const int64_t got[kVifSums] = {sums.numerator, sums.denominator, sums.flat, static_cast<int64_t>(sums.flat_variance)};
        for (uint32_t i = 0; i < kVifSums; ++i)
            ASSERT_EQ(got[i], terms.sum[i]) << "sum " << i << " of " << s1 << ", " << s2 << ", " << s12 << ", limit " << limit;
    }
}

}  // namespace
}  // namespace exactvq
