// SPDX-License-Identifier: BSD-2-Clause
//
// VIF's rows in plain C++.
#include <algorithm>

#include "host/vif_log.h"
#include "kernels/common/mirror.h"
#include "kernels/cpu/vif.h"

namespace exactvq::cpu {
namespace {

uint32_t sample(const VifScale& s, const VifRows& rows, uint32_t i, uint32_t x) {
    const uint8_t* p = rows.row[i] + size_t{x} * rows.step;
    if (s.depth == 8) return *p;
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return (static_cast<uint32_t>(word) >> rows.shift) & ((1u << s.depth) - 1);  // as PlaneView::clean_sample()
}

// The sum of taps times value(t).
template <class Value>
uint64_t filter(uint32_t scale, const Value& value) {
    uint64_t sum = 0;
    for (uint32_t t = 0; t <= 2 * vif_half(scale); ++t) sum += uint64_t{vif_tap(scale, t)} * value(t);
    return sum;
}

void shrink(const VifScale& s, const VifRows& rows, int16_t* scratch, uint16_t* out) {
    uint16_t* row = reinterpret_cast<uint16_t*>(scratch);
    for (uint32_t x = 0; x < s.width; ++x) {
        const uint64_t sum = filter(s.scale + 1, [&](uint32_t t) { return sample(s, rows, t, x); });
        row[x] = static_cast<uint16_t>(vif_vertical_mean(static_cast<uint32_t>(sum), s.scale, s.depth));
    }
    const int32_t half = static_cast<int32_t>(vif_half(s.scale + 1));
    for (uint32_t x = 0; x < s.width / 2; ++x) {
        const uint64_t sum = filter(s.scale + 1, [&](uint32_t t) { return row[mirrored(static_cast<int32_t>(2 * x + t) - half, s.width)]; });
        out[x] = static_cast<uint16_t>(vif_horizontal_sample(static_cast<uint32_t>(sum)));
    }
}

constexpr uint32_t kColumns = 64, kAllColumns = kColumns + 2 * kVifMaxHalf;

// Vertically filtered means and products of consecutive columns, mirrored outside the plane; the first column is `first` - vif_half().
void filter_rows(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t y, uint32_t first, uint32_t columns, uint32_t results[5][kAllColumns]) {
    uint64_t sums[5][kAllColumns] = {};
    uint32_t r[kAllColumns], m[kAllColumns], x[kAllColumns];
    for (uint32_t i = 0; i < columns; ++i) x[i] = mirrored(static_cast<int32_t>(first + i) - static_cast<int32_t>(vif_half(s.scale)), s.width);
    for (uint32_t t = 0; t <= 2 * vif_half(s.scale); ++t) {
        for (uint32_t i = 0; i < columns; ++i) {
            r[i] = sample(s, ref, y + t, x[i]);
            m[i] = sample(s, main, y + t, x[i]);
        }
        const uint64_t tap = vif_tap(s.scale, t);
        for (uint32_t i = 0; i < columns; ++i) {
            sums[0][i] += tap * r[i];
            sums[1][i] += tap * m[i];
            sums[2][i] += tap * (r[i] * r[i]);
            sums[3][i] += tap * (m[i] * m[i]);
            sums[4][i] += tap * (r[i] * m[i]);
        }
    }
    for (uint32_t i = 0; i < columns; ++i) {
        for (int k = 0; k < 2; ++k) results[k][i] = vif_vertical_mean(static_cast<uint32_t>(sums[k][i]), s.scale, s.depth);
        for (int k = 2; k < 5; ++k) results[k][i] = vif_vertical_product(sums[k][i], s.scale, s.depth);
    }
}

void statistics(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t count, double gain_limit, VifScratch&, uint64_t* words) {
    uint32_t column[5][kAllColumns];
    const uint8_t* log = vif_log_table();
    VifTerms terms;
    for (uint32_t y = 0; y < count; ++y) {
        for (uint32_t first = 0; first < s.width; first += kColumns) {
            const uint32_t columns = std::min(kColumns, s.width - first);
            filter_rows(s, ref, main, y, first, columns + 2 * vif_half(s.scale), column);
            uint64_t sums[5][kColumns] = {};
            for (uint32_t t = 0; t <= 2 * vif_half(s.scale); ++t) {
                const uint64_t tap = vif_tap(s.scale, t);
                for (int k = 0; k < 5; ++k)
                    for (uint32_t i = 0; i < columns; ++i) sums[k][i] += tap * column[k][i + t];
            }
            for (uint32_t i = 0; i < columns; ++i) {
                const uint32_t u1 = static_cast<uint32_t>(sums[0][i]), u2 = static_cast<uint32_t>(sums[1][i]);
                vif_add(terms, vif_moment(sums[2][i], u1, u1), vif_moment(sums[3][i], u2, u2), vif_moment(sums[4][i], u1, u2), gain_limit, log);
            }
        }
    }
    for (uint32_t i = 0; i < kVifSums; ++i) words[i] += static_cast<uint64_t>(terms.sum[i]);
}

}  // namespace

VifKernels plain_vif_kernels() { return {&shrink, &statistics}; }

}  // namespace exactvq::cpu
