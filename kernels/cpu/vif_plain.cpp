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

constexpr uint32_t kColumns = 64, kAllColumns = kColumns + 2 * kVifMaxHalf;

// Adds `tap` times `values`: products of 32 bits by 32, of which compilers make several at a time.
void add(uint32_t tap, const uint32_t* values, uint32_t count, uint64_t* sums) {
    for (uint32_t i = 0; i < count; ++i) sums[i] += uint64_t{tap} * values[i];
}

void shrink(const VifScale& s, const VifRows& rows, int16_t* scratch, uint16_t* out) {
    const uint32_t kernel = s.scale + 1, half = vif_half(kernel);
    uint16_t* const row = reinterpret_cast<uint16_t*>(scratch);
    for (uint32_t first = 0; first < s.width; first += kColumns) {
        const uint32_t columns = std::min(kColumns, s.width - first);
        uint64_t sums[kColumns] = {};
        for (uint32_t t = 0; t <= 2 * half; ++t) {
            uint32_t samples[kColumns];
            for (uint32_t i = 0; i < columns; ++i) samples[i] = sample(s, rows, t, first + i);
            add(vif_tap(kernel, t), samples, columns, sums);
        }
        for (uint32_t i = 0; i < columns; ++i) row[first + i] = static_cast<uint16_t>(vif_vertical_mean(static_cast<uint32_t>(sums[i]), s.scale, s.depth));
    }
    for (uint32_t i = 1; i <= half; ++i) {  // into the margins
        *(row - i) = row[i];
        row[s.width - 1 + i] = row[s.width - 1 - i];
    }
    for (uint32_t x = 0; x < s.width / 2; ++x) {
        const uint16_t* const around = row + 2 * x - half;
        uint32_t sum = 0;
        for (uint32_t t = 0; t <= 2 * half; ++t) sum += vif_tap(kernel, t) * around[t];
        out[x] = static_cast<uint16_t>(vif_horizontal_sample(sum));
    }
}

// Samples and products of consecutive columns, mirrored outside the plane: ref, main, ref * ref, main * main, ref * main.
struct Window {
    uint32_t at[5][kVifWindow][kAllColumns];
};

void read(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t rows, uint32_t first, uint32_t columns, Window& window) {
    uint32_t x[kAllColumns];
    for (uint32_t i = 0; i < columns; ++i) x[i] = mirrored(static_cast<int32_t>(first + i) - static_cast<int32_t>(vif_half(s.scale)), s.width);
    for (uint32_t y = 0; y < rows; ++y) {
        uint32_t *const r = window.at[0][y], *const m = window.at[1][y];
        for (uint32_t i = 0; i < columns; ++i) {
            r[i] = sample(s, ref, y, x[i]);
            m[i] = sample(s, main, y, x[i]);
        }
        for (uint32_t i = 0; i < columns; ++i) {
            window.at[2][y][i] = r[i] * r[i];
            window.at[3][y][i] = m[i] * m[i];
            window.at[4][y][i] = r[i] * m[i];
        }
    }
}

void statistics(const VifScale& s, const VifRows& ref, const VifRows& main, uint32_t count, double gain_limit, VifScratch&, uint64_t* words) {
    const uint32_t half = vif_half(s.scale);
    const uint8_t* log = vif_log_table();
    VifTerms terms;
    Window window;
    for (uint32_t first = 0; first < s.width; first += kColumns) {
        const uint32_t columns = std::min(kColumns, s.width - first), all = columns + 2 * half;
        read(s, ref, main, count + 2 * half, first, all, window);
        for (uint32_t y = 0; y < count; ++y) {
            uint64_t sums[5][kColumns] = {};
            for (int k = 0; k < 5; ++k) {
                uint64_t vertical[kAllColumns] = {};
                for (uint32_t t = 0; t <= 2 * half; ++t) add(vif_tap(s.scale, t), window.at[k][y + t], all, vertical);
                uint32_t means[kAllColumns];
                for (uint32_t i = 0; i < all; ++i) {
                    const uint64_t sum = vertical[i];
                    means[i] = k < 2 ? vif_vertical_mean(static_cast<uint32_t>(sum), s.scale, s.depth) : vif_vertical_product(sum, s.scale, s.depth);
                }
                for (uint32_t t = 0; t <= 2 * half; ++t) add(vif_tap(s.scale, t), means + t, columns, sums[k]);
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
