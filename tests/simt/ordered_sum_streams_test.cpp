// SPDX-License-Identifier: BSD-2-Clause
//
// The sum of psnr_hvs on streams of terms that no picture gives: the kernels behind PsnrHvsTermsKernel, fed directly, against S = S + t in binary32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/common/gpu_psnr_hvs.h"
#include "tests/parity/parity.h"
#include "tests/simt/simt_platform.h"

namespace exactvq::test {
namespace {

using namespace gpu;

enum class Kind {
    kUniform, k60Orders, k200Orders, kOnes, kTies, kBesideTies, kBinadeEdges, kSparse, kDenormals, kDenormalsToNormals, kEighths, kAscending, kDescending, kSpikes,
    kOverflow, kZeros, kCount
};
constexpr int kKinds = static_cast<int>(Kind::kCount);

std::vector<float> make_stream(Kind kind, uint32_t blocks, std::mt19937& random) {
    std::vector<float> terms(size_t{blocks} * kPsnrHvsTerms);
    std::uniform_real_distribution<float> uniform(0, 1);
    float sum = 0;
    for (size_t i = 0; i < terms.size(); ++i) {
        const float u = uniform(random), at = static_cast<float>(i) / static_cast<float>(terms.size());
        const float ulp = sum > 0 && std::isfinite(sum) ? std::nextafter(sum, INFINITY) - sum : 0;
        float& t = terms[i];
        switch (kind) {
        case Kind::kUniform: t = u; break;
        case Kind::k60Orders: t = std::ldexp(u, static_cast<int>(random() % 60) - 30); break;
        case Kind::k200Orders: t = std::ldexp(u, static_cast<int>(random() % 200) - 100); break;
        case Kind::kOnes: t = 1; break;
        case Kind::kTies: t = sum > 0 ? (random() % 4 ? 0.5f : 1.0f) * ulp : 1; break;  // whole ulps change what ties do
        case Kind::kBesideTies: t = sum > 0 ? std::nextafter(ulp * 0.5f, random() % 2 ? 0.0f : 1.0f) : 1; break;
        case Kind::kBinadeEdges: t = sum > 1e-3f && sum < 1e30f && random() % 200 == 0 ? std::ldexp(1.0f, std::ilogb(sum) + 1) - sum : u * 1e-3f; break;
        case Kind::kSparse: t = random() % 5 ? 0 : u; break;
        case Kind::kDenormals: t = float_from_bits(random() % 8); break;
        case Kind::kDenormalsToNormals: t = float_from_bits(random() & kFloatMantissa); break;
        case Kind::kEighths: t = static_cast<float>(random() % 64) / 8; break;
        case Kind::kAscending: t = std::ldexp(1.0f + u, static_cast<int>(at * 40) - 20); break;
        case Kind::kDescending: t = std::ldexp(1.0f + u, 20 - static_cast<int>(at * 40)); break;
        case Kind::kSpikes: t = random() % 3000 || sum > 1e30f ? u : sum * 3; break;
        case Kind::kOverflow: t = random() % 100 ? u : std::ldexp(u, 125 - static_cast<int>(random() % 10)); break;
        default: t = 0; break;
        }
        sum = sum + t;
    }
    return terms;
}

uint32_t sequential(const std::vector<float>& terms) {
    float sum = 0.0f;
    for (float t : terms) sum = sum + t;
    return float_bits(sum);
}

// What PsnrHvsTermsKernel leaves, and room for what the others make of it: full of garbage, no larger than what the library allocates at least.
struct Stream {
    Stream(Kind k, uint32_t blocks, std::mt19937& random) : kind(k), terms(make_stream(k, blocks, random)), expected(sequential(terms)) {
        plane.blocks = blocks;
        plane.tiles = (blocks + kPsnrHvsTile - 1) / kPsnrHvsTile;
        plane.spans = (blocks + kPsnrHvsSpan - 1) / kPsnrHvsSpan;
        laid.assign(size_t{(blocks + 31) / 32} * 2048, NAN);
        for (uint32_t b = 0; b < blocks; ++b) {
            float sum = 0.0f;
            for (uint32_t i = 0; i < kPsnrHvsTerms; ++i) {
                laid[psnr_hvs_term_at(b, i)] = terms[size_t{b} * kPsnrHvsTerms + i];
                sum = sum + terms[size_t{b} * kPsnrHvsTerms + i];
            }
            block_sums.push_back(sum);
        }
        for (uint32_t b = 0; b < blocks; b += kPsnrHvsTile)
            tile_sums.push_back(std::accumulate(block_sums.begin() + b, block_sums.begin() + std::min(blocks, b + kPsnrHvsTile), 0.0));
    }

    const PsnrHvsPlane& prepare() {
        block_maps.resize(plane.blocks);
        span_maps.resize(plane.spans);
        std::memset(static_cast<void*>(block_maps.data()), 0xa5, block_maps.size() * sizeof block_maps[0]);
        std::memset(static_cast<void*>(span_maps.data()), 0xa5, span_maps.size() * sizeof span_maps[0]);
        worked_sums = tile_sums;
        word = 0xdeadbeefdeadbeefu;
        plane.terms = laid.data();
        plane.block_sums = block_sums.data();
        plane.tile_sums = worked_sums.data();
        plane.block_maps = block_maps.data();
        plane.span_maps = span_maps.data();
        plane.word = &word;
        return plane;
    }

    Kind kind;
    std::vector<float> terms;
    uint32_t expected;
    PsnrHvsPlane plane{};
    std::vector<float> laid, block_sums;
    std::vector<double> tile_sums, worked_sums;
    std::vector<PsnrHvsMaps> block_maps, span_maps;
    uint64_t word = 0;
};

template <uint32_t kWave>
void run(std::vector<Stream>& streams, uint64_t seed) {
    PsnrHvsArguments arguments{};
    arguments.planes = static_cast<uint32_t>(streams.size());
    uint32_t tiles = 0;
    for (size_t p = 0; p < streams.size(); ++p) {
        arguments.plane[p] = streams[p].prepare();
        arguments.plane[p].first_tile = tiles;
        tiles += arguments.plane[p].tiles;
    }
    uint64_t mark = 0;
    arguments.mark = {&mark, 1};
    simt::Launch launch;
    launch.seed = seed;
    launch.workers = 2;
    launch.blocks = {arguments.planes, 1, 1};
    run_kernel<PsnrHvsForecastKernel, kWave>(launch, arguments);
    launch.blocks = {tiles, 1, 1};
    run_kernel<PsnrHvsMapsKernel, kWave>(launch, arguments);
    launch.blocks = {arguments.planes, 1, 1};
    run_kernel<PsnrHvsSumKernel, kWave>(launch, arguments);
    for (const Stream& s : streams) {
        EXPECT_EQ(s.word, s.expected) << "wave " << kWave << ", kind " << static_cast<int>(s.kind) << ", " << s.plane.blocks << " blocks, sum "
                                      << float_from_bits(static_cast<uint32_t>(s.word)) << " for " << float_from_bits(s.expected) << ", seed " << seed;
    }
}

void check(std::vector<Stream>& streams, uint64_t seed) {
    run<32>(streams, seed);
    run<64>(streams, seed);
}

constexpr uint32_t kEdges[] = {1, 63, 64, 65, 127, 128, 129, 2047, 2048, 2049, 2050};

TEST(OrderedSumStreams, EveryKindAtTheEdgesOfSpansTilesAndWaves) {
    std::mt19937 random(1);
    uint32_t n = 0;
    for (uint32_t blocks : kEdges) {
        for (int kind = 0; kind < kKinds; kind += 3, ++n) {
            if (n % stride()) continue;
            std::vector<Stream> streams;  // as three planes
            for (int k = kind; k < std::min(kind + 3, kKinds); ++k) streams.emplace_back(static_cast<Kind>(k), blocks, random);
            check(streams, n);
            if (HasFailure()) return;
        }
    }
}

TEST(OrderedSumStreams, RandomLengths) {
    std::mt19937 random(2);
    for (uint32_t n = 0; n < 120; n += stride()) {
        std::vector<Stream> streams;
        for (uint32_t p = 0; p < 1 + n % 3; ++p) streams.emplace_back(static_cast<Kind>(random() % kKinds), 1 + random() % (random() % 4 ? 400 : 3000), random);
        check(streams, n);
        if (HasFailure()) return;
    }
}

// A wrong forecast costs time, never a bit.
TEST(OrderedSumStreams, WrongForecasts) {
    std::mt19937 random(3);
    const auto garbage = [&] {  // any number: not infinity and no NaN
        uint32_t bits = random();
        while ((bits & kFloatExponent) == kFloatExponent) bits = random();
        return float_from_bits(bits);
    };
    constexpr uint32_t kWays = 7;
    for (uint32_t n = 0; n < kWays * kKinds; n += stride()) {
        std::vector<Stream> streams;
        streams.emplace_back(static_cast<Kind>(n / kWays), 1 + random() % 700, random);
        Stream& s = streams[0];
        for (float& sum : s.block_sums) {
            switch (n % kWays) {
            case 0: sum = sum * 2; break;
            case 1: sum = sum * 0.5f; break;
            case 2: sum = 0; break;
            case 3: sum = garbage(); break;
            case 4: sum = sum * (1.0f + static_cast<float>(random() % 1000) * 1e-3f); break;
            default: break;  // the tiles' alone
            }
        }
        // Right for the first and the last block of a span, wrong for one between them.
        for (uint32_t b = 1 + random() % 60; n % kWays == 6 && b + 2 < s.plane.blocks; b = b / kPsnrHvsSpan * kPsnrHvsSpan + kPsnrHvsSpan + 1 + random() % 60) {
            const float jump = std::ldexp(1.0f + std::fabs(s.block_sums[b]), static_cast<int>(random() % 20));
            if (!std::isfinite(jump)) continue;
            s.block_sums[b] += jump;
            s.block_sums[b + 1] -= jump;
        }
        for (double& sum : s.tile_sums) {
            switch (n % kWays) {
            case 0: sum = sum * 2; break;
            case 1: sum = sum * 0.5; break;
            case 2: sum = 0; break;
            case 4:
            case 6: break;  // the blocks' alone
            default: sum = static_cast<double>(garbage()); break;
            }
        }
        check(streams, n);
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace exactvq::test
