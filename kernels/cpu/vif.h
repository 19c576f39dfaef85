// SPDX-License-Identifier: BSD-2-Clause
//
// The loops of VIF over a few rows: samples of the next scale, and the sums of statistics. VifStrip (vif_strip.h) calls them.
#ifndef EXACTVQ_KERNELS_CPU_VIF_H
#define EXACTVQ_KERNELS_CPU_VIF_H

#include "kernels/common/plane.h"
#include "kernels/common/vif.h"

namespace exactvq::cpu {

inline constexpr uint32_t kVifRows = 8;      // rows of statistics at a time, even
inline constexpr uint32_t kVifTile = 256;    // columns at a time, a multiple of 64
inline constexpr uint32_t kVifMargin = 64;   // elements on both sides of buffers; a vector has at most 32
inline constexpr uint32_t kVifWindow = kVifRows + 2 * kVifMaxHalf;

// Planes of one scale.
struct VifScale {
    uint32_t scale, width, height;
    uint32_t depth;  // bits of a sample, in a byte if 8, else in two
};

// Rows of one picture, one below the other; mirrored ones where they are outside of it.
struct VifRows {
    const uint8_t* row[kVifWindow];
    uint32_t step;      // bytes between samples
    uint32_t shift;     // unused low bits of a sample
    uint32_t readable;  // samples of a row that may be read, at least its width
};

// Where rows lie while they are worked on: it stays in the second-level cache.
struct alignas(64) VifScratch {
    // Samples and products of one tile, two rows in pairs: ref, main, then ref * ref, main * main, ref * main, the last three as upper and lower halves if a
    // sample has more than 8 bits. Values are less 32768 where 16 bits with a sign would not hold them.
    int16_t pairs[8][kVifWindow / 2][2 * kVifTile + 32];
    // Vertical results of one tile, all less 32768: means of ref and main; products as upper and lower halves. Columns of the tile begin behind the margin,
    // which has the last ones of the tile before.
    int16_t vertical[kVifRows][8][kVifMargin + kVifTile + 2 * kVifMargin];
};

struct VifKernels {
    // Row y of the next scale from the rows around 2 y, 2 * vif_half(scale + 1) + 1 of them. `scratch`: room for a row with margins.
    void (*shrink)(const VifScale& s, const VifRows& rows, int16_t* scratch, uint16_t* out);
    // Adds the sums of `count` rows, at most kVifRows, to kVifSums words. The window begins vif_half() rows above the first of them; all its rows may be read.
    void (*statistics)(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t count, double gain_limit, VifScratch& scratch, uint64_t* words);
};

VifKernels vif_kernels(int64_t target);  // of a Highway target
VifKernels plain_vif_kernels();

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_VIF_H
