// SPDX-License-Identifier: BSD-2-Clause
//
// VMAF models: what is read, what is predicted, which sentences refuse a file. tests/golden/independent/check_vmaf.py compares many more predictions.
// EXACTVQ_MODELS: folder with libvmaf's own models.
#include <gtest/gtest.h>
#include <locale.h>
#include <unistd.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>

#include "host/error.h"
#include "host/json_tree.h"
#include "host/vmaf_model_path.h"
#include "host/vmaf_model_reader.h"

namespace exactvq {
namespace {

const std::string kModels = EXACTVQ_TEST_DATA "/models/";

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_TRUE(file.good()) << path;
    return text.str();
}

const std::string& small() {
    static const std::string text = read(kModels + "small.json");
    return text;
}

// The small model with one place of its text changed.
std::string changed(const std::string& from, const std::string& to, std::string text = small()) {
    const size_t place = text.find(from);
    EXPECT_NE(place, text.npos) << from;
    return text.replace(place, from.size(), to);
}

std::string refusal(const std::string& text, exactvq_status status = EXACTVQ_ERROR_ARGUMENT) {
    try {
        parse_vmaf_model(text, "m.json");
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        return error.what();
    }
    return "";
}

std::vector<double> predict(const VmafModel& model, const std::vector<double>& features) {
    EXPECT_EQ(features.size(), model.features().size());
    std::vector<double> scores(model.suffixes().size());
    model.predict(features.data(), scores.data());
    return scores;
}

void expect_scores(const VmafModel& model, const std::vector<double>& features, const std::vector<double>& expected, const std::string& what) {
    const std::vector<double> scores = predict(model, features);
    ASSERT_EQ(scores.size(), expected.size()) << what;
    for (size_t i = 0; i < scores.size(); ++i)
        EXPECT_EQ(std::bit_cast<uint64_t>(scores[i]), std::bit_cast<uint64_t>(expected[i])) << what << model.suffixes()[i] << " is " << std::hexfloat << scores[i] << ", not " << expected[i];
}

// Folder of its own, gone with the object.
class Folder {
public:
    Folder() {
        char name[] = "/tmp/exactvq-models-XXXXXX";
        if (mkdtemp(name)) path_ = name;
        EXPECT_FALSE(path_.empty());
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ + "/" + name, std::ios::binary) << text;
        return path_ + "/" + name;
    }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

// Environment variable, as it was before once the object is gone.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* text = std::getenv(name)) before_ = text;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

private:
    const char* name_;
    std::optional<std::string> before_;
};

// ---- what is read ------------------------------------------------------------------------------------------------------

TEST(VmafModel, Features) {
    const VmafModel model = read_vmaf_model(kModels + "small.json");
    ASSERT_EQ(model.features().size(), 3u);
    using Options = std::map<std::string, std::string>;
    const struct {
        const char *metric, *output;
        Options options;
    } expected[] = {{"adm", "adm3", {{"adm_enhn_gain_limit", "1.2"}, {"adm_csf_mode", "2"}, {"adm_skip_scale0", "false"}}},
                    {"motion", "motion2", {{"motion_force_zero", "true"}}},
                    {"vif", "vif_scale1", {}}};
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(model.features()[i].metric, expected[i].metric);
        EXPECT_EQ(model.features()[i].output, expected[i].output);
        EXPECT_EQ(model.features()[i].options, expected[i].options);
    }
    EXPECT_EQ(model.suffixes(), std::vector<std::string>{""});
    EXPECT_EQ(read_vmaf_model(kModels + "small_collection.json").suffixes(),
              (std::vector<std::string>{"", "_0001", "_0002", "_0003", "_0004", "_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"}));
}

TEST(VmafModel, OptionsAreTextsOfSixDigits) {
    // The last two are beside the middle of two binary32 numbers: rounding to binary64 first would give the other text.
    const char* const cases[][2] = {{"0.06", "0.06"},       {"1080", "1080"},  {"1080.0", "1080"}, {"1e-05", "1e-05"},           {"0.00012345678", "0.000123457"},
                                    {"1234567", "1.23457e+06"}, {"1e-60", "0"}, {"-2.50", "-2.5"}, {"\"bilinear\"", "bilinear"}, {"\"0.0600\"", "0.0600"},
                                    {"16777217", "1.67772e+07"}, {"true", "true"}, {"0.100000496953725814818488904552745699660931677499320358037949", "0.1"},
                                    {"0.100997496396303176880729845447254300339068322500679641962051", "0.100998"}};
    for (const auto& [json, text] : cases)
        EXPECT_EQ(parse_vmaf_model(changed("1.2000000001", json), "m.json").features()[0].options.at("adm_enhn_gain_limit"), text) << json;
}

TEST(VmafModel, OverriddenOptions) {
    VmafModel model = read_vmaf_model(kModels + "small.json");
    model.override_option("vif", "vif_enhn_gain_limit", "1.0");
    model.override_option("adm", "adm_enhn_gain_limit", "1.00000001");
    model.override_option("adm", "adm_skip_scale0", "true");
    EXPECT_EQ(model.features()[2].options.at("vif_enhn_gain_limit"), "1");
    EXPECT_EQ(model.features()[0].options.at("adm_enhn_gain_limit"), "1");
    EXPECT_EQ(model.features()[0].options.at("adm_skip_scale0"), "true");
    EXPECT_EQ(model.features()[0].options.at("adm_csf_mode"), "2");
    EXPECT_EQ(model.features()[1].options.size(), 1u);
    try {
        model.override_option("cambi", "topk", "1");
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "the option 'cambi.topk' is for no metric that the VMAF model needs: it needs adm, motion, vif");
    }
}

TEST(VmafModel, TheOrderOfKeysDoesNotMatterAndUnknownOnesAreSkipped) {
    const VmafModel model = parse_vmaf_model(changed("\"model_type\"", "\"more\": {\"model_type\": [null, 1e5, {\"slopes\": 3}]}, \"model_type\"",
                                                     changed("\"param_dict\"", "\"0x\": 0, \"param_dict\"")), "m.json");
    expect_scores(model, {0.2, 1, 0.1}, {0x1.ba554826f483ep+5}, "");
    const std::string moved = changed("\"norm_type\": \"linear_rescale\",", "", changed("\"feature_dict\"", "\"norm_type\": \"linear_rescale\", \"feature_dict\""));
    expect_scores(parse_vmaf_model(moved, "m.json"), {0.2, 1, 0.1}, {0x1.ba554826f483ep+5}, "");
}

// ---- predictions ---------------------------------------------------------------------------------------------------------

TEST(VmafModel, SmallModels) {
    const auto model = [](const char* name, VmafFlags flags = {}) { return read_vmaf_model(kModels + name, flags); };
    const std::vector<double> good{0.95, 5, 0.9}, poor{0.2, 1, 0.1}, wild{1.4, 60, -2};
    expect_scores(model("small.json"), good, {103.25}, "clipped");
    expect_scores(model("small.json"), poor, {0x1.ba554826f483ep+5}, "knots");
    expect_scores(model("small.json"), {-0.5, 3, 0.1}, {0x1.4421cf0cdcbc3p+4}, "knots, polynomial");
    expect_scores(model("small.json", {true, false, true}), good, {0x1.dac2be281c346p+6}, "neither transformed nor clipped");
    expect_scores(model("small.json", {true, true, true}), wild, {0x1.24523f66a02a3p+3}, "disabled and enabled is disabled");
    expect_scores(model("small_none.json"), {0.5, 0.75}, {0x1.5a326e51150b3p-1}, "not rescaled");
    expect_scores(model("small_none.json"), {0, 30}, {-0.05}, "not rescaled");
    expect_scores(model("small_collection.json"), good,
                  {0x1.511066aeba836p+6, 0x1.73e82442be283p+6, 0x1.137476a9f2f5ep+6, 100, 100, 100, 0, 0x1.1ab056e235667p+6, 100}, "collection");
}

TEST(VmafModel, Transform) {
    const VmafTransform identity, square{{}, {}, 2, {}, false, false}, constant{3, {}, {}, {}, false, false};
    EXPECT_EQ(identity.apply(-7.25), -7.25);
    EXPECT_EQ(square.apply(3), 18);
    EXPECT_EQ(constant.apply(50), 3);
    const VmafTransform low{{}, 2, {}, {}, true, false}, high{{}, 0.5, {}, {}, false, true};
    for (double score : {-4.0, 4.0}) {
        EXPECT_EQ(low.apply(score), std::min(2 * score, score));
        EXPECT_EQ(high.apply(score), std::max(0.5 * score, score));
    }
    const VmafTransform knots{{}, {}, {}, {{-2, 1}, {0, 1}, {4, 3}, {8, 11}}, false, false};
    const double cases[][2] = {{-9, 1}, {-2, 1}, {-0.5, 1}, {0, 1}, {2, 2}, {4, 3}, {6, 7}, {8, 11}, {9, 13}};
    for (const auto& [x, y] : cases) EXPECT_EQ(knots.apply(x), y) << x;
}

TEST(VmafModel, ScoresThatAreNoNumbersStaySo) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
    for (const char* name : {"small.json", "small_none.json", "small_collection.json"}) {
        const VmafModel model = read_vmaf_model(kModels + name, {true, false, true});
        for (double value : {nan, infinity, -infinity, 1e300}) {
            const std::vector<double> scores = predict(model, std::vector<double>(model.features().size(), value));
            if (std::isnan(value)) {
                EXPECT_TRUE(std::isnan(scores[0])) << name;
            }
        }
    }
}

TEST(VmafModel, SpecifiedVectors) {
    const char* folder = std::getenv("EXACTVQ_MODELS");
    if (!folder) GTEST_SKIP() << "EXACTVQ_MODELS is not set: libvmaf's models are not here";
    const std::vector<double> p{0.95, 5, 0.6, 0.9, 0.95, 0.97}, q{0.7, 0.5, 0.25, 0.5, 0.625, 0.75}, r{1, 20, 1, 1, 1, 1};
    const VmafFlags none, no_clip{true, false, false}, phone{false, true, false};
    const struct {
        const char* name;
        VmafFlags flags;
        double p, q, r;
    } cases[] = {{"vmaf_v0.6.1", none, 0x1.606a74e6a949ep+6, 0x1.165b9467d2cbep+4, 100},
                 {"vmaf_v0.6.1", no_clip, 0x1.606a74e6a949ep+6, 0x1.165b9467d2cbep+4, 0x1.e3392cda69a57p+6},
                 {"vmaf_v0.6.1", phone, 0x1.8c426c44c825ep+6, 0x1.d9b83f0eebf29p+4, 100},
                 {"vmaf_v0.6.1neg", none, 0x1.606a74e6a949ep+6, 0x1.165b9467d2cbep+4, 100},
                 {"vmaf_v0.6.1neg", no_clip, 0x1.606a74e6a949ep+6, 0x1.165b9467d2cbep+4, 0x1.e3392cda69a57p+6},
                 {"vmaf_v0.6.1neg", phone, 0x1.8c426c44c825ep+6, 0x1.d9b83f0eebf29p+4, 100},
                 {"vmaf_4k_v0.6.1", none, 0x1.6d6319c3b67dbp+6, 0x1.4210f92bf9a54p+5, 100},
                 {"vmaf_4k_v0.6.1", no_clip, 0x1.6d6319c3b67dbp+6, 0x1.4210f92bf9a54p+5, 0x1.c700681e4444cp+6},
                 {"vmaf_4k_v0.6.1", phone, 0x1.6d6319c3b67dbp+6, 0x1.4210f92bf9a54p+5, 100},
                 {"vmaf_4k_v0.6.1neg", none, 0x1.6d6319c3b67dbp+6, 0x1.4210f92bf9a54p+5, 100},
                 {"vmaf_4k_v0.6.1neg", no_clip, 0x1.6d6319c3b67dbp+6, 0x1.4210f92bf9a54p+5, 0x1.c700681e4444cp+6}};
    for (const auto& c : cases) {
        const VmafModel model = read_vmaf_model(std::string(folder) + "/" + c.name + ".json", c.flags);
        expect_scores(model, p, {c.p}, c.name);
        expect_scores(model, q, {c.q}, c.name);
        expect_scores(model, r, {c.r}, c.name);
        const bool neg = std::string(c.name).ends_with("neg");
        for (const VmafFeature& feature : model.features()) {
            const std::map<std::string, std::string> limit{{feature.metric + "_enhn_gain_limit", "1"}};
            EXPECT_EQ(feature.options, neg && feature.metric != "motion" ? limit : (std::map<std::string, std::string>())) << c.name;
        }
    }

    const VmafModel model = read_vmaf_model(std::string(folder) + "/vmaf_b_v0.6.3.json");
    ASSERT_EQ(model.suffixes().size(), 25u);
    EXPECT_EQ(model.suffixes()[20], "_0020");
    const std::vector<double> of_p = predict(model, p), of_q = predict(model, q), of_r = predict(model, r);
    const std::vector<double> expected_p{0x1.5c0398d60456dp+6, 0x1.5a2d8fc11766p+6, 0x1.e70597ee9e01bp+0, 0x1.4903c88735728p+6, 0x1.65b456197fcffp+6};
    const std::vector<double> expected_q{0x1.1c3bc350a01cap+4, 0x1.147c7abe6f33cp+4, 0x1.bbf3696dc0a77p+1, 0x1.64bfa107ef14ep+3, 0x1.72e270ee11758p+4};
    const std::vector<double> expected_r{100, 100, 0, 100, 100};
    for (size_t i = 0; i < 5; ++i) {
        const size_t k = i ? 20 + i : 0;
        EXPECT_EQ(of_p[k], expected_p[i]) << model.suffixes()[k];
        EXPECT_EQ(of_q[k], expected_q[i]) << model.suffixes()[k];
        EXPECT_EQ(of_r[k], expected_r[i]) << model.suffixes()[k];
    }
}

TEST(VmafModel, ModelsOfOtherFeaturesAreRefused) {
    const char* folder = std::getenv("EXACTVQ_MODELS");
    if (!folder) GTEST_SKIP() << "EXACTVQ_MODELS is not set: libvmaf's models are not here";
    int refused = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string path = entry.path().string();
        if (path.find("vmaf_v1.0.16") == path.npos) continue;
        try {
            read_vmaf_model(path);
            ADD_FAILURE() << path;
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), EXACTVQ_ERROR_UNSUPPORTED);
            EXPECT_EQ(error.what(), "the model file '" + path + "' needs cambi, speed_chroma_uv, which this build does not compute: take another model, such as vmaf_v0.6.1");
            ++refused;
        }
    }
    EXPECT_EQ(refused, 8);
}

// ---- what is refused -------------------------------------------------------------------------------------------------------

TEST(VmafModel, Refusals) {
    std::string names65, knots11;
    for (int i = 0; i < 65; ++i) names65 += std::string(i ? ", " : "") + "\"VMAF_integer_feature_adm2_score\"";
    for (int i = 0; i < 11; ++i) knots11 += std::string(i ? ", " : "") + "[" + std::to_string(i) + ", 1]";
    const std::string options = "feature_opts_dicts must be 3 objects, one for each feature, of numbers, true, false and strings";
    const std::string slopes = "slopes must be 4 numbers, one for the score and one for each feature";
    const std::string intercepts = "intercepts must be 4 numbers, one for the score and one for each feature";
    const std::string knots = "knots must be 2 to 10 points [x, y] whose x rises and whose y does not fall";
    const std::string clip = "score_clip must be 2 numbers, the least and the largest score";
    const struct {
        std::string from, to, what;
    } cases[] = {
        {"\"model_dict\": {", "\"model_dict\": 3, \"other\": {", "model_dict must be an object"},
        {"\"model_type\"", "\"type\"", "model_type is missing"},
        {"\"LIBSVMNUSVR\"", "1", "model_type must be a string"},
        {"LIBSVMNUSVR", "RANDOM\\nFOREST", "model_type is 'RANDOM?FOREST', not LIBSVMNUSVR, BOOTSTRAP_LIBSVMNUSVR or RESIDUEBOOTSTRAP_LIBSVMNUSVR"},
        {"\"norm_type\"", "\"norm\"", "norm_type is missing"},
        {"linear_rescale", "clip_0to1", "norm_type is 'clip_0to1', not linear_rescale or none"},
        {"\"linear_rescale\"", "true", "norm_type must be a string"},
        {"\"feature_names\"", "\"names\"", "feature_names is missing"},
        {"\"feature_names\": [", "\"feature_names\": {}, \"x\": [", "feature_names must be an array of names"},
        {"\"feature_names\": [", "\"feature_names\": [1, ", "feature_names must be an array of names"},
        {"\"feature_names\": [", "\"feature_names\": [], \"x\": [", "feature_names must be 1 to 64 names, these are 0"},
        {"\"feature_names\": [", "\"feature_names\": [" + names65 + "], \"x\": [", "feature_names must be 1 to 64 names, these are 65"},
        {"\"feature_opts_dicts\": [", "\"feature_opts_dicts\": {}, \"x\": [", options},
        {"\"feature_opts_dicts\": [", "\"feature_opts_dicts\": [{}, ", options},
        {"\"feature_opts_dicts\": [", "\"feature_opts_dicts\": [{}, {}, 1], \"x\": [", options},
        {"1.2000000001", "null", options},
        {"1.2000000001", "[1]", options},
        {"1.2000000001", "1e39", options},
        {"\"slopes\"", "\"slops\"", "slopes is missing"},
        {"\"slopes\": [", "\"slopes\": 5, \"x\": [", slopes},
        {"\"slopes\": [", "\"slopes\": [1, ", slopes},
        {"\"slopes\": [", "\"slopes\": [0.1, 1, 1], \"x\": [", slopes},
        {"\"slopes\": [", "\"slopes\": [0.1, 1, 1, \"1\"], \"x\": [", slopes},
        {"\"slopes\": [", "\"slopes\": [0, 1, 1, 1], \"x\": [", "the score's slope is 0"},
        {"\"intercepts\"", "\"interception\"", "intercepts is missing"},
        {"\"intercepts\": [", "\"intercepts\": [1, ", intercepts},
        {"\"intercepts\": [", "\"intercepts\": [0, 0, 0, null], \"x\": [", intercepts},
        {"\"score_clip\": [", "\"score_clip\": [1, ", clip},
        {"\"score_clip\": [", "\"score_clip\": \"0..100\", \"x\": [", clip},
        {"\"score_clip\": [", "\"score_clip\": [100, 0], \"x\": [", clip},
        {"\"score_transform\": {", "\"score_transform\": true, \"x\": {", "score_transform must be an object"},
        {"\"enabled\": true", "\"enabled\": \"true\"", "enabled must be true or false"},
        {"\"p0\": 1.70674692", "\"p0\": \"1.7\"", "p0 must be a number"},
        {"\"out_gte_in\": \"true\"", "\"out_gte_in\": true", "out_gte_in must be a string"},
        {"\"knots\": [", "\"knots\": {}, \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[0, 1]], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[0, 1], [0, 2]], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[1, 1], [0, 2]], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[0, 2], [1, 1]], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[0, 1, 2], [1, 2, 3]], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[0, 1], [1, \"2\"]], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [[0, 1], 7], \"x\": [", knots},
        {"\"knots\": [", "\"knots\": [" + knots11 + "], \"x\": [", knots},
        {"\"model\": ", "\"svm\": ", "model is missing"},
        {"\"model\": ", "\"model\": [], \"svm\": ", "model must be a string"},
        {"\"model\": ", "\"model\": \"\", \"svm\": ", "in the libsvm text, the line SV is missing"},
        {"nu_svr", "c_svc", "in the libsvm text, svm_type is 'c_svc', not nu_svr"},
        {"rbf", "linear", "in the libsvm text, kernel_type is 'linear', not rbf"},
        {"nr_class 2", "nr_class 3", "in the libsvm text, nr_class is '3', not 2"},
        {"nr_class 2\\n", "", "in the libsvm text, nr_class is missing"},
        {"gamma 0.4", "gamma 0,4", "in the libsvm text, gamma is '0,4', not a number"},
        {"gamma 0.4", "gamma", "in the libsvm text, gamma is '', not a number"},
        {"gamma 0.4", "gamma 1e999", "in the libsvm text, gamma is '1e999', not a number"},
        {"gamma 0.4", "gamma 0.4 0.5", "in the libsvm text, gamma has more than one value"},
        {"gamma 0.4", "gamma 0.4\\ngamma 0.4", "in the libsvm text, gamma has more than one value"},
        {"gamma 0.4", "degree 3", "in the libsvm text, there is a line 'degree', which nu-SVR does not have"},
        {"gamma 0.4\\n", "", "in the libsvm text, gamma is missing"},
        {"rho 0.2", "rho nan", "in the libsvm text, rho is 'nan', not a number"},
        {"total_sv 5", "total_sv 6", "in the libsvm text, there are 5 support vectors, fewer than total_sv says (6)"},
        {"total_sv 5", "total_sv 4", "in the libsvm text, there are more support vectors than total_sv says (4)"},
        {"total_sv 5", "total_sv 0", "in the libsvm text, total_sv is '0', not a number from 1 to 20000"},
        {"total_sv 5", "total_sv 99999999999999999999", "in the libsvm text, total_sv is '99999999999999999999', not a number from 1 to 20000"},
        {"total_sv 5", "total_sv -5", "in the libsvm text, total_sv is '-5', not a number from 1 to 20000"},
        {"\\nSV\\n", "\\nSV\\n\\n", "in the libsvm text, the coefficient of support vector 1 is '', not a number"},
        {"\\nSV\\n", "\\nSV\\n4 0:1 2:1\\n", "in the libsvm text, support vector 1 has the index '0': indices rise, from 1 to 3, the number of features"},
        {"\\nSV\\n", "\\nSV\\n4 2:1 2:1\\n", "in the libsvm text, support vector 1 has the index '2': indices rise, from 1 to 3, the number of features"},
        {"\\nSV\\n", "\\nSV\\n4 4:1\\n", "in the libsvm text, support vector 1 has the index '4': indices rise, from 1 to 3, the number of features"},
        {"\\nSV\\n", "\\nSV\\n4 1 2:3\\n", "in the libsvm text, support vector 1 at index 1 is '', not a number"},
        {"\\nSV\\n", "\\nSV\\n4 1:0x10\\n", "in the libsvm text, support vector 1 at index 1 is '0x10', not a number"},
        {"\\nSV\\n", "\\nSV\\n4 1:1:2\\n", "in the libsvm text, support vector 1 at index 1 is '1:2', not a number"},
        {"\\nSV\\n", "\\nSV\\nfour 1:1\\n", "in the libsvm text, the coefficient of support vector 1 is 'four', not a number"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(refusal(changed(c.from, c.to)), "the model file 'm.json' is damaged: " + c.what + "; fetch it again, or name another file") << c.from << " -> " << c.to;
    EXPECT_EQ(refusal(small()), "");

    const std::string no_vectors = changed("\\nSV\\n", "\\nSV\\n\", \"x\": \"");
    EXPECT_EQ(refusal(no_vectors), "the model file 'm.json' is damaged: in the libsvm text, there are 0 support vectors, fewer than total_sv says (5); fetch it again, or name another file");
}

TEST(VmafModel, RefusedFeatures) {
    const std::string end = ", which this build does not compute: take another model, such as vmaf_v0.6.1";
    const auto unsupported = [](const std::string& to) { return refusal(changed("VMAF_integer_feature_motion2_score", to), EXACTVQ_ERROR_UNSUPPORTED); };
    EXPECT_EQ(unsupported("Cambi_feature_cambi_score"), "the model file 'm.json' needs cambi" + end);
    EXPECT_EQ(unsupported("VMAF_feature_motion2_score"), "the model file 'm.json' needs float_motion2" + end);
    EXPECT_EQ(unsupported("VMAF_integer_feature_motion2_scor"), "the model file 'm.json' needs 'VMAF_integer_feature_motion2_scor'" + end);
    EXPECT_EQ(unsupported("_feature_score"), "the model file 'm.json' needs '_feature_score'" + end);
    EXPECT_EQ(unsupported("x\\n"), "the model file 'm.json' needs 'x?'" + end);
    EXPECT_EQ(unsupported(""), "the model file 'm.json' needs ''" + end);
    EXPECT_EQ(refusal(changed("\"model_type\"", "\"chroma_correction_parameter\": 120.0, \"model_type\""), EXACTVQ_ERROR_UNSUPPORTED), "the model file 'm.json' needs speed_chroma" + end);
}

TEST(VmafModel, RefusedCollections) {
    const std::string collection = read(kModels + "small_collection.json"), begin = "the model file 'm.json' is damaged: ", end = "; fetch it again, or name another file";
    EXPECT_EQ(refusal(changed("\"3\": {", "\"4\": {", collection)), begin + "model '4' stands where model '3' must be" + end);
    EXPECT_EQ(refusal(changed("\"3\": {", "\"3\": 1, \"x\": {", collection)), begin + "model 3 must be an object" + end);
    EXPECT_EQ(refusal("{\"0\": " + small() + "}"), begin + "it holds 1 models, and must hold 2 to 100" + end);
    EXPECT_EQ(refusal("{\"0\": " + small() + ", \"1\": " + changed("\"motion_force_zero\": true", "", small()) + "}"), begin + "model 1 has other features than model 0" + end);
    EXPECT_EQ(refusal("{\"0\": " + small() + ", \"1\": " + changed("motion2", "motion3", small()) + "}"), begin + "model 1 has other features than model 0" + end);
    EXPECT_EQ(refusal("{\"0\": " + small() + ", \"1\": " + changed("\"slopes\"", "\"slops\"") + "}"), begin + "in model 1, slopes is missing" + end);
    EXPECT_EQ(refusal("{\"0\": " + changed("VMAF_integer_feature_adm3_score", "Cambi_feature_cambi_score") + ", \"1\": {}}", EXACTVQ_ERROR_UNSUPPORTED),
              "the model file 'm.json' needs cambi, which this build does not compute: take another model, such as vmaf_v0.6.1");
    std::string many = "{\"0\": {}";
    for (int i = 1; i < 101; ++i) many += ", \"" + std::to_string(i) + "\": {}";
    EXPECT_EQ(refusal(many + "}"), begin + "it holds 101 models, and must hold 2 to 100" + end);

    // Four megabytes of text that would take 34 MB as support vectors.
    std::string vectors = "svm_type nu_svr\\nkernel_type rbf\\ngamma 0.4\\nnr_class 2\\ntotal_sv 20000\\nrho 0.2\\nSV\\n", amplified = "{";
    for (int i = 0; i < 20000; ++i) vectors += "1\\n";
    std::string member = small();
    const size_t at = member.find("svm_type"), length = member.find('"', at) - at;
    member.replace(at, length, vectors);
    for (int i = 0; i < 70; ++i) amplified += (i ? ", \"" : "\"") + std::to_string(i) + "\": " + member;
    EXPECT_EQ(refusal(amplified + "}"), begin + "its support vectors hold more than 4194304 numbers" + end);
}

TEST(VmafModel, WhatIsNoModel) {
    const std::string begin = "the model file 'm.json' ", end = ": fetch it again, or name another file";
    EXPECT_EQ(refusal(""), begin + "is not JSON (line 1, column 1)" + end);
    EXPECT_EQ(refusal("{\n \"model_dict\": <html>\n}"), begin + "is not JSON (line 2, column 16)" + end);
    EXPECT_EQ(refusal("{} {}"), begin + "is not JSON (line 1, column 4)" + end);
    EXPECT_EQ(refusal("{\"a\": \"\xff\"}"), begin + "is not JSON (line 1, column 8)" + end);
    EXPECT_EQ(refusal(std::string("{\"a\": 1}\0", 9)), begin + "is not JSON (line 1, column 9)" + end);
    EXPECT_EQ(refusal(changed("0.012020766332648465", "1e999")).substr(0, begin.size() + 11), begin + "is not JSON");
    EXPECT_EQ(refusal(changed("0.012020766332648465", "NaN")).substr(0, begin.size() + 11), begin + "is not JSON");
    for (const char* other : {"{}", "[]", "3", "null", "\"model_dict\"", "{\"model\": {}}", "[\"model_dict\", \"0\"]"})
        EXPECT_EQ(refusal(other), begin + "is no VMAF model: it has neither model_dict nor models \"0\", \"1\" and so on") << other;
    const size_t deep = 1000000;
    for (const std::string bracket : {"[", "{\"a\":"}) {
        std::string text;
        for (size_t i = 0; i < deep; ++i) text += bracket;
        EXPECT_EQ(refusal(text), begin + "is nested more than 32 deep" + end);
    }
    std::string values = "[0";
    for (size_t i = 0; i < kMaxJsonValues; ++i) values += ",0";
    EXPECT_EQ(refusal(values), begin + "holds more than 100000 values" + end);
}

TEST(VmafModel, CutFilesAreRefused) {
    for (const char* name : {"small.json", "small_none.json", "small_collection.json"}) {
        const std::string whole = read(kModels + name);
        const size_t end = whole.rfind('}');
        for (size_t size = 0; size <= end; ++size) EXPECT_NE(refusal(whole.substr(0, size)), "") << name << ", first " << size << " bytes";
        EXPECT_EQ(refusal(whole.substr(0, end + 1)), "");
    }
}

// ---- locales ---------------------------------------------------------------------------------------------------------------

struct CommaPoint : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
};

TEST(VmafModel, LocalesDoNotMatter) {
    const Folder folder;
    const std::string source = folder.write("source", "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
    // Its exit status tells of the categories that the source does not have.
    (void)!std::system(("localedef -c --no-archive -i " + source + " -f ANSI_X3.4-1968 " + folder.path() + "/comma 2>/dev/null").c_str());
    const Variable path("LOCPATH", folder.path());
    ASSERT_TRUE(std::setlocale(LC_NUMERIC, "comma")) << "localedef, part of the C library, has made no locale";
    const std::locale cpp_before = std::locale::global(std::locale(std::locale::classic(), new CommaPoint));
    EXPECT_EQ(std::strtod("1,5", nullptr), 1.5) << "the locale does nothing";

    VmafModel model = read_vmaf_model(kModels + "small.json");
    expect_scores(model, {0.2, 1, 0.1}, {0x1.ba554826f483ep+5}, "");
    model.override_option("adm", "adm_enhn_gain_limit", "1.25");
    EXPECT_EQ(model.features()[0].options.at("adm_enhn_gain_limit"), "1.25");
    EXPECT_EQ(read_vmaf_model(kModels + "small.json").features()[0].options.at("adm_enhn_gain_limit"), "1.2");
    EXPECT_NE(refusal(changed("gamma 0.4", "gamma 0,4")), "");
    EXPECT_NE(refusal("{"), "");
    EXPECT_EQ(uselocale(nullptr), LC_GLOBAL_LOCALE) << "the thread has a locale of its own now";
    EXPECT_EQ(std::strtod("1,5", nullptr), 1.5) << "the caller's locale is another now";

    std::locale::global(cpp_before);
    std::setlocale(LC_NUMERIC, "C");
}

// ---- files -----------------------------------------------------------------------------------------------------------------

std::string file_refusal(const std::string& path) {
    try {
        read_vmaf_model(path);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(VmafModel, FilesThatCannotBeRead) {
    const Folder folder;
    EXPECT_EQ(file_refusal(folder.path() + "/none.json"), "cannot read the model file '" + folder.path() + "/none.json': No such file or directory");
    EXPECT_EQ(file_refusal(folder.path()), "cannot read the model file '" + folder.path() + "': Is a directory");
    EXPECT_EQ(file_refusal("/dev/zero"), "the model file '/dev/zero' is larger than 16 MiB: no VMAF model is");
    EXPECT_EQ(file_refusal("/dev/null"), "the model file '/dev/null' is not JSON (line 1, column 1): fetch it again, or name another file");
}

TEST(VmafModel, Lookup) {
    const Folder first, second;
    const std::string a = first.write("a.json", ""), b = second.write("b.json", ""), second_a = second.write("a.json", "");
    std::filesystem::create_directory(first.path() + "/b.json");  // no file
    const Variable path("EXACTVQ_MODEL_PATH", ":" + first.path() + "::/nowhere:" + second.path() + ":");
    EXPECT_EQ(find_vmaf_model("a"), a);
    EXPECT_EQ(find_vmaf_model("b"), b);
    for (const char* file : {"a.json", "./a", "/x/y", ".json", "models/vmaf_v0.6.1.json"}) EXPECT_EQ(find_vmaf_model(file), file);
    const auto sentence = [](const std::string& name) -> std::string {
        try {
            return find_vmaf_model(name);
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), EXACTVQ_ERROR_ARGUMENT);
            return error.what();
        }
    };
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path(), up = std::filesystem::path(program).parent_path();
    EXPECT_EQ(sentence("no_such_model"), "there is no VMAF model 'no_such_model': no 'no_such_model.json' in " + first.path() + ", /nowhere, " + second.path() + ", " + program + ", " + program +
                                             "/model, " + up + "/share/model, /usr/local/share/model, /usr/local/share/libvmaf/model, /usr/share/model, /usr/share/libvmaf/model" +
                                             "; get it with scripts/fetch-models FOLDER and set EXACTVQ_MODEL_PATH=FOLDER, or give the path of a file");
    EXPECT_EQ(sentence(""), "the name of the VMAF model is empty: it is a name such as vmaf_v0.6.1, or the path of a file");
    const Variable no_path("EXACTVQ_MODEL_PATH", "");
    EXPECT_EQ(sentence("a").find("there is no VMAF model 'a': no 'a.json' in " + program), 0u);
}

}  // namespace
}  // namespace exactvq
