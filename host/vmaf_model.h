// SPDX-License-Identifier: BSD-2-Clause
//
// A VMAF model: which scores of other metrics it needs, and how it predicts VMAF from them. Files: host/vmaf_model_reader.h.
#ifndef EXACTVQ_HOST_VMAF_MODEL_H
#define EXACTVQ_HOST_VMAF_MODEL_H

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/svm.h"

namespace exactvq {

constexpr size_t kMaxVmafFeatures = 64;

// One score that the model is given.
struct VmafFeature {
    std::string metric;                          // "adm", "vif", "motion"
    std::string output;                          // "adm2", "adm3", "aim", "vif_scale0" to "vif_scale3", "motion2", "motion3"
    std::map<std::string, std::string> options;  // of the metric; the others have their defaults
};

// The map of scores that is known as the phone model.
struct VmafTransform {
    std::optional<double> p0, p1, p2;           // of a polynomial
    std::vector<std::array<double, 2>> knots;   // of a piecewise linear map; empty or at least two
    bool at_most_input = false, at_least_input = false;

    double apply(double score) const;
};

// One support vector machine with what surrounds it.
struct VmafRegressor {
    Svm svm;
    std::vector<double> slopes, intercepts;  // of the score, then of the features; empty: nothing is rescaled
    std::optional<VmafTransform> transform;
    std::optional<std::array<double, 2>> clip;

    double score(const double* features) const;  // before transform and clip
    double finish(double score) const;           // transform and clip
};

class VmafModel {
public:
    // The first regressor is the model. The others, if there are any, are the ensemble that was trained on resampled data (bootstrap).
    VmafModel(std::vector<VmafFeature> features, std::vector<VmafRegressor> regressors);

    const std::vector<VmafFeature>& features() const { return features_; }

    // What follows the model's name in the names of its scores: "", and with an ensemble "_0001", "_0002", ..., "_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi".
    const std::vector<std::string>& suffixes() const { return suffixes_; }

    // Scores of one frame, suffixes() of them, from the values of features().
    void predict(const double* features, double* scores) const;

    // Sets an option of every feature that comes from `metric`, in place of the file's value. Throws Error if there is none.
    void override_option(std::string_view metric, const std::string& key, std::string_view value);

private:
    std::vector<VmafFeature> features_;
    std::vector<VmafRegressor> regressors_;
    std::vector<std::string> suffixes_;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_VMAF_MODEL_H
