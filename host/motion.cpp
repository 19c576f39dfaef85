// SPDX-License-Identifier: BSD-2-Clause
//
// motion: how much the reference's luma moves, from the filtered differences of neighbouring frames.
#include <limits>

#include "host/metric.h"
#include "kernels/common/motion.h"

namespace exactvq {
namespace {

double least(double a, double b) { return a < b ? a : b; }

class Motion final : public Metric {
public:
    Motion(const OptionValues& options, const Geometry& geometry)
        : debug_(options.flag("debug")),
          force_zero_(options.flag("motion_force_zero")),
          moving_average_(options.flag("motion_moving_average")),
          distance_(options.flag("motion_five_frame_window") ? 2 : 1),
          blend_factor_(options.number("motion_blend_factor")),
          blend_offset_(options.number("motion_blend_offset")),
          fps_weight_(options.number("motion_fps_weight")),
          max_val_(options.number("motion_max_val")) {
        const PlaneSize luma = geometry.plane[0];
        samples_ = static_cast<double>(luma.width * luma.height);
        measurable_ = luma.width >= kMotionMinSide && luma.height >= kMotionMinSide;
        std::string unavailable;
        if (!measurable_)
            unavailable = "motion needs pictures of at least 3x3 samples, these have " + std::to_string(luma.width) + "x" + std::to_string(luma.height);
        const std::string suffix = options.libvmaf_suffix();
        outputs_.push_back({"motion_sad", "", unavailable, "VMAF_integer_feature_motion_sad_score" + suffix});
        if (debug_) outputs_.push_back({"motion", "", unavailable, "integer_motion" + suffix});
        outputs_.push_back({"motion2", "", unavailable, "integer_motion2" + suffix, 1});
        outputs_.push_back({"motion3", "", unavailable, "integer_motion3" + suffix, 1});
        if (!measurable_) return;
        AccumulatorSpec spec;
        spec.kind = AccumulatorKind::kMotion;
        spec.motion_distance = static_cast<uint8_t>(distance_);
        accumulators_.push_back(spec);
    }

    uint32_t successors() const override { return measurable_ ? distance_ : 0; }
    void restart() override { frame_ = 0; }

    // Sections 2.3 to 2.5 of the specification, frame by frame.
    void conclude(const FrameWindow& window, double* scores) override {
        if (!measurable_) {
            for (size_t i = 0; i < outputs_.size(); ++i) scores[i] = std::numeric_limits<double>::quiet_NaN();
            return;
        }
        const auto energy = [&](uint32_t later) { return difference(frame_ + later, window[later][0]); };
        const bool last = window.frames() == 1;
        const double sad = energy(0);
        if (frame_ == 0) first_ = window.frames() > distance_ ? least(blend(energy(distance_)), max_val_) : 0.0;

        double motion2 = 0.0, motion3 = first_, plain = first_;
        if (frame_ >= distance_) {
            const double low = distance_ == 1 ? sad : sad_before_;
            motion2 = last ? sad : distance_ == 2 && frame_ == 2 ? energy(1) : least(low, energy(1));
            plain = least(blend(motion2), max_val_);
            motion3 = moving_average_ ? (plain + motion3_before_) / 2.0 : plain;
        }
        *scores++ = sad;
        if (debug_) *scores++ = sad;
        *scores++ = motion2;
        *scores++ = motion3;
        sad_before_ = sad;
        motion3_before_ = plain;
        ++frame_;
    }

private:
    double difference(uint64_t frame, uint64_t sum) const {
        if (frame < distance_ || force_zero_) return 0.0;
        return least(((static_cast<double>(sum) / 256.0) / samples_) * fps_weight_, max_val_);
    }

    double blend(double x) const { return x * blend_factor_ + (1.0 - blend_factor_) * least(blend_offset_, x); }

    bool debug_, force_zero_, moving_average_, measurable_;
    uint32_t distance_;
    double blend_factor_, blend_offset_, fps_weight_, max_val_, samples_;

    uint64_t frame_ = 0;
    double first_ = 0.0, sad_before_ = 0.0, motion3_before_ = 0.0;  // motion3 before the average
};

}  // namespace

const MetricInfo& motion_info() {
    static const MetricInfo info{
        "motion",
        "motion of the reference's luma, in grey levels of 8 bits: mean magnitude of the filtered difference of neighbouring frames; pictures of at least 3x3",
        "motion_sad (of the frame before), motion2 (the less of that and of the frame after), motion3 (blended, capped); motion with debug",
        {{"debug", OptionType::kBool, "0", 0, 1, nullptr, "also give motion, which is motion_sad"},
         {"motion_force_zero", OptionType::kBool, "0", 0, 1, nullptr, "all scores are 0", "force_0"},
         {"motion_blend_factor", OptionType::kNumber, "1", 0, 1, nullptr, "motion3: weight of what exceeds motion_blend_offset", "mbf", true},
         {"motion_blend_offset", OptionType::kNumber, "40", 0, 1000, nullptr, "motion3: up to where motion counts in full", "mbo", true},
         {"motion_fps_weight", OptionType::kNumber, "1", 0, 5, nullptr, "factor for the frame rate", "mfw", true},
         {"motion_max_val", OptionType::kNumber, "10000", 0, 10000, nullptr, "largest value", "mmxv", true},
         {"motion_five_frame_window", OptionType::kBool, "0", 0, 1, nullptr, "take differences of frames that are two apart", "mffw"},
         {"motion_moving_average", OptionType::kBool, "0", 0, 1, nullptr, "motion3: mean with the frame before", "mma"}},
        [](const OptionValues& options, const Geometry& geometry) -> std::unique_ptr<Metric> { return std::make_unique<Motion>(options, geometry); }};
    return info;
}

}  // namespace exactvq
