// SPDX-License-Identifier: BSD-2-Clause
//
// PSNR-HVS (Egiazarian et al. 2006, with the between-coefficient masking of Ponomarenko et al. 2007), arithmetic of one 8x8 block.
// Every step rounds once, in the type written here, in the order written here.
#ifndef EXACTVQ_KERNELS_COMMON_PSNR_HVS_H
#define EXACTVQ_KERNELS_COMMON_PSNR_HVS_H

#include "kernels/common/platform.h"
#include "kernels/common/psnr_hvs_tables.h"
#include "kernels/common/root.h"

namespace exactvq {

inline constexpr uint32_t kPsnrHvsBlock = 8;      // block side in samples
inline constexpr uint32_t kPsnrHvsStep = 7;       // distance of block origins: neighbours share a row or column
inline constexpr uint32_t kPsnrHvsTerms = 64;     // terms of a block
inline constexpr uint32_t kPsnrHvsMaxDepth = 12;  // beyond, the integer transform leaves 32 bits

enum class PsnrHvsMask : uint8_t {
    kF32,  // energy * ratio rounded to binary32, then the root rounded to binary32
    kF64   // product and root in binary64, one rounding to binary32 at the end
};

// Blocks along an axis of `size` samples. Samples behind the last whole block are not measured.
EXACTVQ_HD uint32_t psnr_hvs_blocks(uint32_t size) {
    return size < kPsnrHvsBlock ? 0 : (size - kPsnrHvsBlock) / kPsnrHvsStep + 1;
}

// Two's complement wrap-around, so that words with garbage above the depth give the same result everywhere instead of undefined behaviour.
EXACTVQ_HD int32_t wrap_add(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
EXACTVQ_HD int32_t wrap_sub(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)); }
EXACTVQ_HD int32_t wrap_mul(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b)); }

// v / 2 toward zero.
EXACTVQ_HD int32_t half(int32_t v) { return v / 2; }

// Round-half-up of v * c / 2^s.
template <int c, int s>
EXACTVQ_HD int32_t lift(int32_t v) {
    return wrap_add(wrap_mul(v, c), 1 << (s - 1)) >> s;
}

// One-dimensional integer DCT-II by lifting steps, in place.
EXACTVQ_HD void psnr_hvs_dct8(int32_t* x, uint32_t stride) {
    const int32_t x0 = x[0 * stride], x1 = x[1 * stride], x2 = x[2 * stride], x3 = x[3 * stride];
    const int32_t x4 = x[4 * stride], x5 = x[5 * stride], x6 = x[6 * stride], x7 = x[7 * stride];
    // Butterflies: upper case and p, q, r, s carry the even half, lower case the odd half.
    int32_t a = wrap_sub(x0, x7);
    const int32_t g = half(a);
    const int32_t A = wrap_sub(x0, g);
    const int32_t B = wrap_add(x1, x6);
    const int32_t k = half(B);
    int32_t b = wrap_sub(x6, k);
    int32_t c = wrap_sub(x2, x5);
    const int32_t C = wrap_sub(x2, half(c));
    const int32_t D = wrap_add(x3, x4);
    const int32_t m = half(D);
    int32_t d = wrap_sub(m, x4);
    int32_t p = wrap_add(A, m);
    int32_t q = wrap_sub(p, D);
    int32_t r = wrap_sub(k, C);
    int32_t s = wrap_sub(r, B);
    // Even half: rotations by pi/4 and pi/8 as three lifting steps each.
    p = wrap_sub(p, lift<13573, 15>(s));
    s = wrap_add(s, lift<11585, 14>(p));
    p = wrap_sub(p, lift<13573, 15>(s));
    q = wrap_sub(q, lift<21895, 15>(r));
    r = wrap_add(r, lift<15137, 14>(q));
    q = wrap_sub(q, lift<21895, 15>(r));
    // Odd half.
    c = wrap_add(c, lift<19195, 15>(b));
    b = wrap_add(b, lift<11585, 14>(c));
    c = wrap_sub(c, lift<7489, 13>(b));
    d = wrap_sub(half(b), d);
    b = wrap_sub(b, d);
    c = wrap_sub(g, c);
    a = wrap_sub(a, c);
    d = wrap_add(d, lift<3227, 15>(a));
    a = wrap_sub(a, lift<6393, 15>(d));
    d = wrap_add(d, lift<3227, 15>(a));
    b = wrap_add(b, lift<2485, 13>(c));
    c = wrap_sub(c, lift<18205, 15>(b));
    b = wrap_add(b, lift<2485, 13>(c));
    x[0 * stride] = p;
    x[1 * stride] = a;
    x[2 * stride] = r;
    x[3 * stride] = c;
    x[4 * stride] = s;
    x[5 * stride] = b;
    x[6 * stride] = q;
    x[7 * stride] = d;
}

// Columns first, then rows: the integer transform does not commute.
EXACTVQ_HD void psnr_hvs_dct8x8(int32_t* block) {
    EXACTVQ_UNROLL
    for (uint32_t j = 0; j < 8; ++j) psnr_hvs_dct8(block + j, 8);
    EXACTVQ_UNROLL
    for (uint32_t i = 0; i < 8; ++i) psnr_hvs_dct8(block + 8 * i, 1);
}

// Factors that turn a sum of squared deviations into 64 (16) times the unbiased variance.
inline constexpr float kPsnrHvsScale64 = 0x1.041042p+0f;
inline constexpr float kPsnrHvsScale16 = 0x1.111112p+0f;

// Variance of the quadrants over variance of the block: near 1 for texture, small for edges.
EXACTVQ_HD float psnr_hvs_variance_ratio(const int32_t* samples) {
    int32_t sum = 0, quadrant_sum[4] = {0, 0, 0, 0};
    EXACTVQ_UNROLL
    for (int i = 0; i < 64; ++i) {
        const int quadrant = (i >= 32) + 2 * ((i & 7) >= 4);
        sum += samples[i];
        quadrant_sum[quadrant] += samples[i];
    }
    const float mean = static_cast<float>(sum) / 64.0f;
    float quadrant_mean[4];
    for (int k = 0; k < 4; ++k) quadrant_mean[k] = static_cast<float>(quadrant_sum[k]) / 16.0f;
    float G = 0.0f, V[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    EXACTVQ_UNROLL
    for (int i = 0; i < 64; ++i) {
        const int quadrant = (i >= 32) + 2 * ((i & 7) >= 4);
        const float x = static_cast<float>(samples[i]);
        const float e = x - mean;
        G = G + e * e;
        const float f = x - quadrant_mean[quadrant];
        V[quadrant] = V[quadrant] + f * f;
    }
    G = G * kPsnrHvsScale64;
    for (int k = 0; k < 4; ++k) V[k] = V[k] * kPsnrHvsScale16;
    return G > 0.0f ? (((V[0] + V[1]) + V[2]) + V[3]) / G : G;
}

// Energy of the AC coefficients, weighted by the masking weights k.
EXACTVQ_HD float psnr_hvs_energy(const int32_t* coefficients, const float* k) {
    float E = 0.0f;
    EXACTVQ_UNROLL
    for (int i = 1; i < 64; ++i) {
        const float f = static_cast<float>(wrap_mul(coefficients[i], coefficients[i]));
        E = E + f * k[i];
    }
    return E;
}
EXACTVQ_HD float psnr_hvs_energy(const int32_t* coefficients, const PsnrHvsTable& table) {
    float k[64];
    for (int i = 0; i < 64; ++i) k[i] = float_from_bits(table.k[i]);
    return psnr_hvs_energy(coefficients, k);
}

EXACTVQ_HD float psnr_hvs_threshold(float energy, float ratio, PsnrHvsMask mask) {
    if (mask == PsnrHvsMask::kF64) {
        return static_cast<float>(root(static_cast<double>(energy) * static_cast<double>(ratio)) / 32.0);
    }
    const float p = energy * ratio;
    return root(p) * 0.03125f;  // the division by 32 is exact
}

// The term of one coefficient. T: the block's threshold.
EXACTVQ_HD float psnr_hvs_term(int32_t ref, int32_t main, float T, bool dc, float k, float w) {
    const int32_t difference = wrap_sub(ref, main);
    float err = static_cast<float>(difference < 0 ? wrap_sub(0, difference) : difference);
    if (!dc) {
        const float limit = T / k;
        err = err < limit ? 0.0f : err - limit;
    }
    const float g = err * w;
    return g * g;
}

// The 64 terms of one block in raster order. `ref` and `main` hold the samples and are overwritten by their transforms.
EXACTVQ_HD void psnr_hvs_block_terms(int32_t* ref, int32_t* main, const PsnrHvsTable& table, PsnrHvsMask mask, float* terms) {
    const float ref_ratio = psnr_hvs_variance_ratio(ref), main_ratio = psnr_hvs_variance_ratio(main);
    psnr_hvs_dct8x8(ref);
    psnr_hvs_dct8x8(main);
    const float ref_threshold = psnr_hvs_threshold(psnr_hvs_energy(ref, table), ref_ratio, mask);
    const float main_threshold = psnr_hvs_threshold(psnr_hvs_energy(main, table), main_ratio, mask);
    const float T = main_threshold > ref_threshold ? main_threshold : ref_threshold;
    for (int i = 0; i < 64; ++i) terms[i] = psnr_hvs_term(ref[i], main[i], T, i == 0, float_from_bits(table.k[i]), float_from_bits(table.w[i]));
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_PSNR_HVS_H
