// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/adm_strip.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace exactvq::cpu {

uint32_t adm_strips(const AdmParameters& parameters, uint32_t workers, uint32_t slots) {
    constexpr uint32_t kLeastRows = 40;  // of scale 0; below, the rows computed twice outweigh what another thread gains
    const uint32_t rows = parameters.scale[0].bottom - parameters.scale[0].top;
    const uint32_t share = std::min(workers, divide_up(2 * workers, slots));  // two for each worker, so that none waits for the oldest pair
    return std::max(1u, std::min(share, rows / kLeastRows));
}

void AdmStrip::Free::operator()(int32_t* p) const { ::operator delete[](p, std::align_val_t(64)); }

AdmStrip::AdmStrip(const AdmParameters& parameters, uint32_t luma_width, uint32_t luma_height, uint32_t index, uint32_t count, const AdmKernels& kernels)
    : kernels_(kernels), parameters_(parameters) {
    AdmExtent extents[kAdmScales];
    adm_extents(parameters, index, count, extents);
    uint32_t width = luma_width, height = luma_height;
    for (uint32_t i = 0; i < kAdmScales; ++i) {
        Scale& s = scales_[i];
        s.p = {i, parameters.scale[i], parameters.gain_limit};
        s.input_width = width;
        s.input_height = height;
        width = s.p.s.width;
        height = s.p.s.height;
        s.needed = extents[i];
        s.inputs = adm_inputs(s.needed.columns, s.input_width);
        // Vectors at multiples of 64 bytes: what is computed to the left of the columns needed is not used.
        s.inputs.begin &= ~31u;
        s.needed.columns.begin &= ~15u;
        s.needed.detail_columns.begin &= ~15u;
    }
    allocate_rows();
    const size_t elements = used_;
    memory_.reset(static_cast<int32_t*>(::operator new[](elements * sizeof(int32_t), std::align_val_t(64))));
    std::memset(memory_.get(), 0, elements * sizeof(int32_t));
    used_ = 0;
    allocate_rows();
}

// A row of `width` elements with padding on both sides; before there is memory, counts only.
int32_t* AdmStrip::row(uint32_t width) {
    const size_t offset = used_ + kAdmPadding;
    used_ += (2 * kAdmPadding + size_t{width} + 15) / 16 * 16;
    return memory_ ? memory_.get() + offset : nullptr;
}

void AdmStrip::allocate_rows() {
    for (uint32_t i = 0; i < kAdmScales; ++i) {
        Scale& s = scales_[i];
        const auto half_row = [&] { return reinterpret_cast<int16_t*>(row((s.input_width + 3) / 2)); };
        for (uint32_t k = 0; k < (i == 0 ? 1u : 2u); ++k) {
            s.filtered.low[k] = half_row();
            s.filtered.high[k] = half_row();
        }
        const uint32_t width = s.p.s.width;
        for (uint32_t picture = 0; picture < 2; ++picture) {
            for (int32_t*& a : s.a[picture]) a = row(width);
            AdmBandRow& b = s.bands[picture];
            b = {nullptr, row(width), i == 0 ? nullptr : row(width), i == 0 ? nullptr : row(width)};
        }
        for (AdmPlaneRow* ring : s.planes) {
            int32_t* neighbours[3] = {row(width), row(width), row(width)};
            int32_t *centres[2] = {row(width), row(width)}, *measured[2][3] = {};
            for (auto& rows : measured)
                for (uint32_t k = 0; k < (i == 0 ? 2u : 3u); ++k) rows[k] = row(width);
            for (uint32_t k = 0; k < kRing; ++k)
                ring[k] = {neighbours[k % 3], centres[k % 2], {measured[k % 2][0], measured[k % 2][1], measured[k % 2][2]}};
        }
        s.scratch = row(width);
    }
}

void AdmStrip::run(const PlanePair& pair, uint64_t* words) noexcept {
    std::fill_n(words, kAdmWords, 0);
    for (Scale& s : scales_) s.next = s.needed.rows.begin;
    while (scales_[0].next < scales_[0].needed.rows.end) advance(0, pair, words);
}

// The next row of a scale, and then whatever coarser rows it makes possible.
void AdmStrip::advance(uint32_t scale, const PlanePair& pair, uint64_t* words) noexcept {
    Scale& s = scales_[scale];
    const uint32_t y = s.next++;
    uint32_t taps[4];
    for (uint32_t t = 0; t < 4; ++t) taps[t] = adm_tap(y, t, s.input_height);
    for (uint32_t picture = 0; picture < 2; ++picture) {
        s.bands[picture].a = s.a[picture][y % 4];
        const AdmBandRow out = s.needed.detail_rows.holds(y) ? s.bands[picture] : AdmBandRow{s.bands[picture].a, nullptr, nullptr, nullptr};
        if (scale == 0) {
            kernels_.transform0(picture ? pair.main : pair.ref, taps, s.inputs, s.needed.columns, s.filtered, out);
        } else {
            int32_t* const* a = scales_[scale - 1].a[picture];
            const int32_t* const rows[4] = {a[taps[0] % 4], a[taps[1] % 4], a[taps[2] % 4], a[taps[3] % 4]};
            kernels_.transform(scale, rows, s.inputs, s.input_width, s.needed.columns, s.filtered, out);
        }
    }
    if (s.needed.detail_rows.holds(y)) {
        if (s.needed.scored.holds(y)) {
            uint64_t sums[3];
            kernels_.denominator(s.p, s.bands[0], sums);
            for (uint32_t i = 0; i < kAdmOrientations; ++i) words[adm_word(scale, kAdmDenominator, i)] += adm_fold_den(sums[i], s.p.s.den_row_shift);
        }
        kernels_.decouple(s.p, s.bands[0], s.bands[1], s.needed.detail_columns, s.planes[0][y % kRing], s.planes[1][y % kRing]);
        if (y > 0 && s.needed.scored.holds(y - 1)) score(s, y - 1, words);
        if (y + 1 == s.p.s.height && s.needed.scored.holds(y)) score(s, y, words);
    }
    if (scale + 1 == kAdmScales) return;
    const Scale& coarser = scales_[scale + 1];
    while (coarser.next < coarser.needed.rows.end && std::min(2 * coarser.next + 2, s.p.s.height - 1) <= y) advance(scale + 1, pair, words);
}

// The numerators of a row whose neighbours are there.
void AdmStrip::score(Scale& s, uint32_t y, uint64_t* words) noexcept {
    const uint32_t above = y == 0 ? 1 : y - 1, below = y + 1 == s.p.s.height ? y : y + 1;
    for (uint32_t kind = 0; kind < (parameters_.skip_aim ? 1u : 2u); ++kind) {
        const AdmPlaneRow *measured = s.planes[kind], *masking = s.planes[1 - kind];
        uint64_t sums[3];
        kernels_.numerator(s.p, measured[y % kRing], masking[y % kRing], masking[above % kRing].neighbours, masking[below % kRing].neighbours, s.scratch, sums);
        for (uint32_t i = 0; i < kAdmOrientations; ++i) words[adm_word(s.p.scale, kind == 0 ? kAdmDetail : kAdmAdditive, i)] += adm_fold(sums[i], s.p.s.row_shift);
    }
}

}  // namespace exactvq::cpu
