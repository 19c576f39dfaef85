// SPDX-License-Identifier: BSD-2-Clause
//
// The truth inside the project: single thread, no SIMD, term by term. Everything faster is checked against these loops.
#ifndef EXACTVQ_KERNELS_CPU_REFERENCE_H
#define EXACTVQ_KERNELS_CPU_REFERENCE_H

#include <cstdint>
#include <vector>

#include "host/backend.h"

namespace exactvq::reference {

// Sum of squared differences of a plane.
uint64_t sse(const PlanePair& pair);

// Sum of float_psnr's terms in units of 1/q^2, added in raster order in binary64.
double rounded_sse(const PlanePair& pair);

// Sum of psnr_hvs's terms, added in block raster order in binary32. 0 where the plane holds no whole block.
float psnr_hvs_sum(const PlanePair& pair, const PsnrHvsTable& table, PsnrHvsMask mask);

// ADM's accumulators, kAdmWords of them, of planes of at least kAdmMinSide on both sides.
void adm(const PlanePair& pair, const AdmParameters& parameters, uint64_t* words);

// VIF's accumulators, kVifWords of them, of planes of at least kVifMinSide on both sides.
void vif(const PlanePair& pair, const VifParameters& parameters, uint64_t* words);

// Motion's sum of two planes of at least kMotionMinSide on both sides.
uint64_t motion(const PlaneView& current, const PlaneView& earlier);

// The words of all accumulators, one after the other.
std::vector<uint64_t> words(const std::vector<AccumulatorSpec>& specs, const FramePair& pair);

}  // namespace exactvq::reference

#endif  // EXACTVQ_KERNELS_CPU_REFERENCE_H
