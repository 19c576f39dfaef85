// SPDX-License-Identifier: BSD-2-Clause
//
// Motion: the difference of two frames of the reference, filtered, as a sum of magnitudes (sections 2.2 of the specification). Both sides of a picture are at
// least kMotionMinSide, so one reflection at the borders (mirror.h) is enough.
#ifndef EXACTVQ_KERNELS_COMMON_MOTION_H
#define EXACTVQ_KERNELS_COMMON_MOTION_H

#include "kernels/common/platform.h"

namespace exactvq {

inline constexpr uint32_t kMotionMinSide = 3;
inline constexpr uint32_t kMotionHalf = 2;                                               // taps on either side of the middle
inline constexpr int32_t kMotionMiddle = 26386, kMotionNear = 16004, kMotionFar = 3571;  // taps; their sum, with both sides, is 65536

// Filters five neighbours, in T: 32 bits suffice for differences of 8-bit samples. The order of the difference matters: the shift rounds down.
template <class T = int64_t>
EXACTVQ_HD T motion_filter(const int32_t* v) {
    return T{kMotionMiddle} * v[2] + T{kMotionNear} * (v[1] + v[3]) + T{kMotionFar} * (v[0] + v[4]);
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
