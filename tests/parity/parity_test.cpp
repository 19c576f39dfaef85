// SPDX-License-Identifier: BSD-2-Clause
//
// Every backend against the reference loops: equal accumulators, bit for bit, over sizes, depths, formats, layouts and contents.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "kernels/common/sse.h"
#include "tests/parity/parity.h"

namespace exactvq::test {
namespace {

uint32_t number_of(const char* name, uint32_t otherwise) {
    const char* text = std::getenv(name);
    return text ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

// Each size with one and two threads and with all options of adm and vif, by turns over its depths.
TEST(Parity, EverySizeFrom1To40) {
    const std::vector<BackendUnderTest> backends[] = {backends_under_test({1}), backends_under_test({2})};
    size_t compared = 0;
    uint32_t n = 0;
    for (uint32_t h = 1; h <= 40; ++h) {
        for (uint32_t w = 1; w <= 40; ++w) {
            if (stride() > 1 && (w + h) % 3) continue;  // each width and each height is among the rest
            uint32_t turn = w + h;
            for (uint32_t depth : {8u, 10u, 12u, 16u}) {
                const exactvq_format format = make_format(w, h, depth, n % 3 ? "420" : "444");
                Parity parity(format, backends[turn % 2], accumulators_in_turn(make_geometry(format), turn));
                for (uint32_t i = 0; i < 3; ++i, ++n) compared += parity.check(content_at(n), layout_at(n / 3), layout_at(n / 5), n);
                if (testing::Test::HasFailure()) return;
                ++turn;
            }
        }
    }
    std::printf("%zu words compared\n", compared);
    for (const auto& list : backends)
        for (const auto& backend : list) std::printf("  %s\n", backend.name.c_str());
}

// Each content with every third layout, as a layout is read in the same way whatever it holds. Which layouts, how many threads and which options of adm and
// vif goes by turns over the formats.
TEST(Parity, EveryDepthFormatContentAndLayout) {
    const std::vector<BackendUnderTest> backends[] = {backends_under_test({1}), backends_under_test({3})};
    uint32_t n = 0, turn = 0;
    for (uint32_t depth = 8; depth <= 16; ++depth) {
        for (const char* chroma : {"400", "420", "422", "444", "440", "411", "410"}) {
            const uint32_t w = 129 + 16 * (n % 3), h = 71 + n % 5;
            const exactvq_format format = make_format(w, h, depth, chroma);
            std::vector<AccumulatorSpec> specs = accumulators_in_turn(make_geometry(format), turn);
            if (std::string(chroma) != "400" && std::string(chroma) != "420")  // these look at luma only
                specs.erase(std::remove_if(specs.begin(), specs.end(), [](const AccumulatorSpec& s) { return s.kind == AccumulatorKind::kAdm || s.kind == AccumulatorKind::kVif || s.kind == AccumulatorKind::kMotion; }), specs.end());
            Parity parity(format, backends[turn % 2], specs);
            for (uint32_t c = 0; c < static_cast<uint32_t>(Content::kCount); ++c, ++n) {
                if (n % stride()) continue;
                for (uint32_t l = (c + turn) % 3; l < static_cast<uint32_t>(Layout::kCount); l += 3)
                    parity.check(content_at(c), layout_at(l), layout_at(l + n), n);
                if (testing::Test::HasFailure()) return;
            }
            ++turn;
        }
    }
}

// Widths around every vector length, where tails begin.
TEST(Parity, EveryWidthFrom41To300) {
    const auto backends = backends_under_test({2});
    for (uint32_t w = 41; w <= 300; w += stride()) {
        for (uint32_t depth : {8u, 10u, 12u}) {
            Parity parity(make_format(w, 24, depth, "420"), backends);
            for (Content content : {Content::kTexture, Content::kSmallNoise, Content::kNoise}) parity.check(content, layout_at(w), layout_at(w + 4), w);
        }
        if (testing::Test::HasFailure()) return;
    }
}

// Pieces into which rows of spread samples are cut.
TEST(Parity, WideRowsOfSpreadSamples) {
    const auto backends = backends_under_test({2});
    for (uint32_t w : {1023u, 1024u, 1025u, 2100u, 4097u})
        for (uint32_t depth : {8u, 10u}) Parity(make_format(w, 24, depth, "400"), backends).check(Content::kNoise, Layout::kEverySecond, Layout::kEverySecond, w);
}

// Each content with two of the depths.
TEST(Parity, ThreadsAndSlots) {
    const auto backends = backends_under_test({1, 2, 3, 4, 5, 6, 7, 8});
    for (uint32_t depth : {8u, 10u, 12u, 16u}) {
        Parity parity(make_format(353, 289, depth, "420"), backends);
        for (uint32_t c = depth % 8 ? 1 : 0; c < static_cast<uint32_t>(Content::kCount); c += 2 * stride())
            parity.check(content_at(c), Layout::kPlanar, Layout::kP010, c);
    }
}

TEST(Parity, LargeFrames) {
    const auto backends = backends_under_test({2});
    struct Case {
        uint32_t w, h, depth;
        Content content;
        uint32_t turn;  // 2 leaves out scale 0
    };
    for (const Case& c : {Case{962, 13542, 8, Content::kTexture, 0}, Case{962, 13542, 10, Content::kNoise, 2}, Case{8192, 4320, 8, Content::kSmallNoise, 1},
                          Case{4096, 2160, 12, Content::kNoise, 0}, Case{1920, 1080, 16, Content::kBinary, 1}}) {
        if (stride() > 1 && c.w * c.h > 10000000) continue;
        const exactvq_format format = make_format(c.w, c.h, c.depth, c.depth == 12 ? "400" : "420");
        Parity(format, backends, accumulators_in_turn(make_geometry(format), c.turn)).check(c.content, Layout::kPlanar, Layout::kPlanar, 2);
    }
}

// More than 2^53 units: the sum of float_psnr rounds, and the order of its additions counts.
TEST(Parity, RoundedSumBeyond53Bits) {
    if (stride() > 1) GTEST_SKIP() << "left to the build without sanitizers";
    Parity parity(make_format(3840, 2160, 16, "400"), backends_under_test({2}), {{AccumulatorKind::kRoundedSse, 0, {}, {}}});
    for (uint32_t seed = 1; seed <= 3; ++seed) parity.check(Content::kSwingAndOdd, Layout::kPlanar, Layout::kPlanar, seed);
    parity.check(Content::kBlackMax, Layout::kPlanar, Layout::kPlanar, 1);

    // The content does what it is here for: the exact integer sum is another one.
    const Geometry geometry = make_geometry(make_format(3840, 2160, 16, "400"));
    const ContentPair samples = make_content(Content::kSwingAndOdd, geometry, 1);
    uint64_t exact = 0;
    for (size_t i = 0; i < samples.ref[0].at.size(); ++i) exact += rounded_squared_difference(samples.ref[0].at[i], samples.main[0].at[i]);
    const Picture ref(samples.ref, geometry, Layout::kPlanar), main(samples.main, geometry, Layout::kPlanar);
    EXPECT_GT(exact, kExactDoubleSum);
    EXPECT_NE(reference_words({{AccumulatorKind::kRoundedSse, 0, {}, {}}}, make_pair(ref, main, geometry))[0], double_bits(static_cast<double>(exact)));
}

// Words with bits above the depth are outside the contract; they must still give one result everywhere and read nothing outside.
TEST(Parity, GarbageAboveTheDepth) {
    const auto backends = backends_under_test({1, 2});
    for (uint32_t depth : {9u, 10u, 11u, 12u}) {
        Geometry geometry = make_geometry(make_format(150, 40, 16, "400"));
        const ContentPair samples = make_content(Content::kNoise, geometry, depth);
        geometry.depth = depth;
        BackendConfig config;
        config.geometry = geometry;
        config.accumulators = all_accumulators(geometry);
        const Picture ref(samples.ref, geometry, Layout::kPlanar), main(samples.main, geometry, Layout::kPlanar);
        const FramePair pair = make_pair(ref, main, geometry);
        const auto expected = reference_words(config.accumulators, pair);
        for (const BackendUnderTest& backend : backends) {
            std::vector<uint64_t> words(expected.size());
            const auto b = backend.make(config);
            b->start(0, pair, words.data());
            b->wait(0);
            for (size_t i = 0; i < words.size(); ++i) {
                // A NaN's payload is not part of the contract.
                if (i < config.accumulators.size() && config.accumulators[i].kind == AccumulatorKind::kPsnrHvsSum && float_from_bits(static_cast<uint32_t>(expected[i])) != float_from_bits(static_cast<uint32_t>(expected[i]))) {
                    const float value = float_from_bits(static_cast<uint32_t>(words[i]));
                    EXPECT_NE(value, value) << backend.name;
                    continue;
                }
                EXPECT_EQ(words[i], expected[i]) << backend.name << ", " << describe(config.accumulators, i) << ", depth " << depth;
            }
        }
    }
}

using RandomBelow = std::function<uint32_t(uint32_t bound)>;

// What one of many random cases compares; contents and layouts are random, too.
struct RandomCase {
    exactvq_format format;
    std::vector<AccumulatorSpec> specs;
    std::string text;  // for a failure
};

// `cases` of them. The environment variables EXACTVQ_<name>_CASES and EXACTVQ_<name>_SEED choose others.
void check_random_cases(const std::string& name, uint32_t cases, const std::function<RandomCase(const RandomBelow&)>& make) {
    cases = number_of(("EXACTVQ_" + name + "_CASES").c_str(), cases / stride());
    const uint32_t seed = number_of(("EXACTVQ_" + name + "_SEED").c_str(), 1);
    std::printf("%u cases from seed %u\n", cases, seed);
    const std::vector<BackendUnderTest> backends[] = {backends_under_test({1}), backends_under_test({3})};  // by turns
    size_t compared = 0;
    for (uint32_t i = 0; i < cases; ++i) {
        uint32_t n = 0;
        const auto random = [&](uint32_t bound) { return hash(hash(seed, i), n++) % bound; };
        const RandomCase c = make(random);
        const Content content = content_at(random(1000));
        const Layout ref_layout = layout_at(random(1000)), main_layout = layout_at(random(1000));
        compared += Parity(c.format, backends[i % 2], c.specs).check(content, ref_layout, main_layout, i);
        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "case " << i << " of seed " << seed << ": " << c.text;
            return;
        }
    }
    std::printf("%zu words compared\n", compared);
}

// adm has too many parameters for a full matrix: random options, sizes, depths, contents and layouts.
TEST(AdmParity, RandomOptionsSizesAndContents) {
    check_random_cases("ADM", 4000, [](const RandomBelow& random) -> RandomCase {
        const auto one_of = [&](std::initializer_list<const char*> list) { return std::string(list.begin()[random(static_cast<uint32_t>(list.size()))]); };
        const uint32_t small = random(3) ? 60 : 400, w = kAdmMinSide + random(small), h = kAdmMinSide + random(random(3) ? 60 : 300);
        const uint32_t depth = std::array<uint32_t, 10>{8, 8, 8, 9, 10, 10, 12, 14, 16, 16}[random(10)];
        std::string options = "adm_enhn_gain_limit=" + one_of({"100", "100", "1", "1", "2", "1.2", "3.7", "99.9", "64"});
        if (random(2)) options += one_of({"|adm_csf_mode=2", "|adm_csf_mode=3", "|adm_csf_mode=1", "|adm_csf_mode=1|adm_csf_scale=0.0005|adm_csf_diag_scale=0.001",
                                          "|adm_csf_mode=1|adm_csf_scale=0.02|adm_csf_diag_scale=0.005", "|adm_csf_mode=1|adm_csf_scale=50|adm_csf_diag_scale=50", "|adm_csf_mode=1|adm_csf_scale=0",
                                          "|adm_norm_view_dist=24|adm_ref_display_height=4320"});
        else options += one_of({"|adm_csf_mode=0", "|adm_csf_mode=1", "|adm_csf_mode=2", "|adm_csf_mode=3"}) +
                        one_of({"|adm_norm_view_dist=5", "|adm_norm_view_dist=1.5|adm_ref_display_height=2160", "|adm_ref_display_height=2160",
                                "|adm_ref_display_height=2160|adm_norm_view_dist=5", "|adm_ref_display_height=720|adm_norm_view_dist=5"});
        options += one_of({"", "", "", "|adm_skip_aim=1"}) + one_of({"", "", "", "|adm_skip_scale0=1"});
        const exactvq_format format = make_format(w, h, depth, "400");
        return {format, {adm_accumulator(make_geometry(format), options)}, options};
    });
}

// vif and motion: random parameters, sizes, depths, contents and layouts, widths around tiles.
TEST(VifParity, RandomParametersSizesAndContents) {
    check_random_cases("VIF", 3000, [](const RandomBelow& random) -> RandomCase {
        const uint32_t tile = std::array<uint32_t, 4>{0, 0, 240, 496}[random(4)];
        const uint32_t w = kVifMinSide + tile + random(60), h = kVifMinSide + random(random(3) ? 50 : 300), depth = std::array<uint32_t, 12>{8, 8, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16}[random(12)];
        std::vector<AccumulatorSpec> specs(2);
        specs[0].kind = AccumulatorKind::kVif;
        specs[0].vif = {std::array<double, 6>{100, 100, 1, 1.37, 2, 64}[random(6)], random(5) == 0};
        specs[1].kind = AccumulatorKind::kMotion;
        specs[1].motion_distance = static_cast<uint8_t>(1 + random(2));
        return {make_format(w, h, depth, "400"), specs, "gain limit " + std::to_string(specs[0].vif.gain_limit)};
    });
}

}  // namespace
}  // namespace exactvq::test
