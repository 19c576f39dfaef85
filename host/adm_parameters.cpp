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

}  // namespace

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
