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
    uint32_t& operator()(uint32_t x, uint32_t y) { return at[size_t{y} * width + x]; }
    uint32_t operator()(uint32_t x, uint32_t y) const { return at[size_t{y} * width + x]; }
};

// The sum of taps times value(i) over the kernel's length around `centre`, i mirrored in n samples.
template <class Value>
uint64_t filter(uint32_t scale, uint32_t centre, uint32_t n, const Value& value) {
    const int32_t half = static_cast<int32_t>(vif_half(scale));
    uint64_t sum = 0;
    for (int32_t t = -half; t <= half; ++t) sum += uint64_t{vif_tap(scale, static_cast<uint32_t>(t + half))} * value(mirrored(static_cast<int32_t>(centre) + t, n));
    return sum;
}

// The plane of the next scale.
Plane shrink(const Plane& plane, uint32_t scale, uint32_t depth) {
    Plane result(plane.width / 2, plane.height / 2);
    std::vector<uint32_t> row(plane.width);
    for (uint32_t y = 0; y < result.height; ++y) {
        for (uint32_t x = 0; x < plane.width; ++x) {
            const uint64_t sum = filter(scale + 1, 2 * y, plane.height, [&](uint32_t i) { return plane(x, i); });
            row[x] = vif_vertical_mean(static_cast<uint32_t>(sum), scale, depth);
        }
        for (uint32_t x = 0; x < result.width; ++x)
            result(x, y) = vif_horizontal_sample(static_cast<uint32_t>(filter(scale + 1, 2 * x, plane.width, [&](uint32_t i) { return row[i]; })));
    }
    return result;
}

void sum_scale(const Plane& ref, const Plane& main, uint32_t scale, uint32_t depth, double gain_limit, uint64_t* words) {
    const uint8_t* log = vif_log_table();
    const uint32_t width = ref.width, height = ref.height;
    std::vector<uint32_t> m1(width), m2(width), q1(width), q2(width), q12(width);
    VifTerms terms;
    for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x) {
            const auto mean = [&](const Plane& p) {
                return vif_vertical_mean(static_cast<uint32_t>(filter(scale, y, height, [&](uint32_t i) { return p(x, i); })), scale, depth);
            };
            const auto product = [&](const Plane& p, const Plane& q) {
                return vif_vertical_product(filter(scale, y, height, [&](uint32_t i) { return uint64_t{p(x, i)} * q(x, i); }), scale, depth);
            };
            m1[x] = mean(ref);
            m2[x] = mean(main);
            q1[x] = product(ref, ref);
            q2[x] = product(main, main);
            q12[x] = product(ref, main);
        }
        for (uint32_t x = 0; x < width; ++x) {
            const auto sum = [&](const std::vector<uint32_t>& row) { return filter(scale, x, width, [&](uint32_t i) { return row[i]; }); };
            const uint32_t u1 = static_cast<uint32_t>(sum(m1)), u2 = static_cast<uint32_t>(sum(m2));
            vif_add(terms, vif_moment(sum(q1), u1, u1), vif_moment(sum(q2), u2, u2), vif_moment(sum(q12), u1, u2), gain_limit, log);
        }
    }
    for (uint32_t i = 0; i < kVifSums; ++i) words[i] = static_cast<uint64_t>(terms.sum[i]);
}

Plane read(const PlaneView& view) {
    Plane plane(view.width, view.height);
    for (uint32_t y = 0; y < view.height; ++y)
        for (uint32_t x = 0; x < view.width; ++x) plane(x, y) = view.sample(x, y);
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
