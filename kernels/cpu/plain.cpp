// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/plain.h"

#include "kernels/common/mirror.h"
#include "kernels/common/motion.h"
#include "kernels/common/sse.h"

namespace exactvq::cpu {
namespace {

template <uint32_t (*term)(uint32_t, uint32_t)>
uint64_t sum_rows(const PlanePair& pair, uint32_t y0, uint32_t y1) {
    uint64_t sum = 0;
    for (uint32_t y = y0; y < y1; ++y)
        for (uint32_t x = 0; x < pair.ref.width; ++x) sum += term(pair.ref.sample(x, y), pair.main.sample(x, y));
    return sum;
}

void terms(const PlanePair& pair, uint32_t block_row, const PsnrHvsTable& table, PsnrHvsMask mask, float* out) {
    const uint32_t blocks = psnr_hvs_blocks(pair.ref.width);
    for (uint32_t b = 0; b < blocks; ++b) {
        int32_t ref[64], main[64];
        for (uint32_t i = 0; i < 64; ++i) {
            const uint32_t x = b * kPsnrHvsStep + i % 8, y = block_row * kPsnrHvsStep + i / 8;
            ref[i] = static_cast<int32_t>(pair.ref.sample(x, y));
            main[i] = static_cast<int32_t>(pair.main.sample(x, y));
        }
        psnr_hvs_block_terms(ref, main, table, mask, out + size_t{b} * 64);
    }
}

float add(float sum, const float* terms, uint32_t blocks) {
    for (size_t i = 0; i < size_t{blocks} * 64; ++i) sum = sum + terms[i];
    return sum;
}

uint64_t motion_sum(const PlaneView& current, const PlaneView& earlier, uint32_t y0, uint32_t y1, int16_t* scratch) {
    int32_t* row = reinterpret_cast<int32_t*>(scratch);
    uint64_t sum = 0;
    for (uint32_t y = y0; y < y1; ++y) {
        int32_t v[5];
        for (uint32_t x = 0; x < current.width; ++x) {
            for (int32_t t = 0; t < 5; ++t) {
                const uint32_t from = mirrored(static_cast<int32_t>(y) + t - static_cast<int32_t>(kMotionHalf), current.height);
                v[t] = static_cast<int32_t>(earlier.clean_sample(x, from)) - static_cast<int32_t>(current.clean_sample(x, from));
            }
            row[x] = motion_vertical(v, current.depth);
        }
        for (uint32_t x = 0; x < current.width; ++x) {
            for (int32_t t = 0; t < 5; ++t) v[t] = row[mirrored(static_cast<int32_t>(x) + t - static_cast<int32_t>(kMotionHalf), current.width)];
            sum += motion_horizontal(v);
        }
    }
    return sum;
}

}  // namespace

SseKernels plain_sse_kernels() { return {&sum_rows<squared_difference>, &sum_rows<rounded_squared_difference>}; }
PsnrHvsKernels plain_psnr_hvs_kernels() { return {1, &terms, &add}; }
MotionKernels plain_motion_kernels() { return {&motion_sum}; }

}  // namespace exactvq::cpu
