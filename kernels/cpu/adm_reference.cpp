// SPDX-License-Identifier: BSD-2-Clause
//
// ADM over whole planes, one step after the other, as the specification puts it.
#include <vector>

#include "kernels/cpu/reference.h"

namespace exactvq::reference {
namespace {

struct Band {
    uint32_t width = 0, height = 0;
    std::vector<int32_t> at;

    Band(uint32_t w, uint32_t h) : width(w), height(h), at(size_t{w} * h) {}
    int32_t& operator()(uint32_t x, uint32_t y) { return at[size_t{y} * width + x]; }
    int32_t operator()(uint32_t x, uint32_t y) const { return at[size_t{y} * width + x]; }
};

struct Bands {
    Band a, detail[kAdmOrientations];  // h, v, d

    Bands(uint32_t w, uint32_t h) : a(w, h), detail{Band(w, h), Band(w, h), Band(w, h)} {}
};

// `vertical(filter, x, y)` gives row y of the vertically filtered plane; `width` is that of the input.
template <class Vertical, class Narrow>
Bands transform(const AdmScale& s, uint32_t width, uint32_t horizontal_shift, const Vertical& vertical, const Narrow& narrow) {
    Bands bands(s.width, s.height);
    std::vector<int32_t> low(width), high(width);
    for (uint32_t y = 0; y < s.height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
            low[x] = vertical(true, x, y);
            high[x] = vertical(false, x, y);
        }
        for (uint32_t x = 0; x < s.width; ++x) {
            int32_t l[4], h[4];
            for (uint32_t t = 0; t < 4; ++t) {
                l[t] = low[adm_tap(x, t, width)];
                h[t] = high[adm_tap(x, t, width)];
            }
            bands.a(x, y) = narrow(adm_filter(kAdmLow, l, horizontal_shift));
            bands.detail[0](x, y) = narrow(adm_filter(kAdmLow, h, horizontal_shift));
            bands.detail[1](x, y) = narrow(adm_filter(kAdmHigh, l, horizontal_shift));
            bands.detail[2](x, y) = narrow(adm_filter(kAdmHigh, h, horizontal_shift));
        }
    }
    return bands;
}

Bands transform0(const PlaneView& plane, const AdmScale& s) {
    const int64_t mid = static_cast<int64_t>(kAdmLowSum) << (plane.depth - 1);
    const auto vertical = [&](bool low, uint32_t x, uint32_t y) {
        uint32_t samples[4];
        for (uint32_t t = 0; t < 4; ++t) samples[t] = plane.sample(x, adm_tap(y, t, plane.height));
        return low ? adm_vertical0(kAdmLow, samples, mid, plane.depth) : adm_vertical0(kAdmHigh, samples, 0, plane.depth);
    };
    return transform(s, plane.width, kAdmHorizontalShift[0], vertical, adm_i16);
}

Bands transform(const Band& input, const AdmScale& s, uint32_t scale) {
    const auto vertical = [&](bool low, uint32_t x, uint32_t y) {
        int32_t samples[4];
        for (uint32_t t = 0; t < 4; ++t) samples[t] = input(x, adm_tap(y, t, input.height));
        return adm_i32(adm_filter(low ? kAdmLow : kAdmHigh, samples, kAdmVerticalShift[scale]));
    };
    return transform(s, input.width, kAdmHorizontalShift[scale], vertical, adm_i32);
}

void sum_denominator(const Bands& o, const AdmScale& s, uint32_t scale, uint64_t* words) {
    for (uint32_t i = 0; i < kAdmOrientations; ++i) {
        uint64_t& word = words[adm_word(scale, kAdmDenominator, i)];
        for (uint32_t y = s.top; y < s.bottom; ++y) {
            uint64_t sum = 0;
            for (uint32_t x = s.left; x < s.right; ++x) {
                const int32_t c = o.detail[i](x, y);
                sum += scale == 0 ? adm_den_term0(c) : adm_den_term(c, kAdmDenSquareShift[scale], s.den_term_shift);
            }
            word += adm_fold_den(sum, s.den_row_shift);
        }
    }
}

// `measured` and `masking`: restored and additive planes, or the other way round.
void sum_numerator(const std::vector<Band>& measured, const std::vector<Band>& masking, const AdmScale& s, uint32_t scale, AdmSum kind, uint64_t* words) {
    Band neighbours(s.width, s.height), thresholds(s.width, s.height);  // thresholds: the centre values first
    for (uint32_t y = 0; y < s.height; ++y) {
        for (uint32_t x = 0; x < s.width; ++x) {
            uint32_t neighbour = 0, centre = 0;
            for (uint32_t i = 0; i < kAdmOrientations; ++i) {
                const int32_t sample = masking[i](x, y);
                const int32_t u = scale == 0 ? adm_weighted0(sample, s.weight[i], i == 2) : adm_weighted(sample, s.weight[i]);
                neighbour += static_cast<uint32_t>(scale == 0 ? adm_neighbour0(u) : adm_neighbour(u));
                centre += static_cast<uint32_t>(scale == 0 ? adm_centre0(u) : adm_centre(u));
            }
            neighbours(x, y) = adm_i32(neighbour);
            thresholds(x, y) = adm_i32(centre);
        }
    }
    // Outside, the index before the first is 1, the one behind the last is the last.
    const auto inside = [](uint32_t i, int step, uint32_t n) { return step < 0 ? (i == 0 ? 1 : i - 1) : step == 0 ? i : i + 1 == n ? i : i + 1; };
    for (uint32_t i = 0; i < kAdmOrientations; ++i) {
        uint64_t& word = words[adm_word(scale, kind, i)];
        for (uint32_t y = s.top; y < s.bottom; ++y) {
            uint64_t sum = 0;
            for (uint32_t x = s.left; x < s.right; ++x) {
                uint32_t threshold = static_cast<uint32_t>(thresholds(x, y));
                for (int dy = -1; dy <= 1; ++dy)
                    for (int dx = -1; dx <= 1; ++dx)
                        if (dx || dy) threshold += static_cast<uint32_t>(neighbours(inside(x, dx, s.width), inside(y, dy, s.height)));
                const int32_t sample = measured[i](x, y);
                const int32_t excess = scale == 0 ? adm_excess0(sample, s.weight[i], adm_i32(threshold), kAdmThresholdShift0[i])
                                                  : adm_excess(adm_weighted(sample, s.weight[i]), adm_i32(threshold));
                sum += static_cast<uint64_t>(adm_term(excess, scale == 0 ? kAdmSquareShift0[i] : kAdmSquareShift, s.term_shift[i]));
            }
            word += adm_fold(sum, s.row_shift);
        }
    }
}

void sum_scale(const Bands& o, const Bands& t, const AdmParameters& p, uint32_t scale, uint64_t* words) {
    const AdmScale& s = p.scale[scale];
    sum_denominator(o, s, scale, words);
    std::vector<Band> restored(kAdmOrientations, Band(s.width, s.height)), additive = restored;
    for (uint32_t y = 0; y < s.height; ++y) {
        for (uint32_t x = 0; x < s.width; ++x) {
            const bool same = adm_same_angle(o.detail[0](x, y), o.detail[1](x, y), t.detail[0](x, y), t.detail[1](x, y), scale > 0);
            for (uint32_t i = 0; i < kAdmOrientations; ++i) {
                const int32_t sample = t.detail[i](x, y), r = adm_restored(o.detail[i](x, y), sample, same, p.gain_limit);
                const int64_t a = int64_t{sample} - r;
                restored[i](x, y) = scale == 0 ? adm_i16(r) : r;
                additive[i](x, y) = scale == 0 ? adm_i16(a) : adm_i32(a);
            }
        }
    }
    sum_numerator(restored, additive, s, scale, kAdmDetail, words);
    if (!p.skip_aim) sum_numerator(additive, restored, s, scale, kAdmAdditive, words);
}

}  // namespace

void adm(const PlanePair& pair, const AdmParameters& parameters, uint64_t* words) {
    for (uint32_t i = 0; i < kAdmWords; ++i) words[i] = 0;
    Bands o = transform0(pair.ref, parameters.scale[0]), t = transform0(pair.main, parameters.scale[0]);
    for (uint32_t scale = 0; scale < kAdmScales; ++scale) {
        if (scale > 0) {
            o = transform(o.a, parameters.scale[scale], scale);
            t = transform(t.a, parameters.scale[scale], scale);
        }
        if (scale == 0 && parameters.skip_scale0) continue;
        sum_scale(o, t, parameters, scale, words);
    }
}

}  // namespace exactvq::reference
