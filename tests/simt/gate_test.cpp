// SPDX-License-Identifier: BSD-2-Clause
//
// The gate proves itself: each mistake that GPU code is known for is planted, and parity must notice it. (Contraction changes few sums: the code that the
// compilers make is searched for it, and the test cuda-contracted-ptx sees that the search finds it.)
#include "kernels/common/gpu.h"
#include "tests/parity/parity.h"
#include "tests/simt/simt_backends.h"

namespace exactvq::gpu {

Planted planted = Planted::kNone;

}  // namespace exactvq::gpu

namespace exactvq::test {
namespace {

using gpu::Planted;

// A pair of pictures and its words by the reference loops.
struct Scene {
    Scene(const exactvq_format& format, Content content, const std::vector<AccumulatorSpec>& specs)
        : geometry(make_geometry(format)), samples(make_content(content, geometry, 1)), ref(samples.ref, geometry, Layout::kPlanar),
          main(samples.main, geometry, Layout::kPlanar), pair(make_pair(ref, main, geometry)), specs(specs) {
        pair.earlier[0].luma = main.view(0);
        expected = reference_words(specs, pair);
    }

    // Words that differ on the last of `frames` pairs, on wave 32 and wave 64.
    std::vector<size_t> differences(Planted fault, uint32_t frames = 1) const {
        std::vector<size_t> counts;
        gpu::SimtOptions options;
        options.workers = 2;
        for (const BackendUnderTest& backend : simt_backends(options)) {
            BackendConfig config;
            config.geometry = geometry;
            config.accumulators = specs;
            std::vector<uint64_t> words(expected.size());
            gpu::planted = fault;
            {
                const auto b = backend.make(config);
                for (uint32_t i = 0; i < frames; ++i) {
                    b->start(0, pair, words.data());
                    b->wait(0);
                }
            }
            gpu::planted = Planted::kNone;
            size_t count = 0;
            for (size_t i = 0; i < words.size(); ++i) count += words[i] != expected[i];
            counts.push_back(count);
        }
        return counts;
    }

    Geometry geometry;
    ContentPair samples;
    Picture ref, main;
    FramePair pair;
    std::vector<AccumulatorSpec> specs;
    std::vector<uint64_t> expected;
};

void expect_noticed(Planted fault, const exactvq_format& format, Content content, const std::vector<AccumulatorSpec>& specs, uint32_t frames = 1) {
    const Scene scene(format, content, specs);
    for (size_t count : scene.differences(Planted::kNone, frames)) EXPECT_EQ(count, 0u) << "without the fault";
    for (size_t count : scene.differences(fault, frames)) EXPECT_GT(count, 0u) << "not noticed";
}

const std::vector<AccumulatorSpec> kSse{{AccumulatorKind::kSse, 0, {}, {}}}, kPsnrHvs{{AccumulatorKind::kPsnrHvsSum, 0, PsnrHvsMask::kF32, {}}};

std::vector<AccumulatorSpec> adm(const exactvq_format& format) { return {adm_accumulator(make_geometry(format), "")}; }

TEST(Gate, FloatSumsOfSquaredDifferences) { expect_noticed(Planted::kFloatSums, make_format(352, 288, 10, "400"), Content::kNoise, kSse); }

TEST(Gate, AdmFoldedPerTile) {
    const exactvq_format format = make_format(352, 288, 8, "400");
    expect_noticed(Planted::kTileFolds, format, Content::kTexture, adm(format));
}

TEST(Gate, AdmShiftFromAFloatLogarithm) {
    const exactvq_format format = make_format(962, 13542, 8, "400");
    expect_noticed(Planted::kFloatLogarithm, format, Content::kTexture, adm(format));
}

TEST(Gate, WordThatReliesOnAClear) { expect_noticed(Planted::kReliesOnClear, make_format(64, 64, 8, "400"), Content::kNoise, kSse, 2); }

TEST(Gate, PsnrHvsSummedPerBlock) { expect_noticed(Planted::kBlockSums, make_format(352, 288, 8, "400"), Content::kSmallNoise, kPsnrHvs); }

std::vector<AccumulatorSpec> vif(double gain_limit) {
    std::vector<AccumulatorSpec> specs(1);
    specs[0].kind = AccumulatorKind::kVif;
    specs[0].vif.gain_limit = gain_limit;
    return specs;
}

TEST(Gate, VifGainInFloat) { expect_noticed(Planted::kVifFloatGain, make_format(352, 288, 8, "400"), Content::kTexture, vif(100)); }

TEST(Gate, VifWithoutEpsilon) { expect_noticed(Planted::kVifNoEpsilon, make_format(64, 64, 8, "400"), Content::kIdentical, vif(100)); }

TEST(Gate, VifNoiseFromTheLimitedGain) { expect_noticed(Planted::kVifLimitedNoise, make_format(128, 96, 8, "400"), Content::kContrast, vif(1)); }

TEST(Gate, VifShiftedMeans) { expect_noticed(Planted::kVifShiftedMeans, make_format(64, 64, 8, "400"), Content::kTexture, vif(100)); }

TEST(Gate, VifTilesMirroredAtTheirOwnBorders) { expect_noticed(Planted::kVifTileBorders, make_format(64, 64, 8, "400"), Content::kTexture, vif(100)); }

std::vector<AccumulatorSpec> motion() {
    std::vector<AccumulatorSpec> specs(1);
    specs[0].kind = AccumulatorKind::kMotion;
    return specs;
}

TEST(Gate, MotionOfTheOtherSign) { expect_noticed(Planted::kMotionSign, make_format(64, 64, 8, "400"), Content::kNoise, motion()); }

TEST(Gate, MotionRoundedTowardsZero) { expect_noticed(Planted::kMotionTowardsZero, make_format(64, 64, 8, "400"), Content::kNoise, motion()); }

// Right on waves of 32, wrong on waves of 64.
TEST(Gate, LiteralWaveSize) {
    const auto counts = Scene(make_format(1200, 64, 8, "400"), Content::kNoise, kSse).differences(Planted::kLiteralWave);
    ASSERT_EQ(counts.size(), 2u);
    EXPECT_EQ(counts[0], 0u);
    EXPECT_GT(counts[1], 0u);
}

// Each launch in turn is accepted by the driver and never runs.
TEST(Gate, LostLaunches) {
    const exactvq_format format = make_format(80, 64, 8, "420");
    const Geometry geometry = make_geometry(format);
    const ContentPair samples = make_content(Content::kTexture, geometry, 1);
    const Picture ref(samples.ref, geometry, Layout::kPlanar), main(samples.main, geometry, Layout::kPlanar);
    FramePair pair = make_pair(ref, main, geometry);
    pair.earlier[0].luma = pair.earlier[1].luma = main.view(0);
    BackendConfig config;
    config.geometry = geometry;
    config.accumulators = all_accumulators(geometry);
    for (uint64_t lost = 0, launches = 1; lost <= 2 * launches; ++lost) {
        gpu::SimtFaults faults;
        faults.lost_launch = lost;
        gpu::SimtOptions options;
        options.faults = &faults;
        const auto backend = simt_backends(options)[0].make(config);
        std::vector<uint64_t> words(count_words(config.accumulators));
        std::string error;
        for (int frame = 0; frame < 2 && error.empty(); ++frame) {
            try {
                backend->start(0, pair, words.data());
                backend->wait(0);
            } catch (const std::exception& e) {
                error = e.what();
            }
        }
        if (lost == 0) {
            EXPECT_EQ(error, "");
            launches = faults.launches / 2;
            EXPECT_GT(launches, 25u);
        } else {
            EXPECT_NE(error.find("lost a launch"), std::string::npos) << "launch " << lost << ": " << error;
        }
    }
}

}  // namespace
}  // namespace exactvq::test
