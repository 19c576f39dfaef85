// SPDX-License-Identifier: BSD-2-Clause
//
// Pooled values of one score, in constant memory, with libvmaf's formulas and order of additions.
#ifndef EXACTVQ_HOST_POOLING_H
#define EXACTVQ_HOST_POOLING_H

#include <cstdint>

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
    }

    uint64_t count() const { return count_; }
    // Valid if count() > 0.
    double mean() const { return sum_ / static_cast<double>(count_); }
    double harmonic_mean() const { return static_cast<double>(count_) / reciprocal_sum_ - 1.0; }
    double min() const { return min_; }
    double max() const { return max_; }

private:
    uint64_t count_ = 0;
    double sum_ = 0.0, reciprocal_sum_ = 0.0, min_ = 0.0, max_ = 0.0;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_POOLING_H
