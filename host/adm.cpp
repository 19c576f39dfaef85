// SPDX-License-Identifier: BSD-2-Clause
//
// adm: detail loss (ADM) and additive impairment (AIM) of luma, from sums of cubes over four scales of a wavelet transform.
#include <cfloat>
#include <limits>

#include "host/adm_csf.h"
#include "host/adm_parameters.h"
#include "host/libm.h"
#include "host/metric.h"
#include "kernels/common/adm.h"

static_assert(FLT_EVAL_METHOD == 0, "float expressions are rounded to binary32 at every step");

namespace exactvq {
namespace {

constexpr float kThird = 0x1.555556p-2f;
constexpr float kSkippedDenominator = 0x1.b7cdfep-34f;  // 1e-10

// 2^e. (Exponents below 0, which would wrap in the reference, need sides of more than 40960.)
double power_of_two(uint32_t e) { return double_from_bits(uint64_t{e + 1023} << 52); }

class Adm final : public FrameMetric {
public:
    Adm(const OptionValues& options, const Geometry& geometry)
        : debug_(options.flag("debug")),
          skip_aim_(options.flag("adm_skip_aim")),
          skip_scale0_(options.flag("adm_skip_scale0")),
          dlm_weight_(options.number("adm_dlm_weight")),
          min_val_(options.number("adm_min_val")),
          exponent_(static_cast<float>(1.0 / options.number("adm_p_norm"))) {
        AdmViewing viewing;
        viewing.csf_mode = options.integer("adm_csf_mode");
        viewing.norm_view_dist = options.number("adm_norm_view_dist");
        viewing.ref_display_height = options.integer("adm_ref_display_height");
        viewing.csf_scale = options.number("adm_csf_scale");
        viewing.csf_diag_scale = options.number("adm_csf_diag_scale");
        const AdmWeights weights = make_adm_weights(viewing);

        const PlaneSize luma = geometry.plane[0];
        measurable_ = luma.width >= kAdmMinSide && luma.height >= kAdmMinSide;
        std::string unavailable;
        if (!measurable_) {
            unavailable = "adm needs pictures of at least 17x17 samples, these have " + std::to_string(luma.width) + "x" + std::to_string(luma.height);
        }
        name_outputs(options.libvmaf_suffix(), unavailable);
        if (!measurable_) return;

        AdmParameters p = make_adm_parameters(luma);
        p.gain_limit = options.number("adm_enhn_gain_limit");
        p.skip_aim = skip_aim_;
        p.skip_scale0 = skip_scale0_;
        for (uint32_t s = 0; s < kAdmScales; ++s) prepare(s, p.scale[s], weights, options.number("adm_noise_weight"));
        for (uint32_t s = 0; s < kAdmScales; ++s)
            for (uint32_t o = 0; o < kAdmOrientations; ++o) p.scale[s].weight[o] = weights.fixed[s][o];
        accumulators_.push_back({AccumulatorKind::kAdm, 0, {}, p});
        least_ = (0x1.b7cdfd9d7bdbbp-34 * static_cast<double>(uint64_t{luma.width} * luma.height)) / 2073600.0;  // 1e-10 of a picture of 1920x1080
    }

    void conclude(const Accumulators& accumulators, double* scores) const override {
        if (!measurable_) {
            for (size_t i = 0; i < outputs_.size(); ++i) scores[i] = std::numeric_limits<double>::quiet_NaN();
            return;
        }
        const uint64_t* words = accumulators.words(0);
        float num[kAdmScales], den[kAdmScales];
        double num_sum = 0.0, den_sum = 0.0, aim_sum = 0.0;
        for (uint32_t s = 0; s < kAdmScales; ++s) {
            const bool skip = s == 0 && skip_scale0_;
            num[s] = skip ? 0.0f : numerator(s, words + adm_word(s, kAdmDetail, 0), scale_[s].noise);
            den[s] = skip ? kSkippedDenominator : denominator(s, words + adm_word(s, kAdmDenominator, 0));
            const float aim = skip || skip_aim_ ? 0.0f : numerator(s, words + adm_word(s, kAdmAdditive, 0), 0.0f);
            num_sum += static_cast<double>(num[s]);
            den_sum += static_cast<double>(den[s]);
            aim_sum += static_cast<double>(aim);
        }
        if (num_sum < least_) num_sum = 0.0;
        if (den_sum < least_) den_sum = 0.0;
        // No detail in the reference, and none that noise stands for: nothing is lost or added.
        const bool empty = den_sum == 0.0;
        const double adm2 = empty ? 1.0 : num_sum / den_sum;
        const double aim = empty ? 0.0 : aim_sum / den_sum;
        const double mean = adm2 * dlm_weight_ + (1.0 - aim) * (1.0 - dlm_weight_);
        *scores++ = adm2;
        *scores++ = aim;
        *scores++ = mean > min_val_ ? mean : min_val_;  // the least value for NaN too, as in the reference
        for (uint32_t s = 0; s < kAdmScales; ++s) *scores++ = static_cast<double>(num[s]) / static_cast<double>(den[s]);
        if (!debug_) return;
        *scores++ = adm2;
        *scores++ = num_sum;
        *scores++ = den_sum;
        for (uint32_t s = 0; s < kAdmScales; ++s) {
            *scores++ = static_cast<double>(num[s]);
            *scores++ = static_cast<double>(den[s]);
        }
    }

private:
    // What turns the accumulators of a scale into numbers.
    struct Scale {
        double den_unit, num_unit[kAdmOrientations];  // powers of two
        double cube[kAdmOrientations];                // weight^3
        float den_noise, noise;                       // what each orientation of denominator and detail numerator gets
    };

    void name_outputs(const std::string& suffix, const std::string& unavailable) {
        const auto add = [&](const std::string& name) { outputs_.push_back({name, "", unavailable, "integer_" + name + suffix}); };
        for (const char* name : {"adm2", "aim", "adm3", "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3"}) add(name);
        if (!debug_) return;
        for (const char* name : {"adm", "adm_num", "adm_den"}) add(name);
        for (uint32_t s = 0; s < kAdmScales; ++s)
            for (const char* name : {"adm_num_scale", "adm_den_scale"}) add(name + std::to_string(s));
    }

    // Spec 7.1, 7.2, 8.5: all that does not depend on the frame.
    void prepare(uint32_t s, const AdmScale& p, const AdmWeights& weights, double noise_weight) {
        static constexpr uint32_t kDenBits[kAdmScales] = {18, 32, 27, 23};
        static constexpr uint32_t kNumBits[kAdmScales][kAdmOrientations] = {{52, 52, 57}, {45, 45, 45}, {39, 39, 39}, {36, 36, 36}};
        Scale& scale = scale_[s];
        scale.den_unit = power_of_two(kDenBits[s] - p.den_term_shift - p.den_row_shift);
        for (uint32_t o = 0; o < kAdmOrientations; ++o) {
            scale.num_unit[o] = power_of_two(kNumBits[s][o] - p.term_shift[o] - p.row_shift);
            scale.cube[o] = libm::pow(static_cast<double>(weights.weight[s][o]), 3.0);
        }
        const float noise = static_cast<float>(static_cast<double>(adm_area(p)) * noise_weight);
        scale.den_noise = libm::powf(noise, kThird);
        scale.noise = libm::powf(noise, exponent_);
    }

    float denominator(uint32_t s, const uint64_t* words) const {
        float d[kAdmOrientations];
        for (uint32_t o = 0; o < kAdmOrientations; ++o) {
            const double c = (static_cast<double>(words[o]) / scale_[s].den_unit) * scale_[s].cube[o];
            d[o] = libm::powf(static_cast<float>(c), kThird) + scale_[s].den_noise;
        }
        return (d[0] + d[1]) + d[2];
    }

    float numerator(uint32_t s, const uint64_t* words, float noise) const {
        float g[kAdmOrientations];
        for (uint32_t o = 0; o < kAdmOrientations; ++o) {
            const int64_t n = adm_i64(words[o]);
            const double unit = scale_[s].num_unit[o];
            const float f = s == 0 ? static_cast<float>(static_cast<double>(n) / unit) : static_cast<float>(n) / static_cast<float>(unit);
            g[o] = libm::powf(f, exponent_) + noise;  // NaN for a sum that wrapped to a negative one
        }
        return (g[0] + g[1]) + g[2];
    }

    bool debug_, skip_aim_, skip_scale0_, measurable_;
    double dlm_weight_, min_val_, least_ = 0.0;
    float exponent_;
    Scale scale_[kAdmScales] = {};
};

// An option whose value goes through libvmaf's parser, and its short form in libvmaf's names of scores.
OptionSpec number(const char* key, const char* alias, const char* value, double min, double max, const char* help) {
    return {key, OptionType::kNumber, value, min, max, nullptr, help, alias, true};
}
OptionSpec integer(const char* key, const char* alias, const char* value, double min, double max, const char* help) {
    return {key, OptionType::kInteger, value, min, max, nullptr, help, alias};
}
OptionSpec flag(const char* key, const char* alias, const char* help) { return {key, OptionType::kBool, "0", 0, 1, nullptr, help, alias}; }

}  // namespace

const MetricInfo& adm_info() {
    static const MetricInfo info{
        "adm",
        "luma detail of the reference that is left in main (adm2), impairment that main adds (aim), both in one (adm3); pictures of at least 17x17",
        "adm2, aim, adm3, adm_scale0 .. adm_scale3; adm, adm_num, adm_den, adm_num_scale0, adm_den_scale0 .. adm_num_scale3, adm_den_scale3",
        {flag("debug", nullptr, "also give numerators and denominators"),
         number("adm_csf_scale", "scf", "1", 0, 50, "adm_csf_mode=1: factor of horizontal and vertical weights"),
         number("adm_csf_diag_scale", "scfd", "1", 0, 50, "adm_csf_mode=1: factor of diagonal weights"),
         number("adm_dlm_weight", "dlmw", "0.5", 0, 1, "weight of adm2 in adm3; the rest is that of 1 - aim"),
         number("adm_enhn_gain_limit", "egl", "100", 1, 100, "gain up to which enhanced detail counts as the reference's; 1: enhancement earns nothing"),
         number("adm_norm_view_dist", "nvd", "3", 0.75, 24, "viewing distance in heights of the display"),
         integer("adm_ref_display_height", "rdh", "1080", 1, 4320, "height of the display in lines; times adm_norm_view_dist at least 3240"),
         integer("adm_csf_mode", "csf", "0", 0, 3, "contrast sensitivity: 0 Watson, 1 Barten, 2 and 3 tabulated blends for some displays"),
         number("adm_noise_weight", "nw", "0.03125", 0, 1500, "noise a scored sample that is added to adm's numerators and denominators"),
         flag("adm_skip_aim", nullptr, "aim is 0, which saves time"),
         flag("adm_skip_scale0", "ssz", "leave the finest scale out"),
         number("adm_min_val", "min", "0", 0, 1, "least value of adm3"),
         number("adm_p_norm", "apn", "3", 1, 20, "root of the numerators' sums; beyond libvmaf's integer metric")},
        [](const OptionValues& options, const Geometry& geometry) -> std::unique_ptr<Metric> { return std::make_unique<Adm>(options, geometry); }};
    return info;
}

}  // namespace exactvq
