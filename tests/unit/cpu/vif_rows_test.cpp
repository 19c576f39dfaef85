// SPDX-License-Identifier: BSD-2-Clause
//
// VIF's and motion's loops of every SIMD level against the plain ones, on planes that pictures seldom bring: every scale with any samples.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "tests/support/picture.h"

namespace exactvq::cpu {
namespace {

constexpr uint32_t kMaxWidth = 600;

// Samples of a plane of one scale, in rows with margins as VifStrip has them.
struct Plane {
    VifScale scale;
    std::vector<uint16_t> memory;
    static constexpr size_t kStride = kMaxWidth + 2 * kVifMargin;

    explicit Plane(const VifScale& s) : scale(s), memory(kStride * kVifWindow) {}
    uint16_t* row(uint32_t y) { return &memory[y * kStride + kVifMargin]; }
    VifRows rows() {
        VifRows r{};
        for (uint32_t y = 0; y < kVifWindow; ++y) r.row[y] = reinterpret_cast<const uint8_t*>(row(y));
        r.step = 2;
        r.readable = scale.width + kVifMargin;
        return r;
    }
};

// Kinds of pairs of planes; beyond kBinary the swing is the largest.
enum Kind : uint32_t { kNoise, kEqual, kFlat, kEdges, kSmall, kBinary, kStripesX, kStripesY, kChecker, kOpposite, kBlack, kWhite, kBlackWhite, kKinds };

void fill(Kind kind, uint32_t seed, Plane& ref, Plane& main) {
    const uint32_t largest = (1u << ref.scale.depth) - 1;
    for (uint32_t y = 0; y < kVifWindow; ++y) {
        for (uint32_t x = 0; x < kMaxWidth + kVifMargin; ++x) {
            const uint32_t h = test::hash(test::hash(seed, y), x), g = test::hash(h, 1);
            const auto swing = [&](uint32_t bit) { return bit & 1 ? largest : 0; };
            uint32_t a = 0, b = 0;
            switch (kind) {
            case kNoise: a = h & largest, b = g & largest; break;
            case kEqual: a = b = h & largest; break;
            case kFlat: a = largest / 3, b = a + 1; break;
            case kEdges: a = x > 40 + h % 3 ? largest - g % 3 : h % 5, b = a / 2 + g % 7; break;
            case kSmall: a = largest / 2 + h % 37, b = a + g % 11; break;
            case kBinary: a = swing(h), b = swing(g); break;
            case kStripesX: a = swing(x), b = swing(x + h % 50 / 49); break;
            case kStripesY: a = swing(y / 2), b = swing(y); break;
            case kChecker: a = swing(x + y), b = swing((x + y) / 2); break;
            case kOpposite: a = swing(h), b = largest - a; break;
            case kBlack: break;
            case kWhite: a = b = largest; break;
            case kBlackWhite: b = largest; break;
            case kKinds: break;
            }
            ref.row(y)[x] = static_cast<uint16_t>(a);
            main.row(y)[x] = static_cast<uint16_t>(b);
        }
    }
}

// Depth 8 has bytes at scale 0: pictures bring those (tests/parity).
constexpr std::array<std::pair<uint32_t, uint32_t>, 11> kPlanes{{{0, 9}, {0, 10}, {0, 11}, {0, 12}, {0, 13}, {0, 14}, {0, 15}, {0, 16}, {1, 16}, {2, 16}, {3, 16}}};

TEST(VifRows, StatisticsOfEveryScale) {
    const auto scratch = std::make_unique<VifScratch>();
    size_t compared = 0;
    uint32_t n = 0;
    for (const auto& [scale, depth] : kPlanes) {
        for (uint32_t kind = 0; kind < kKinds; ++kind) {
            for (uint32_t width : {17u, 31u, 64u, 65u, 256u, 257u, 287u, 289u, 512u, 545u, 600u}) {
                const VifScale s{scale, width, 1000, depth};
                Plane ref(s), main(s);
                fill(static_cast<Kind>(kind), ++n, ref, main);
                const uint32_t count = 1 + n % kVifRows;
                const double gain = std::array<double, 4>{100, 1, 1.37, 64}[n / 3 % 4];
                uint64_t expected[kVifSums] = {1, 2, 3, 4};  // sums are added to
                plain_vif_kernels().statistics(s, ref.rows(), main.rows(), count, gain, *scratch, expected);
                for (const Kernels* kernels : all_kernels()) {
                    uint64_t words[kVifSums] = {1, 2, 3, 4};
                    kernels->vif.statistics(s, ref.rows(), main.rows(), count, gain, *scratch, words);
                    for (uint32_t i = 0; i < kVifSums; ++i)
                        ASSERT_EQ(words[i], expected[i]) << kernels->name << ", scale " << scale << ", depth " << depth << ", kind " << kind << ", width " << width << ", rows " << count
                                                         << ", gain " << gain << ", sum " << i << ", seed " << n;
                    compared += kVifSums;
                }
            }
        }
    }
    std::printf("%zu sums compared\n", compared);
}

TEST(VifRows, NextScale) {
    for (const auto& [scale, depth] : kPlanes) {
        if (scale + 1 == kVifScales) continue;
        for (uint32_t kind = 0; kind < kKinds; ++kind) {
            for (uint32_t width : {16u, 17u, 63u, 64u, 65u, 129u, 600u}) {
                const VifScale s{scale, width, 1000, depth};
                Plane ref(s), main(s);
                fill(static_cast<Kind>(kind), width, ref, main);
                alignas(64) static int16_t scratch[kMaxWidth + 2 * kVifMargin];
                alignas(64) uint16_t expected[kMaxWidth], out[kMaxWidth];
                plain_vif_kernels().shrink(s, ref.rows(), scratch + kVifMargin, expected);
                for (const Kernels* kernels : all_kernels()) {
                    kernels->vif.shrink(s, ref.rows(), scratch + kVifMargin, out);
                    for (uint32_t x = 0; x < width / 2; ++x)
                        ASSERT_EQ(out[x], expected[x]) << kernels->name << ", scale " << scale << ", depth " << depth << ", kind " << kind << ", width " << width << ", column " << x;
                }
            }
        }
    }
}

TEST(MotionRows, EveryKindAndDepth) {
    for (uint32_t depth = 9; depth <= 16; ++depth) {
        for (uint32_t kind = 0; kind < kKinds; ++kind) {
            for (uint32_t width : {3u, 4u, 5u, 16u, 31u, 33u, 64u, 65u, 600u}) {
                Plane a({0, width, 1000, depth}), b(a.scale);
                fill(static_cast<Kind>(kind), depth, a, b);
                PlaneView view[2];
                for (int i = 0; i < 2; ++i) {
                    view[i].data = reinterpret_cast<const uint8_t*>((i ? b : a).row(0));
                    view[i].stride = Plane::kStride * sizeof(uint16_t);
                    view[i].width = width;
                    view[i].height = kVifWindow;
                    view[i].depth = depth;
                    view[i].step = sizeof(uint16_t);
                }
                alignas(64) static int16_t scratch[2 * (kMaxWidth + 3 * kMotionMargin)];
                for (int first : {0, 1}) {
                    const uint64_t expected = all_kernels()[0]->motion.sum(view[first], view[1 - first], 0, kVifWindow, scratch);
                    for (const Kernels* kernels : all_kernels())
                        ASSERT_EQ(kernels->motion.sum(view[first], view[1 - first], 0, kVifWindow, scratch), expected)
                            << kernels->name << ", depth " << depth << ", kind " << kind << ", width " << width;
                }
            }
        }
    }
}

}  // namespace
}  // namespace exactvq::cpu
