// SPDX-License-Identifier: BSD-2-Clause
//
// ADM of a strip of a pair, all scales at once: rows run through transform, decoupling and terms as soon as those they need are there, so that no plane is
// ever stored. Strips are independent (a few rows around a strip are computed twice) and their sums add in any order, each row being folded in one strip.
#ifndef EXACTVQ_KERNELS_CPU_ADM_STRIP_H
#define EXACTVQ_KERNELS_CPU_ADM_STRIP_H

#include <memory>

#include "kernels/cpu/adm.h"

namespace exactvq::cpu {

class AdmStrip {
public:
    // Strip `index` of `count`.
    AdmStrip(const AdmParameters& parameters, uint32_t luma_width, uint32_t luma_height, uint32_t index, uint32_t count, const AdmKernels& kernels);

    // Sums of the rows of this strip, kAdmWords of them.
    void run(const PlanePair& pair, uint64_t* words) noexcept;

private:
    // Rows in flight of one scale.
    struct Scale {
        AdmRowParameters p;
        uint32_t input_width, input_height;
        AdmExtent needed;
        AdmRange inputs;  // columns of the transform's input
        AdmFiltered filtered;
        AdmBandRow bands[2];       // ref, main; `a` is the ring's row
        int32_t* a[2][4];          // ring of the last four rows
        AdmPlaneRow planes[2][6];  // restored, additive: rings of the last three rows of `neighbours` and the last two of the others
        int32_t* scratch;
        uint32_t next;  // row
    };

    static constexpr uint32_t kRing = 6;

    int32_t* row(uint32_t width);
    void allocate_rows();
    void advance(uint32_t scale, const PlanePair& pair, uint64_t* words) noexcept;
    void score(Scale& s, uint32_t y, uint64_t* words) noexcept;

    const AdmKernels kernels_;
    const AdmParameters parameters_;
    Scale scales_[kAdmScales];
    size_t used_ = 0;  // elements of memory_, while rows are handed out
    struct Free {
        void operator()(int32_t* p) const;
    };
    std::unique_ptr<int32_t[], Free> memory_;
};

// Strips that make sense for this many workers and pairs in flight: every strip computes rows of its neighbours again, pairs share the workers without that cost.
uint32_t adm_strips(const AdmParameters& parameters, uint32_t workers, uint32_t slots);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_ADM_STRIP_H
