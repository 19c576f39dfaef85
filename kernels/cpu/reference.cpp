// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/reference.h"

#include "kernels/common/sse.h"

namespace exactvq::reference {

uint64_t sse(const PlanePair& pair) {
    uint64_t sum = 0;
    for (uint32_t y = 0; y < pair.ref.height; ++y)
        for (uint32_t x = 0; x < pair.ref.width; ++x) sum += squared_difference(pair.ref.sample(x, y), pair.main.sample(x, y));
    return sum;
}

double rounded_sse(const PlanePair& pair) {
    double sum = 0.0;
    for (uint32_t y = 0; y < pair.ref.height; ++y)
        for (uint32_t x = 0; x < pair.ref.width; ++x)
            sum = sum + static_cast<double>(rounded_squared_difference(pair.ref.sample(x, y), pair.main.sample(x, y)));
    return sum;
}

float psnr_hvs_sum(const PlanePair& pair, const PsnrHvsTable& table, PsnrHvsMask mask) {
    const uint32_t columns = psnr_hvs_blocks(pair.ref.width), rows = psnr_hvs_blocks(pair.ref.height);
    float sum = 0.0f;
    for (uint32_t by = 0; by < rows; ++by) {
        for (uint32_t bx = 0; bx < columns; ++bx) {
            int32_t ref[64], main[64];
            for (uint32_t i = 0; i < 64; ++i) {
                const uint32_t x = bx * kPsnrHvsStep + i % 8, y = by * kPsnrHvsStep + i / 8;
                ref[i] = static_cast<int32_t>(pair.ref.sample(x, y));
                main[i] = static_cast<int32_t>(pair.main.sample(x, y));
            }
            float terms[64];
            psnr_hvs_block_terms(ref, main, table, mask, terms);
            for (float term : terms) sum = sum + term;
        }
    }
    return sum;
}

std::vector<uint64_t> words(const std::vector<AccumulatorSpec>& specs, const FramePair& pair) {
    std::vector<uint64_t> words;
    for (const AccumulatorSpec& spec : specs) {
        const PlanePair& plane = pair.plane[spec.plane];
        switch (spec.kind) {
        case AccumulatorKind::kSse: words.push_back(sse(plane)); break;
        case AccumulatorKind::kRoundedSse: words.push_back(double_bits(rounded_sse(plane))); break;
        case AccumulatorKind::kPsnrHvsSum: words.push_back(float_bits(psnr_hvs_sum(plane, kPsnrHvsTable[spec.plane], spec.mask))); break;
        case AccumulatorKind::kAdm:
            words.resize(words.size() + kAdmWords);
            adm(plane, spec.adm, words.data() + words.size() - kAdmWords);
            break;
        case AccumulatorKind::kVif:
            words.resize(words.size() + kVifWords);
            vif(plane, spec.vif, words.data() + words.size() - kVifWords);
            break;
        case AccumulatorKind::kMotion: {
            const PlaneView& earlier = pair.earlier[spec.motion_distance - 1].luma;
            words.push_back(earlier.data ? motion(plane.ref, earlier) : 0);
            break;
        }
        }
    }
    return words;
}

}  // namespace exactvq::reference
