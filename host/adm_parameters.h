// SPDX-License-Identifier: BSD-2-Clause
//
// ADM's sizes, regions and shifts for frames of one size: computed here only, handed to every backend.
#ifndef EXACTVQ_HOST_ADM_PARAMETERS_H
#define EXACTVQ_HOST_ADM_PARAMETERS_H

#include "host/geometry.h"
#include "kernels/common/adm.h"

namespace exactvq {

// Smallest c with 2^c >= n, n >= 1.
uint32_t ceil_log2(uint64_t n);

// Everything but the weights, the gain limit and what is skipped. Both sides are at least kAdmMinSide.
AdmParameters make_adm_parameters(PlaneSize luma);

struct AdmRange {
    uint32_t begin = 0, end = 0;  // end exclusive

    bool empty() const { return begin >= end; }
    bool holds(uint32_t i) const { return i >= begin && i < end; }
};

// What has to be computed of one scale so that the rows `scored` are.
struct AdmExtent {
    AdmRange rows, columns;                // of the transform
    AdmRange detail_rows, detail_columns;  // of decoupling and masking: what is scored, and one more on each side
    AdmRange scored;                       // rows
};

// Rows or columns of an input of `size` that outputs of the transform need.
AdmRange adm_inputs(AdmRange outputs, uint32_t size);

// Extents of all scales, for strip `index` of `count` into which the scored rows of every scale are cut.
void adm_extents(const AdmParameters& parameters, uint32_t index, uint32_t count, AdmExtent extents[kAdmScales]);

// Number of scored samples of a scale.
inline uint64_t adm_area(const AdmScale& s) { return static_cast<uint64_t>(s.right - s.left) * (s.bottom - s.top); }

}  // namespace exactvq

#endif  // EXACTVQ_HOST_ADM_PARAMETERS_H
