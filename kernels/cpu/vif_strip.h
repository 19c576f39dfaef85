// SPDX-License-Identifier: BSD-2-Clause
//
// VIF of a strip of a pair, all scales at once: rows of a scale go into a ring as soon as those of the finer scale that they are made of are there, and leave
// it when the statistics of the rows around them are done. Strips are independent; only a few rows around each are made twice, and no statistics.
#ifndef EXACTVQ_KERNELS_CPU_VIF_STRIP_H
#define EXACTVQ_KERNELS_CPU_VIF_STRIP_H

#include <memory>

#include "kernels/cpu/vif.h"

namespace exactvq::cpu {

class VifStrip {
public:
    // Strip `index` of `count` of planes of this size, `depth` bits.
    VifStrip(const VifParameters& parameters, uint32_t width, uint32_t height, uint32_t depth, uint32_t index, uint32_t count, const VifKernels& kernels);

    // Sums of the rows of this strip, kVifWords of them.
    void run(const PlanePair& pair, uint64_t* words) noexcept;

private:
    struct Range {
        uint32_t begin = 0, end = 0;
    };
    struct Scale {
        VifScale s;
        Range rows;    // whose statistics are this strip's
        Range inputs;  // that they and the coarser scales need
        uint32_t next, next_input;
        size_t ring[2];  // where the rows of ref and main begin in memory_; scale 0 has none
    };

    static constexpr uint32_t kRing = 32;  // rows: those of a window, and one more

    size_t stride(uint32_t scale) const { return (scales_[scale].s.width + 2 * kVifMargin + 31) / 32 * 32; }
    uint16_t* ring_row(uint32_t scale, uint32_t picture, uint32_t y) const;
    void rows_around(uint32_t scale, const PlaneView& plane, uint32_t picture, int32_t first, uint32_t count, VifRows& rows) const;
    void add_statistics(uint32_t scale, const PlanePair& pair, uint64_t* words) noexcept;
    void advance(uint32_t scale, const PlanePair& pair, uint64_t* words) noexcept;

    const VifKernels kernels_;
    const VifParameters parameters_;
    Scale scales_[kVifScales];
    std::unique_ptr<VifScratch> scratch_;
    size_t shrink_scratch_ = 0;
    struct Free {
        void operator()(uint16_t* p) const;
    };
    std::unique_ptr<uint16_t[], Free> memory_;
};

// Strips that make sense for this many workers and pairs in flight.
uint32_t vif_strips(uint32_t height, uint32_t workers, uint32_t slots);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_VIF_STRIP_H
