// SPDX-License-Identifier: BSD-2-Clause
#include "host/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "exactvq/exactvq.h"
#include "kernels/common/platform.h"

namespace exactvq {
namespace {

// The sentence of a failing parse, or "" if it succeeds.
std::string parse_error(const char* metrics, const char* options) {
    exactvq_metric_list list;
    char error[512];
    const exactvq_status status = exactvq_parse_metrics(metrics, options, &list, error, sizeof error);
    EXPECT_EQ(status == EXACTVQ_OK, error[0] == 0);
    EXPECT_EQ(status != EXACTVQ_OK, list.count == 0);
    exactvq_free_metrics(&list);
    return error;
}

TEST(ParseMetrics, Instances) {
    exactvq_metric_list list;
    ASSERT_EQ(exactvq_parse_metrics("psnr+psnr_hvs+psnr_hvs@f64", "enable_mse=1|f64.psnr_hvs_mask=f64|psnr_hvs.enable_chroma=0", &list, nullptr, 0), EXACTVQ_OK);
    ASSERT_EQ(list.count, 3u);
    EXPECT_STREQ(list.metrics[0].name, "psnr");
    EXPECT_STREQ(list.metrics[0].label, "");
    ASSERT_EQ(list.metrics[0].option_count, 1u);
    EXPECT_STREQ(list.metrics[0].options[0].key, "enable_mse");
    EXPECT_STREQ(list.metrics[0].options[0].value, "1");
    ASSERT_EQ(list.metrics[1].option_count, 1u);
    EXPECT_STREQ(list.metrics[1].options[0].key, "enable_chroma");
    EXPECT_STREQ(list.metrics[2].label, "f64");
    ASSERT_EQ(list.metrics[2].option_count, 1u);
    EXPECT_STREQ(list.metrics[2].options[0].value, "f64");
    exactvq_free_metrics(&list);
    // A key without scope reaches every unlabelled instance that knows it.
    ASSERT_EQ(exactvq_parse_metrics("psnr+psnr_hvs", "enable_chroma=0", &list, nullptr, 0), EXACTVQ_OK);
    EXPECT_EQ(list.metrics[0].option_count, 1u);
    EXPECT_EQ(list.metrics[1].option_count, 1u);
    exactvq_free_metrics(&list);
}

TEST(ParseMetrics, ErrorsNameWhatIsWrong) {
    EXPECT_NE(parse_error("psnt", nullptr).find("unknown metric 'psnt': the metrics are psnr, float_psnr, psnr_hvs"), std::string::npos);
    EXPECT_NE(parse_error("", nullptr).find("unknown metric ''"), std::string::npos);
    EXPECT_NE(parse_error("psnr+", nullptr).find("unknown metric ''"), std::string::npos);
    EXPECT_NE(parse_error("psnr@", nullptr).find("label"), std::string::npos);
    EXPECT_NE(parse_error("psnr@A", nullptr).find("'A'"), std::string::npos);
    EXPECT_NE(parse_error("psnr@psnr_hvs", nullptr).find("metric's name"), std::string::npos);
    EXPECT_NE(parse_error("psnr", "enable_msee=1").find("'enable_msee'"), std::string::npos);
    EXPECT_NE(parse_error("psnr", "enable_mse").find("key=value"), std::string::npos);
    EXPECT_NE(parse_error("psnr", "=1").find("key=value"), std::string::npos);
    EXPECT_NE(parse_error("psnr", "psnr_hvs.enable_chroma=1").find("'psnr_hvs'"), std::string::npos);
    EXPECT_NE(parse_error("psnr", "x.enable_mse=1").find("'x'"), std::string::npos);
    EXPECT_NE(parse_error("psnr", "enable_mse=1|").find("key=value"), std::string::npos);
    EXPECT_NE(parse_error("psnr", ".enable_mse=1").find("begins with a dot"), std::string::npos);
    EXPECT_LT(parse_error(std::string(5000, 'x').c_str(), nullptr).size(), 200u);
    EXPECT_EQ(parse_error("psnr", ""), "");
    EXPECT_NE(parse_error(std::string(100000, '+').c_str(), nullptr).size(), 0u);
}

std::string open_error(const char* metrics, const char* options) {
    exactvq_metric_list list;
    char error[512];
    if (exactvq_parse_metrics(metrics, options, &list, error, sizeof error) != EXACTVQ_OK) return error;
    exactvq_config config{};
    config.struct_size = sizeof config;
    config.metrics = list.metrics;
    config.metric_count = list.count;
    config.format = {32, 32, 8, 3, 1, 1};
    config.threads = 1;
    exactvq_session* session;
    const exactvq_status status = exactvq_open(&config, &session);
    const std::string sentence = exactvq_error(session);
    EXPECT_EQ(status == EXACTVQ_OK, sentence.empty());
    exactvq_close(session);
    exactvq_free_metrics(&list);
    return sentence;
}

TEST(Options, RangesAreCheckedAndNamed) {
    EXPECT_EQ(open_error("psnr", "min_sse=0.5|enable_mse=true|enable_apsnr=yes|uncapped=off"), "");
    EXPECT_NE(open_error("psnr", "min_sse=-1").find("psnr.min_sse cannot be '-1': it takes 0 to 1.7976931348623157e+308"), std::string::npos);
    for (const char* bad : {"min_sse=", "min_sse=nan", "min_sse=inf", "min_sse=1x", "min_sse=0,5", "min_sse=1e999", "min_sse= 1"})
        EXPECT_NE(open_error("psnr", bad).find("psnr.min_sse cannot be"), std::string::npos) << bad;
    EXPECT_NE(open_error("psnr", "enable_mse=2").find("psnr.enable_mse cannot be '2': it takes 0 or 1"), std::string::npos);
    EXPECT_NE(open_error("psnr_hvs", "psnr_hvs_mask=f16").find("one of f32|f64"), std::string::npos);
    EXPECT_NE(open_error("psnr+psnr", nullptr).find("'psnr_y' is asked for twice"), std::string::npos);
    EXPECT_EQ(open_error("psnr+psnr@a", nullptr), "");
    EXPECT_NE(open_error("psnr@a+psnr@a", nullptr).find("'a.psnr_y'"), std::string::npos);
}

TEST(DescribeMetrics, NamesEveryOption) {
    const std::string text = exactvq_describe_metrics();
    for (const char* word : {"psnr:", "float_psnr:", "psnr_hvs:", "min_sse=", "uncapped=0|1", "psnr_hvs_mask=f32|f64", "enable_apsnr"})
        EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(FormatDouble, IsShortestAndReadsBack) {
    const auto format = [](double value) {
        char text[32];
        const size_t length = exactvq_format_double(value, text, sizeof text);
        EXPECT_EQ(length, std::strlen(text));
        return std::string(text);
    };
    EXPECT_EQ(format(60), "60");
    EXPECT_EQ(format(0.1), "0.1");
    EXPECT_EQ(format(-0.0), "-0");
    EXPECT_EQ(format(INFINITY), "inf");
    EXPECT_EQ(format(-INFINITY), "-inf");
    EXPECT_EQ(format(NAN), "nan");
    std::mt19937_64 random(1);
    for (int n = 0; n < 200000; ++n) {
        const double value = double_from_bits(random());
        if (!std::isfinite(value)) continue;
        ASSERT_EQ(double_bits(std::strtod(format(value).c_str(), nullptr)), double_bits(value));
    }
    EXPECT_EQ(exactvq_format_double(1, nullptr, 32), 0u);
    char small[3];
    EXPECT_EQ(exactvq_format_double(36.5, small, sizeof small), 0u);
    EXPECT_STREQ(small, "");
}

}  // namespace
}  // namespace exactvq
