// SPDX-License-Identifier: BSD-2-Clause
//
// A plane of samples wherever it lies: planar or semi-planar, 8 bits in bytes or up to 16 bits in words, value at either end of the word.
#ifndef EXACTVQ_KERNELS_COMMON_PLANE_H
#define EXACTVQ_KERNELS_COMMON_PLANE_H

#include <cstddef>

#include "kernels/common/platform.h"

namespace exactvq {

struct PlaneView {
    const uint8_t* data = nullptr;  // sample (0, 0)
    ptrdiff_t stride = 0;           // bytes between rows, negative for bottom-up pictures
    uint32_t width = 0, height = 0;
    uint32_t depth = 8;             // significant bits; one byte a word at 8, two above
    uint32_t step = 1;              // bytes between samples of a row
    uint32_t shift = 0;             // unused low bits of the word

    EXACTVQ_HD uint32_t word_bytes() const { return depth > 8 ? 2 : 1; }
    EXACTVQ_HD const uint8_t* row(uint32_t y) const { return data + static_cast<ptrdiff_t>(y) * stride; }
    EXACTVQ_HD uint32_t sample(uint32_t x, uint32_t y) const {
        const uint8_t* p = row(y) + static_cast<size_t>(x) * step;
        if (depth == 8) return *p;
        uint16_t word;
        memcpy(&word, p, sizeof word);  // rows of cropped frames may start at odd addresses
        return static_cast<uint32_t>(word) >> shift;
    }
    // Without bits above the depth, which no proper picture has: for sums that would leave their range.
    EXACTVQ_HD uint32_t clean_sample(uint32_t x, uint32_t y) const { return sample(x, y) & largest(); }
    EXACTVQ_HD uint32_t largest() const { return (1u << depth) - 1; }
};

// One plane of a pair. Both have the same size and depth; layout, strides and shifts may differ.
struct PlanePair {
    PlaneView ref, main;
};

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_PLANE_H
