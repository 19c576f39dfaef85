// SPDX-License-Identifier: BSD-2-Clause
//
// The loops of ADM over one row: transform, decoupling with masking, terms. AdmStrip (adm_strip.h) calls them row by row, so that all buffers are a few
// rows long. Rows may be read and written up to kAdmPadding elements outside the columns named; what lies there does not matter.
#ifndef EXACTVQ_KERNELS_CPU_ADM_H
#define EXACTVQ_KERNELS_CPU_ADM_H

#include "host/adm_parameters.h"
#include "kernels/common/adm.h"
#include "kernels/common/plane.h"

namespace exactvq::cpu {

inline constexpr uint32_t kAdmPadding = 64;  // elements on both sides of every row; a vector has at most 32

// Filtered columns between the two passes of the transform. Scales 1 to 3 split 32-bit values into halves; the lower one is less 32768.
struct AdmFiltered {
    int16_t* low[2];   // of the vertical low-pass: upper half (at scale 0 the value), lower half
    int16_t* high[2];  // of the vertical high-pass
};

// One row of the bands of one picture. Scale 0 has pairs of 16-bit values in a word: `h` holds h (lower half) and v (upper half), `a` holds a and d.
// Where a transform is to give the approximation only, the others are nullptr.
struct AdmBandRow {
    int32_t *a, *h, *v, *d;
};

// One row of what decoupling leaves for one of the two planes (restored or additive).
struct AdmPlaneRow {
    int32_t* neighbours;   // what each sample adds to its neighbours' thresholds, orientations summed
    int32_t* centres;      // what it adds to its own, less the former
    int32_t* measured[3];  // magnitudes, at scale 0 of the samples (pairs h and v, zero and d; the third is not used), else of the weighted values
};

// Geometry and parameters of one scale.
struct AdmRowParameters {
    uint32_t scale;
    AdmScale s;
    double gain_limit;
};

struct AdmKernels {
    // Vertical pass over the columns `inputs` of rows[0..3] of the plane, then the horizontal one for the columns `outputs`. Scale 0.
    void (*transform0)(const PlaneView& plane, const uint32_t rows[4], AdmRange inputs, AdmRange outputs, const AdmFiltered& filtered, const AdmBandRow& out);
    // The same of four rows of a band: those of scale 0 (pairs of a and d) for scale 1, of 32-bit values for scales 2 and 3.
    void (*transform)(uint32_t scale, const int32_t* const rows[4], AdmRange inputs, uint32_t width, AdmRange outputs, const AdmFiltered& filtered,
                      const AdmBandRow& out);
    // Restored and additive plane from the bands of reference and main.
    void (*decouple)(const AdmRowParameters& p, const AdmBandRow& ref, const AdmBandRow& main, AdmRange columns, const AdmPlaneRow& restored,
                     const AdmPlaneRow& additive);
    // Sums of the denominator's terms of a row, one for each orientation.
    void (*denominator)(const AdmRowParameters& p, const AdmBandRow& ref, uint64_t sums[3]);
    // Sums of a numerator's terms of a row: `measured` is its row of one plane, masked by the other plane's row and its neighbours above and
    // below. `scratch` is a row.
    void (*numerator)(const AdmRowParameters& p, const AdmPlaneRow& measured, const AdmPlaneRow& masking, const int32_t* above, const int32_t* below,
                      int32_t* scratch, uint64_t sums[3]);
};

AdmKernels adm_kernels(int64_t target);  // of a Highway target
AdmKernels plain_adm_kernels();
void set_adm_transforms(int64_t target, AdmKernels& kernels);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_ADM_H
