// SPDX-License-Identifier: BSD-2-Clause
//
// psnr_hvs: PSNR of 8x8 DCT coefficients weighted by contrast sensitivity, with masking by the coefficients between each other.
#include <limits>

#include "host/libm.h"
#include "host/metric.h"
#include "kernels/common/psnr_hvs.h"

namespace exactvq {
namespace {

double decibel(double s) { return 10.0 * (-1.0 * libm::log10(s)); }

class PsnrHvs final : public FrameMetric {
public:
    PsnrHvs(const OptionValues& options, const Geometry& geometry) : planes_(options.flag("enable_chroma") && geometry.has_chroma() ? 3 : 1) {
        const PsnrHvsMask mask = options.choice("psnr_hvs_mask") == "f64" ? PsnrHvsMask::kF64 : PsnrHvsMask::kF32;
        const int32_t largest = (1 << geometry.depth) - 1;
        measurable_ = geometry.depth <= kPsnrHvsMaxDepth;
        largest_square_ = measurable_ ? static_cast<float>(largest * largest) : 0;
        const std::string too_deep = "psnr_hvs measures samples of 8 to 12 bits, these have " + std::to_string(geometry.depth);
        std::string combined;
        for (uint32_t i = 0; i < planes_; ++i) {
            const PlaneSize size = geometry.plane[i];
            terms_[i] = kPsnrHvsTerms * psnr_hvs_blocks(size.width) * psnr_hvs_blocks(size.height);
            std::string unavailable;
            if (!measurable_) {
                unavailable = too_deep;
            } else if (terms_[i] == 0) {
                unavailable = std::string("psnr_hvs needs planes of at least 8x8 samples, plane ") + kPlaneSuffix[i] + " has " +
                              std::to_string(size.width) + "x" + std::to_string(size.height);
                if (i > 0) unavailable += " (enable_chroma=0 measures luma only)";
            }
            if (combined.empty()) combined = unavailable;
            outputs_.push_back({std::string("psnr_hvs_") + kPlaneSuffix[i], "dB", unavailable});
            if (measurable_) accumulators_.push_back({AccumulatorKind::kPsnrHvsSum, static_cast<uint8_t>(i), mask});
        }
        outputs_.push_back({"psnr_hvs", "dB", combined});
    }

    void conclude(const Accumulators& sums, double* scores) const override {
        double s[3] = {};
        for (uint32_t i = 0; i < planes_; ++i) {
            if (!measurable_) {
                scores[i] = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            const float S = float_from_bits(static_cast<uint32_t>(sums[i]));
            const float S1 = S / static_cast<float>(terms_[i]);  // 0 / 0 where the plane holds no block
            const float S2 = S1 / largest_square_;
            s[i] = static_cast<double>(S2);
            scores[i] = decibel(s[i]);
        }
        if (!measurable_ || planes_ == 1) {
            scores[planes_] = scores[0];
            return;
        }
        const double u = s[0] * 0.8;
        const double v = s[1] + s[2];
        const double t = 0.1 * v;
        scores[planes_] = decibel(u + t);
    }

private:
    uint32_t planes_;
    bool measurable_;
    float largest_square_;
    uint32_t terms_[3] = {};
};

}  // namespace

const MetricInfo& psnr_hvs_info() {
    static const MetricInfo info{
        "psnr_hvs",
        "PSNR-HVS-M in dB: error of 8x8 DCT coefficients weighted by contrast sensitivity and masking; 8 to 12 bits; inf where every error is masked",
        "psnr_hvs_y, psnr_hvs_cb, psnr_hvs_cr, psnr_hvs (0.8 Y + 0.1 Cb + 0.1 Cr before the logarithm)",
        {{"enable_chroma", OptionType::kBool, "1", 0, 1, nullptr, "measure Cb and Cr too; 0: psnr_hvs = psnr_hvs_y"},
         {"psnr_hvs_mask", OptionType::kChoice, "f32", 0, 0, "f32|f64",
          "precision of the masking threshold: f32 as the reference, f64 rounds once at its end"}},
        [](const OptionValues& options, const Geometry& geometry) -> std::unique_ptr<Metric> { return std::make_unique<PsnrHvs>(options, geometry); }};
    return info;
}

}  // namespace exactvq
