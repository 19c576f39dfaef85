// SPDX-License-Identifier: BSD-2-Clause
//
// VIF over whole planes, one step after the other, as the specification puts it.
#include <vector>

#include "host/vif_log.h"
#include "kernels/common/mirror.h"
#include "kernels/cpu/reference.h"

namespace exactvq::reference {
namespace {

// Samples of one picture at one scale, or products of them: of 16 bits each, so products fit 32.
struct Plane {
    uint32_t width = 0, height = 0;
    std::vector<uint32_t> at;

    Plane(uint32_t w, uint32_t h) : width(w), height(h), at(size_t{w} * h) {}
    uint32_t* row(uint32_t y) { return &at[size_t{y} * width]; }
    const uint32_t* row(uint32_t y) const { return &at[size_t{y} * width]; }
};

// Adds `tap` times `values` to `sums`: products of 32 bits by 32, which compilers know how to do several at a time.
void add(uint32_t tap, const uint32_t* values, std::vector<uint64_t>& sums) {
    uint64_t* const out = sums.data();
    const size_t count = sums.size();
    for (size_t x = 0; x < count; ++x) out[x] += uint64_t{tap} * values[x];
}

// Sums of taps times the rows around y, for every column.
std::vector<uint64_t> filter_rows(const Plane& p, uint32_t kernel, uint32_t y) {
    const uint32_t half = vif_half(kernel);
    std::vector<uint64_t> sums(p.width);
    for (uint32_t t = 0; t <= 2 * half; ++t) add(vif_tap(kernel, t), p.row(mirrored(static_cast<int32_t>(y + t) - static_cast<int32_t>(half), p.height)), sums);
    return sums;
}

// Sums of taps times the columns around each one of a row.
std::vector<uint64_t> filter_columns(const std::vector<uint32_t>& row, uint32_t kernel) {
    const uint32_t width = static_cast<uint32_t>(row.size()), half = vif_half(kernel);
    std::vector<uint32_t> padded(width + 2 * half);
    for (uint32_t i = 0; i < padded.size(); ++i) padded[i] = row[mirrored(static_cast<int32_t>(i) - static_cast<int32_t>(half), width)];
    std::vector<uint64_t> sums(width);
    for (uint32_t t = 0; t <= 2 * half; ++t) add(vif_tap(kernel, t), &padded[t], sums);
    return sums;
}

// Samples filtered in both directions, the vertical result rounded.
std::vector<uint64_t> filter_samples(const Plane& p, uint32_t kernel, uint32_t y, uint32_t scale, uint32_t depth) {
    const std::vector<uint64_t> sums = filter_rows(p, kernel, y);
    std::vector<uint32_t> means(p.width);
    for (uint32_t x = 0; x < p.width; ++x) means[x] = vif_vertical_mean(static_cast<uint32_t>(sums[x]), scale, depth);
    return filter_columns(means, kernel);
}

// The same of products.
std::vector<uint64_t> filter_products(const Plane& p, uint32_t y, uint32_t scale, uint32_t depth) {
    const std::vector<uint64_t> sums = filter_rows(p, scale, y);
    std::vector<uint32_t> means(p.width);
    for (uint32_t x = 0; x < p.width; ++x) means[x] = vif_vertical_product(sums[x], scale, depth);
    return filter_columns(means, scale);
}

// The plane of the next scale.
Plane shrink(const Plane& plane, uint32_t scale, uint32_t depth) {
    Plane result(plane.width / 2, plane.height / 2);
    for (uint32_t y = 0; y < result.height; ++y) {
        const std::vector<uint64_t> sums = filter_samples(plane, scale + 1, 2 * y, scale, depth);
        for (uint32_t x = 0; x < result.width; ++x) result.row(y)[x] = vif_horizontal_sample(static_cast<uint32_t>(sums[2 * x]));
    }
    return result;
}

Plane multiply(const Plane& p, const Plane& q) {
    Plane result(p.width, p.height);
    for (size_t i = 0; i < result.at.size(); ++i) result.at[i] = p.at[i] * q.at[i];
    return result;
}

void sum_scale(const Plane& ref, const Plane& main, uint32_t scale, uint32_t depth, double gain_limit, uint64_t* words) {
    const uint8_t* const log = vif_log_table();
    VifTerms terms;
    const Plane ref_ref = multiply(ref, ref), main_main = multiply(main, main), ref_main = multiply(ref, main);
    for (uint32_t y = 0; y < ref.height; ++y) {
        const auto means = [&](const Plane& p) { return filter_samples(p, scale, y, scale, depth); };
        const auto products = [&](const Plane& p) { return filter_products(p, y, scale, depth); };
        const std::vector<uint64_t> u1 = means(ref), u2 = means(main), p1 = products(ref_ref), p2 = products(main_main), p12 = products(ref_main);
        for (uint32_t x = 0; x < ref.width; ++x) {
            const uint32_t m1 = static_cast<uint32_t>(u1[x]), m2 = static_cast<uint32_t>(u2[x]);
            vif_add(terms, vif_moment(p1[x], m1, m1), vif_moment(p2[x], m2, m2), vif_moment(p12[x], m1, m2), gain_limit, log);
        }
    }
    for (uint32_t i = 0; i < kVifSums; ++i) words[i] = static_cast<uint64_t>(terms.sum[i]);
}

Plane read(const PlaneView& view) {
    Plane plane(view.width, view.height);
    for (uint32_t y = 0; y < view.height; ++y)
        for (uint32_t x = 0; x < view.width; ++x) plane.row(y)[x] = view.clean_sample(x, y);
    return plane;
}

}  // namespace

void vif(const PlanePair& pair, const VifParameters& parameters, uint64_t* words) {
    for (uint32_t i = 0; i < kVifWords; ++i) words[i] = 0;
    Plane ref = read(pair.ref), main = read(pair.main);
    for (uint32_t scale = 0; scale < kVifScales; ++scale) {
        if (scale > 0) {
            ref = shrink(ref, scale - 1, pair.ref.depth);
            main = shrink(main, scale - 1, pair.ref.depth);
        }
        if (scale == 0 && parameters.skip_scale0) continue;
        sum_scale(ref, main, scale, pair.ref.depth, parameters.gain_limit, words + vif_word(scale, kVifNumerator));
    }
}

}  // namespace exactvq::reference
