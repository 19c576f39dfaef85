// SPDX-License-Identifier: BSD-2-Clause
//
// Every GPU kernel on the CPU, in waves of 32 and 64 and in several orders, against the reference loops.
#include <array>

#include "tests/parity/parity.h"
#include "tests/simt/simt_backends.h"

namespace exactvq::test {
namespace {

std::vector<BackendUnderTest> backends(uint64_t seed) {
    gpu::SimtOptions options;
    options.seed = seed;
    options.workers = 2;
    return simt_backends(options);
}

TEST(SimtParity, SmallSizes) {
    uint32_t n = 0;
    for (uint32_t h : {1u, 2u, 7u, 8u, 9u, 15u, 17u, 18u, 31u, 33u, 40u}) {
        for (uint32_t w = 1; w <= 40; w += w < 20 ? 1 : 3) {
            if (n % stride()) {
                ++n;
                continue;
            }
            const uint32_t depth = std::array<uint32_t, 6>{8, 10, 12, 16, 9, 8}[n % 6];
            Parity parity(make_format(w, h, depth, n % 3 ? "420" : "444"), backends(n % 3));
            parity.check(content_at(n), layout_at(n / 3), layout_at(n / 5), n);
            ++n;
            if (HasFailure()) return;
        }
    }
}

TEST(SimtParity, MediumSizesDepthsFormatsLayoutsAndContents) {
    uint32_t n = 0;
    for (uint32_t depth = 8; depth <= 16; ++depth) {
        for (const char* chroma : {"400", "420", "422", "444", "410"}) {
            const uint32_t w = 90 + 37 * (n % 5), h = 50 + 29 * (n % 4);
            Parity parity(make_format(w, h, depth, chroma), backends(n));
            for (uint32_t c = 0; c < 3; ++c, ++n) {
                if (n % stride()) continue;
                parity.check(content_at(n), layout_at(n), layout_at(n + 3 * c), n);
            }
            if (HasFailure()) return;
        }
    }
}

std::vector<AccumulatorSpec> vif_and_motion(const exactvq_format& format) {
    std::vector<AccumulatorSpec> specs = all_accumulators(make_geometry(format));
    std::erase_if(specs, [](const AccumulatorSpec& s) { return s.kind != AccumulatorKind::kVif && s.kind != AccumulatorKind::kMotion; });
    return specs;
}

TEST(SimtParity, VifAndMotionOfEverySmallSize) {
    uint32_t n = 0;
    for (uint32_t h = kMotionMinSide; h <= 40; ++h) {
        for (uint32_t w = kMotionMinSide; w <= 40; ++w, ++n) {
            if (n % stride()) continue;
            const exactvq_format format = make_format(w, h, std::array<uint32_t, 5>{8, 10, 16, 9, 8}[n % 5], "400");
            Parity(format, backends(n % 3), vif_and_motion(format)).check(content_at(n), layout_at(n / 3), layout_at(n / 5), n);
            if (HasFailure()) return;
        }
    }
}

TEST(SimtParity, VifAndMotionOfEveryDepthAndContent) {
    uint32_t n = 0;
    for (uint32_t c = 0; c < static_cast<uint32_t>(Content::kCount); ++c) {
        for (uint32_t depth = 8; depth <= 16; ++depth, ++n) {
            if (n % stride()) continue;
            const exactvq_format format = make_format(60 + 13 * (n % 7), 35 + 9 * (n % 5), depth, "400");
            Parity(format, backends(n % 5), vif_and_motion(format)).check(content_at(c), layout_at(n), layout_at(n / 2), 8 * n + 2);
            if (HasFailure()) return;
        }
    }
}

// Sizes at which tiles begin and end, at one scale or another.
TEST(SimtParity, VifAndMotionAroundTiles) {
    uint32_t n = 0;
    for (uint32_t h : {31u, 32u, 33u, 65u, 128u, 130u}) {
        for (uint32_t w : {111u, 112u, 113u, 119u, 223u, 225u, 240u, 449u}) {
            const exactvq_format format = make_format(w, h, n % 3 ? 8 : 10, "400");
            if (n % stride() == 0) Parity(format, backends(n), vif_and_motion(format)).check(content_at(n), layout_at(n), layout_at(n / 2), 8 * n + 2);
            ++n;
            if (HasFailure()) return;
        }
    }
}

// Terms that are ties, or quantised: maps of both parities, and spans and blocks whose maps fail.
TEST(SimtParity, OrderedSumOnHardContents) {
    for (Content content : {Content::kBinary, Content::kStripes, Content::kFlatPlusOne, Content::kSparse, Content::kSwingAndOdd, Content::kSmallNoise}) {
        const exactvq_format format = make_format(640, 200, 8, "400");
        Parity parity(format, backends(7), {{AccumulatorKind::kPsnrHvsSum, 0, PsnrHvsMask::kF32, {}}});
        parity.check(content, Layout::kPlanar, Layout::kPlanar, 1);
    }
}

}  // namespace
}  // namespace exactvq::test
