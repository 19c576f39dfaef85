// SPDX-License-Identifier: BSD-2-Clause
#include "host/vmaf_model_reader.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "host/error.h"
#include "host/json_tree.h"
#include "host/text.h"

namespace exactvq {
namespace {

using Kind = JsonValue::Kind;

constexpr size_t kMaxFileSize = size_t{16} << 20, kMaxMembers = 100, kMaxKnots = 10, kMaxVectorNumbers = size_t{4} << 20;

// Texts of these complete "the model file ... is damaged: ".
[[noreturn]] void fail(const std::string& what) { throw Error(EXACTVQ_ERROR_ARGUMENT, what); }
[[noreturn]] void fail_must_be(const std::string& key, const std::string& what) { fail(key + " must be " + what); }

const JsonValue& get(const JsonValue& object, const char* key, Kind kind, const char* what) {
    const JsonValue* value = object.find(key);
    if (!value) fail(std::string(key) + " is missing");
    if (value->kind != kind) fail_must_be(key, what);
    return *value;
}

// nullptr where the key is absent or null.
const JsonValue* find(const JsonValue& object, const char* key, Kind kind, const char* what) {
    const JsonValue* value = object.find(key);
    return value && value->kind != Kind::kNull ? &get(object, key, kind, what) : nullptr;
}

bool parse_finite(const JsonValue& value, double& number) {
    return value.kind == Kind::kNumber && parse_all(value.text, number) == std::errc() && std::isfinite(number);
}

// An array of `count` numbers.
std::vector<double> get_numbers(const JsonValue& object, const char* key, size_t count, const char* meaning) {
    const std::string what = std::to_string(count) + " numbers, " + meaning;
    const JsonValue& array = get(object, key, Kind::kArray, what.c_str());
    std::vector<double> numbers(count);
    bool good = array.items.size() == count;
    for (size_t i = 0; good && i < count; ++i) good = parse_finite(array.items[i], numbers[i]);
    if (!good) fail_must_be(key, what);
    return numbers;
}

// ---- features ----------------------------------------------------------------------------------------------------------

// Names of scores in libvmaf's integer metrics that exactvq has.
constexpr struct {
    const char *metric, *output;
} kOutputs[] = {{"adm", "adm2"},       {"adm", "aim"},        {"adm", "adm3"},       {"motion", "motion2"},  {"motion", "motion3"},
                {"vif", "vif_scale0"}, {"vif", "vif_scale1"}, {"vif", "vif_scale2"}, {"vif", "vif_scale3"}};

// X of PREFIX_feature_X_score, with "float_" before it for libvmaf's floating-point metrics; other names as they are.
std::string short_name(std::string_view name) {
    constexpr std::string_view kInfix = "_feature_", kSuffix = "_score";
    const size_t infix = name.find(kInfix);
    if (infix == name.npos || name.size() < infix + kInfix.size() + kSuffix.size() || name.substr(name.size() - kSuffix.size()) != kSuffix) return quote(name);
    const std::string_view middle = name.substr(infix + kInfix.size(), name.size() - infix - kInfix.size() - kSuffix.size());
    if (middle.size() > 60 || middle.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != middle.npos) return quote(name);
    return (name.substr(0, infix) == "VMAF" ? "float_" : "") + std::string(middle);
}

std::vector<VmafFeature> read_features(const JsonValue& model) {
    const JsonValue& names = get(model, "feature_names", Kind::kArray, "an array of names");
    const size_t count = names.items.size();
    if (count < 1 || count > kMaxVmafFeatures) fail_must_be("feature_names", "1 to " + std::to_string(kMaxVmafFeatures) + " names, these are " + std::to_string(count));
    std::vector<VmafFeature> features;
    std::string unknown;
    for (const JsonValue& name : names.items) {
        if (name.kind != Kind::kString) fail_must_be("feature_names", "an array of names");
        const auto* found = std::find_if(std::begin(kOutputs), std::end(kOutputs),
                                         [&](const auto& known) { return name.text == std::string("VMAF_integer_feature_") + known.output + "_score"; });
        if (found == std::end(kOutputs))
            unknown += (unknown.empty() ? "" : ", ") + short_name(name.text);
        else
            features.push_back({found->metric, found->output, {}});
    }
    if (!unknown.empty()) throw Error(EXACTVQ_ERROR_UNSUPPORTED, unknown);
    // v1.0.16's correction of a chroma feature; all models that have one need speed_chroma
    if (model.find("chroma_correction_parameter")) throw Error(EXACTVQ_ERROR_UNSUPPORTED, "speed_chroma");
    return features;
}

// The text of an option's value, as libvmaf makes it. False if it cannot be one.
bool option_text(const JsonValue& value, std::string& text) {
    double number = 0;
    if (value.kind == Kind::kBool) text = value.truth ? "true" : "false";
    if (value.kind == Kind::kString) text = value.text;
    if (value.kind != Kind::kNumber) return value.kind == Kind::kBool || value.kind == Kind::kString;
    if (!parse_through_binary32(value.text, number)) return false;
    text = six_digits(number);
    return true;
}

void read_options(const JsonValue& model, std::vector<VmafFeature>& features) {
    const std::string what = std::to_string(features.size()) + " objects, one for each feature, of numbers, true, false and strings";
    const JsonValue* list = find(model, "feature_opts_dicts", Kind::kArray, what.c_str());
    if (!list) return;
    bool good = list->items.size() == features.size();
    for (size_t i = 0; good && i < features.size(); ++i) {
        const JsonValue& options = list->items[i];
        good = options.kind == Kind::kObject;
        for (size_t k = 0; good && k < options.keys.size(); ++k) good = option_text(options.items[k], features[i].options[options.keys[k]]);
    }
    if (!good) fail_must_be("feature_opts_dicts", what);
}

// ---- transform and clip ------------------------------------------------------------------------------------------------

std::optional<double> find_number(const JsonValue& object, const char* key) {
    const JsonValue* value = find(object, key, Kind::kNumber, "a number");
    double number = 0;
    if (!value) return {};
    if (!parse_finite(*value, number)) fail_must_be(key, "a number");
    return number;
}

bool says_true(const JsonValue& object, const char* key) {
    const JsonValue* value = find(object, key, Kind::kString, "a string");
    return value && value->text == "true";
}

std::vector<std::array<double, 2>> read_knots(const JsonValue& transform) {
    const std::string what = "2 to " + std::to_string(kMaxKnots) + " points [x, y] whose x rises and whose y does not fall";
    std::vector<std::array<double, 2>> knots;
    const JsonValue* list = find(transform, "knots", Kind::kArray, what.c_str());
    if (!list) return knots;
    bool good = list->items.size() >= 2 && list->items.size() <= kMaxKnots;
    for (size_t i = 0; good && i < list->items.size(); ++i) {
        const JsonValue& point = list->items[i];
        std::array<double, 2> knot;
        good = point.kind == Kind::kArray && point.items.size() == 2 && parse_finite(point.items[0], knot[0]) && parse_finite(point.items[1], knot[1]) &&
               (i == 0 || (knot[0] > knots[i - 1][0] && knot[1] >= knots[i - 1][1]));
        if (good) knots.push_back(knot);
    }
    if (!good) fail_must_be("knots", what);
    return knots;
}

// Faults of a transform that is not active are faults all the same.
std::optional<VmafTransform> read_transform(const JsonValue& model, const VmafFlags& flags) {
    const JsonValue* object = find(model, "score_transform", Kind::kObject, "an object");
    if (!object) return {};
    const JsonValue* enabled = find(*object, "enabled", Kind::kBool, "true or false");
    VmafTransform transform;
    transform.p0 = find_number(*object, "p0");
    transform.p1 = find_number(*object, "p1");
    transform.p2 = find_number(*object, "p2");
    transform.knots = read_knots(*object);
    transform.at_most_input = says_true(*object, "out_lte_in");
    transform.at_least_input = says_true(*object, "out_gte_in");
    if (flags.disable_transform || !(flags.enable_transform || (enabled && enabled->truth))) return {};
    return transform;
}

std::optional<std::array<double, 2>> read_clip(const JsonValue& model, const VmafFlags& flags) {
    if (!find(model, "score_clip", Kind::kArray, "2 numbers, the least and the largest score")) return {};
    const std::vector<double> clip = get_numbers(model, "score_clip", 2, "the least and the largest score");
    if (clip[0] > clip[1]) fail_must_be("score_clip", "2 numbers, the least and the largest score");
    return flags.disable_clip ? std::optional<std::array<double, 2>>() : std::array<double, 2>{clip[0], clip[1]};
}

// ---- models ------------------------------------------------------------------------------------------------------------

struct Member {
    std::vector<VmafFeature> features;
    VmafRegressor regressor;
};

Member read_member(const JsonValue& file, const VmafFlags& flags) {
    const JsonValue& model = get(file, "model_dict", Kind::kObject, "an object");
    const std::string& type = get(model, "model_type", Kind::kString, "a string").text;
    if (type != "LIBSVMNUSVR" && type != "BOOTSTRAP_LIBSVMNUSVR" && type != "RESIDUEBOOTSTRAP_LIBSVMNUSVR")
        fail("model_type is " + quote(type) + ", not LIBSVMNUSVR, BOOTSTRAP_LIBSVMNUSVR or RESIDUEBOOTSTRAP_LIBSVMNUSVR");
    const std::string& norm = get(model, "norm_type", Kind::kString, "a string").text;
    if (norm != "linear_rescale" && norm != "none") fail("norm_type is " + quote(norm) + ", not linear_rescale or none");

    Member member;
    member.features = read_features(model);
    read_options(model, member.features);
    if (norm == "linear_rescale") {
        constexpr const char* kMeaning = "one for the score and one for each feature";
        member.regressor.slopes = get_numbers(model, "slopes", 1 + member.features.size(), kMeaning);
        member.regressor.intercepts = get_numbers(model, "intercepts", 1 + member.features.size(), kMeaning);
        if (member.regressor.slopes[0] == 0) fail("the score's slope is 0");
    }
    member.regressor.svm = parse_svm(get(model, "model", Kind::kString, "a string").text, member.features.size());
    member.regressor.transform = read_transform(model, flags);
    member.regressor.clip = read_clip(model, flags);
    return member;
}

bool same(const VmafFeature& a, const VmafFeature& b) { return a.output == b.output && a.options == b.options; }

VmafModel read_collection(const JsonValue& file, const VmafFlags& flags) {
    if (file.items.size() < 2 || file.items.size() > kMaxMembers)
        fail("it holds " + std::to_string(file.items.size()) + " models, and must hold 2 to " + std::to_string(kMaxMembers));
    std::vector<VmafFeature> features;
    std::vector<VmafRegressor> regressors;
    size_t numbers = 0;  // a support vector takes far less text than memory
    for (size_t k = 0; k < file.items.size(); ++k) {
        const std::string name = std::to_string(k);
        if (file.keys[k] != name) fail("model " + quote(file.keys[k]) + " stands where model '" + name + "' must be");
        if (file.items[k].kind != Kind::kObject) fail_must_be("model " + name, "an object");
        Member member;
        try {
            member = read_member(file.items[k], flags);
        } catch (const Error& error) {
            if (error.status() == EXACTVQ_ERROR_UNSUPPORTED) throw;
            fail("in model " + name + ", " + error.what());
        }
        if (k == 0) features = member.features;
        if (!std::equal(features.begin(), features.end(), member.features.begin(), member.features.end(), same)) fail("model " + name + " has other features than model 0");
        numbers += member.regressor.svm.vectors.size();
        if (numbers > kMaxVectorNumbers) fail("its support vectors hold more than " + std::to_string(kMaxVectorNumbers) + " numbers");
        regressors.push_back(std::move(member.regressor));
    }
    return VmafModel(std::move(features), std::move(regressors));
}

std::string read_file(const std::string& path) {
    const auto cannot = [&path](int error) { throw Error(EXACTVQ_ERROR_IO, "cannot read the model file '" + path + "': " + std::strerror(error)); };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) cannot(errno);
    std::string text;
    char buffer[1 << 16];
    for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;) {
        text.append(buffer, count);
        if (text.size() > kMaxFileSize)
            throw Error(EXACTVQ_ERROR_ARGUMENT, "the model file '" + path + "' is larger than " + std::to_string(kMaxFileSize >> 20) + " MiB: no VMAF model is");
    }
    if (std::ferror(file.get())) cannot(errno);
    return text;
}

}  // namespace

VmafModel parse_vmaf_model(std::string_view text, const std::string& path, const VmafFlags& flags) {
    const std::string file_name = "the model file '" + path + "' ";
    JsonValue file;
    try {
        file = parse_json(text);
    } catch (const Error& error) {
        throw Error(error.status(), file_name + error.what() + ": fetch it again, or name another file");
    }
    const bool single = file.find("model_dict");
    if (!single && !file.find("0")) throw Error(EXACTVQ_ERROR_ARGUMENT, file_name + "is no VMAF model: it has neither model_dict nor models \"0\", \"1\" and so on");
    try {
        if (!single) return read_collection(file, flags);
        Member member = read_member(file, flags);
        std::vector<VmafRegressor> regressors;
        regressors.push_back(std::move(member.regressor));
        return VmafModel(std::move(member.features), std::move(regressors));
    } catch (const Error& error) {
        if (error.status() == EXACTVQ_ERROR_UNSUPPORTED)
            throw Error(error.status(), file_name + "needs " + error.what() + ", which this build does not compute: take another model, such as vmaf_v0.6.1");
        throw Error(error.status(), file_name + "is damaged: " + error.what() + "; fetch it again, or name another file");
    }
}

VmafModel read_vmaf_model(const std::string& path, const VmafFlags& flags) { return parse_vmaf_model(read_file(path), path, flags); }

}  // namespace exactvq
