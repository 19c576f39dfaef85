// SPDX-License-Identifier: BSD-2-Clause
//
// What metrics know about the frames of a session.
#ifndef EXACTVQ_HOST_GEOMETRY_H
#define EXACTVQ_HOST_GEOMETRY_H

#include <cstdint>

#include "exactvq/exactvq.h"

namespace exactvq {

struct PlaneSize {
    uint32_t width = 0, height = 0;
};

struct Geometry {
    uint32_t depth = 8;
    uint32_t planes = 1;
    PlaneSize plane[3];

    bool has_chroma() const { return planes == 3; }
};

inline constexpr const char* kPlaneSuffix[3] = {"y", "cb", "cr"};

// Checks the format and throws Error. Chroma planes are rounded up, as FFmpeg's are.
Geometry make_geometry(const exactvq_format& format);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_GEOMETRY_H
