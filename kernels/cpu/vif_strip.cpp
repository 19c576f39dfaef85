// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/vif_strip.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "kernels/common/mirror.h"

namespace exactvq::cpu {
namespace {

constexpr uint32_t kStripUnit = kVifRows << 1;  // strips begin at multiples of it

}  // namespace

uint32_t vif_strips(uint32_t height, uint32_t workers, uint32_t slots) {
    constexpr uint32_t kLeastRows = 64;  // below, the rows made twice and incomplete groups of rows outweigh what another thread gains
    const uint32_t share = std::min(workers, divide_up(2 * workers, slots));  // two for each worker, so that none waits for the oldest pair
    return std::max(1u, std::min(share, height / kLeastRows));
}

void VifStrip::Free::operator()(uint16_t* p) const { ::operator delete[](p, std::align_val_t(64)); }

VifStrip::VifStrip(const VifParameters& parameters, uint32_t width, uint32_t height, uint32_t depth, uint32_t index, uint32_t count, const VifKernels& kernels)
    : kernels_(kernels), parameters_(parameters), scratch_(std::make_unique<VifScratch>()) {
    const auto border = [&](uint32_t i) { return i == count ? height : static_cast<uint32_t>(uint64_t{height} * i / count / kStripUnit * kStripUnit); };
    const uint32_t begin = border(index), end = border(index + 1);
    for (uint32_t i = 0; i < kVifScales; ++i) {
        Scale& scale = scales_[i];
        scale.s = {i, width >> i, height >> i, i == 0 ? depth : 16};
        scale.rows = {begin >> i, end >> i};
        if (i == 0 && parameters.skip_scale0) scale.rows = {};
    }
    // What the coarsest scale needs comes first. Mirrored rows are among those that the same number of rows on the other side would be.
    for (uint32_t i = kVifScales; i-- > 0;) {
        Scale& scale = scales_[i];
        int64_t first = INT64_MAX, last = INT64_MIN;
        const auto need = [&](const Range& range, uint32_t factor, uint32_t half) {
            if (range.begin >= range.end) return;
            first = std::min(first, int64_t{factor} * range.begin - half);
            last = std::max(last, int64_t{factor} * (range.end - 1) + half);
        };
        need(scale.rows, 1, vif_half(i));
        if (i + 1 < kVifScales) need(scales_[i + 1].inputs, 2, vif_half(i + 1));
        if (first > last) continue;
        scale.inputs = {static_cast<uint32_t>(std::max<int64_t>(first, 0)), static_cast<uint32_t>(std::min<int64_t>(last + 1, scale.s.height))};
    }
    size_t elements = 0;
    for (uint32_t i = 1; i < kVifScales; ++i) {
        for (size_t& ring : scales_[i].ring) {
            ring = elements;
            elements += kRing * stride(i);
        }
    }
    shrink_scratch_ = elements;
    elements += stride(0);
    memory_.reset(static_cast<uint16_t*>(::operator new[](elements * sizeof(uint16_t), std::align_val_t(64))));
    std::memset(memory_.get(), 0, elements * sizeof(uint16_t));
}

uint16_t* VifStrip::ring_row(uint32_t scale, uint32_t picture, uint32_t y) const {
    return memory_.get() + scales_[scale].ring[picture] + y % kRing * stride(scale) + kVifMargin;
}

// `count` rows from `first` on, mirrored where they are outside the plane.
void VifStrip::rows_around(uint32_t scale, const PlaneView& plane, uint32_t picture, int32_t first, uint32_t count, VifRows& rows) const {
    const VifScale& s = scales_[scale].s;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t y = mirrored(first + static_cast<int32_t>(i), s.height);
        rows.row[i] = scale == 0 ? plane.row(y) : reinterpret_cast<const uint8_t*>(ring_row(scale, picture, y));
    }
    rows.step = scale == 0 ? plane.step : sizeof(uint16_t);
    rows.shift = scale == 0 ? plane.shift : 0;
    rows.readable = scale == 0 ? s.width : s.width + kVifMargin;
}

void VifStrip::run(const PlanePair& pair, uint64_t* words) noexcept {
    std::fill_n(words, kVifWords, 0);
    for (Scale& scale : scales_) {
        scale.next = scale.rows.begin;
        scale.next_input = scale.inputs.begin;
    }
    while (scales_[0].next_input < scales_[0].inputs.end) {
        ++scales_[0].next_input;
        advance(0, pair, words);
    }
}

// The statistics of the next rows of a scale.
void VifStrip::add_statistics(uint32_t scale, const PlanePair& pair, uint64_t* words) noexcept {
    Scale& state = scales_[scale];
    const uint32_t count = std::min(kVifRows, state.rows.end - state.next), half = vif_half(scale);
    const int32_t first = static_cast<int32_t>(state.next) - static_cast<int32_t>(half);
    VifRows ref, main;
    const uint32_t window = count + 2 * half;
    rows_around(scale, pair.ref, 0, first, window, ref);
    rows_around(scale, pair.main, 1, first, window, main);
    for (uint32_t i = window; i < kVifWindow; ++i) {  // read, not used
        ref.row[i] = ref.row[window - 1];
        main.row[i] = main.row[window - 1];
    }
    kernels_.statistics(state.s, ref, main, count, parameters_.gain_limit, *scratch_, words + vif_word(scale, kVifNumerator));
    state.next += count;
}

// What a new input row of a scale makes possible.
void VifStrip::advance(uint32_t scale, const PlanePair& pair, uint64_t* words) noexcept {
    Scale& state = scales_[scale];
    const uint32_t height = state.s.height, half = vif_half(scale);
    if (scale + 1 < kVifScales) {
        Scale& coarser = scales_[scale + 1];
        const uint32_t reach = vif_half(scale + 1);
        while (coarser.next_input < coarser.inputs.end && std::min(2 * coarser.next_input + reach, height - 1) < state.next_input) {
            const uint32_t y = coarser.next_input++;
            for (uint32_t picture = 0; picture < 2; ++picture) {
                VifRows rows;
                rows_around(scale, picture ? pair.main : pair.ref, picture, static_cast<int32_t>(2 * y) - static_cast<int32_t>(reach), 2 * reach + 1, rows);
                kernels_.shrink(state.s, rows, reinterpret_cast<int16_t*>(memory_.get() + shrink_scratch_ + kVifMargin), ring_row(scale + 1, picture, y));
            }
            advance(scale + 1, pair, words);
        }
    }
    while (state.next < state.rows.end) {
        const uint32_t last = std::min(state.next + kVifRows, state.rows.end) - 1;
        if (std::min(last + half, height - 1) >= state.next_input) break;
        add_statistics(scale, pair, words);
    }
}

}  // namespace exactvq::cpu
