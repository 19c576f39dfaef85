// SPDX-License-Identifier: BSD-2-Clause
//
// ADM's contrast sensitivity: one weight a scale and orientation, computed once an instance (spec 6).
#ifndef EXACTVQ_HOST_ADM_CSF_H
#define EXACTVQ_HOST_ADM_CSF_H

#include <cstdint>

#include "kernels/common/adm.h"

namespace exactvq {

// The options of these names, without "adm_".
struct AdmViewing {
    int csf_mode = 0;
    double norm_view_dist = 3.0;
    int ref_display_height = 1080;
    double csf_scale = 1.0, csf_diag_scale = 1.0;
};

struct AdmWeights {
    float weight[kAdmScales][kAdmOrientations] = {};    // of h, v, d, in the conclusion of the denominators
    uint32_t fixed[kAdmScales][kAdmOrientations] = {};  // the same in fixed point, for the numerators: AdmScale::weight
};

// Throws Error if the screen is too small, or unknown to the mode.
AdmWeights make_adm_weights(const AdmViewing& viewing);

// Fixed point that wraps as the reference's conversions do: 0 where the integer that they go through (32 bits at scale 0, else 64) is exceeded, else its low
// 16 or 32 bits.
uint32_t adm_fixed_weight0(float weight, bool diagonal);
uint32_t adm_fixed_weight(float weight);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_ADM_CSF_H
