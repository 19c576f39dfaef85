// SPDX-License-Identifier: BSD-2-Clause
#include "host/adm_parameters.h"

#include <algorithm>

namespace exactvq {

uint32_t ceil_log2(uint64_t n) {
    uint32_t c = 0;
    while ((uint64_t{1} << c) < n) ++c;
    return c;
}

namespace {

// Samples left out on each side: a tenth, less a half, rounded down.
uint32_t border(uint32_t n) { return n < 5 ? 0 : (n - 5) / 10; }

AdmRange hull(AdmRange a, AdmRange b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// One more on both sides: what the thresholds of a range look at.
AdmRange widen(AdmRange a, uint32_t size) {
    if (a.empty()) return {};
    return {a.begin == 0 ? 0 : a.begin - 1, std::min(size, a.end + 1)};
}

}  // namespace

AdmRange adm_inputs(AdmRange outputs, uint32_t size) {
    if (outputs.empty()) return {};
    return {outputs.begin == 0 ? 0 : 2 * outputs.begin - 1, std::min(size, 2 * outputs.end + 1)};
}

void adm_extents(const AdmParameters& parameters, uint32_t index, uint32_t count, AdmExtent extents[kAdmScales]) {
    for (uint32_t i = kAdmScales; i-- > 0;) {
        const AdmScale& s = parameters.scale[i];
        AdmExtent& e = extents[i] = {};
        if (i > 0 || !parameters.skip_scale0) {
            const uint64_t scored = s.bottom - s.top;
            e.scored = {s.top + static_cast<uint32_t>(scored * index / count), s.top + static_cast<uint32_t>(scored * (index + 1) / count)};
            e.detail_rows = widen(e.scored, s.height);
            e.detail_columns = widen({s.left, s.right}, s.width);
        }
        e.rows = e.detail_rows;
        e.columns = e.detail_columns;
        if (i + 1 < kAdmScales) {
            e.rows = hull(e.rows, adm_inputs(extents[i + 1].rows, s.height));
            e.columns = hull(e.columns, adm_inputs(extents[i + 1].columns, s.width));
        }
    }
}

AdmParameters make_adm_parameters(PlaneSize luma) {
    AdmParameters p;
    uint32_t w = luma.width, h = luma.height;
    for (uint32_t i = 0; i < kAdmScales; ++i) {
        AdmScale& s = p.scale[i];
        s.width = w = (w + 1) / 2;
        s.height = h = (h + 1) / 2;
        s.left = border(w);
        s.right = w - s.left;
        s.top = border(h);
        s.bottom = h - s.top;
        const uint32_t columns = ceil_log2(w);
        s.row_shift = ceil_log2(h);
        if (i == 0) {
            s.term_shift[0] = s.term_shift[1] = std::max(columns, 4u) - 4;
            s.term_shift[2] = std::max(columns, 3u) - 3;
            s.den_row_shift = std::max(ceil_log2(adm_area(s)), 20u) - 20;
        } else {
            s.term_shift[0] = s.term_shift[1] = s.term_shift[2] = columns;
            s.den_term_shift = ceil_log2(s.right - s.left);
            s.den_row_shift = ceil_log2(s.bottom - s.top);
        }
    }
    return p;
}

}  // namespace exactvq
