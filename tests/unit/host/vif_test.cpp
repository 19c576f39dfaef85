// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cmath>

#include "host/plan.h"

namespace exactvq {
namespace {

constexpr size_t kScores = 15;
constexpr const char* kNames[kScores] = {"vif_scale0",     "vif_scale1",     "vif_scale2",     "vif_scale3",     "vif",
                                         "vif_num",        "vif_den",        "vif_num_scale0", "vif_den_scale0", "vif_num_scale1",
                                         "vif_den_scale1", "vif_num_scale2", "vif_den_scale2", "vif_num_scale3", "vif_den_scale3"};

Plan make_plan(const std::string& options, uint32_t width, uint32_t height) {
    const MetricList list = parse_metrics("vif", options);
    std::vector<exactvq_option> pairs;
    for (const auto& [key, value] : list.instances[0].options) pairs.push_back({key.c_str(), value.c_str()});
    const exactvq_metric metric{"vif", nullptr, pairs.data(), pairs.size()};
    return Plan(&metric, 1, make_geometry({width, height, 8, 1, 0, 0}));
}

// Scale 0 of frame 0 of 33x65 at 8 bits and of 40x24 at 12 bits (specification, section 5), and two made-up scales.
constexpr uint64_t kWords[kVifWords] = {16999183, 49591767, 0, 0, 8999972, 8969098, 11, 1109769, 0, 0, 264, 0, 0, 0, 264, 1065369600ull * 1000};

void expect_scores(const std::string& options, const uint64_t* words, const std::vector<double>& expected, const std::string& suffix) {
    for (bool debug : {false, true}) {
        const Plan plan = make_plan(options + (options.empty() ? "" : "|") + (debug ? "debug=1" : "debug=0"), 33, 65);
        ASSERT_EQ(plan.outputs().size(), debug ? kScores : 4u);
        double scores[kScores + 1] = {};
        scores[plan.outputs().size()] = 4711;
        plan.conclude(words, scores);
        for (size_t i = 0; i < plan.outputs().size(); ++i) {
            EXPECT_EQ(plan.outputs()[i].name, kNames[i]);
            EXPECT_EQ(plan.outputs()[i].libvmaf_name, "integer_" + std::string(kNames[i]) + suffix);
            EXPECT_EQ(plan.outputs()[i].unavailable, "");
            EXPECT_TRUE(scores[i] == expected[i] || (std::isnan(scores[i]) && std::isnan(expected[i]))) << kNames[i] << ": " << scores[i] << ", expected " << expected[i];
        }
        EXPECT_EQ(scores[plan.outputs().size()], 4711);
    }
}

TEST(VifMetric, ScoresOfTheSpecification) {
    const double n0 = 0x1.03631p+13, d0 = 0x1.7a5aecp+14, n1 = 0x1.135844p+12, d1 = 0x1.126714p+12;
    const double n = n0 + n1 + 264.0 - 736.0, d = d0 + d1 + 264.0 + 264.0;
    expect_scores("", kWords, {0x1.5f0258p-2, 0x1.00e104p+0, 1.0, -736.0f / 264.0f, n / d, n, d, n0, d0, n1, d1, 264, 264, -736, 264}, "");
    expect_scores("vif_enhn_gain_limit=1", kWords, {0x1.5f0258p-2, 0x1.00e104p+0, 1.0, -736.0f / 264.0f, n / d, n, d, n0, d0, n1, d1, 264, 264, -736, 264}, "_egl_1");
}

TEST(VifMetric, WithoutScale0) {
    const double n1 = 0x1.135844p+12, d1 = 0x1.126714p+12, n = n1 + 264.0 - 736.0, d = d1 + 264.0 + 264.0;
    expect_scores("vif_skip_scale0=1|vif_enhn_gain_limit=1.37", kWords, {0.0, 0x1.00e104p+0, 1.0, -736.0f / 264.0f, n / d, n, d, 0.0, -1.0, n1, d1, 264, 264, -736, 264},
                  "_egl_1.37_ssclz");
}

TEST(VifMetric, NothingMeasured) {
    const uint64_t words[kVifWords] = {};
    const double none = std::nan("");
    expect_scores("", words, {none, none, none, none, 1.0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "");
}

TEST(VifMetric, WhatTheBackendIsAskedFor) {
    const Plan plan = make_plan("vif_enhn_gain_limit=1.2|vif_skip_scale0=1|debug=1", 97, 75);
    ASSERT_EQ(plan.accumulators().size(), 1u);
    const AccumulatorSpec& spec = plan.accumulators()[0];
    EXPECT_EQ(spec.kind, AccumulatorKind::kVif);
    EXPECT_EQ(spec.plane, 0);
    EXPECT_EQ(spec.words(), kVifWords);
    EXPECT_EQ(spec.vif.gain_limit, 1.2);
    EXPECT_TRUE(spec.vif.skip_scale0);
    EXPECT_FALSE(plan.needs_every_frame());
    EXPECT_EQ(make_plan("", 97, 75).accumulators()[0].vif, VifParameters{});
    // Equal parameters are computed once, others apart.
    const exactvq_option limit{"vif_enhn_gain_limit", "1"}, debug{"debug", "1"};
    const exactvq_metric metrics[] = {{"vif", nullptr, nullptr, 0}, {"vif", "neg", &limit, 1}, {"vif", "more", &debug, 1}};
    EXPECT_EQ(Plan(metrics, 3, make_geometry({97, 75, 10, 3, 1, 1})).accumulators().size(), 2u);
}

TEST(VifMetric, SmallPicturesHaveNoScores) {
    const struct {
        uint32_t width, height;
        bool scored;
    } cases[] = {{16, 16, true}, {15, 16, false}, {16, 15, false}, {15, 4000, false}, {4000, 1, false}, {1, 1, false}, {32768, 16, true}};
    for (const auto& c : cases) {
        const Plan plan = make_plan("debug=1", c.width, c.height);
        EXPECT_EQ(plan.accumulators().size(), c.scored ? 1u : 0u);
        ASSERT_EQ(plan.outputs().size(), kScores);
        for (const PlanOutput& output : plan.outputs())
            EXPECT_EQ(output.unavailable,
                      c.scored ? "" : "vif needs pictures of at least 16x16 samples, these have " + std::to_string(c.width) + "x" + std::to_string(c.height));
        if (c.scored) continue;
        double scores[kScores] = {};
        plan.conclude(nullptr, scores);
        for (double score : scores) EXPECT_TRUE(std::isnan(score));
    }
}

TEST(VifMetric, GainLimitsAreChecked) {
    for (const char* wrong : {"0.99", "100.1", "x"}) EXPECT_ANY_THROW(make_plan(std::string("vif_enhn_gain_limit=") + wrong, 97, 75)) << wrong;
}

}  // namespace
}  // namespace exactvq
