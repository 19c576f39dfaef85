// SPDX-License-Identifier: BSD-2-Clause
//
// The fast loops of the CPU backend: one table of functions for each SIMD level, filled by Highway's multi-target compilation.
// All functions are pure, may run on any thread, and equal the loops of reference.h bit for bit.
#ifndef EXACTVQ_KERNELS_CPU_KERNELS_H
#define EXACTVQ_KERNELS_CPU_KERNELS_H

#include <vector>

#include "kernels/common/plane.h"
#include "kernels/common/psnr_hvs.h"
#include "kernels/cpu/adm.h"
#include "kernels/cpu/vif.h"

namespace exactvq::cpu {

struct SseKernels {
    // Rows y0 <= y < y1 of the pair. Exact integer sums, so any split of the rows may be added in any order.
    uint64_t (*sse)(const PlanePair& pair, uint32_t y0, uint32_t y1);
    // The same of float_psnr's rounded terms. The range holds less than 2^53 units: at most 2^21 samples.
    uint64_t (*rounded_sse)(const PlanePair& pair, uint32_t y0, uint32_t y1);
};

struct PsnrHvsKernels {
    // Blocks whose terms lie side by side: term i of block b is at [(b / lanes) * 64 * lanes + i * lanes + b % lanes].
    uint32_t lanes;
    // Terms of one row of blocks. `terms` is aligned to 64 bytes and holds 64 * (blocks rounded up to lanes) floats;
    // the entries behind the last block are set to 0, which adds nothing.
    void (*terms)(const PlanePair& pair, uint32_t block_row, const PsnrHvsTable& table, PsnrHvsMask mask, float* terms);
    // sum + terms of `blocks` blocks, as if added one by one in block order.
    float (*add)(float sum, const float* terms, uint32_t blocks);
};

inline constexpr uint32_t kMotionMargin = 64;  // elements on both sides of a row; a vector has at most 32
inline size_t motion_row(uint32_t width) { return (size_t{width} + 2 * kMotionMargin + 31) / 32 * 32; }

struct MotionKernels {
    // Sum of the rows y0 <= y < y1. `scratch`: two rows of motion_row() elements, aligned to 64 bytes.
    uint64_t (*sum)(const PlaneView& current, const PlaneView& earlier, uint32_t y0, uint32_t y1, int16_t* scratch);
};

struct Kernels {
    const char* name;  // "AVX2", ...; "C" for the plain ones
    SseKernels sse;
    PsnrHvsKernels psnr_hvs;
    AdmKernels adm;
    VifKernels vif;
    MotionKernels motion;
};

// The best table that the CPU can run and `mask` (EXACTVQ_CPU_*) allows.
const Kernels& select_kernels(uint32_t mask);

// Every table that this CPU can run, "C" first.
std::vector<const Kernels*> all_kernels();

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_KERNELS_H
