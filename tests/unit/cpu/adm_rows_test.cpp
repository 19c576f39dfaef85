// SPDX-License-Identifier: BSD-2-Clause
//
// ADM's row loops of every SIMD level against the plain ones, on values that pictures seldom bring.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <tuple>
#include <vector>

#include "host/adm_parameters.h"
#include "kernels/cpu/kernels.h"

namespace exactvq::cpu {
namespace {

constexpr uint32_t kWidth = 1000;

class Row {
public:
    Row() : memory_(kWidth + 2 * kAdmPadding) {}
    operator int32_t*() { return memory_.data() + kAdmPadding; }

private:
    std::vector<int32_t> memory_;
};

struct Bands {
    Row a, h, v, d;
    AdmBandRow row() { return {a, h, v, d}; }
};

struct Plane {
    Row neighbours, centres, measured[3];
    AdmPlaneRow row() { return {neighbours, centres, {measured[0], measured[1], measured[2]}}; }
};

AdmRowParameters parameters(uint32_t scale, const uint32_t weight[3], double gain) {
    AdmRowParameters p{scale, make_adm_parameters({1920, 1080}).scale[scale], gain};
    p.s.width = kWidth;
    p.s.left = 0;
    p.s.right = kWidth;
    std::copy_n(weight, 3, p.s.weight);
    return p;
}

// The bands' values, by column: h, v, d of reference and main.
void decouple_and_compare(uint32_t scale, const uint32_t weight[3], double gain, const std::function<void(uint32_t, int32_t[3], int32_t[3])>& values,
                          const std::string& what) {
    Bands ref, main;
    for (uint32_t x = 0; x < kWidth; ++x) {
        int32_t o[3], t[3];
        values(x, o, t);
        for (auto& [bands, v] : {std::pair{&ref, o}, std::pair{&main, t}}) {
            if (scale == 0) {
                bands->h[x] = adm_i32((v[0] & 0xffff) | int64_t{v[1]} * 65536);
                bands->a[x] = adm_i32(int64_t{v[2]} * 65536 + 12345);
            } else {
                bands->h[x] = v[0];
                bands->v[x] = v[1];
                bands->d[x] = v[2];
            }
        }
    }
    const AdmRowParameters p = parameters(scale, weight, gain);
    Plane expected[2];
    plain_adm_kernels().decouple(p, ref.row(), main.row(), {0, kWidth}, expected[0].row(), expected[1].row());
    for (const Kernels* kernels : all_kernels()) {
        Plane planes[2];
        kernels->adm.decouple(p, ref.row(), main.row(), {0, kWidth}, planes[0].row(), planes[1].row());
        for (int i = 0; i < 2; ++i) {
            const AdmPlaneRow got = planes[i].row(), want = expected[i].row();
            for (uint32_t x = 0; x < kWidth; ++x) {
                bool equal = got.neighbours[x] == want.neighbours[x] && got.centres[x] == want.centres[x];
                for (int k = 0; k < (scale == 0 ? 2 : 3); ++k) equal = equal && got.measured[k][x] == want.measured[k][x];
                if (equal) continue;
                int32_t o[3], t[3];
                values(x, o, t);
                ADD_FAILURE() << kernels->name << ", " << what << ", scale " << scale << ", gain " << gain << ", " << (i ? "additive" : "restored")
                              << ", reference " << o[0] << " " << o[1] << " " << o[2] << ", main " << t[0] << " " << t[1] << " " << t[2];
                return;
            }
        }
    }
}

constexpr uint32_t kWeights0[3] = {36453, 36453, 49417}, kWeights[3] = {186284160, 186284160, 104783920}, kWideWeights[3] = {4191379456u, 4191379456u, 2693222400u};

// Ratios at which k steps from one value to the next, for reference samples at the ends of every binade: everything that is rounded is rounded at its edge.
TEST(AdmRows, RatiosAtTheirSteps) {
    std::mt19937 random(1);
    for (double gain : {100.0, 1.0, 1.2}) {
        for (int repeat = 0; repeat < 300; ++repeat) {
            std::vector<std::pair<int32_t, int32_t>> pairs(3 * kWidth);
            for (auto& [o, t] : pairs) {
                const uint32_t e = random() % 17;
                uint64_t m = 16384u + (random() % 4 == 0 ? random() % 4 : random() % 4 == 1 ? 16383 - random() % 4 : random() % 16384);
                m = (m << e) + (e == 0 ? 0 : random() % 3 == 0 ? (1u << (e - 1)) - 1 + random() % 3 : random() & ((1u << e) - 1));
                m = std::min<uint64_t>(m, INT32_MAX);
                const uint32_t bits = adm_bit_length(static_cast<uint32_t>(m)), shift = bits > 15 ? bits - 15 : 0;
                const uint64_t normal = shift ? (m + (uint64_t{1} << (shift - 1))) >> shift : m, reciprocal = (1u << 30) / normal;
                const uint64_t k = random() % 3 == 0 ? random() % 4 : random() % 3 == 0 ? 32768 - random() % 4 : random() % 32769;
                // Where reciprocal * t + 2^(14+e) passes k * 2^(15+e), or one beside.
                const int64_t target = static_cast<int64_t>((k << (15 + shift)) - (k ? uint64_t{1} << (14 + shift) : 0));
                const int64_t at = target / static_cast<int64_t>(reciprocal) + random() % 3;
                const int64_t value = std::min<int64_t>(at, INT32_MAX);
                const bool negative = random() % 2;
                o = static_cast<int32_t>(negative ? -static_cast<int64_t>(m) : static_cast<int64_t>(m));
                t = static_cast<int32_t>(negative ? -value : value);
                if (random() % 16 == 0) t = -t;
            }
            decouple_and_compare(1 + repeat % 3, repeat % 5 ? kWeights : kWideWeights, gain,
                                 [&](uint32_t x, int32_t o[3], int32_t t[3]) {
                                     for (uint32_t i = 0; i < 3; ++i) std::tie(o[i], t[i]) = pairs[3 * x + i];
                                     // the same direction for h and v every second time, so that the gain applies
                                     if (x % 2) {
                                         o[1] = o[0];
                                         t[1] = t[0];
                                     }
                                 },
                                 "repeat " + std::to_string(repeat));
            if (HasFailure()) return;
        }
    }
}

// Enhanced samples near the largest 32-bit number, where the product leaves it.
TEST(AdmRows, EnhancementNearTheLargestSample) {
    std::mt19937 random(5);
    for (double gain : {1.0, 2.0, 40.0, 50.0, 64.0, 99.0, 100.0, 99.9}) {
        for (int repeat = 0; repeat < 30; ++repeat) {
            std::vector<std::pair<int32_t, int32_t>> pairs(kWidth);
            for (auto& [o, t] : pairs) {
                t = INT32_MAX - static_cast<int32_t>(random() % (random() % 2 ? 4 : 200));
                o = static_cast<int32_t>(std::min<int64_t>(INT32_MAX, static_cast<int64_t>(t / gain) + random() % 9 - 4));
                if (random() % 2) {
                    o = -o;
                    t = -t;
                }
            }
            decouple_and_compare(1 + repeat % 3, kWeights, gain, [&](uint32_t x, int32_t o[3], int32_t t[3]) {
                std::fill_n(o, 3, pairs[x].first);
                std::fill_n(t, 3, pairs[x].second);
            }, "repeat " + std::to_string(repeat));
            if (HasFailure()) return;
        }
    }
}

// Vectors of scale 0 in which one orientation alone, or one picture alone, is beyond what 16 bits take.
TEST(AdmRows, OneLargeSampleOfScale0) {
    for (int which = 0; which < 6; ++which) {
        for (int32_t large : {16384, -16385, 22930, -22930}) {
            decouple_and_compare(0, kWeights0, 100.0, [&](uint32_t x, int32_t o[3], int32_t t[3]) {
                for (int i = 0; i < 3; ++i) {
                    o[i] = static_cast<int32_t>(x * 7 % 301) - 150 + i;
                    t[i] = o[i] / 2 + i;
                }
                int32_t* const vector = which < 3 ? o : t;  // in one expression GCC 12 with UBSan and without optimisation uses a value that it never set
                if (x % 37 == 5) vector[which % 3] = large;
            }, "orientation " + std::to_string(which));
        }
    }
}

// Every 16-bit value as reference and as main, with weights of 15 and 16 bits.
TEST(AdmRows, EverySampleOfScale0) {
    const uint32_t weights[][3] = {{36453, 36453, 49417}, {24809, 24809, 36087}, {8, 8, 4}, {65535, 65535, 65535}, {32768, 32768, 32767}, {0, 0, 0}};
    for (const auto& weight : weights) {
        for (double gain : {100.0, 1.2}) {
            for (int32_t first = -32768; first < 32768; first += kWidth) {
                const auto sample = [first](uint32_t x) { return std::min(32767, first + static_cast<int32_t>(x)); };
                for (int32_t other : {0, 1, -1, 7, -300, 16383, -16384, 32767, -32768}) {
                    decouple_and_compare(0, weight, gain, [&](uint32_t x, int32_t o[3], int32_t t[3]) {
                        std::fill_n(o, 3, sample(x));
                        std::fill_n(t, 3, other);
                    }, "reference");
                    decouple_and_compare(0, weight, gain, [&](uint32_t x, int32_t o[3], int32_t t[3]) {
                        std::fill_n(o, 3, other);
                        std::fill_n(t, 3, sample(x));
                    }, "main");
                    if (HasFailure()) return;
                }
            }
        }
    }
}

// Directions a degree apart, give or take one step of the finest component.
TEST(AdmRows, AnglesOfOneDegree) {
    std::mt19937 random(2);
    for (uint32_t scale = 0; scale < kAdmScales; ++scale) {
        for (int repeat = 0; repeat < 200; ++repeat) {
            std::vector<std::array<int32_t, 4>> vectors(kWidth);
            for (auto& v : vectors) {
                const double size = scale == 0 ? 20000.0 : 1.9e9, length = size / (1 << random() % (scale == 0 ? 10 : 28));
                const double angle = random() * (6.283185307179586 / 4294967296.0), degree = (random() % 2 ? 1 : -1) * 0.017453292519943295;
                const double factor = std::pow(2.0, -(static_cast<double>(random() % 8)));
                v = {static_cast<int32_t>(length * std::cos(angle)), static_cast<int32_t>(length * std::sin(angle)),
                     static_cast<int32_t>(length * factor * std::cos(angle + degree)), static_cast<int32_t>(length * factor * std::sin(angle + degree))};
                v[2 + random() % 2] += static_cast<int32_t>(random() % 3) - 1;
            }
            decouple_and_compare(scale, scale ? kWeights : kWeights0, 100.0, [&](uint32_t x, int32_t o[3], int32_t t[3]) {
                for (int i = 0; i < 2; ++i) {
                    o[i] = vectors[x][i];
                    t[i] = vectors[x][2 + i];
                }
                o[2] = 1;  // with the gain the diagonal shows the flag
                t[2] = 50;
            }, "repeat " + std::to_string(repeat));
            if (HasFailure()) return;
        }
    }
}

// Terms: excesses up to 2^31 - 1, where the square wraps; every shift that a size can bring.
TEST(AdmRows, TermsThatWrap) {
    std::mt19937 random(3);
    for (int repeat = 0; repeat < 400; ++repeat) {
        const uint32_t scale = repeat % 4;
        AdmRowParameters p = parameters(scale, scale ? kWeights : kWeights0, 100.0);
        p.s.term_shift[0] = p.s.term_shift[1] = random() % 16;
        p.s.term_shift[2] = scale ? p.s.term_shift[0] : random() % 16;
        p.s.den_term_shift = scale ? random() % 16 : 0;
        p.s.left = random() % 40;
        p.s.right = kWidth - (repeat % 3 ? random() % 40 : 0);
        if (repeat % 3 == 0) p.s.left = 0;
        Plane measured, masking;
        Bands ref;
        Row above, below;
        const uint32_t bits = 1 + random() % 31;
        for (uint32_t x = 0; x < kWidth; ++x) {
            for (int i = 0; i < 3; ++i) measured.measured[i][x] = static_cast<int32_t>(scale ? random() >> (random() % 4 ? bits : 1) : random());
            for (int32_t* row : {static_cast<int32_t*>(masking.neighbours), static_cast<int32_t*>(masking.centres), static_cast<int32_t*>(above), static_cast<int32_t*>(below)})
                row[x] = repeat % 7 == 0 ? static_cast<int32_t>(random()) : static_cast<int32_t>(random() >> (8 + random() % 20)) - 3;
            for (int32_t* row : {static_cast<int32_t*>(ref.a), static_cast<int32_t*>(ref.h), static_cast<int32_t*>(ref.v), static_cast<int32_t*>(ref.d)})
                row[x] = static_cast<int32_t>(random() % 16 ? random() : random() % 2 ? 0x80008000u : 0x80000000u);
        }
        uint64_t expected[2][3], got[2][3];
        Row scratch;
        const AdmKernels plain = plain_adm_kernels();
        plain.numerator(p, measured.row(), masking.row(), above, below, scratch, expected[0]);
        plain.denominator(p, ref.row(), expected[1]);
        for (const Kernels* kernels : all_kernels()) {
            kernels->adm.numerator(p, measured.row(), masking.row(), above, below, scratch, got[0]);
            kernels->adm.denominator(p, ref.row(), got[1]);
            for (int i = 0; i < 3; ++i) {
                ASSERT_EQ(got[0][i], expected[0][i]) << kernels->name << ", numerator, repeat " << repeat << ", orientation " << i;
                ASSERT_EQ(got[1][i], expected[1][i]) << kernels->name << ", denominator, repeat " << repeat << ", orientation " << i;
            }
        }
    }
}

// Transforms of 32-bit rows at the ends of their range.
TEST(AdmRows, TransformOfExtremes) {
    std::mt19937 random(4);
    for (int repeat = 0; repeat < 300; ++repeat) {
        const uint32_t scale = 1 + repeat % 3, width = 3 + random() % 300, outputs = (width + 1) / 2;
        Row rows[4];
        for (Row& row : rows)
            for (uint32_t x = 0; x < width; ++x) row[x] = static_cast<int32_t>(random() % 3 == 0 ? random() : random() % 2 ? 0x7fff7fffu : 0x80008000u);
        const int32_t* pointers[4] = {rows[0], rows[1], rows[2], rows[3]};
        std::vector<int16_t> halves[2][4];
        AdmFiltered filtered[2];
        Bands bands[2];
        const std::vector<const Kernels*> levels = all_kernels();
        for (size_t level = 0; level < levels.size(); ++level) {
            const size_t k = level ? 1 : 0;
            for (auto& half : halves[k]) half.assign(width + 4 * kAdmPadding, 0);
            const auto half = [&](int i) { return halves[k][i].data() + 2 * kAdmPadding; };
            filtered[k] = {{half(0), half(1)}, {half(2), half(3)}};
            const AdmBandRow out = bands[k].row();
            levels[level]->adm.transform(scale, pointers, {0, width}, width, {0, outputs}, filtered[k], out);
            if (!level) continue;
            const AdmBandRow want = bands[0].row();
            for (uint32_t x = 0; x < outputs; ++x) {
                ASSERT_EQ(out.a[x], want.a[x]) << levels[level]->name << ", scale " << scale << ", width " << width << ", column " << x;
                ASSERT_EQ(out.h[x], want.h[x]) << levels[level]->name;
                ASSERT_EQ(out.v[x], want.v[x]) << levels[level]->name;
                ASSERT_EQ(out.d[x], want.d[x]) << levels[level]->name;
            }
        }
    }
}

}  // namespace
}  // namespace exactvq::cpu
