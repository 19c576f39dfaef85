// SPDX-License-Identifier: BSD-2-Clause
//
// vmaf: a prediction from the scores of other metrics by a model file.
#include "host/error.h"
#include "host/metric.h"
#include "host/text.h"
#include "host/vmaf_model_path.h"
#include "host/vmaf_model_reader.h"

namespace exactvq {
namespace {

VmafModel load(const OptionValues& options) {
    VmafFlags flags;
    flags.enable_transform = options.flag("phone");
    flags.disable_clip = options.flag("noclip");
    VmafModel model = read_vmaf_model(find_vmaf_model(std::string(options.text("model"))), flags);
    if (options.text("features").empty()) return model;
    for (std::string_view item : split(options.text("features"), '+')) {
        const size_t dot = item.find('.'), equals = item.find('=');
        if (dot == std::string_view::npos || equals == std::string_view::npos || dot > equals)
            throw Error(EXACTVQ_ERROR_ARGUMENT, "vmaf.features has " + quote(item) + ": it takes metric.option=value, several separated by +");
        model.override_option(item.substr(0, dot), std::string(item.substr(dot + 1, equals - dot - 1)), item.substr(equals + 1));
    }
    return model;
}

class Vmaf final : public Metric {
public:
    explicit Vmaf(const OptionValues& options) : model_(load(options)) {
        for (const std::string& suffix : model_.suffixes()) outputs_.push_back({"vmaf" + suffix, "", "", "", 2});
    }

    std::vector<ScoreRequest> requests() const override {
        std::vector<ScoreRequest> requests;
        for (const VmafFeature& feature : model_.features()) requests.push_back({feature.metric, feature.output, feature.options});
        return requests;
    }

    void conclude(const FrameWindow&, double*) override {}

    void predict(const double* values, double* scores) const override { model_.predict(values, scores); }

private:
    VmafModel model_;
};

}  // namespace

const MetricInfo& vmaf_info() {
    static const MetricInfo info{
        "vmaf",
        "VMAF by a model file, with the metrics that the model asks for; a label is the name of the score",
        "vmaf; with a model that has an ensemble vmaf_0001, vmaf_0002, ..., vmaf_bagging, vmaf_stddev, vmaf_ci_p95_lo, vmaf_ci_p95_hi",
        {{"model", OptionType::kText, "vmaf_v0.6.1", 0, 0, nullptr, "a file, or a name that is looked up"},
         {"phone", OptionType::kBool, "0", 0, 1, nullptr, "apply the model's transform for small screens (enable_transform)"},
         {"noclip", OptionType::kBool, "0", 0, 1, nullptr, "leave scores beyond the model's range as they are (disable_clip)"},
         {"features", OptionType::kText, "", 0, 0, nullptr, "options of the model's metrics in place of the file's, as vif.vif_enhn_gain_limit=1+adm.adm_enhn_gain_limit=1"}},
        [](const OptionValues& options, const Geometry&) -> std::unique_ptr<Metric> { return std::make_unique<Vmaf>(options); }};
    return info;
}

}  // namespace exactvq
