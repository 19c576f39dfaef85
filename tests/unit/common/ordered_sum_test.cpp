// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/common/ordered_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "kernels/cpu/kernels.h"

namespace exactvq {
namespace {

template <class Float>
using Terms = std::vector<Float>;

template <class Float>
Float sequential(Float sum, const Terms<Float>& terms) {
    for (Float t : terms) sum = sum + t;
    return sum;
}

// The sum by maps of pieces of `piece` terms, each map composed of the maps of its two halves.
template <class Float>
Float by_maps(Float sum, const Terms<Float>& terms, size_t piece) {
    for (size_t i = 0; i < terms.size(); i += piece) {
        const uint32_t count = static_cast<uint32_t>(std::min(piece, terms.size() - i)), first = count / 2;
        if (has_binade(sum)) {
            const BasicOrderedSumMap<Float> whole = ordered_sum_map(sum, terms.data() + i, count, 1);
            const BasicOrderedSumMap<Float> halves = compose(ordered_sum_map(sum, terms.data() + i, first, 1), ordered_sum_map(sum, terms.data() + i + first, count - first, 1));
            Float a = sum, b = sum;
            const bool applied = apply_ordered_sum_map(a, whole);
            EXPECT_EQ(applied, apply_ordered_sum_map(b, halves));
            EXPECT_EQ(FloatFields<Float>::bits(a), FloatFields<Float>::bits(b));
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
template <class Float>
Terms<Float> make_stream(int kind, size_t length, std::mt19937& random) {
    constexpr int kLargest = std::numeric_limits<Float>::max_exponent, kSmallest = std::numeric_limits<Float>::min_exponent;
    Terms<Float> terms(length);
    std::uniform_real_distribution<Float> uniform(0, 1);
    Float sum = 0;
    for (Float& t : terms) {
        const Float u = uniform(random), ulp = sum > 0 ? std::nextafter(sum, std::numeric_limits<Float>::infinity()) - sum : 0;
        switch (kind) {
        case 0: t = u; break;
        case 1: t = std::ldexp(u, static_cast<int>(random() % 60) - 30); break;
        case 2: t = std::ldexp(u, static_cast<int>(random() % 200) - 100); break;
        case 3: t = random() % 5 ? 0 : u; break;
        case 4: t = sum > 0 ? ulp * (static_cast<Float>(random() % 8) + Float(0.5)) : 1; break;                      // ties
        case 5: t = sum > 0 ? std::nextafter(ulp * Float(0.5), random() % 2 ? Float(0) : Float(1)) : 1; break;                // just beside ties
        case 6: t = sum > 0 && std::isfinite(sum) && random() % 20 == 0 ? std::ldexp(Float(1), std::ilogb(sum) + 1) - sum : u * Float(1e-3); break;  // on binade edges
        case 7: t = static_cast<Float>(random() % 64) / 8; break;
        case 8: t = std::ldexp(Float(1), kSmallest - 15); break;                                                               // subnormal
        case 9: t = random() % 50 ? u : sum * 3; break;                                                          // spikes
        case 10: t = 1; break;
        default: t = std::ldexp(u, kLargest - 2); break;                                                                  // into infinity
        }
        sum = sum + t;
    }
    return terms;
}
constexpr int kKinds = 12;

template <class Float>
class OrderedSumOf : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(OrderedSumOf, Floats);

TYPED_TEST(OrderedSumOf, MapsGiveTheSequentialSum) {
    using Fields = FloatFields<TypeParam>;
    std::mt19937 random(7);
    for (int n = 0; n < 6000; ++n) {
        const Terms<TypeParam> terms = make_stream<TypeParam>(n % kKinds, random() % 3000, random);
        const TypeParam start = random() % 3 ? TypeParam(0) : std::ldexp(1 + static_cast<TypeParam>(random() % 1000) / 1000, static_cast<int>(random() % 40) - 20);
        for (size_t piece : {1u, 7u, 64u, 1024u})
            ASSERT_EQ(Fields::bits(by_maps(start, terms, piece)), Fields::bits(sequential(start, terms))) << "kind " << n % kKinds << ", stream " << n << ", piece " << piece;
    }
}

TEST(OrderedSum, IncrementsOfTheTwoParitiesDifferByAtMostOne) {
    std::mt19937 random(8);
    for (int n = 0; n < 2000; ++n) {
        const Terms<float> terms = make_stream<float>(4, 200, random);
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
            const Terms<float> terms = make_stream<float>(n % kKinds, size_t{blocks} * 64, random);
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
