// SPDX-License-Identifier: BSD-2-Clause
#include "host/pooling.h"

#include <gtest/gtest.h>

#include <cmath>

namespace exactvq {
namespace {

Pooling pool(const std::vector<double>& values) {
    Pooling pooling;
    for (double value : values) pooling.add(value);
    return pooling;
}

TEST(Pooling, StandardDeviation) {
    EXPECT_EQ(pool({5}).stddev(), 0);
    EXPECT_EQ(pool({2, 4, 4, 4, 5, 5, 7, 9}).stddev(), 2);
    EXPECT_EQ(pool({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}).stddev(), std::sqrt(22.5));  // the textbook formula loses all digits here
    EXPECT_EQ(pool({1, INFINITY}).stddev(), INFINITY);
    EXPECT_EQ(pool({INFINITY, INFINITY}).stddev(), INFINITY);
    EXPECT_EQ(pool({-INFINITY, 3}).stddev(), INFINITY);
}

// Values of numpy.percentile.
TEST(Pooling, Percentiles) {
    EXPECT_EQ(percentile({7}, 5), 7);
    EXPECT_EQ(percentile({1, 2}, 1), 1.01);
    EXPECT_EQ(percentile({1, 2}, 10), 1.1);
    EXPECT_EQ(percentile({10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110}, 10), 20);
    EXPECT_EQ(percentile({0.1, 0.7, 3.3, 9.1}, 5), 0.19);
    EXPECT_EQ(percentile({0.1, 0.7, 3.3, 9.1}, 25), 0.5499999999999999);
    EXPECT_EQ(percentile({0.1, 0.7, 3.3, 9.1}, 30), 0.6399999999999999);
}

TEST(Pooling, PercentilesOfInfiniteValues) {
    EXPECT_EQ(percentile({INFINITY, INFINITY}, 5), INFINITY);
    EXPECT_EQ(percentile({1, INFINITY}, 5), INFINITY);
    EXPECT_EQ(percentile({1, INFINITY}, 90), INFINITY);
    EXPECT_EQ(percentile({-INFINITY, 2}, 90), -INFINITY);
    EXPECT_EQ(percentile({1, 2, INFINITY}, 1), 1.02);
    EXPECT_EQ(percentile({-INFINITY, 2}, 1), -INFINITY);
}

}  // namespace
}  // namespace exactvq
