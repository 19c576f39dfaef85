// SPDX-License-Identifier: BSD-2-Clause
//
// The border between backends and the host: a backend turns a pair of frames into accumulators, 64-bit words that are equal bit for bit
// whatever computed them; metrics conclude scores from them.
#ifndef EXACTVQ_HOST_ACCUMULATOR_H
#define EXACTVQ_HOST_ACCUMULATOR_H

#include <cstddef>
#include <cstdint>

#include "kernels/common/psnr_hvs.h"

namespace exactvq {

enum class AccumulatorKind : uint8_t {
    kSse,         // word: exact sum of squared differences of the plane
    kRoundedSse,  // word: bits of the binary64 sum of float_psnr's terms in units of 1/q^2, added in raster order
    kPsnrHvsSum   // word: bits of the binary32 sum of psnr_hvs's terms, added in block raster order; `mask` applies
};

// One accumulator that metrics ask for. Equal ones are computed once.
struct AccumulatorSpec {
    AccumulatorKind kind = AccumulatorKind::kSse;
    uint8_t plane = 0;
    PsnrHvsMask mask = PsnrHvsMask::kF32;

    bool operator==(const AccumulatorSpec&) const = default;
};

// The accumulators of one metric instance on one frame, in the order in which the instance asked for them.
class Accumulators {
public:
    Accumulators(const uint64_t* words, const uint32_t* offsets) : words_(words), offsets_(offsets) {}
    uint64_t operator[](size_t i) const { return words_[offsets_[i]]; }

private:
    const uint64_t* words_;
    const uint32_t* offsets_;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_ACCUMULATOR_H
