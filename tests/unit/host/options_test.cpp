// SPDX-License-Identifier: BSD-2-Clause
#include "host/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "exactvq/exactvq.h"
#include "host/error.h"
#include "host/metric.h"
#include "kernels/common/platform.h"

namespace exactvq {
namespace {

// The sentence of a failing parse, or "" if it succeeds.
std::string parse_error(const char* metrics, const char* options) {
    exactvq_metric_list list;
    char error[512];
    const exactvq_status status = exactvq_parse_metrics(metrics, options, nullptr, &list, error, sizeof error);
    EXPECT_EQ(status == EXACTVQ_OK, error[0] == 0);
    EXPECT_EQ(status != EXACTVQ_OK, list.count == 0);
    exactvq_free_metrics(&list);
    return error;
}

TEST(ParseMetrics, Instances) {
    exactvq_metric_list list;
    ASSERT_EQ(exactvq_parse_metrics("psnr+psnr_hvs+psnr_hvs@f64", "enable_mse=1|f64.psnr_hvs_mask=f64|psnr_hvs.enable_chroma=0", nullptr, &list, nullptr, 0), EXACTVQ_OK);
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
    ASSERT_EQ(exactvq_parse_metrics("psnr+psnr_hvs", "enable_chroma=0", nullptr, &list, nullptr, 0), EXACTVQ_OK);
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
    const std::string two_instances = parse_error("psnr+psnr@a", "nope=1");  // one list of options is enough
    EXPECT_NE(two_instances.find("psnr: its options are"), std::string::npos);
    EXPECT_EQ(two_instances.find("psnr: its options are"), two_instances.rfind("psnr: its options are"));
    EXPECT_LT(parse_error(std::string(5000, 'x').c_str(), nullptr).size(), 200u);
    EXPECT_EQ(parse_error("psnr", ""), "");
    EXPECT_NE(parse_error(std::string(100000, '+').c_str(), nullptr).size(), 0u);
}

// "label: model flags" of each instance.
std::string parsed_models(const char* metrics, const char* models) {
    exactvq_metric_list list;
    char error[512];
    if (exactvq_parse_metrics(metrics, nullptr, models, &list, error, sizeof error) != EXACTVQ_OK) return error;
    std::string text;
    for (size_t i = 0; i < list.count; ++i) {
        const exactvq_metric& metric = list.metrics[i];
        text += (i ? "; " : "") + std::string(metric.name) + " " + metric.label + ":";
        for (size_t o = 0; o < metric.option_count; ++o) text += std::string(" ") + metric.options[o].key + "=" + metric.options[o].value;
    }
    exactvq_free_metrics(&list);
    return text;
}

TEST(Options, Models) {
    EXPECT_EQ(parsed_models(nullptr, "vmaf_v0.6.1"), "vmaf : model=vmaf_v0.6.1");
    EXPECT_EQ(parsed_models("", "a.json|dir/b.json@hd|c@x+phone|d+noclip+phone"),
              "vmaf : model=a.json; vmaf hd: model=dir/b.json; vmaf x: model=c phone=1; vmaf : model=d phone=1 noclip=1");
    EXPECT_EQ(parsed_models("psnr+vmaf+vmaf@own", "m@n"), "psnr :; vmaf own:; vmaf n: model=m");  // models stand for vmaf without a label
    EXPECT_EQ(parsed_models("", "user@host/m.json"), "vmaf : model=user@host/m.json");             // no name has a slash
    EXPECT_EQ(parsed_models("", "a+b.json"), "vmaf : model=a+b.json");
    EXPECT_EQ(parsed_models("", "m@"), "the name after '@' in 'm@' is empty");
    EXPECT_EQ(parsed_models("", "m|"), "the model '' is empty: it is a name or a file, then perhaps @name, +phone, +noclip");
    EXPECT_EQ(parsed_models("", "@x+phone"), "the model '@x+phone' is empty: it is a name or a file, then perhaps @name, +phone, +noclip");
    EXPECT_NE(parsed_models("", "m@X").find("the label 'X' is not valid"), std::string::npos);
    EXPECT_NE(parsed_models("", "").find("unknown metric ''"), std::string::npos);
}

std::string open_error(const char* metrics, const char* options) {
    exactvq_metric_list list;
    char error[512];
    if (exactvq_parse_metrics(metrics, options, nullptr, &list, error, sizeof error) != EXACTVQ_OK) return error;
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

// One option of adm, or the sentence of the refusal.
OptionValues adm_options(const char* key, const std::string& value) {
    const exactvq_option option{key, value.c_str()};
    return OptionValues("adm", find_metric("adm")->options, &option, 1);
}
std::string adm_refusal(const char* key, const std::string& value) {
    try {
        adm_options(key, value);
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), EXACTVQ_ERROR_ARGUMENT);
        return error.what();
    }
    return "";
}

TEST(Options, RangesOfAdm) {
    const struct {
        const char* key;
        std::vector<const char*> good, bad;
        const char* takes;
    } cases[] = {{"adm_csf_scale", {"0", "1e-9", "49.9999", "50"}, {"-0.0001", "50.0001"}, "0 to 50"},
                 {"adm_csf_diag_scale", {"0", "1e-9", "49.9999", "50"}, {"-0.0001", "50.0001"}, "0 to 50"},
                 {"adm_dlm_weight", {"0", "0.00001", "0.999999", "1"}, {"-0.00001", "1.00001"}, "0 to 1"},
                 {"adm_enhn_gain_limit", {"1", "1.00001", "99.9999", "100"}, {"0.999999", "100.001"}, "1 to 100"},
                 {"adm_norm_view_dist", {"0.75", "0.750001", "23.9999", "24"}, {"0.749999", "24.0001"}, "0.75 to 24"},
                 {"adm_ref_display_height",
                  {"1", "2", "4319", "4320"},
                  {"0", "4321", "-1080", "2.7", "1080.0", "1e3", "", " 1", "1 ", "99999999999", "0x438"},
                  "a whole number from 1 to 4320"},
                 {"adm_csf_mode", {"0", "1", "2", "3"}, {"-1", "4", "1.5", "watson"}, "a whole number from 0 to 3"},
                 {"adm_noise_weight", {"0", "0.00001", "1499.99", "1500"}, {"-0.00001", "1500.01"}, "0 to 1500"},
                 {"adm_min_val", {"0", "0.00001", "0.999999", "1"}, {"-0.00001", "1.00001"}, "0 to 1"},
                 {"adm_p_norm", {"1", "1.00001", "19.9999", "20"}, {"0.999999", "20.0001"}, "1 to 20"},
                 {"debug", {"0", "1", "true", "false"}, {"2", "", "TRUE"}, "0 or 1"},
                 {"adm_skip_aim", {"0", "1"}, {"2"}, "0 or 1"},
                 {"adm_skip_scale0", {"0", "1"}, {"-1"}, "0 or 1"}};
    for (const auto& c : cases) {
        for (const char* good : c.good) EXPECT_EQ(adm_refusal(c.key, good), "");
        for (const char* bad : c.bad)
            EXPECT_EQ(adm_refusal(c.key, bad), std::string("adm.") + c.key + " cannot be '" + bad + "': it takes " + c.takes);
    }
    for (const char* bad : {"", "nan", "inf", "-inf", "1x", "0,5", " 1", "+1", "0x1", "1e-50x", "1e39", "1e999", "3e38"})
        EXPECT_NE(adm_refusal("adm_csf_scale", bad), "") << bad;
    EXPECT_NE(adm_refusal("adm_csf_mod", "1").find("adm has no option 'adm_csf_mod': its options are debug, adm_csf_scale, "), std::string::npos);
    EXPECT_NE(parse_error("psnr+adm", "adm_p_nrm=3").find("'adm_p_nrm'"), std::string::npos);
    EXPECT_EQ(parse_error("adm+adm@neg", "neg.adm_enhn_gain_limit=1"), "");
}

// libvmaf's parser: binary32, then six digits. The range counts after that.
TEST(Options, NumbersOfAdmAreLibvmafs) {
    const struct {
        const char* text;
        double value;
    } cases[] = {{"0.123456789", 0.123457},
                 {".5", 0.5},
                 {"5.", 5},
                 {"3.0", 3},
                 {"0.02", 0.02},
                 {"0.03125", 0.03125},
                 {"16.7777216", 16.7777},
                 {"1e-9", 1e-9},
                 {"0.1e1", 1},
                 {"50.0000001", 50},
                 {"49.99999999", 50},
                 {"2.500005", 2.50001},  // above the tie in binary32
                 {"2.5000005", 2.5},
                 {"1.0000005", 1},
                 {"0.00099999994", 0.001},
                 {"-0", 0},
                 {"-0.0", 0},
                 {"1e-40", 9.99995e-41},  // few bits are left
                 {"1e-50", 0},
                 {"-1e-60", 0},
                 {"1e-400", 0}};
    for (const auto& c : cases) {
        const double value = adm_options("adm_csf_scale", c.text).number("adm_csf_scale");
        EXPECT_EQ(double_bits(value), double_bits(c.value)) << c.text;
    }
    // Other metrics take the nearest double.
    const exactvq_option option{"min_sse", "0.123456789"};
    EXPECT_EQ(OptionValues("psnr", find_metric("psnr")->options, &option, 1).number("min_sse"), 0.123456789);
    EXPECT_EQ(adm_options("adm_ref_display_height", "0720").integer("adm_ref_display_height"), 720);
    EXPECT_EQ(adm_options("debug", "1").integer("adm_ref_display_height"), 1080);
}

TEST(Options, SuffixOfLibvmafsNames) {
    const auto suffix = [](const std::string& text) {
        const MetricList list = parse_metrics("adm", text);
        std::vector<exactvq_option> options;
        for (const auto& [key, value] : list.instances[0].options) options.push_back({key.c_str(), value.c_str()});
        return OptionValues("adm", find_metric("adm")->options, options.data(), options.size()).libvmaf_suffix();
    };
    EXPECT_EQ(suffix(""), "");
    EXPECT_EQ(suffix("debug=1|adm_skip_aim=1"), "");  // never there
    EXPECT_EQ(suffix("adm_norm_view_dist=3.0|adm_noise_weight=.03125|adm_ref_display_height=1080|adm_min_val=-0|adm_skip_scale0=false"), "");
    EXPECT_EQ(suffix("adm_p_norm=3.0000001"), "");
    EXPECT_EQ(suffix("adm_norm_view_dist=3.00001"), "_nvd_3.00001");
    EXPECT_EQ(suffix("adm_csf_mode=2|adm_dlm_weight=0.3|adm_dlm_weight=0.5"), "_csf_2");  // the last one counts
    // By option name, not in the order of the list nor by alias.
    EXPECT_EQ(suffix("adm_skip_scale0=1|adm_ref_display_height=2160|adm_p_norm=2.50|adm_norm_view_dist=5|adm_noise_weight=1e-7|adm_min_val=0.5|"
                     "adm_enhn_gain_limit=1.2|adm_dlm_weight=0.123456789|adm_csf_scale=0|adm_csf_mode=1|adm_csf_diag_scale=50"),
              "_scfd_50_csf_1_scf_0_dlmw_0.123457_egl_1.2_min_0.5_nw_1e-07_nvd_5_apn_2.5_rdh_2160_ssz");
    EXPECT_EQ(suffix("adm_noise_weight=1234.5678"), "_nw_1234.57");
    // Types that libvmaf's other extractors have: a flag that is on by default, a choice.
    const std::vector<OptionSpec> specs{{"b", OptionType::kBool, "1", 0, 1, nullptr, "", "bee"}, {"a", OptionType::kChoice, "x", 0, 0, "x|y", "", "ay"}};
    const exactvq_option options[] = {{"b", "0"}, {"a", "y"}};
    EXPECT_EQ(OptionValues("test", specs, options, 2).libvmaf_suffix(), "_ay_y_bee");
    EXPECT_EQ(OptionValues("test", specs, nullptr, 0).libvmaf_suffix(), "");
    const exactvq_option psnr{"min_sse", "1"};
    EXPECT_EQ(OptionValues("psnr", find_metric("psnr")->options, &psnr, 1).libvmaf_suffix(), "");
}

TEST(DescribeMetrics, NamesEveryOption) {
    const std::string text = exactvq_describe_metrics();
    for (const char* word : {"psnr:", "float_psnr:", "psnr_hvs:", "min_sse=", "uncapped=0|1", "psnr_hvs_mask=f32|f64", "enable_apsnr", "adm: ",
                             "adm2, aim, adm3", "debug=0|1 (default 0)", "adm_norm_view_dist=0.75..24 (default 3)", "adm_csf_mode=0..3 (default 0)",
                             "adm_p_norm=1..20 (default 3)"})
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
