// SPDX-License-Identifier: BSD-2-Clause
//
// float_psnr: luma PSNR on the 8-bit scale, squares in binary32, sum in binary64.
#include "host/libm.h"
#include "host/metric.h"
#include "kernels/common/sse.h"

namespace exactvq {
namespace {

class FloatPsnr final : public FrameMetric {
public:
    FloatPsnr(const OptionValues& options, const Geometry& geometry) : uncapped_(options.flag("uncapped")) {
        const uint32_t b = geometry.depth;
        const double largest = static_cast<double>((1u << b) - 1);
        scale_ = static_cast<double>(1u << (b - 8));
        peak_ = largest / scale_;
        cap_ = static_cast<double>(6 * b + 12);
        samples_ = static_cast<double>(static_cast<uint64_t>(geometry.plane[0].width) * geometry.plane[0].height);
        outputs_.push_back({"float_psnr", "dB", ""});
        // Up to 12 bits squares fit in 24 bits, and sums that stay below 2^53 do not round: the exact integer sum is the same.
        exact_ = b <= 12 && largest * largest * samples_ <= static_cast<double>(kExactDoubleSum);
        accumulators_.push_back({exact_ ? AccumulatorKind::kSse : AccumulatorKind::kRoundedSse, 0, {}});
    }

    void conclude(const Accumulators& sums, double* scores) const override {
        const double units = exact_ ? static_cast<double>(sums[0]) : double_from_bits(sums[0]);
        const double S = units / (scale_ * scale_);  // exact, a power of two
        const double m = S / samples_;
        const double floored = m > 1e-10 ? m : 1e-10;
        const double y = 10.0 * libm::log10((peak_ * peak_) / floored);
        if (uncapped_) {
            scores[0] = m <= 0 ? cap_ : y;
        } else {
            scores[0] = y < cap_ ? y : cap_;
        }
    }

private:
    bool uncapped_, exact_;
    double scale_, peak_, cap_, samples_;
};

}  // namespace

const MetricInfo& float_psnr_info() {
    static const MetricInfo info{
        "float_psnr",
        "luma PSNR in dB in floating point, capped at 6 * depth + 12 (60 at 8 bits)",
        "float_psnr",
        {{"uncapped", OptionType::kBool, "0", 0, 1, nullptr, "no cap, except for planes without any difference"}},
        [](const OptionValues& options, const Geometry& geometry) -> std::unique_ptr<Metric> { return std::make_unique<FloatPsnr>(options, geometry); }};
    return info;
}

}  // namespace exactvq
