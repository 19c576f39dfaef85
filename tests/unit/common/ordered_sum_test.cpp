// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/common/ordered_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "kernels/cpu/kernels.h"

namespace exactvq {
namespace {

using Terms = std::vector<float>;

float sequential(float sum, const Terms& terms) {
    for (float t : terms) sum = sum + t;
    return sum;
}

// The sum by maps of pieces of `piece` terms, each map composed of the maps of its two halves.
float by_maps(float sum, const Terms& terms, size_t piece) {
    for (size_t i = 0; i < terms.size(); i += piece) {
        const uint32_t count = static_cast<uint32_t>(std::min(piece, terms.size() - i)), first = count / 2;
        if (has_binade(sum)) {
            const OrderedSumMap whole = ordered_sum_map(sum, terms.data() + i, count, 1);
            const OrderedSumMap halves = compose(ordered_sum_map(sum, terms.data() + i, first, 1), ordered_sum_map(sum, terms.data() + i + first, count - first, 1));
            float a = sum, b = sum;
            const bool applied = apply_ordered_sum_map(a, whole);
            EXPECT_EQ(applied, apply_ordered_sum_map(b, halves));
            EXPECT_EQ(float_bits(a), float_bits(b));
            if (applied) {
                sum = a;
                continue;
            }
        }
        for (uint32_t k = 0; k < count; ++k) sum = sum + terms[i + k];
    }
    return sum;
}

// Streams that stress ties, binade edges, zeros, magnitudes.
Terms make_stream(int kind, size_t length, std::mt19937& random) {
    Terms terms(length);
    std::uniform_real_distribution<float> uniform(0, 1);
    float sum = 0;
    for (float& t : terms) {
        const float u = uniform(random), ulp = sum > 0 ? std::nextafter(sum, INFINITY) - sum : 0;
        switch (kind) {
        case 0: t = u; break;
        case 1: t = std::ldexp(u, static_cast<int>(random() % 60) - 30); break;
        case 2: t = std::ldexp(u, static_cast<int>(random() % 200) - 100); break;
        case 3: t = random() % 5 ? 0 : u; break;
        case 4: t = sum > 0 ? ulp * (static_cast<float>(random() % 8) + 0.5f) : 1; break;                      // ties
        case 5: t = sum > 0 ? std::nextafter(ulp * 0.5f, random() % 2 ? 0.0f : 1.0f) : 1; break;                // just beside ties
        case 6: t = sum > 0 && std::isfinite(sum) && random() % 20 == 0 ? std::ldexp(1.0f, std::ilogb(sum) + 1) - sum : u * 1e-3f; break;  // on binade edges
        case 7: t = static_cast<float>(random() % 64) / 8; break;
        case 8: t = std::ldexp(1.0f, -140); break;                                                               // subnormal
        case 9: t = random() % 50 ? u : sum * 3; break;                                                          // spikes
        case 10: t = 1; break;
        default: t = std::ldexp(u, 126); break;                                                                  // into infinity
        }
        sum = sum + t;
    }
    return terms;
}
constexpr int kKinds = 12;

TEST(OrderedSum, MapsGiveTheSequentialSum) {
    std::mt19937 random(7);
    for (int n = 0; n < 6000; ++n) {
        const Terms terms = make_stream(n % kKinds, random() % 3000, random);
        const float start = random() % 3 ? 0.0f : std::ldexp(1.0f + static_cast<float>(random() % 1000) / 1000, static_cast<int>(random() % 40) - 20);
        for (size_t piece : {1u, 7u, 64u, 1024u})
            ASSERT_EQ(float_bits(by_maps(start, terms, piece)), float_bits(sequential(start, terms))) << "kind " << n % kKinds << ", stream " << n << ", piece " << piece;
    }
}

TEST(OrderedSum, IncrementsOfTheTwoParitiesDifferByAtMostOne) {
    std::mt19937 random(8);
    for (int n = 0; n < 2000; ++n) {
        const Terms terms = make_stream(4, 200, random);
        const OrderedSumMap map = ordered_sum_map(1.0f, terms.data(), 200, 1);
        if (map.even <= kFloatMantissa && map.odd <= kFloatMantissa) {
            EXPECT_LE(std::abs(static_cast<int>(map.even) - static_cast<int>(map.odd)), 1);
        }
    }
}

// The SIMD additions of every level, on blocks laid out lane by lane.
TEST(OrderedSum, EverySimdLevelGivesTheSequentialSum) {
    std::mt19937 random(9);
    for (const cpu::Kernels* level : cpu::all_kernels()) {
        const uint32_t lanes = level->psnr_hvs.lanes;
        for (int n = 0; n < 1500; ++n) {
            const uint32_t blocks = 1 + random() % 150, rounded = (blocks + lanes - 1) / lanes * lanes;
            const Terms terms = make_stream(n % kKinds, size_t{blocks} * 64, random);
            const std::unique_ptr<float, void (*)(void*)> lay(static_cast<float*>(std::aligned_alloc(64, (size_t{rounded} * 256 + 63) / 64 * 64)), std::free);
            std::fill_n(lay.get(), size_t{rounded} * 64, 0.0f);
            for (uint32_t b = 0; b < blocks; ++b)
                for (uint32_t i = 0; i < 64; ++i) lay.get()[b / lanes * 64 * lanes + i * lanes + b % lanes] = terms[size_t{b} * 64 + i];
            const float start = n % 3 ? 0.0f : std::ldexp(1.0f, n % 30);
            ASSERT_EQ(float_bits(level->psnr_hvs.add(start, lay.get(), blocks)), float_bits(sequential(start, terms)))
                << level->name << ", kind " << n % kKinds << ", blocks " << blocks << ", stream " << n;
        }
    }
}

}  // namespace
}  // namespace exactvq
