// SPDX-License-Identifier: BSD-2-Clause
//
// Every operation is written in the specification's order and rounds once.
#include "host/vmaf_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "host/error.h"
#include "host/libm.h"
#include "host/text.h"

namespace exactvq {
namespace {

// The first and the last segment go on outside of the knots. At a knot the later segment counts.
double piecewise_linear(const std::vector<std::array<double, 2>>& knots, double x) {
    size_t i = 0;
    while (i + 2 < knots.size() && x >= knots[i + 1][0]) ++i;
    const auto [xa, ya] = knots[i];
    const auto [xb, yb] = knots[i + 1];
    if (ya == yb) return ya;
    if (xa == 0) return (yb - ya) / xb * x + ya;
    const double slope = (yb - ya) / (xb - xa), offset = ya - xa * slope;
    return slope * x + offset;
}

// Of sorted values, by linear interpolation.
double percentile(const std::vector<double>& sorted, double percent) {
    const double place = percent * static_cast<double>(sorted.size() - 1) / 100;
    const double left = libm::floor(place), right = libm::ceil(place);
    const double low = sorted[static_cast<size_t>(left)], high = sorted[static_cast<size_t>(right)];
    return left == right ? low : low * (right - place) + high * (place - left);
}

}  // namespace

double VmafTransform::apply(double score) const {
    double result = score;
    if (p0 || p1 || p2) {
        result = 0;
        if (p0) result = result + *p0;
        if (p1) result = result + *p1 * score;
        if (p2) result = result + *p2 * score * score;
    }
    if (!knots.empty()) result = piecewise_linear(knots, result);
    if (at_most_input && result > score) result = score;
    if (at_least_input && result < score) result = score;
    return result;
}

double VmafRegressor::score(const double* features) const {
    if (slopes.empty()) return svm.predict(features);
    std::array<double, kMaxVmafFeatures> x;
    for (size_t i = 0; i < svm.dimensions; ++i) x[i] = slopes[i + 1] * features[i] + intercepts[i + 1];
    return (svm.predict(x.data()) - intercepts[0]) / slopes[0];
}

double VmafRegressor::finish(double score) const {
    if (transform) score = transform->apply(score);
    if (!clip) return score;
    if (score < (*clip)[0]) score = (*clip)[0];
    return score > (*clip)[1] ? (*clip)[1] : score;
}

VmafModel::VmafModel(std::vector<VmafFeature> features, std::vector<VmafRegressor> regressors)
    : features_(std::move(features)), regressors_(std::move(regressors)), suffixes_{""} {
    if (regressors_.size() == 1) return;
    for (size_t k = 1; k < regressors_.size(); ++k) {
        char suffix[24];
        std::snprintf(suffix, sizeof suffix, "_%04zu", k);
        suffixes_.emplace_back(suffix);
    }
    for (const char* suffix : {"_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"}) suffixes_.emplace_back(suffix);
}

void VmafModel::predict(const double* features, double* scores) const {
    *scores++ = regressors_[0].finish(regressors_[0].score(features));
    if (regressors_.size() == 1) return;

    std::vector<double> raw;
    for (size_t k = 1; k < regressors_.size(); ++k) {
        raw.push_back(regressors_[k].score(features));
        *scores++ = regressors_[k].finish(raw.back());
    }
    const double members = static_cast<double>(raw.size());
    double sum = 0, squares = 0;
    for (double score : raw) sum = sum + score;
    const double mean = sum / members;
    for (double score : raw) squares = squares + (score - mean) * (score - mean);
    const double deviation = libm::sqrt(squares / members);

    constexpr double kStep = 0.01;  // for the slope of transform and clip at the mean
    const VmafRegressor& first = regressors_[1];
    const double slope = (first.finish(mean + kStep) - first.finish(mean - kStep)) / (2.0 * kStep);
    std::sort(raw.begin(), raw.end(), [](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    *scores++ = first.finish(mean);
    *scores++ = deviation * slope;
    *scores++ = first.finish(percentile(raw, 2.5));
    *scores++ = first.finish(percentile(raw, 97.5));
}

void VmafModel::override_option(std::string_view metric, const std::string& key, std::string_view value) {
    double number = 0;
    const std::string text = parse_through_binary32(value, number) ? six_digits(number) : std::string(value);
    bool found = false;
    std::set<std::string> metrics;
    for (VmafFeature& feature : features_) {
        metrics.insert(feature.metric);
        if (feature.metric != metric) continue;
        feature.options[key] = text;
        found = true;
    }
    if (found) return;
    std::string known;
    for (const std::string& name : metrics) known += (known.empty() ? "" : ", ") + name;
    throw Error(EXACTVQ_ERROR_ARGUMENT, "the option " + quote(std::string(metric) + "." + key) + " is for no metric that the VMAF model needs: it needs " + known);
}

}  // namespace exactvq
