// SPDX-License-Identifier: BSD-2-Clause
//
// VIF over whole planes, one step after the other, as the specification puts it.
#include <vector>

#include "host/vif_log.h"
#include "kernels/common/mirror.h"
#include "kernels/cpu/reference.h"

namespace exactvq::reference {
namespace {

// Samples of one picture at one scale.
struct Plane {
    uint32_t width = 0, height = 0;
    std::vector<uint32_t> at;

    Plane(uint32_t w, uint32_t h) : width(w), height(h), at(size_t{w} * h) {}
    uint32_t* row(uint32_t y) { return &at[size_t{y} * width]; }
    const uint32_t* row(uint32_t y) const { return &at[size_t{y} * width]; }
};

// Sums of taps times value(x, row), over the rows of the kernel's length around y, mirrored.
template <class Value>
std::vector<uint64_t> filter_rows(uint32_t scale, uint32_t y, uint32_t width, uint32_t height, const Value& value) {
    std::vector<uint64_t> sums(width);
    for (uint32_t t = 0; t <= 2 * vif_half(scale); ++t) {
        const uint32_t row = mirrored(static_cast<int32_t>(y + t) - static_cast<int32_t>(vif_half(scale)), height);
        const uint64_t tap = vif_tap(scale, t);
        for (uint32_t x = 0; x < width; ++x) sums[x] += tap * value(x, row);
    }
    return sums;
}

// Sums of taps times values of a row, for every column.
std::vector<uint64_t> filter_columns(uint32_t scale, const std::vector<uint32_t>& row) {
    const uint32_t width = static_cast<uint32_t>(row.size()), half = vif_half(scale);
    std::vector<uint32_t> padded(width + 2 * half);
    for (uint32_t i = 0; i < padded.size(); ++i) padded[i] = row[mirrored(static_cast<int32_t>(i) - static_cast<int32_t>(half), width)];
    std::vector<uint64_t> sums(width);
    for (uint32_t t = 0; t <= 2 * half; ++t) {
        const uint64_t tap = vif_tap(scale, t);
        for (uint32_t x = 0; x < width; ++x) sums[x] += tap * padded[x + t];
    }
    return sums;
}

// Vertically filtered samples with the kernel of scale `kernel`.
std::vector<uint32_t> filter_means(const Plane& p, uint32_t kernel, uint32_t y, uint32_t scale, uint32_t depth) {
    const std::vector<uint64_t> sums = filter_rows(kernel, y, p.width, p.height, [&p](uint32_t x, uint32_t row) { return p.row(row)[x]; });
    std::vector<uint32_t> means(p.width);
    for (uint32_t x = 0; x < p.width; ++x) means[x] = vif_vertical_mean(static_cast<uint32_t>(sums[x]), scale, depth);
    return means;
}

// Vertically filtered products.
std::vector<uint32_t> filter_products(const Plane& p, const Plane& q, uint32_t y, uint32_t scale, uint32_t depth) {
    const auto product = [&](uint32_t x, uint32_t row) { return uint64_t{p.row(row)[x]} * q.row(row)[x]; };
    const std::vector<uint64_t> sums = filter_rows(scale, y, p.width, p.height, product);
    std::vector<uint32_t> products(p.width);
    for (uint32_t x = 0; x < p.width; ++x) products[x] = vif_vertical_product(sums[x], scale, depth);
    return products;
}

// The plane of the next scale.
Plane shrink(const Plane& plane, uint32_t scale, uint32_t depth) {
    Plane result(plane.width / 2, plane.height / 2);
    for (uint32_t y = 0; y < result.height; ++y) {
        const std::vector<uint64_t> sums = filter_columns(scale + 1, filter_means(plane, scale + 1, 2 * y, scale, depth));
        for (uint32_t x = 0; x < result.width; ++x) result.row(y)[x] = vif_horizontal_sample(static_cast<uint32_t>(sums[2 * x]));
    }
    return result;
}

void sum_scale(const Plane& ref, const Plane& main, uint32_t scale, uint32_t depth, double gain_limit, uint64_t* words) {
    VifTerms terms;
    for (uint32_t y = 0; y < ref.height; ++y) {
        const auto means = [&](const Plane& p) { return filter_columns(scale, filter_means(p, scale, y, scale, depth)); };
        const auto products = [&](const Plane& p, const Plane& q) { return filter_columns(scale, filter_products(p, q, y, scale, depth)); };
        const std::vector<uint64_t> u1 = means(ref), u2 = means(main), p1 = products(ref, ref), p2 = products(main, main), p12 = products(ref, main);
        for (uint32_t x = 0; x < ref.width; ++x) {
            const uint32_t m1 = static_cast<uint32_t>(u1[x]), m2 = static_cast<uint32_t>(u2[x]);
            vif_add(terms, vif_moment(p1[x], m1, m1), vif_moment(p2[x], m2, m2), vif_moment(p12[x], m1, m2), gain_limit, vif_log_table());
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
