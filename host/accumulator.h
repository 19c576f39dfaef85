// SPDX-License-Identifier: BSD-2-Clause
//
// The border between backends and the host: a backend turns a pair of frames into accumulators, 64-bit words that are equal bit for bit
// whatever computed them; metrics conclude scores from them.
#ifndef EXACTVQ_HOST_ACCUMULATOR_H
#define EXACTVQ_HOST_ACCUMULATOR_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/adm.h"
#include "kernels/common/motion.h"
#include "kernels/common/psnr_hvs.h"
#include "kernels/common/vif.h"

namespace exactvq {

enum class AccumulatorKind : uint8_t {
    kSse,         // word: exact sum of squared differences of the plane
    kRoundedSse,  // word: bits of the binary64 sum of float_psnr's terms in units of 1/q^2, added in raster order
    kPsnrHvsSum,  // word: bits of the binary32 sum of psnr_hvs's terms, added in block raster order; `mask` applies
    kAdm,         // kAdmWords words, see adm_word(); `adm` applies; plane 0
    kVif,         // kVifWords words, see vif_word(); `vif` applies; plane 0
    kMotion       // word: sum of magnitudes of the filtered difference of the reference and its frame `motion_distance` (1 or 2) pairs earlier, 0 if there is
                  // none; plane 0
};

// One accumulator that metrics ask for. Equal ones are computed once.
struct AccumulatorSpec {
    AccumulatorKind kind = AccumulatorKind::kSse;
    uint8_t plane = 0;
    PsnrHvsMask mask = PsnrHvsMask::kF32;
    AdmParameters adm{};
    VifParameters vif{};
    uint8_t motion_distance = 1;

    // Words that it fills, side by side.
    uint32_t words() const { return kind == AccumulatorKind::kAdm ? kAdmWords : kind == AccumulatorKind::kVif ? kVifWords : 1; }

    bool operator==(const AccumulatorSpec&) const = default;
};

// Words of all accumulators of a list.
inline size_t count_words(const std::vector<AccumulatorSpec>& specs) {
    size_t count = 0;
    for (const AccumulatorSpec& spec : specs) count += spec.words();
    return count;
}

// The accumulators of one metric instance on one frame, in the order in which the instance asked for them.
class Accumulators {
public:
    Accumulators(const uint64_t* words, const uint32_t* offsets) : words_(words), offsets_(offsets) {}
    uint64_t operator[](size_t i) const { return *words(i); }
    const uint64_t* words(size_t i) const { return words_ + offsets_[i]; }

private:
    const uint64_t* words_;
    const uint32_t* offsets_;
};

// A frame's accumulators and those of the frames after it, for metrics that look ahead.
class FrameWindow {
public:
    // words[i]: of the frame i frames later
    FrameWindow(const uint64_t* const* words, uint32_t frames, const uint32_t* offsets) : words_(words), frames_(frames), offsets_(offsets) {}
    uint32_t frames() const { return frames_; }  // at least 1; fewer than asked for: the sequence ends
    Accumulators operator[](uint32_t later) const { return {words_[later], offsets_}; }

private:
    const uint64_t* const* words_;
    uint32_t frames_;
    const uint32_t* offsets_;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_ACCUMULATOR_H
