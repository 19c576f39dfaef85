// SPDX-License-Identifier: BSD-2-Clause
//
// float_psnr's sum beyond 2^53 units, where every addition rounds: the kernels fed with pictures of up to 2^57 units, which fit in memory because their rows
// repeat, against the reference loop.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/common/gpu_sse.h"
#include "kernels/cpu/reference.h"
#include "tests/parity/parity.h"
#include "tests/simt/simt_platform.h"

namespace exactvq::test {
namespace {

using namespace gpu;

template <uint32_t kWave>
uint64_t word(const PlanePair& pair, uint64_t seed) {
    std::vector<uint64_t> sums(pair.ref.height, 0xdeadbeefdeadbeefu);
    uint64_t word = 0, marks[2] = {};
    simt::Launch launch;
    launch.seed = seed;
    launch.workers = 2;
    launch.kernel = "rows";
    launch.blocks = {divide_up(pair.ref.height, 8), 1, 1};
    run_kernel<RoundedSseRowsKernel, kWave>(launch, {pair, sums.data(), {&marks[0], seed}});
    launch.kernel = "sum";
    launch.blocks = {1, 1, 1};
    run_kernel<RoundedSseSumKernel, kWave>(launch, {pair, sums.data(), &word, {&marks[1], seed}});
    EXPECT_EQ(marks[0], seed);
    EXPECT_EQ(marks[1], seed);
    return word;
}

// A row of reference samples 0 and one of main samples of some kind, each repeated `height` times.
class RepeatedRow {
public:
    RepeatedRow(uint32_t width, uint32_t height, int kind, uint32_t seed) : ref_(width), main_(width) {
        std::mt19937 random(seed);
        for (uint16_t& sample : main_) {
            switch (kind) {
            case 0: sample = 65535; break;
            case 1: sample = static_cast<uint16_t>(65535 - random() % 64); break;
            case 2: sample = random() % 2 ? 65535 : static_cast<uint16_t>(random() % 16); break;           // odd terms are ties
            case 3: sample = random() % 4 ? 65535 : static_cast<uint16_t>(1u << random() % 4); break;       // 1, 4, 16, 64: ties of one binade each
            case 4: sample = random() % 3 ? 65535 : 1; break;
            default: sample = static_cast<uint16_t>(random()); break;
            }
        }
        for (PlaneView* view : {&pair_.ref, &pair_.main}) {
            view->data = reinterpret_cast<const uint8_t*>(view == &pair_.ref ? ref_.data() : main_.data());
            view->width = width;
            view->height = height;
            view->depth = 16;
            view->step = 2;
        }
    }
    const PlanePair& pair() const { return pair_; }

private:
    std::vector<uint16_t> ref_, main_;
    PlanePair pair_;
};

TEST(RoundedSum, BeyondTwoToThe53) {
    uint32_t n = 0, rounded = 0;
    for (const auto& [width, height] : {std::pair(4099u, 1500u), std::pair(6000u, 5000u), std::pair(1u, 32768u), std::pair(32768u, 200u), std::pair(257u, 9000u)}) {
        for (int kind = 0; kind < 6; ++kind, ++n) {
            if (n / 6 % stride()) continue;  // all kinds of some sizes
            const RepeatedRow rows(width, height, kind, n);
            const uint64_t expected = double_bits(reference::rounded_sse(rows.pair()));
            EXPECT_EQ(word<32>(rows.pair(), n + 1), expected) << width << "x" << height << ", kind " << kind;
            EXPECT_EQ(word<64>(rows.pair(), n + 1), expected) << width << "x" << height << ", kind " << kind;
            uint64_t exact = 0;
            for (uint32_t x = 0; x < width; ++x) exact += rounded_squared_difference(0, rows.pair().main.sample(x, 0));
            rounded += double_bits(static_cast<double>(exact * height)) != expected;
        }
    }
    EXPECT_GE(rounded, stride() == 1 ? 8u : 1u) << "sums in which the order of the additions counted";
}

}  // namespace
}  // namespace exactvq::test
