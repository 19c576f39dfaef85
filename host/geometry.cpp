// SPDX-License-Identifier: BSD-2-Clause
#include "host/geometry.h"

#include "host/error.h"

namespace exactvq {
namespace {

constexpr uint32_t kMaxSide = 32768;

void require(bool condition, const std::string& sentence) {
    if (!condition) throw Error(EXACTVQ_ERROR_ARGUMENT, sentence);
}

}  // namespace

Geometry make_geometry(const exactvq_format& format) {
    require(format.width >= 1 && format.width <= kMaxSide && format.height >= 1 && format.height <= kMaxSide,
            "the frame size is " + std::to_string(format.width) + "x" + std::to_string(format.height) + ": both sides must be 1 to " +
                std::to_string(kMaxSide));
    require(format.depth >= 8 && format.depth <= 16, "the sample depth is " + std::to_string(format.depth) + " bits: it must be 8 to 16");
    require(format.planes == 1 || format.planes == 3,
            "the format has " + std::to_string(format.planes) + " planes: it must have 1 (luma) or 3 (Y, Cb, Cr)");
    require(format.log2_chroma_w <= 2 && format.log2_chroma_h <= 2, "chroma is subsampled by more than 4");
    Geometry geometry;
    geometry.depth = format.depth;
    geometry.planes = format.planes;
    geometry.plane[0] = {format.width, format.height};
    if (format.planes == 3) {
        const auto shrink = [](uint32_t size, uint32_t log2) { return (size + (1u << log2) - 1) >> log2; };
        geometry.plane[1] = geometry.plane[2] = {shrink(format.width, format.log2_chroma_w), shrink(format.height, format.log2_chroma_h)};
    }
    return geometry;
}

}  // namespace exactvq
