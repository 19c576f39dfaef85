// SPDX-License-Identifier: BSD-2-Clause
//
// Motion: the difference of two frames of the reference, filtered, as a sum of magnitudes (sections 2.2 of the specification). Both sides of a picture are at
// least kMotionMinSide, so one reflection at the borders (mirror.h) is enough.
#ifndef EXACTVQ_KERNELS_COMMON_MOTION_H
#define EXACTVQ_KERNELS_COMMON_MOTION_H

#include "kernels/common/platform.h"

namespace exactvq {

inline constexpr uint32_t kMotionMinSide = 3;
inline constexpr uint32_t kMotionHalf = 2;                           // taps on either side of the middle
inline constexpr uint32_t kMotionTaps[3] = {26386, 16004, 3571};     // the middle one, its neighbours, theirs; their sum, with both sides, is 65536

// Filters five neighbours. The order of the difference matters: the shift rounds down.
EXACTVQ_HD int64_t motion_filter(const int32_t v[5]) {
    return int64_t{kMotionTaps[0]} * v[2] + int64_t{kMotionTaps[1]} * (v[1] + v[3]) + int64_t{kMotionTaps[2]} * (v[0] + v[4]);
}

// A vertically filtered difference: `v` are samples of the earlier frame less those of the current one. At most 65535 in magnitude.
EXACTVQ_HD int32_t motion_vertical(const int32_t v[5], uint32_t depth) {
    return static_cast<int32_t>((motion_filter(v) + (int64_t{1} << (depth - 1))) >> depth);
}

// Magnitude of a horizontally filtered one.
EXACTVQ_HD uint32_t motion_horizontal(const int32_t v[5]) {
    const int32_t filtered = static_cast<int32_t>((motion_filter(v) + 32768) >> 16);
    return static_cast<uint32_t>(filtered < 0 ? -filtered : filtered);
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_MOTION_H
