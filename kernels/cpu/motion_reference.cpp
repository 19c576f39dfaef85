// SPDX-License-Identifier: BSD-2-Clause
#include <vector>

#include "kernels/common/mirror.h"
#include "kernels/cpu/reference.h"

namespace exactvq::reference {

uint64_t motion(const PlaneView& current, const PlaneView& earlier) {
    const uint32_t width = current.width, height = current.height;
    std::vector<int32_t> row(width);
    uint64_t sum = 0;
    const auto filter = [](uint32_t centre, uint32_t n, const auto& value, int32_t out[5]) {
        for (int32_t t = 0; t < 5; ++t) out[t] = value(mirrored(static_cast<int32_t>(centre + t) - static_cast<int32_t>(kMotionHalf), n));
    };
    for (uint32_t y = 0; y < height; ++y) {
        int32_t v[5];
        for (uint32_t x = 0; x < width; ++x) {
            filter(y, height, [&](uint32_t i) { return static_cast<int32_t>(earlier.clean_sample(x, i)) - static_cast<int32_t>(current.clean_sample(x, i)); }, v);
            row[x] = motion_vertical(v, current.depth);
        }
        for (uint32_t x = 0; x < width; ++x) {
            filter(x, width, [&](uint32_t i) { return row[i]; }, v);
            sum += motion_horizontal(v);
        }
    }
    return sum;
}

}  // namespace exactvq::reference
