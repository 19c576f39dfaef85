// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/common/psnr_hvs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace exactvq {
namespace {

TEST(PsnrHvs, BlockCounts) {
    EXPECT_EQ(psnr_hvs_blocks(0), 0u);
    EXPECT_EQ(psnr_hvs_blocks(7), 0u);
    EXPECT_EQ(psnr_hvs_blocks(8), 1u);
    EXPECT_EQ(psnr_hvs_blocks(14), 1u);
    EXPECT_EQ(psnr_hvs_blocks(15), 2u);
    EXPECT_EQ(psnr_hvs_blocks(1920) * psnr_hvs_blocks(1080), 274u * 154);
    EXPECT_EQ(psnr_hvs_blocks(3840) * psnr_hvs_blocks(2160), 548u * 308);
}

TEST(PsnrHvs, TransformVectors) {
    const int32_t vectors[3][2][8] = {{{10, 20, 30, 40, 50, 60, 70, 80}, {127, -64, 0, -7, 0, -2, 0, 0}},
                                      {{255, 0, 255, 0, 255, 0, 255, 0}, {361, 65, 0, 76, -1, 115, 1, 327}},
                                      {{-3, 7, -11, 13, -17, 19, -23, 29}, {5, -9, 9, -9, 10, -15, 17, -39}}};
    for (const auto& v : vectors) {
        int32_t x[8];
        std::copy_n(v[0], 8, x);
        psnr_hvs_dct8(x, 1);
        for (int i = 0; i < 8; ++i) EXPECT_EQ(x[i], v[1][i]) << i;
    }
    int32_t block[64];
    for (int i = 0; i < 64; ++i) block[i] = (37 * i + 11) % 256;
    psnr_hvs_dct8x8(block);
    const int32_t first[8] = {1028, -9, -59, 20, 0, -22, 24, -17}, last[8] = {16, -22, 24, -8, 11, 6, 15, 131};
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(block[i], first[i]) << i;
        EXPECT_EQ(block[56 + i], last[i]) << i;
    }
    const int32_t constants[7][2] = {{0, 0}, {1, 8}, {2, 17}, {3, 23}, {100, 800}, {128, 1024}, {255, 2039}};
    for (const auto& c : constants) {
        std::fill_n(block, 64, c[0]);
        psnr_hvs_dct8x8(block);
        EXPECT_EQ(block[0], c[1]);
        for (int i = 1; i < 64; ++i) EXPECT_EQ(block[i], 0);
    }
}

TEST(PsnrHvs, SingleBlockVector) {
    int32_t ref[64], main[64];
    for (int y = 0; y < 8; ++y) {
        for (int x = 0; x < 8; ++x) {
            ref[8 * y + x] = 100 + 2 * x + y;
            main[8 * y + x] = ref[8 * y + x] + x * y / 4 + (x > 4 ? 9 : 0) - (y < 2 ? 11 : 0);
        }
    }
    EXPECT_EQ(psnr_hvs_variance_ratio(ref), 0x1p-2f);
    EXPECT_EQ(psnr_hvs_variance_ratio(main), 0x1.4a94d8p-2f);
    int32_t transform[64];
    std::copy_n(main, 64, transform);
    psnr_hvs_dct8x8(transform);
    EXPECT_EQ(psnr_hvs_energy(transform, kPsnrHvsTable[0]), 0x1.2171a4p+13f);
    EXPECT_EQ(psnr_hvs_threshold(0x1.2171a4p+13f, 0x1.4a94d8p-2f, PsnrHvsMask::kF32), 0x1.b57544p+0f);
    float terms[64];
    psnr_hvs_block_terms(ref, main, kPsnrHvsTable[0], PsnrHvsMask::kF32, terms);
    const uint32_t expected[64] = {0x4509d738, 0x461d851d, 0x43bff365, 0, 0, 0, 0, 0, 0x460f79ea, 0x4371d814, 0, 0, 0, 0, 0, 0,
                                   0x44a47a1f, 0, 0, 0, 0, 0, 0, 0, 0x42cf18f9};
    float sum = 0;
    for (int i = 0; i < 64; ++i) {
        EXPECT_EQ(float_bits(terms[i]), expected[i]) << i;
        sum += terms[i];
    }
    EXPECT_EQ(sum, 0x1.6f6946p+14f);
}

// T / k as fma(T, zh, T * zl), which targets with FMA compute: equal for every mantissa. Powers of two change nothing, because nothing
// here comes near the subnormal range: T is 0 or at least 2^-25, k at least 2^-10.
TEST(PsnrHvs, DivisionByTheTableIsCorrectlyRounded) {
    const unsigned count = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    std::vector<uint64_t> wrong(count);
    for (unsigned n = 0; n < count; ++n) {
        threads.emplace_back([n, count, &wrong] {
            for (const PsnrHvsTable& table : kPsnrHvsTable) {
                for (int i = 0; i < 64; ++i) {
                    if (i / 8 > i % 8) continue;  // the tables are symmetric
                    const float k = float_from_bits(table.k[i]), zh = float_from_bits(table.zh[i]), zl = float_from_bits(table.zl[i]);
                    for (uint32_t m = n; m < 1u << 23; m += count) {
                        const float T = float_from_bits(0x3f800000u | m);
                        // One rounding of T * zh + (rounded T * zl): the product is exact in binary64, the sum is rounded to odd there.
                        const double product = static_cast<double>(T) * static_cast<double>(zh), low = static_cast<double>(T * zl);
                        double sum = product + low;
                        const double rest = std::fabs(product) >= std::fabs(low) ? low - (sum - product) : product - (sum - low);
                        if (rest != 0 && !(double_bits(sum) & 1)) sum = std::nextafter(sum, rest > 0 ? HUGE_VAL : -HUGE_VAL);
                        wrong[n] += static_cast<float>(sum) != T / k;
                    }
                }
            }
        });
    }
    for (unsigned n = 0; n < count; ++n) {
        threads[n].join();
        EXPECT_EQ(wrong[n], 0u);
    }
    for (const PsnrHvsTable& table : kPsnrHvsTable)
        for (int i = 0; i < 64; ++i) EXPECT_EQ(table.k[i], table.k[i % 8 * 8 + i / 8]);
}

// ---- bounds of the transform's intermediates -----------------------------------------------------------------------

using exactvq::half;
using exactvq::lift;

// A value of the transform as a linear form of the 64 samples, with a bound for what rounding added.
struct Form {
    double c[64] = {};
    double error = 0;
};

double largest_seen;  // of all forms, over samples from 0 to `sample_limit`
double sample_limit;

Form seen(Form f) {
    double low = 0, high = 0;
    for (double c : f.c) (c < 0 ? low : high) += c * sample_limit;
    largest_seen = std::max({largest_seen, high + f.error, f.error - low});
    return f;
}
Form operator+(const Form& a, const Form& b) {
    Form f;
    for (int i = 0; i < 64; ++i) f.c[i] = a.c[i] + b.c[i];
    f.error = a.error + b.error;
    return seen(f);
}
Form scaled(const Form& a, double s) {
    Form f;
    for (int i = 0; i < 64; ++i) f.c[i] = a.c[i] * s;
    f.error = a.error * std::fabs(s) + 1;
    return seen(f);
}
Form operator-(const Form& a, const Form& b) {
    Form n;
    for (int i = 0; i < 64; ++i) n.c[i] = -b.c[i];
    n.error = b.error;
    return a + n;
}
Form half(const Form& a) { return scaled(seen(scaled(a, 1)), 0.5); }  // the sum a + 1 must fit too
template <int c, int s>
Form lift(const Form& a) {
    return scaled(a, static_cast<double>(c) / (1 << s));
}

// The transform once more, over any type; checked against psnr_hvs_dct8 below.
template <class V>
void dct8(V (&x)[8]) {
    V a = x[0] - x[7], g = half(a), A = x[0] - g, B = x[1] + x[6], k = half(B), b = x[6] - k, c = x[2] - x[5], C = x[2] - half(c), D = x[3] + x[4];
    V m = half(D), d = m - x[4], p = A + m, q = p - D, r = k - C, s = r - B;
    p = p - lift<13573, 15>(s), s = s + lift<11585, 14>(p), p = p - lift<13573, 15>(s);
    q = q - lift<21895, 15>(r), r = r + lift<15137, 14>(q), q = q - lift<21895, 15>(r);
    c = c + lift<19195, 15>(b), b = b + lift<11585, 14>(c), c = c - lift<7489, 13>(b);
    d = half(b) - d, b = b - d, c = g - c, a = a - c;
    d = d + lift<3227, 15>(a), a = a - lift<6393, 15>(d), d = d + lift<3227, 15>(a);
    b = b + lift<2485, 13>(c), c = c - lift<18205, 15>(b), b = b + lift<2485, 13>(c);
    x[0] = p, x[1] = a, x[2] = r, x[3] = c, x[4] = s, x[5] = b, x[6] = q, x[7] = d;
}

TEST(PsnrHvs, EveryIntermediateFitsIn16BitsUpToDepth10) {
    std::mt19937 random(3);
    for (int n = 0; n < 1000; ++n) {
        int32_t x[8], y[8];
        for (int i = 0; i < 8; ++i) x[i] = y[i] = static_cast<int32_t>(random() % 8192) - 4096;
        dct8(x);
        psnr_hvs_dct8(y, 1);
        for (int i = 0; i < 8; ++i) ASSERT_EQ(x[i], y[i]);
    }
    for (int depth : {8, 10, 12}) {
        sample_limit = (1 << depth) - 1;
        largest_seen = 0;
        Form block[64];
        for (int i = 0; i < 64; ++i) block[i].c[i] = 1;
        for (int j = 0; j < 8; ++j) {
            Form x[8];
            for (int i = 0; i < 8; ++i) x[i] = block[8 * i + j];
            dct8(x);
            for (int i = 0; i < 8; ++i) block[8 * i + j] = x[i];
        }
        for (int i = 0; i < 8; ++i) {
            Form x[8];
            for (int j = 0; j < 8; ++j) x[j] = block[8 * i + j];
            dct8(x);
            for (int j = 0; j < 8; ++j) {
                block[8 * i + j] = x[j];
                seen(scaled(x[j], 2));  // difference of two images' coefficients
            }
        }
        std::printf("depth %d: no intermediate above %.0f\n", depth, largest_seen);
        if (depth <= 10) {
            EXPECT_LT(largest_seen, 32767);
        }
        EXPECT_LT(largest_seen * 21895 + 16384, 2147483647.0);  // 32-bit products of the largest factor
    }
}

}  // namespace
}  // namespace exactvq
