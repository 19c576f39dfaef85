// SPDX-License-Identifier: BSD-2-Clause
//
// ADM's rows in plain C++.
#include <initializer_list>

#include "kernels/cpu/adm.h"

namespace exactvq::cpu {
namespace {

int32_t low_half(int32_t pair) { return adm_i16(pair); }
int32_t high_half(int32_t pair) { return pair >> 16; }
int32_t make_pair(int64_t low, int64_t high) { return adm_i32((low & 0xffff) | static_cast<int64_t>(static_cast<uint64_t>(high) << 16)); }

// The taps of output x in a filtered row of `width`, mirrored; halves of AdmFiltered joined.
void taps_of(int16_t* const row[2], bool split, uint32_t x, uint32_t width, int32_t out[4]) {
    for (uint32_t t = 0; t < 4; ++t) {
        const uint32_t i = adm_tap(x, t, width);
        out[t] = split ? adm_i32(static_cast<int64_t>(row[0][i]) * 65536 + row[1][i] + 32768) : row[0][i];
    }
}

void split(int32_t value, int16_t* const row[2], uint32_t x) {
    row[0][x] = static_cast<int16_t>(value >> 16);
    row[1][x] = static_cast<int16_t>(adm_i16(value ^ 0x8000));
}

void transform0(const PlaneView& plane, const uint32_t rows[4], AdmRange inputs, AdmRange outputs, const AdmFiltered& filtered, const AdmBandRow& out) {
    const int64_t mid = static_cast<int64_t>(kAdmLowSum) << (plane.depth - 1);
    for (uint32_t x = inputs.begin; x < inputs.end; ++x) {
        uint32_t s[4];
        for (uint32_t t = 0; t < 4; ++t) s[t] = plane.sample(x, rows[t]);
        filtered.low[0][x] = static_cast<int16_t>(adm_vertical0(kAdmLow, s, mid, plane.depth));
        filtered.high[0][x] = static_cast<int16_t>(adm_vertical0(kAdmHigh, s, 0, plane.depth));
    }
    for (uint32_t x = outputs.begin; x < outputs.end; ++x) {
        int32_t low[4], high[4];
        taps_of(filtered.low, false, x, plane.width, low);
        taps_of(filtered.high, false, x, plane.width, high);
        out.a[x] = make_pair(adm_filter(kAdmLow, low, 16), adm_filter(kAdmHigh, high, 16));
        if (out.h) out.h[x] = make_pair(adm_filter(kAdmLow, high, 16), adm_filter(kAdmHigh, low, 16));
    }
}

void transform(uint32_t scale, const int32_t* const rows[4], AdmRange inputs, uint32_t width, AdmRange outputs, const AdmFiltered& filtered,
               const AdmBandRow& out) {
    for (uint32_t x = inputs.begin; x < inputs.end; ++x) {
        int32_t s[4];
        for (uint32_t t = 0; t < 4; ++t) s[t] = scale == 1 ? low_half(rows[t][x]) : rows[t][x];
        split(adm_i32(adm_filter(kAdmLow, s, kAdmVerticalShift[scale])), filtered.low, x);
        split(adm_i32(adm_filter(kAdmHigh, s, kAdmVerticalShift[scale])), filtered.high, x);
    }
    const uint32_t shift = kAdmHorizontalShift[scale];
    for (uint32_t x = outputs.begin; x < outputs.end; ++x) {
        int32_t low[4], high[4];
        taps_of(filtered.low, true, x, width, low);
        taps_of(filtered.high, true, x, width, high);
        out.a[x] = adm_i32(adm_filter(kAdmLow, low, shift));
        if (!out.h) continue;
        out.h[x] = adm_i32(adm_filter(kAdmLow, high, shift));
        out.v[x] = adm_i32(adm_filter(kAdmHigh, low, shift));
        out.d[x] = adm_i32(adm_filter(kAdmHigh, high, shift));
    }
}

// h, v, d of a column.
void detail(uint32_t scale, const AdmBandRow& row, uint32_t x, int32_t out[3]) {
    out[0] = scale == 0 ? low_half(row.h[x]) : row.h[x];
    out[1] = scale == 0 ? high_half(row.h[x]) : row.v[x];
    out[2] = scale == 0 ? high_half(row.a[x]) : row.d[x];
}

// What the samples y of a plane do as mask and as measured plane.
void store_plane(const AdmRowParameters& p, const int32_t y[3], const AdmPlaneRow& out, uint32_t x) {
    uint32_t neighbours = 0, centres = 0, u[3];
    for (uint32_t i = 0; i < kAdmOrientations; ++i) {
        const int32_t weighted = p.scale == 0 ? adm_weighted0(y[i], p.s.weight[i], i == 2) : adm_weighted(y[i], p.s.weight[i]);
        neighbours += static_cast<uint32_t>(p.scale == 0 ? adm_neighbour0(weighted) : adm_neighbour(weighted));
        centres += static_cast<uint32_t>(p.scale == 0 ? adm_centre0(weighted) : adm_centre(weighted));
        u[i] = adm_magnitude(weighted);
    }
    out.neighbours[x] = adm_i32(neighbours);
    out.centres[x] = adm_i32(centres - neighbours);
    if (p.scale == 0) {
        out.measured[0][x] = make_pair(adm_magnitude(y[0]), adm_magnitude(y[1]));
        out.measured[1][x] = make_pair(0, adm_magnitude(y[2]));
    } else {
        for (uint32_t i = 0; i < kAdmOrientations; ++i) out.measured[i][x] = adm_i32(u[i]);
    }
}

void decouple(const AdmRowParameters& p, const AdmBandRow& ref, const AdmBandRow& main, AdmRange columns, const AdmPlaneRow& restored,
              const AdmPlaneRow& additive) {
    for (uint32_t x = columns.begin; x < columns.end; ++x) {
        int32_t o[3], t[3], r[3], a[3];
        detail(p.scale, ref, x, o);
        detail(p.scale, main, x, t);
        const bool same = adm_same_angle(o[0], o[1], t[0], t[1], p.scale > 0);
        for (uint32_t i = 0; i < kAdmOrientations; ++i) {
            const int32_t value = adm_restored(o[i], t[i], same, p.gain_limit);
            const int64_t rest = int64_t{t[i]} - value;
            r[i] = p.scale == 0 ? adm_i16(value) : value;
            a[i] = p.scale == 0 ? adm_i16(rest) : adm_i32(rest);
        }
        store_plane(p, r, restored, x);
        store_plane(p, a, additive, x);
    }
}

void denominator(const AdmRowParameters& p, const AdmBandRow& ref, uint64_t sums[3]) {
    sums[0] = sums[1] = sums[2] = 0;
    for (uint32_t x = p.s.left; x < p.s.right; ++x) {
        int32_t c[3];
        detail(p.scale, ref, x, c);
        for (uint32_t i = 0; i < kAdmOrientations; ++i)
            sums[i] += p.scale == 0 ? adm_den_term0(c[i]) : adm_den_term(c[i], kAdmDenSquareShift[p.scale], p.s.den_term_shift);
    }
}

void numerator(const AdmRowParameters& p, const AdmPlaneRow& measured, const AdmPlaneRow& masking, const int32_t* above, const int32_t* below, int32_t*,
               uint64_t sums[3]) {
    sums[0] = sums[1] = sums[2] = 0;
    for (uint32_t x = p.s.left; x < p.s.right; ++x) {
        uint32_t threshold = static_cast<uint32_t>(masking.centres[x]);
        for (uint32_t i : {x == 0 ? 1 : x - 1, x, x + 1 == p.s.width ? x : x + 1})
            for (const int32_t* row : {above, static_cast<const int32_t*>(masking.neighbours), below}) threshold += static_cast<uint32_t>(row[i]);
        for (uint32_t i = 0; i < kAdmOrientations; ++i) {
            int32_t excess;
            if (p.scale == 0) {
                const uint32_t pair = static_cast<uint32_t>(measured.measured[i / 2][x]);
                const uint32_t magnitude = i == 0 ? pair & 0xffff : pair >> 16;
                excess = adm_excess0(static_cast<int32_t>(magnitude), p.s.weight[i], adm_i32(threshold), kAdmThresholdShift0[i]);
            } else {
                excess = adm_excess(measured.measured[i][x], adm_i32(threshold));
            }
            sums[i] += static_cast<uint64_t>(adm_term(excess, p.scale == 0 ? kAdmSquareShift0[i] : kAdmSquareShift, p.s.term_shift[i]));
        }
    }
}

}  // namespace

AdmKernels plain_adm_kernels() { return {&transform0, &transform, &decouple, &denominator, &numerator}; }

}  // namespace exactvq::cpu
