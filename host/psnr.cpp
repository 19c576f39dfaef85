// SPDX-License-Identifier: BSD-2-Clause
//
// psnr: peak signal-to-noise ratio of each plane, integer arithmetic up to the mean.
#include <cfloat>

#include "host/libm.h"
#include "host/metric.h"

namespace exactvq {
namespace {

class Psnr final : public FrameMetric {
public:
    Psnr(const OptionValues& options, const Geometry& geometry)
        : planes_(options.flag("enable_chroma") && geometry.has_chroma() ? 3 : 1),
          mse_(options.flag("enable_mse")),
          apsnr_(options.flag("enable_apsnr")),
          uncapped_(options.flag("uncapped")) {
        const uint32_t b = geometry.depth;
        const uint32_t peak = options.flag("reduced_hbd_peak") ? 255u << (b - 8) : (1u << b) - 1;
        peak_square_ = peak * peak;
        const double min_sse = options.number("min_sse");
        for (uint32_t i = 0; i < planes_; ++i) {
            samples_[i] = geometry.plane[i].width * geometry.plane[i].height;
            cap_[i] = min_sse == 0 ? static_cast<double>(6 * b + 12)
                                   : libm::ceil(10.0 * libm::log10(static_cast<double>(peak_square_) / (min_sse / static_cast<double>(samples_[i]))));
            const std::string suffix = kPlaneSuffix[i];
            outputs_.push_back({"psnr_" + suffix, "dB", ""});
            if (mse_) outputs_.push_back({"mse_" + suffix, "", ""});
            accumulators_.push_back({AccumulatorKind::kSse, static_cast<uint8_t>(i), {}});
        }
    }

    bool needs_every_frame() const override { return apsnr_; }

    void conclude(const Accumulators& sse, double* scores) const override {
        for (uint32_t i = 0; i < planes_; ++i) {
            const double mse = static_cast<double>(sse[i]) / static_cast<double>(samples_[i]);
            // The comparisons pick the second value for NaN (a plane without samples), as the reference does.
            const double floored = mse > 1e-16 ? mse : 1e-16;
            const double value = 10.0 * libm::log10(static_cast<double>(peak_square_) / floored);
            if (uncapped_) {
                *scores++ = mse <= 0 ? cap_[i] : value;
            } else {
                *scores++ = value < cap_[i] ? value : cap_[i];
            }
            if (mse_) *scores++ = mse;
        }
    }

    void add_frame(const Accumulators& sse) override {
        for (uint32_t i = 0; i < planes_; ++i) {
            total_sse_[i] += sse[i];
            total_samples_[i] += samples_[i];
        }
    }

    // All three planes, also those that were not measured (-inf): as the reference.
    std::vector<MetricAggregate> aggregates() const override {
        if (!apsnr_) return {};
        std::vector<MetricAggregate> result;
        for (int i = 0; i < 3; ++i) {
            const double value = 10.0 * ((libm::log10(static_cast<double>(peak_square_)) + libm::log10(static_cast<double>(total_samples_[i]))) -
                                         libm::log10(static_cast<double>(total_sse_[i])));
            const uint64_t limit = peak_square_ * total_samples_[i] * 2;  // wraps, as in the reference
            const double cap = libm::ceil(10.0 * libm::log10(static_cast<double>(limit)));
            result.push_back({std::string("apsnr_") + kPlaneSuffix[i], value < cap ? value : cap});
        }
        return result;
    }

private:
    uint32_t planes_;
    bool mse_, apsnr_, uncapped_;
    uint64_t peak_square_ = 0;
    uint32_t samples_[3] = {};
    double cap_[3] = {};
    uint64_t total_sse_[3] = {}, total_samples_[3] = {};
};

}  // namespace

const MetricInfo& psnr_info() {
    static const MetricInfo info{
        "psnr",
        "peak signal-to-noise ratio of each plane in dB, capped at 6 * depth + 12 (60 at 8 bits)",
        "psnr_y, psnr_cb, psnr_cr; mse_y, mse_cb, mse_cr; of the sequence apsnr_y, apsnr_cb, apsnr_cr",
        {{"enable_chroma", OptionType::kBool, "1", 0, 1, nullptr, "measure Cb and Cr too"},
         {"enable_mse", OptionType::kBool, "0", 0, 1, nullptr, "also give the mean squared error of each plane, in squared sample steps"},
         {"enable_apsnr", OptionType::kBool, "0", 0, 1, nullptr, "also give PSNR of the squared error of the whole sequence"},
         {"reduced_hbd_peak", OptionType::kBool, "0", 0, 1, nullptr, "peak 255 * 2^(depth - 8) in place of 2^depth - 1"},
         {"min_sse", OptionType::kNumber, "0", 0, DBL_MAX, nullptr,
          "cap at the PSNR of this squared error in the whole plane, rounded up to whole dB; 0: the cap above"},
         {"uncapped", OptionType::kBool, "0", 0, 1, nullptr, "no cap, except for planes without any difference"}},
        [](const OptionValues& options, const Geometry& geometry) -> std::unique_ptr<Metric> { return std::make_unique<Psnr>(options, geometry); }};
    return info;
}

}  // namespace exactvq
