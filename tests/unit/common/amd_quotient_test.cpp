// SPDX-License-Identifier: BSD-2-Clause
//
// Quotients on AMD GPUs with approximations as bad as their instruction may be, against correctly rounded ones.
#include "kernels/common/amd_quotient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/common/vif.h"

namespace exactvq {
namespace {

double moved(double value, int64_t ulps) { return double_from_bits(double_bits(value) + static_cast<uint64_t>(ulps)); }

// v_rcp_f64: at most 2^29 units in the last place off, which are 2^-52 of the smallest mantissa.
TEST(AmdQuotient, BadSeeds) {
    std::mt19937_64 random(12);
    const auto mantissa = [&] { return 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52); };
    for (int n = 0; n < 6000000; ++n) {
        const int64_t few = static_cast<int64_t>(random() % 9) - 4, many = static_cast<int64_t>(random() % 4096);
        double a, b;
        switch (n % 8) {
        case 0:  // any
            a = std::ldexp(mantissa(), static_cast<int>(random() % 400) - 200);
            b = std::ldexp(mantissa(), static_cast<int>(random() % 400) - 200);
            break;
        case 1: case 2:  // those of vif
            a = static_cast<double>(1 + (random() >> 34) % ((uint64_t{1} << (1 + random() % 30))));
            b = static_cast<double>(131072 + (random() >> 34) % (uint64_t{1} << (1 + random() % 30))) + kVifEpsilon;
            break;
        case 3: {  // beside the middle between two quotients
            const double q = mantissa(), half = (moved(q, 1) - q) * 0.5;
            b = mantissa();
            a = moved(q * b + half * b, few);
            break;
        }
        case 4:  // divisors below a power of two
            a = mantissa();
            b = moved(2.0, -1 - many);
            break;
        case 5:  // beside the middle, too
            b = moved(2.0, -1 - many % 300);
            a = moved((1.0 + std::ldexp(static_cast<double>(random() % 512), -52)) * b, few);
            break;
        case 6:  // quotients beside a power of two
            b = mantissa();
            a = std::ldexp(moved(b, few), static_cast<int>(random() % 60) - 30);
            break;
        default:  // divisors above a power of two
            a = mantissa();
            b = moved(1.0, many);
        }
        const double share = n % 3 == 0 ? (n % 2 ? 1 : -1) : static_cast<double>(random() % 2001) / 1000 - 1;
        const auto rcp = [share](double v) { return 1 / v * (1 + share * 0x1p-23); };
        ASSERT_EQ(double_bits(amd_quotient(a, b, rcp)), double_bits(a / b)) << std::hexfloat << a << " / " << b << ", seed off by " << share;
    }
}

// The repair alone: from one unit below and above.
TEST(AmdQuotient, Repair) {
    std::mt19937_64 random(13);
    for (int n = 0; n < 1000000; ++n) {
        const double b = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52);
        const double a = n % 2 ? 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52) : moved(b, static_cast<int64_t>(random() % 9) - 4), q = a / b;
        for (int off : {-1, 0, 1}) ASSERT_EQ(repaired_quotient(a, b, moved(q, off)), q) << std::hexfloat << a << " / " << b << ", off by " << off;
    }
}

}  // namespace
}  // namespace exactvq
