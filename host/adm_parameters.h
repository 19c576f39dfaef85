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

// Number of scored samples of a scale.
inline uint64_t adm_area(const AdmScale& s) { return static_cast<uint64_t>(s.right - s.left) * (s.bottom - s.top); }

}  // namespace exactvq

#endif  // EXACTVQ_HOST_ADM_PARAMETERS_H
