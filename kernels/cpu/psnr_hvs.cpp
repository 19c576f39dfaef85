// SPDX-License-Identifier: BSD-2-Clause
//
// PSNR-HVS with one block in each SIMD lane, so that every lane makes the sequential sums of its block in their own order.
#include "kernels/cpu/psnr_hvs.h"

#include <algorithm>
#include <cstring>

#include "kernels/common/ordered_sum.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/psnr_hvs.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR

PsnrHvsKernels MakePsnrHvsKernels() { return plain_psnr_hvs_kernels(); }

#else
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DU8 = hn::ScalableTag<uint8_t>;
using DU16 = hn::ScalableTag<uint16_t>;
using DI16 = hn::ScalableTag<int16_t>;
using DI32 = hn::ScalableTag<int32_t>;
using DU32 = hn::ScalableTag<uint32_t>;
using DU64 = hn::ScalableTag<uint64_t>;
using DF32 = hn::ScalableTag<float>;
using VF32 = hn::Vec<DF32>;
using VI32 = hn::Vec<DI32>;

constexpr size_t kLanes = hn::MaxLanes(DF32());  // blocks of a group: one block a binary32 lane
constexpr size_t kChunk = hn::MaxLanes(DU16());  // blocks whose samples are brought together at once: two groups
static_assert(kChunk == 2 * kLanes && kChunk % 8 == 0, "vectors of fixed length, a multiple of 128 bits");

// Sample i of block b at [i][b].
struct Samples {
    alignas(64) uint16_t at[64][kChunk];
};

// ---- samples of eight (16, 32) blocks side by side -----------------------------------------------------------------

// 128-bit piece k of the result is loaded from p + k * stride.
template <class D>
HWY_INLINE hn::Vec<D> load_pieces(D d, const uint8_t* p, size_t stride) {
    if constexpr (hn::MaxLanes(D()) == 16) {
        return hn::LoadU(d, p);
    } else {
        const hn::Half<D> dh;
        return hn::Combine(d, load_pieces(dh, p + hn::MaxLanes(D()) / 32 * stride, stride), load_pieces(dh, p, stride));
    }
}

// One row of samples of kChunk blocks. Reads 7 * kChunk + 2 samples from p. Returns the OR of all columns.
HWY_INLINE hn::Vec<DU16> transpose8(const uint8_t* p, uint16_t (*out)[kChunk]) {
    const DU8 d8;
    const DU16 d16;
    const DU32 d32;
    // Two blocks lie in 15 bytes: interleave them while loading.
    alignas(16) static constexpr uint8_t kPair[16] = {0, 7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6, 13, 7, 14};
    const auto pair = hn::LoadDup128(d8, kPair);
    const auto r0 = hn::BitCast(d16, hn::TableLookupBytes(load_pieces(d8, p + 0, 56), pair));
    const auto r1 = hn::BitCast(d16, hn::TableLookupBytes(load_pieces(d8, p + 14, 56), pair));
    const auto r2 = hn::BitCast(d16, hn::TableLookupBytes(load_pieces(d8, p + 28, 56), pair));
    const auto r3 = hn::BitCast(d16, hn::TableLookupBytes(load_pieces(d8, p + 42, 56), pair));
    const auto a0 = hn::BitCast(d32, hn::InterleaveLower(d16, r0, r1)), a1 = hn::BitCast(d32, hn::InterleaveUpper(d16, r0, r1));
    const auto b0 = hn::BitCast(d32, hn::InterleaveLower(d16, r2, r3)), b1 = hn::BitCast(d32, hn::InterleaveUpper(d16, r2, r3));
    const hn::Vec<DU32> columns[4] = {hn::InterleaveLower(d32, a0, b0), hn::InterleaveUpper(d32, a0, b0), hn::InterleaveLower(d32, a1, b1),
                                      hn::InterleaveUpper(d32, a1, b1)};
    for (size_t c = 0; c < 4; ++c) {
        const auto two = hn::BitCast(d8, columns[c]);
        hn::Store(hn::BitCast(d16, hn::InterleaveLower(d8, two, hn::Zero(d8))), d16, out[2 * c]);
        hn::Store(hn::BitCast(d16, hn::InterleaveUpper(d8, two, hn::Zero(d8))), d16, out[2 * c + 1]);
    }
    return hn::Zero(d16);  // bytes are never out of range
}

HWY_INLINE hn::Vec<DU16> transpose16(const uint8_t* p, int shift, uint16_t (*out)[kChunk]) {
    const DU8 d8;
    const DU16 d16;
    const DU32 d32;
    const DU64 d64;
    hn::Vec<DU32> pairs[8];
    for (size_t k = 0; k < 4; ++k) {
        const auto even = hn::ShiftRightSame(hn::BitCast(d16, load_pieces(d8, p + 28 * k, 112)), shift);
        const auto odd = hn::ShiftRightSame(hn::BitCast(d16, load_pieces(d8, p + 28 * k + 14, 112)), shift);
        pairs[k] = hn::BitCast(d32, hn::InterleaveLower(d16, even, odd));
        pairs[k + 4] = hn::BitCast(d32, hn::InterleaveUpper(d16, even, odd));
    }
    auto any = hn::Zero(d16);
    for (size_t h = 0; h < 2; ++h) {
        const hn::Vec<DU32>* q = pairs + 4 * h;
        const auto a0 = hn::BitCast(d64, hn::InterleaveLower(d32, q[0], q[1])), a1 = hn::BitCast(d64, hn::InterleaveUpper(d32, q[0], q[1]));
        const auto b0 = hn::BitCast(d64, hn::InterleaveLower(d32, q[2], q[3])), b1 = hn::BitCast(d64, hn::InterleaveUpper(d32, q[2], q[3]));
        const hn::Vec<DU16> columns[4] = {
            hn::BitCast(d16, hn::InterleaveLower(d64, a0, b0)), hn::BitCast(d16, hn::InterleaveUpper(d64, a0, b0)),
            hn::BitCast(d16, hn::InterleaveLower(d64, a1, b1)), hn::BitCast(d16, hn::InterleaveUpper(d64, a1, b1))};
        for (size_t c = 0; c < 4; ++c) {
            hn::Store(columns[c], d16, out[4 * h + c]);
            any = hn::Or(any, columns[c]);
        }
    }
    return any;
}

// Samples of the chunk that begins with block `first` of the block row. Lanes behind the row's end are garbage within the depth.
// False if a word exceeds the depth: such samples are measured by the reference loop.
bool load_samples(const PlaneView& plane, uint32_t block_row, uint32_t first, Samples& samples) {
    const DU16 d16;
    const uint32_t bytes = plane.word_bytes(), x = first * kPsnrHvsStep;
    constexpr uint32_t kSpan = kPsnrHvsStep * kChunk + 2;  // samples that the transposes touch
    const bool in_place = plane.step == bytes && plane.width - x >= kSpan;
    const uint32_t inside = std::min(plane.width - x, kSpan);
    alignas(64) uint8_t buffer[2 * kSpan + 64];
    if (!in_place) std::memset(buffer, 0, sizeof buffer);
    auto any = hn::Zero(d16);
    for (uint32_t i = 0; i < 8; ++i) {
        const uint8_t* p = plane.row(block_row * kPsnrHvsStep + i) + size_t{x} * plane.step;
        if (!in_place) {
            if (plane.step == bytes) {
                std::memcpy(buffer, p, size_t{inside} * bytes);
            } else if (bytes == 1) {
                for (uint32_t k = 0; k < inside; ++k) buffer[k] = p[size_t{k} * plane.step];
            } else {
                for (uint32_t k = 0; k < inside; ++k) std::memcpy(buffer + 2 * size_t{k}, p + size_t{k} * plane.step, 2);
            }
            p = buffer;
        }
        any = hn::Or(any, bytes == 1 ? transpose8(p, samples.at + 8 * i) : transpose16(p, static_cast<int>(plane.shift), samples.at + 8 * i));
    }
    const auto largest = hn::Set(d16, static_cast<uint16_t>((1u << plane.depth) - 1));
    return hn::AllTrue(d16, hn::Eq(hn::SaturatedSub(any, largest), hn::Zero(d16)));
}

// ---- integer transform ---------------------------------------------------------------------------------------------

// 16-bit lanes: exact while every intermediate fits, which it does up to depth 10 (tests/unit/psnr_hvs_test.cpp bounds them).
struct Integer16 {
    using D = DI16;
    using V = hn::Vec<D>;
    static HWY_INLINE V half(V v) { return hn::ShiftRight<1>(hn::Sub(v, hn::ShiftRight<15>(v))); }
    template <int c, int s>
    static HWY_INLINE V lift(V v) {
        static_assert((c << (15 - s)) < 32768);
        return hn::MulFixedPoint15(v, hn::Set(D(), static_cast<int16_t>(c << (15 - s))));
    }
};

struct Integer32 {
    using D = DI32;
    using V = hn::Vec<D>;
    static HWY_INLINE V half(V v) { return hn::ShiftRight<1>(hn::Sub(v, hn::ShiftRight<31>(v))); }
    template <int c, int s>
    static HWY_INLINE V lift(V v) {
        return hn::ShiftRight<s>(hn::Add(hn::Mul(v, hn::Set(D(), c)), hn::Set(D(), 1 << (s - 1))));
    }
};

// psnr_hvs_dct8() on lanes.
template <class I>
HWY_INLINE void dct8(typename I::V (&x)[8]) {
    using V = typename I::V;
    using hn::Add;
    using hn::Sub;
    V a = Sub(x[0], x[7]);
    const V g = I::half(a);
    const V A = Sub(x[0], g);
    const V B = Add(x[1], x[6]);
    const V k = I::half(B);
    V b = Sub(x[6], k);
    V c = Sub(x[2], x[5]);
    const V C = Sub(x[2], I::half(c));
    const V D = Add(x[3], x[4]);
    const V m = I::half(D);
    V d = Sub(m, x[4]);
    V p = Add(A, m);
    V q = Sub(p, D);
    V r = Sub(k, C);
    V s = Sub(r, B);
    p = Sub(p, I::template lift<13573, 15>(s));
    s = Add(s, I::template lift<11585, 14>(p));
    p = Sub(p, I::template lift<13573, 15>(s));
    q = Sub(q, I::template lift<21895, 15>(r));
    r = Add(r, I::template lift<15137, 14>(q));
    q = Sub(q, I::template lift<21895, 15>(r));
    c = Add(c, I::template lift<19195, 15>(b));
    b = Add(b, I::template lift<11585, 14>(c));
    c = Sub(c, I::template lift<7489, 13>(b));
    d = Sub(I::half(b), d);
    b = Sub(b, d);
    c = Sub(g, c);
    a = Sub(a, c);
    d = Add(d, I::template lift<3227, 15>(a));
    a = Sub(a, I::template lift<6393, 15>(d));
    d = Add(d, I::template lift<3227, 15>(a));
    b = Add(b, I::template lift<2485, 13>(c));
    c = Sub(c, I::template lift<18205, 15>(b));
    b = Add(b, I::template lift<2485, 13>(c));
    x[0] = p;
    x[1] = a;
    x[2] = r;
    x[3] = c;
    x[4] = s;
    x[5] = b;
    x[6] = q;
    x[7] = d;
}

// Coefficients of the two images and their absolute differences as binary32, kLanes blocks at a time.
struct Coefficients16 {
    alignas(64) int16_t ref[64][kChunk], main[64][kChunk], difference[64][kChunk];

    static HWY_INLINE void transform(const Samples& samples, int16_t (*out)[kChunk]) {
        const DI16 d;
        for (size_t j = 0; j < 8; ++j) {
            Integer16::V x[8];
            for (size_t i = 0; i < 8; ++i) x[i] = hn::BitCast(d, hn::Load(DU16(), samples.at[8 * i + j]));
            dct8<Integer16>(x);
            for (size_t i = 0; i < 8; ++i) hn::Store(x[i], d, out[8 * i + j]);
        }
        for (size_t i = 0; i < 8; ++i) {
            Integer16::V x[8];
            for (size_t j = 0; j < 8; ++j) x[j] = hn::Load(d, out[8 * i + j]);
            dct8<Integer16>(x);
            for (size_t j = 0; j < 8; ++j) hn::Store(x[j], d, out[8 * i + j]);
        }
    }
    HWY_INLINE void compute(const Samples& r, const Samples& m) {
        transform(r, ref);
        transform(m, main);
        const DI16 d;
        for (size_t i = 0; i < 64; ++i) hn::Store(hn::Abs(hn::Sub(hn::Load(d, ref[i]), hn::Load(d, main[i]))), d, difference[i]);
    }
    static HWY_INLINE VF32 load(const int16_t (*from)[kChunk], size_t i, size_t group) {
        const hn::Rebind<int16_t, DF32> d16;
        return hn::ConvertTo(DF32(), hn::PromoteTo(DI32(), hn::Load(d16, from[i] + group * kLanes)));
    }
};

struct Coefficients32 {
    alignas(64) int32_t ref[64][kChunk], main[64][kChunk], difference[64][kChunk];

    static HWY_INLINE void transform(const Samples& samples, size_t group, int32_t (*out)[kChunk]) {
        const DI32 d;
        const hn::Rebind<uint16_t, DI32> d16;
        const size_t lane = group * kLanes;
        for (size_t j = 0; j < 8; ++j) {
            VI32 x[8];
            for (size_t i = 0; i < 8; ++i) x[i] = hn::PromoteTo(d, hn::Load(d16, samples.at[8 * i + j] + lane));
            dct8<Integer32>(x);
            for (size_t i = 0; i < 8; ++i) hn::Store(x[i], d, out[8 * i + j] + lane);
        }
        for (size_t i = 0; i < 8; ++i) {
            VI32 x[8];
            for (size_t j = 0; j < 8; ++j) x[j] = hn::Load(d, out[8 * i + j] + lane);
            dct8<Integer32>(x);
            for (size_t j = 0; j < 8; ++j) hn::Store(x[j], d, out[8 * i + j] + lane);
        }
    }
    HWY_INLINE void compute(const Samples& r, const Samples& m) {
        const DI32 d;
        for (size_t group = 0; group < 2; ++group) {
            transform(r, group, ref);
            transform(m, group, main);
        }
        for (size_t i = 0; i < 64; ++i)
            for (size_t lane = 0; lane < kChunk; lane += kLanes)
                hn::Store(hn::Abs(hn::Sub(hn::Load(d, ref[i] + lane), hn::Load(d, main[i] + lane))), d, difference[i] + lane);
    }
    static HWY_INLINE VF32 load(const int32_t (*from)[kChunk], size_t i, size_t group) {
        return hn::ConvertTo(DF32(), hn::Load(DI32(), from[i] + group * kLanes));
    }
};

// ---- masking -------------------------------------------------------------------------------------------------------

// psnr_hvs_variance_ratio() of kLanes blocks.
struct Variance {
    VF32 mean, quadrant_mean[4], G, V[4];

    HWY_INLINE explicit Variance(const Samples& samples, size_t group) {
        const DF32 df;
        const DI32 di;
        const hn::Rebind<uint16_t, DF32> d16;
        VI32 total = hn::Zero(di);
        for (size_t k = 0; k < 4; ++k) {
            const size_t row = k & 1 ? 4 : 0, column = k & 2 ? 4 : 0;
            auto sum = hn::Zero(d16);  // 16 samples of 12 bits fit
            for (size_t i = row; i < row + 4; ++i)
                for (size_t j = column; j < column + 4; ++j) sum = hn::Add(sum, hn::Load(d16, samples.at[8 * i + j] + group * kLanes));
            const VI32 wide = hn::PromoteTo(di, sum);
            total = hn::Add(total, wide);
            quadrant_mean[k] = hn::Mul(hn::ConvertTo(df, wide), hn::Set(df, 1.0f / 16));
            V[k] = hn::Zero(df);
        }
        mean = hn::Mul(hn::ConvertTo(df, total), hn::Set(df, 1.0f / 64));
        G = hn::Zero(df);
    }
    template <size_t k>
    HWY_INLINE void add(const uint16_t* lanes) {
        const VF32 x = hn::ConvertTo(DF32(), hn::PromoteTo(DI32(), hn::Load(hn::Rebind<uint16_t, DF32>(), lanes)));
        const VF32 e = hn::Sub(x, mean);
        G = hn::Add(G, hn::Mul(e, e));
        const VF32 f = hn::Sub(x, quadrant_mean[k]);
        V[k] = hn::Add(V[k], hn::Mul(f, f));
    }
    HWY_INLINE VF32 ratio() const {
        const DF32 df;
        const VF32 scale = hn::Set(df, kPsnrHvsScale16);
        const VF32 g = hn::Mul(G, hn::Set(df, kPsnrHvsScale64));
        const VF32 v = hn::Add(hn::Add(hn::Add(hn::Mul(V[0], scale), hn::Mul(V[1], scale)), hn::Mul(V[2], scale)), hn::Mul(V[3], scale));
        return hn::IfThenElse(hn::Gt(g, hn::Zero(df)), hn::Div(v, g), g);
    }
};

// Both images in one loop: two independent chains of additions hide each other's latency.
HWY_INLINE void variance_ratios(const Samples& ref, const Samples& main, size_t group, VF32& ref_ratio, VF32& main_ratio) {
    Variance r(ref, group), m(main, group);
    const size_t lane = group * kLanes;
    for (size_t i = 0; i < 32; i += 8) {
        for (size_t j = 0; j < 4; ++j) r.add<0>(ref.at[i + j] + lane), m.add<0>(main.at[i + j] + lane);
        for (size_t j = 4; j < 8; ++j) r.add<2>(ref.at[i + j] + lane), m.add<2>(main.at[i + j] + lane);
    }
    for (size_t i = 32; i < 64; i += 8) {
        for (size_t j = 0; j < 4; ++j) r.add<1>(ref.at[i + j] + lane), m.add<1>(main.at[i + j] + lane);
        for (size_t j = 4; j < 8; ++j) r.add<3>(ref.at[i + j] + lane), m.add<3>(main.at[i + j] + lane);
    }
    ref_ratio = r.ratio();
    main_ratio = m.ratio();
}

HWY_INLINE VF32 threshold(VF32 energy, VF32 ratio, PsnrHvsMask mask) {
    const DF32 df;
    if (mask == PsnrHvsMask::kF32) return hn::Mul(hn::Sqrt(hn::Mul(energy, ratio)), hn::Set(df, 0.03125f));
    const hn::ScalableTag<double> dd;
    const hn::Half<DF32> dh;
    const auto root = [&](auto e, auto r) {
        const auto product = hn::Mul(hn::PromoteTo(dd, e), hn::PromoteTo(dd, r));
        return hn::DemoteTo(dh, hn::Mul(hn::Sqrt(product), hn::Set(dd, 0.03125)));
    };
    return hn::Combine(df, root(hn::UpperHalf(dh, energy), hn::UpperHalf(dh, ratio)), root(hn::LowerHalf(dh, energy), hn::LowerHalf(dh, ratio)));
}

// T / k[i], correctly rounded.
HWY_INLINE VF32 limit(VF32 T, const PsnrHvsTable& table, size_t i) {
    const DF32 df;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL  // MulAdd is one rounding
    return hn::MulAdd(T, hn::Set(df, float_from_bits(table.zh[i])), hn::Mul(T, hn::Set(df, float_from_bits(table.zl[i]))));
#else
    return hn::Div(T, hn::Set(df, float_from_bits(table.k[i])));
#endif
}

template <class Coefficients>
HWY_INLINE void group_terms(const Samples& ref, const Samples& main, const Coefficients& c, size_t group, const PsnrHvsTable& table, PsnrHvsMask mask,
                            float* terms) {
    const DF32 df;
    VF32 ref_ratio, main_ratio;
    variance_ratios(ref, main, group, ref_ratio, main_ratio);
    VF32 ref_energy = hn::Zero(df), main_energy = hn::Zero(df);
    for (size_t i = 1; i < 64; ++i) {
        const VF32 k = hn::Set(df, float_from_bits(table.k[i]));
        const VF32 r = Coefficients::load(c.ref, i, group), m = Coefficients::load(c.main, i, group);
        ref_energy = hn::Add(ref_energy, hn::Mul(hn::Mul(r, r), k));
        main_energy = hn::Add(main_energy, hn::Mul(hn::Mul(m, m), k));
    }
    const VF32 T = hn::Max(threshold(main_energy, main_ratio, mask), threshold(ref_energy, ref_ratio, mask));
    for (size_t i = 0; i < 64; ++i) {
        VF32 err = Coefficients::load(c.difference, i, group);
        if (i > 0) err = hn::Max(hn::Sub(err, limit(T, table, i)), hn::Zero(df));  // the DC term is not masked
        const VF32 g = hn::Mul(err, hn::Set(df, float_from_bits(table.w[i])));
        hn::Store(hn::Mul(g, g), df, terms + i * kLanes);
    }
}

template <class Coefficients>
HWY_NOINLINE void chunk_terms(const Samples& ref, const Samples& main, uint32_t groups, const PsnrHvsTable& table, PsnrHvsMask mask, float* terms) {
    Coefficients c;
    c.compute(ref, main);
    for (uint32_t g = 0; g < groups; ++g) group_terms(ref, main, c, g, table, mask, terms + size_t{g} * 64 * kLanes);
}

void reference_terms(const Samples& ref, const Samples& main, uint32_t blocks, const PsnrHvsTable& table, PsnrHvsMask mask, float* terms) {
    for (uint32_t b = 0; b < blocks; ++b) {
        int32_t r[64], m[64];
        for (size_t i = 0; i < 64; ++i) r[i] = ref.at[i][b], m[i] = main.at[i][b];
        float block[64];
        psnr_hvs_block_terms(r, m, table, mask, block);
        for (size_t i = 0; i < 64; ++i) terms[b / kLanes * 64 * kLanes + i * kLanes + b % kLanes] = block[i];
    }
}

void Terms(const PlanePair& pair, uint32_t block_row, const PsnrHvsTable& table, PsnrHvsMask mask, float* terms) {
    const uint32_t blocks = psnr_hvs_blocks(pair.ref.width);
    for (uint32_t first = 0; first < blocks; first += kChunk) {
        const uint32_t count = std::min<uint32_t>(blocks - first, kChunk), groups = (count + kLanes - 1) / kLanes;
        float* out = terms + size_t{first} * 64;
        Samples ref, main;
        const bool ref_in_range = load_samples(pair.ref, block_row, first, ref);
        const bool main_in_range = load_samples(pair.main, block_row, first, main);
        if (!ref_in_range || !main_in_range) {
            reference_terms(ref, main, count, table, mask, out);
        } else if (pair.ref.depth <= 10) {
            chunk_terms<Coefficients16>(ref, main, groups, table, mask, out);
        } else {
            chunk_terms<Coefficients32>(ref, main, groups, table, mask, out);
        }
        if (const uint32_t used = count % kLanes) {  // lanes behind the last block
            float* last = out + size_t{groups - 1} * 64 * kLanes;
            for (size_t i = 0; i < 64; ++i)
                for (size_t lane = used; lane < kLanes; ++lane) last[i * kLanes + lane] = 0.0f;
        }
    }
}

// ---- ordered sum ---------------------------------------------------------------------------------------------------

float add_one_by_one(float sum, const float* group) {
    for (size_t lane = 0; lane < kLanes; ++lane)
        for (size_t i = 0; i < 64; ++i) sum = sum + group[i * kLanes + lane];
    return sum;
}

// Maps (kernels/common/ordered_sum.h) of the blocks in up to kGroups groups at once, to hide the latency of the additions.
template <size_t kGroups>
HWY_INLINE void group_maps(float sum, const float* terms, uint32_t (*even_increment)[kLanes], uint32_t (*odd_increment)[kLanes]) {
    const DF32 df;
    const DU32 du;
    const uint32_t base = float_bits(sum) & kFloatExponent;
    VF32 even[kGroups], odd[kGroups];
    for (size_t g = 0; g < kGroups; ++g) even[g] = hn::Set(df, float_from_bits(base)), odd[g] = hn::Set(df, float_from_bits(base | 1));
    for (size_t i = 0; i < 64; ++i) {
        for (size_t g = 0; g < kGroups; ++g) {
            const VF32 t = hn::Load(df, terms + (g * 64 + i) * kLanes);
            even[g] = hn::Add(even[g], t);
            odd[g] = hn::Add(odd[g], t);
        }
    }
    for (size_t g = 0; g < kGroups; ++g) {
        hn::Store(hn::Sub(hn::BitCast(du, even[g]), hn::Set(du, base)), du, even_increment[g]);
        hn::Store(hn::Sub(hn::BitCast(du, odd[g]), hn::Set(du, base | 1)), du, odd_increment[g]);
    }
}

// Adds the groups as long as the sum stays in its binade; returns how many were added.
template <size_t kGroups>
HWY_INLINE size_t add_mapped(float& sum, const float* terms) {
    const DU32 du;
    alignas(64) uint32_t even[kGroups][kLanes], odd[kGroups][kLanes];
    group_maps<kGroups>(sum, terms, even, odd);
    for (size_t g = 0; g < kGroups; ++g) {
        const auto e = hn::Load(du, even[g]), o = hn::Load(du, odd[g]);
        const auto most = hn::Set(du, kFloatMantissa + 1);
        if (HWY_LIKELY(hn::AllTrue(du, hn::Eq(e, o)))) {  // no tie: the order does not matter
            const uint32_t increment = hn::GetLane(hn::SumOfLanes(du, hn::Min(e, most)));
            if (HWY_UNLIKELY(!apply_ordered_sum_map(sum, {increment, increment}))) return g;
            continue;
        }
        float next = sum;
        for (size_t lane = 0; lane < kLanes; ++lane)
            if (!apply_ordered_sum_map(next, {even[g][lane], odd[g][lane]})) return g;
        sum = next;
    }
    return kGroups;
}

float AddTerms(float sum, const float* terms, uint32_t blocks) {
    constexpr size_t kGroups = 4, kGroupTerms = 64 * kLanes;
    const size_t groups = (blocks + kLanes - 1) / kLanes;
    for (size_t g = 0; g < groups;) {
        if (has_binade(sum)) {
            const size_t wanted = groups - g >= kGroups ? kGroups : 1;
            const size_t added = wanted == kGroups ? add_mapped<kGroups>(sum, terms + g * kGroupTerms) : add_mapped<1>(sum, terms + g * kGroupTerms);
            g += added;
            if (added == wanted) continue;
        }
        sum = add_one_by_one(sum, terms + g * kGroupTerms);  // crosses into another binade, or there is none yet
        ++g;
    }
    return sum;
}

}  // namespace

PsnrHvsKernels MakePsnrHvsKernels() { return {static_cast<uint32_t>(kLanes), &Terms, &AddTerms}; }

#endif  // HWY_TARGET

}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::cpu {

HWY_EXPORT(MakePsnrHvsKernels);

PsnrHvsKernels psnr_hvs_kernels(int64_t target) {
    return for_target(HWY_DISPATCH_TABLE(MakePsnrHvsKernels), target)();
}

}  // namespace exactvq::cpu
#endif
