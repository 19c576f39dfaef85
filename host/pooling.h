// SPDX-License-Identifier: BSD-2-Clause
//
// Pooled values of one score: in constant memory, with libvmaf's formulas and order of additions, and percentiles of all values.
#ifndef EXACTVQ_HOST_POOLING_H
#define EXACTVQ_HOST_POOLING_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "host/libm.h"

namespace exactvq {

class Pooling {
public:
    void add(double value) {
        if (count_ == 0) min_ = max_ = value;
        if (value < min_) min_ = value;
        if (value > max_) max_ = value;
        sum_ += value;
        reciprocal_sum_ += 1.0 / (value + 1.0);
        ++count_;
        const double delta = value - running_mean_;  // Welford's recurrence: no cancellation
        running_mean_ += delta / static_cast<double>(count_);
        squares_ += delta * (value - running_mean_);
    }

    uint64_t count() const { return count_; }
    // Valid if count() > 0.
    double mean() const { return sum_ / static_cast<double>(count_); }
    double harmonic_mean() const { return static_cast<double>(count_) / reciprocal_sum_ - 1.0; }
    double min() const { return min_; }
    double max() const { return max_; }
    // Of all values, not of a sample: the divisor is count(). Infinite if a value is.
    double stddev() const {
        return std::isfinite(min_) && std::isfinite(max_) ? libm::sqrt(squares_ / static_cast<double>(count_)) : std::numeric_limits<double>::infinity();
    }

private:
    uint64_t count_ = 0;
    double sum_ = 0.0, reciprocal_sum_ = 0.0, min_ = 0.0, max_ = 0.0;
    double running_mean_ = 0.0, squares_ = 0.0;
};

// What `percent` of the values lie below: between the two nearest in rank as numpy.percentile does, with the same rounding. At least one value, in rising order.
inline double percentile(const std::vector<double>& sorted, double percent) {
    const double rank = percent / 100 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(rank);
    const size_t above = below + 1 < sorted.size() ? below + 1 : below;
    const double low = sorted[below], high = sorted[above], weight = rank - static_cast<double>(below);
    if (low == high || weight == 0 || std::isinf(low)) return low;
    if (std::isinf(high)) return high;  // infinite ones have no difference
    const double difference = high - low;
    return weight < 0.5 ? low + difference * weight : high - difference * (1 - weight);
}

}  // namespace exactvq

#endif  // EXACTVQ_HOST_POOLING_H
