// SPDX-License-Identifier: BSD-2-Clause
//
// vif: visual information fidelity of luma over four scales.
#include <cfloat>
#include <limits>

#include "host/metric.h"
#include "kernels/common/vif.h"

static_assert(FLT_EVAL_METHOD == 0, "float expressions are rounded to binary32 at every step");

namespace exactvq {
namespace {

class Vif final : public FrameMetric {
public:
    Vif(const OptionValues& options, const Geometry& geometry) : debug_(options.flag("debug")), skip_scale0_(options.flag("vif_skip_scale0")) {
        const PlaneSize luma = geometry.plane[0];
        measurable_ = luma.width >= kVifMinSide && luma.height >= kVifMinSide;
        std::string unavailable;
        if (!measurable_)
            unavailable = "vif needs pictures of at least 16x16 samples, these have " + std::to_string(luma.width) + "x" + std::to_string(luma.height);
        name_outputs(options.libvmaf_suffix(), unavailable);
        if (!measurable_) return;
        AccumulatorSpec spec;
        spec.kind = AccumulatorKind::kVif;
        spec.vif = {options.number("vif_enhn_gain_limit"), skip_scale0_};
        accumulators_.push_back(spec);
    }

    void conclude(const Accumulators& accumulators, double* scores) const override {
        if (!measurable_) {
            for (size_t i = 0; i < outputs_.size(); ++i) scores[i] = std::numeric_limits<double>::quiet_NaN();
            return;
        }
        const uint64_t* words = accumulators.words(0);
        float num[kVifScales], den[kVifScales];
        double num_sum = 0.0, den_sum = 0.0;
        for (uint32_t s = 0; s < kVifScales; ++s) {
            const bool skip = s == 0 && skip_scale0_;
            const auto value = [&](VifSum sum) { return static_cast<double>(static_cast<int64_t>(words[vif_word(s, sum)])); };
            const double flat = value(kVifFlat);
            num[s] = skip ? 0.0f : static_cast<float>(value(kVifNumerator) / 2048.0 + (flat - (value(kVifFlatMain) / 16384.0) / 65025.0));
            den[s] = skip ? -1.0f : static_cast<float>(value(kVifDenominator) / 2048.0 + flat);
            if (!skip) {
                num_sum += static_cast<double>(num[s]);
                den_sum += static_cast<double>(den[s]);
            }
            *scores++ = skip ? 0.0 : static_cast<double>(num[s] / den[s]);
        }
        if (!debug_) return;
        *scores++ = den_sum == 0.0 ? 1.0 : num_sum / den_sum;
        *scores++ = num_sum;
        *scores++ = den_sum;
        for (uint32_t s = 0; s < kVifScales; ++s) {
            *scores++ = static_cast<double>(num[s]);
            *scores++ = static_cast<double>(den[s]);
        }
    }

private:
    void name_outputs(const std::string& suffix, const std::string& unavailable) {
        const auto add = [&](const std::string& name) { outputs_.push_back({name, "", unavailable, "integer_" + name + suffix}); };
        for (const char* name : {"vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3"}) add(name);
        if (!debug_) return;
        for (const char* name : {"vif", "vif_num", "vif_den"}) add(name);
        for (uint32_t s = 0; s < kVifScales; ++s)
            for (const char* name : {"vif_num_scale", "vif_den_scale"}) add(name + std::to_string(s));
    }

    bool debug_, skip_scale0_, measurable_;
};

}  // namespace

const MetricInfo& vif_info() {
    static const MetricInfo info{
        "vif",
        "information of the reference's luma that is left in main, at four scales; pictures of at least 16x16",
        "vif_scale0 .. vif_scale3; vif, vif_num, vif_den, vif_num_scale0, vif_den_scale0 .. vif_num_scale3, vif_den_scale3",
        {{"debug", OptionType::kBool, "0", 0, 1, nullptr, "also give numerators and denominators, and their ratio over all scales"},
         {"vif_enhn_gain_limit", OptionType::kNumber, "100", 1, 100, nullptr, "gain up to which enhancement counts; 1: enhancement earns nothing", "egl", true},
         {"vif_skip_scale0", OptionType::kBool, "0", 0, 1, nullptr, "leave the finest scale out", "ssclz"}},
        [](const OptionValues& options, const Geometry& geometry) -> std::unique_ptr<Metric> { return std::make_unique<Vif>(options, geometry); }};
    return info;
}

}  // namespace exactvq
