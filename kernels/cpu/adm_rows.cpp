// SPDX-License-Identifier: BSD-2-Clause
//
// ADM's decoupling, masking and terms in SIMD, one row at a time.
//
// The restored part of a sample is found in magnitudes, in the direction of the reference sample: with m = |o| and t' = t if o > 0, else -t, it is
// min(max(t', 0), m), exactly, as long as m < 16384 (tests/unit/common/adm_test.cpp tries all). So scale 0 needs no ratio and works in 16-bit lanes,
// unless a sample is beyond (which takes a contrast of more than 180 grey levels from one sample to the next); then that vector goes through the 32-bit
// code of the coarser scales.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cpu/adm.h"
#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adm_rows.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "kernels/cpu/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace {

constexpr int32_t kShortcut = 16384;  // magnitudes below need no ratio

// ---- helpers ---------------------------------------------------------------------------------------------------------

HWY_INLINE VI32 odd_to_even(VI32 v) { return hn::BitCast(DI32(), hn::ShiftRight<32>(hn::BitCast(DU64(), v))); }
HWY_INLINE VU32 odd_to_even(VU32 v) { return hn::BitCast(DU32(), hn::ShiftRight<32>(hn::BitCast(DU64(), v))); }

// a * b + start in 64 bits, shifted right by kShift; the lower 32 bits.
template <int kShift>
HWY_INLINE VI32 multiply_shift(VI32 a, VI32 b_even, VI32 b_odd, VI64 start) {
    const VI64 even = hn::Add(hn::MulEven(a, b_even), start), odd = hn::Add(hn::MulEven(odd_to_even(a), b_odd), start);
    const VI32 even32 = hn::BitCast(DI32(), hn::ShiftRight<kShift>(hn::BitCast(DU64(), even)));
    const VI32 odd32 = hn::BitCast(DI32(), hn::ShiftLeft<32 - kShift>(hn::BitCast(DU64(), odd)));
    return hn::OddEven(odd32, even32);
}

// Upper 32 bits of the products.
HWY_INLINE VU32 multiply_high(VU32 a, VU32 b) {
    const VU64 even = hn::MulEven(a, b), odd = hn::MulEven(odd_to_even(a), odd_to_even(b));
    return hn::OddEven(hn::BitCast(DU32(), odd), hn::BitCast(DU32(), hn::ShiftRight<32>(even)));
}

// x with the sign of s, which is 0 or -1. Undone by doing it again.
template <class V>
HWY_INLINE V turn(V x, V s) {
    return hn::Sub(hn::Xor(x, s), s);
}

// A session's shift, the same in every lane.
struct Shift64 {
    int bits;
    VU64 lanes;

    explicit Shift64(uint32_t n) : bits(static_cast<int>(n)), lanes(hn::Set(DU64(), n)) {}
    HWY_INLINE VU64 right(VU64 v) const {
#if HWY_TARGET <= HWY_AVX2
        return hn::Shr(v, lanes);  // one instruction there
#else
        return hn::ShiftRightSame(v, bits);
#endif
    }
};

// f(x) for each vector with columns of the range; vectors begin at multiples of their length.
template <class Function>
HWY_INLINE void for_vectors(AdmRange columns, Function&& f) {
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(DI32()));
    for (uint32_t x = columns.begin & ~(lanes - 1); x < columns.end; x += lanes) f(x);
}

// Clears the lanes of the vector at x that are outside the range.
template <class V>
HWY_INLINE void clear_outside(uint32_t x, AdmRange columns, V v[3]) {
    const hn::DFromV<V> d;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d));
    if (HWY_LIKELY(x >= columns.begin && x + lanes <= columns.end)) return;
    const auto before = hn::VecFromMask(d, hn::FirstN(d, x < columns.begin ? columns.begin - x : 0)), until = hn::VecFromMask(d, hn::FirstN(d, columns.end - x));
    for (int i = 0; i < 3; ++i) v[i] = hn::And(hn::AndNot(before, until), v[i]);
}

// ---- decoupling ------------------------------------------------------------------------------------------------------

// Lanes in which the detail vectors of reference and main point in directions less than a degree apart, all bits set. D, O, T: dot products, rounded to
// binary32 or nearly so. Lanes too close to call are computed one by one as specified.
template <bool kWide>
HWY_INLINE VI32 same_angle(VF32 D, VF32 O, VF32 T, VI32 oh, VI32 ov, VI32 th, VI32 tv) {
    const DF32 df;
    const DI32 di;
    const VF32 square = hn::Mul(D, D), limit = hn::Mul(hn::Mul(O, hn::Set(df, 0x1.ffd814p-1f)), T);
    const auto positive = hn::Ge(D, hn::Zero(df));
    const auto sure = hn::Ge(square, hn::Mul(limit, hn::Set(df, 1.000004f)));
    const auto open = hn::AndNot(sure, hn::Ge(square, hn::Mul(limit, hn::Set(df, 0.999996f))));
    VI32 result = hn::BitCast(di, hn::VecFromMask(df, hn::And(positive, sure)));
    if (HWY_LIKELY(hn::AllFalse(df, hn::And(positive, open)))) return result;
    alignas(64) int32_t flag[HWY_MAX_BYTES / 4], undecided[HWY_MAX_BYTES / 4], v[4][HWY_MAX_BYTES / 4];
    hn::Store(result, di, flag);
    hn::Store(hn::BitCast(di, hn::VecFromMask(df, hn::And(positive, open))), di, undecided);
    hn::Store(oh, di, v[0]);
    hn::Store(ov, di, v[1]);
    hn::Store(th, di, v[2]);
    hn::Store(tv, di, v[3]);
    for (size_t i = 0; i < hn::Lanes(di); ++i)
        if (undecided[i]) flag[i] = adm_same_angle(v[0][i], v[1][i], v[2][i], v[3][i], kWide) ? -1 : 0;
    return hn::Load(di, flag);
}

// Scales 1 to 3: dot products of values rounded to binary32. Each is off by at most 5 * 2^-24 of sqrt(O T), which D is compared with, from what is specified; both
// sides of the comparison together by about 25 * 2^-24 = 1.5e-6; same_angle() leaves 4e-6 open.
HWY_INLINE VI32 same_angle_wide(VI32 oh, VI32 ov, VI32 th, VI32 tv) {
    const DF32 df;
    const VF32 a = hn::ConvertTo(df, oh), b = hn::ConvertTo(df, ov), c = hn::ConvertTo(df, th), d = hn::ConvertTo(df, tv);
    const auto dot = [](VF32 p, VF32 q, VF32 r, VF32 s) HWY_ATTR { return hn::Add(hn::Mul(p, q), hn::Mul(r, s)); };
    return same_angle<true>(dot(a, c, b, d), dot(a, a, b, b), dot(c, c, d, d), oh, ov, th, tv);
}

struct Gain {
    double limit;
    bool integral;
    int32_t factor;    // integral: the limit
    uint32_t largest;  // integral: magnitude from which on the product exceeds every sample; with it, it still fits 32 bits
    int16_t largest16; // magnitude from which on the product exceeds kShortcut

    explicit Gain(double g)
        : limit(g),
          integral(g == std::trunc(g)),
          factor(static_cast<int32_t>(g)),
          largest(static_cast<uint32_t>(INT32_MAX / factor) + 1),
          largest16(static_cast<int16_t>(kShortcut / factor + 1)) {}
};

// trunc(|r| * limit) where that is below |t|, else |t|, with t's sign; r is 0 or has that sign.
HWY_INLINE VI32 enhance_any(VI32 r, VI32 t, double limit) {
    const hn::ScalableTag<double> d64;
    const hn::Half<DI32> half;
    const auto part = [&](hn::Vec<hn::Half<DI32>> r32, hn::Vec<hn::Half<DI32>> t32) HWY_ATTR {
        const auto rd = hn::PromoteTo(d64, r32), td = hn::PromoteTo(d64, t32);
        return hn::DemoteTo(half, hn::CopySign(hn::Min(hn::Mul(hn::Abs(rd), hn::Set(d64, limit)), hn::Abs(td)), td));
    };
    return hn::Combine(DI32(), part(hn::UpperHalf(half, r), hn::UpperHalf(half, t)), part(hn::LowerHalf(half, r), hn::LowerHalf(half, t)));
}

// adm_restored() of any 32-bit values.
HWY_INLINE VI32 restored(VI32 o, VI32 t, VI32 same, const Gain& gain) {
    const DI32 di;
    const DU32 du;
    const DF32 df;
    const VI32 s = hn::ShiftRight<31>(o);
    const VU32 m = hn::BitCast(du, hn::Abs(o));
    const VI32 turned = hn::Xor(t, s);
    const VU32 tp = hn::BitCast(du, hn::AndNot(hn::ShiftRight<31>(turned), hn::Sub(turned, s)));  // max(t', 0)
    const VU32 small = hn::Min(tp, m);

    // e: bits of m above 15, from the exponent of its float. Where that rounds up to a power of two, so does m / 2^e to 15 bits: the ratio is the same.
    const VI32 exponent = hn::BitCast(di, hn::ShiftRight<23>(hn::BitCast(du, hn::Abs(hn::ConvertTo(df, hn::BitCast(di, m))))));
    const VU32 e = hn::BitCast(du, hn::Max(hn::Sub(exponent, hn::Set(di, 127 + 14)), hn::Zero(di)));
    const VU32 power = hn::Shl(hn::Set(du, 1), e);
    const VU32 normal = hn::Shr(hn::Add(m, hn::ShiftRight<1>(power)), e);  // 16384 .. 32768, unless m is small
    // 2^30 / normal: the rounded quotient, one less where it was rounded up.
    const VI32 quotient = hn::ConvertTo(di, hn::Div(hn::Set(df, 0x1p30f), hn::ConvertTo(df, hn::BitCast(di, normal))));
    const VI32 rest = hn::Sub(hn::Set(di, 1 << 30), hn::Mul(quotient, hn::BitCast(di, normal)));
    const VU32 reciprocal = hn::BitCast(du, hn::Add(quotient, hn::ShiftRight<31>(rest)));
    // k = (reciprocal * t' + 2^(14+e)) >> (15+e), at most 32768. It is 32768 from t' = 2^(15+e) - 1 >= m on; the shift by e comes first.
    const VU32 limited = hn::Min(tp, hn::Sub(hn::ShiftLeft<15>(power), hn::Set(du, 1)));
    const VU32 product = multiply_high(hn::ShiftLeft<15>(reciprocal), hn::Shl(limited, hn::Sub(hn::Set(du, 17), e)));
    const VU32 k = hn::Min(hn::ShiftRight<15>(hn::Add(product, hn::Set(du, 1 << 14))), hn::Set(du, 32768));
    const VI32 k32 = hn::BitCast(di, k);
    const VI32 large = multiply_shift<15>(o, k32, odd_to_even(k32), hn::Set(DI64(), 16384));

    VI32 r = hn::IfThenElse(hn::Lt(hn::BitCast(di, hn::Sub(m, hn::Set(du, kShortcut))), hn::Zero(di)), turn(hn::BitCast(di, small), s), large);
    if (!gain.integral) return hn::IfVecThenElse(same, enhance_any(r, t, gain.limit), r);
    const VU32 magnitude = hn::BitCast(du, turn(r, s));
    const VU32 enhanced = hn::Mul(hn::Min(magnitude, hn::Set(du, gain.largest)), hn::Set(du, static_cast<uint32_t>(gain.factor)));
    return turn(hn::BitCast(di, hn::IfVecThenElse(hn::BitCast(du, same), hn::Min(enhanced, tp), magnitude)), s);
}

// ---- masking ---------------------------------------------------------------------------------------------------------

// Weights of scale 0 for pairs of 16-bit values.
struct Weights0 {
    VI16 low15[2], top[2];  // h and v, 0 and d: lower 15 bits; all bits set where the weight has a 16th
    VI16 diagonal;          // as signed 16 bits
    VI32 word[3];

    explicit Weights0(const uint32_t* w) {
        const DI32 d;
        const auto pair = [&](uint32_t a, uint32_t b) HWY_ATTR { return hn::BitCast(DI16(), hn::Set(d, adm_i32(int64_t{a} | int64_t{b} << 16))); };
        low15[0] = pair(w[0] & 0x7fff, w[1] & 0x7fff);
        top[0] = pair(w[0] & 0x8000 ? 0xffff : 0, w[1] & 0x8000 ? 0xffff : 0);
        low15[1] = hn::Zero(DI16());
        top[1] = pair(0, w[2] & 0x8000 ? 0xffff : 0);
        diagonal = pair(0, w[2]);
        for (int i = 0; i < 3; ++i) word[i] = hn::Set(d, static_cast<int32_t>(w[i]));
    }
};

// Masking of one plane at scale 0 from pairs (h, v) and (0, d), all magnitudes at most 16384.
HWY_INLINE void mask0(VI16 hv, VI16 d, const Weights0& w, const AdmPlaneRow& out, uint32_t x) {
    const DI16 d16;
    const DU16 du16;
    const DI32 d32;
    // (w y + 2^14) >> 15, the 16th bit of w apart
    const VI16 u_hv = hn::Add(hn::MulFixedPoint15(hv, w.low15[0]), hn::And(hv, w.top[0]));
    // (w y + 65535) >> 17: upper half of the product, rounded up, halved
    const VI16 lower = hn::Mul(d, w.diagonal), upper = hn::Add(hn::MulHigh(d, w.diagonal), hn::And(d, w.top[1]));
    const VI16 up = hn::BitCast(d16, hn::Min(hn::BitCast(du16, lower), hn::Set(du16, 1)));
    const VI16 u_d = hn::ShiftRight<1>(hn::Add(upper, up));
    const VI16 one = hn::Set(d16, 1);
    const auto sums = [&](VI16 u, VI32& neighbours, VI32& centres) HWY_ATTR {
        const VI16 magnitude = hn::Abs(u);
        // 8 * 4369 = 32768 + 2184, 8 * 8738 = 2 * 32768 + 4368
        neighbours = multiply_pairs(hn::Add(magnitude, hn::MulFixedPoint15(magnitude, hn::Set(d16, 2184))), one, neighbours);
        centres = multiply_pairs(hn::Add(hn::Add(magnitude, magnitude), hn::MulFixedPoint15(magnitude, hn::Set(d16, 4368))), one, centres);
    };
    VI32 neighbours = hn::Zero(d32), centres = hn::Zero(d32);
    sums(u_hv, neighbours, centres);
    sums(u_d, neighbours, centres);
    hn::StoreU(neighbours, d32, out.neighbours + x);
    hn::StoreU(hn::Sub(centres, neighbours), d32, out.centres + x);
    hn::StoreU(hn::BitCast(d32, hn::Abs(hv)), d32, out.measured[0] + x);
    hn::StoreU(hn::BitCast(d32, hn::Abs(d)), d32, out.measured[1] + x);
}

HWY_INLINE VI32 wrap16(VI32 v) { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); }

// The same for any 16-bit values h, v, d, in 32-bit lanes.
HWY_NOINLINE void mask0_any(VI32 h, VI32 v, VI32 d, const Weights0& w, const AdmPlaneRow& out, uint32_t x) {
    const DI16 d16;
    const DI32 d32;
    VI32 neighbours = hn::Zero(d32), centres = hn::Zero(d32);
    const VI32 y[3] = {h, v, d};
    for (int i = 0; i < 3; ++i) {
        const VI32 p = hn::Mul(y[i], w.word[i]);
        const VI32 u = hn::Abs(wrap16(i == 2 ? hn::ShiftRight<17>(hn::Add(p, hn::Set(d32, 65535))) : hn::ShiftRight<15>(hn::Add(p, hn::Set(d32, 16384)))));
        const auto scaled = [&](int32_t factor) HWY_ATTR { return wrap16(hn::ShiftRight<12>(hn::Add(hn::Mul(u, hn::Set(d32, factor)), hn::Set(d32, 2048)))); };
        neighbours = hn::Add(neighbours, scaled(4369));
        centres = hn::Add(centres, scaled(8738));
    }
    hn::StoreU(neighbours, d32, out.neighbours + x);
    hn::StoreU(hn::Sub(centres, neighbours), d32, out.centres + x);
    const auto magnitude = [&](VI32 value) HWY_ATTR { return hn::BitCast(d16, hn::Abs(value)); };
    hn::StoreU(hn::BitCast(d32, join_halves(lower_to_upper(magnitude(v)), magnitude(h))), d32, out.measured[0] + x);
    hn::StoreU(hn::BitCast(d32, lower_to_upper(magnitude(d))), d32, out.measured[1] + x);
}

// Scales 1 to 3. kLarge: a weight has its 32nd bit set.
template <bool kLarge>
HWY_INLINE void mask(const VI32 y[3], const AdmScale& s, const AdmPlaneRow& out, uint32_t x) {
    const DI32 d32;
    const DI64 d64;
    const DU32 du32;
    const VI64 start = hn::Set(d64, 1 << 27), step = hn::Set(d64, -(int64_t{1} << 31));
    const VU32 neighbour = hn::Set(du32, 143165577), centre = hn::Set(du32, 286331153);
    VU32 even_n = hn::Zero(du32), odd_n = even_n, even_c = even_n, odd_c = even_n;  // sums in the odd words of each
    for (int i = 0; i < 3; ++i) {
        const VI32 weight = hn::Set(d32, static_cast<int32_t>(s.weight[i]));
        VI32 u = multiply_shift<28>(y[i], weight, weight, start);
        if (kLarge && s.weight[i] >> 31) u = hn::Add(u, hn::ShiftLeft<4>(y[i]));
        const VU32 magnitude = hn::BitCast(du32, hn::Abs(u)), odd = odd_to_even(magnitude);
        hn::StoreU(hn::BitCast(d32, magnitude), d32, out.measured[i] + x);
        const auto scaled = [&](VU32 v, VU32 factor) HWY_ATTR { return hn::BitCast(du32, hn::Add(hn::BitCast(d64, hn::MulEven(v, factor)), step)); };
        even_n = hn::Add(even_n, scaled(magnitude, neighbour));
        odd_n = hn::Add(odd_n, scaled(odd, neighbour));
        even_c = hn::Add(even_c, scaled(magnitude, centre));
        odd_c = hn::Add(odd_c, scaled(odd, centre));
    }
    const VI32 neighbours = hn::BitCast(d32, hn::OddEven(odd_n, odd_to_even(even_n))), centres = hn::BitCast(d32, hn::OddEven(odd_c, odd_to_even(even_c)));
    hn::StoreU(neighbours, d32, out.neighbours + x);
    hn::StoreU(hn::Sub(centres, neighbours), d32, out.centres + x);
}

// ---- rows ------------------------------------------------------------------------------------------------------------

template <bool kIntegral>
void decouple0(const AdmRowParameters& p, const AdmBandRow& ref, const AdmBandRow& main, AdmRange columns, const AdmPlaneRow& restored_row,
               const AdmPlaneRow& additive_row) {
    const DI16 d16;
    const DI32 d32;
    const DF32 df;
    const Weights0 w(p.s.weight);
    const Gain gain(p.gain_limit);
    const VI16 upper = hn::BitCast(d16, hn::Set(d32, adm_i32(0xffff0000u)));
    const VI16 shortcut = hn::Set(d16, kShortcut), factor = hn::Set(d16, static_cast<int16_t>(gain.factor)), largest = hn::Set(d16, gain.largest16);
    for_vectors(columns, [&](uint32_t x) HWY_ATTR {
        const VI16 o_hv = hn::BitCast(d16, hn::LoadU(d32, ref.h + x)), t_hv = hn::BitCast(d16, hn::LoadU(d32, main.h + x));
        const VI16 o_d = hn::And(hn::BitCast(d16, hn::LoadU(d32, ref.a + x)), upper), t_d = hn::And(hn::BitCast(d16, hn::LoadU(d32, main.a + x)), upper);
        const VI32 zero = hn::Zero(d32);
        const auto lower_half = [&](VI16 v) HWY_ATTR { return wrap16(hn::BitCast(d32, v)); };
        const auto upper_half = [&](VI16 v) HWY_ATTR { return hn::ShiftRight<16>(hn::BitCast(d32, v)); };
        const VI32 same = same_angle<false>(hn::ConvertTo(df, multiply_pairs(o_hv, t_hv, zero)), hn::ConvertTo(df, multiply_pairs(o_hv, o_hv, zero)),
                                            hn::ConvertTo(df, multiply_pairs(t_hv, t_hv, zero)), lower_half(o_hv), upper_half(o_hv), lower_half(t_hv),
                                            upper_half(t_hv));
        // -16384 .. 16383, moved to 0 .. 32767: the sign says if any is beyond.
        const VI16 beyond = hn::Or(hn::Or(hn::Add(o_hv, shortcut), hn::Add(t_hv, shortcut)), hn::Or(hn::Add(o_d, shortcut), hn::Add(t_d, shortcut)));
        if (HWY_UNLIKELY(!hn::AllFalse(d16, hn::Lt(beyond, hn::Zero(d16))))) {
            const VI32 o[3] = {lower_half(o_hv), upper_half(o_hv), upper_half(o_d)}, t[3] = {lower_half(t_hv), upper_half(t_hv), upper_half(t_d)};
            VI32 r[3], a[3];
            for (int i = 0; i < 3; ++i) {
                const VI32 value = restored(o[i], t[i], same, gain);
                r[i] = wrap16(value);
                a[i] = wrap16(hn::Sub(t[i], value));
            }
            mask0_any(r[0], r[1], r[2], w, restored_row, x);
            mask0_any(a[0], a[1], a[2], w, additive_row, x);
            return;
        }
        const VI16 same16 = hn::BitCast(d16, same);
        const auto restore = [&](VI16 o, VI16 t) HWY_ATTR {
            const VI16 s = hn::ShiftRight<15>(o), m = hn::Abs(o), tp = hn::Max(turn(t, s), hn::Zero(d16));
            VI16 limit;
            if constexpr (kIntegral) {
                limit = hn::Mul(hn::Min(m, largest), factor);
            } else {
                const VI32 top = hn::Set(d32, kShortcut);
                const VI32 pair[2] = {enhance_any(lower_half(m), top, gain.limit), enhance_any(upper_half(m), top, gain.limit)};
                limit = join_halves(lower_to_upper(hn::BitCast(d16, pair[1])), hn::BitCast(d16, pair[0]));
            }
            return turn(hn::Min(tp, hn::IfVecThenElse(same16, limit, m)), s);
        };
        const VI16 r_hv = restore(o_hv, t_hv), r_d = restore(o_d, t_d);
        mask0(r_hv, r_d, w, restored_row, x);
        mask0(hn::Sub(t_hv, r_hv), hn::Sub(t_d, r_d), w, additive_row, x);
    });
}

template <bool kLarge>
void decouple_wide(const AdmRowParameters& p, const AdmBandRow& ref, const AdmBandRow& main, AdmRange columns, const AdmPlaneRow& restored_row,
                   const AdmPlaneRow& additive_row) {
    const DI32 d32;
    const Gain gain(p.gain_limit);
    for_vectors(columns, [&](uint32_t x) HWY_ATTR {
        const VI32 o[3] = {hn::LoadU(d32, ref.h + x), hn::LoadU(d32, ref.v + x), hn::LoadU(d32, ref.d + x)};
        const VI32 t[3] = {hn::LoadU(d32, main.h + x), hn::LoadU(d32, main.v + x), hn::LoadU(d32, main.d + x)};
        const VI32 same = same_angle_wide(o[0], o[1], t[0], t[1]);
        VI32 r[3], a[3];
        for (int i = 0; i < 3; ++i) {
            r[i] = restored(o[i], t[i], same, gain);
            a[i] = hn::Sub(t[i], r[i]);
        }
        mask<kLarge>(r, p.s, restored_row, x);
        mask<kLarge>(a, p.s, additive_row, x);
    });
}

void Decouple(const AdmRowParameters& p, const AdmBandRow& ref, const AdmBandRow& main, AdmRange columns, const AdmPlaneRow& restored_row,
              const AdmPlaneRow& additive_row) {
    if (p.scale == 0) {
        const bool integral = p.gain_limit == std::trunc(p.gain_limit);
        integral ? decouple0<true>(p, ref, main, columns, restored_row, additive_row) : decouple0<false>(p, ref, main, columns, restored_row, additive_row);
    } else {
        const bool large = (p.s.weight[0] | p.s.weight[1] | p.s.weight[2]) >> 31;
        large ? decouple_wide<true>(p, ref, main, columns, restored_row, additive_row) : decouple_wide<false>(p, ref, main, columns, restored_row, additive_row);
    }
}

// Sum of 64-bit lanes, modulo 2^64. (GCC's reduction of 512 bits adds signed numbers, whose overflow is undefined.)
HWY_INLINE uint64_t total(VU64 v) {
    alignas(64) uint64_t lanes[HWY_MAX_BYTES / 8];
    hn::Store(v, DU64(), lanes);
    uint64_t sum = 0;
    for (size_t i = 0; i < hn::Lanes(DU64()); ++i) sum += lanes[i];
    return sum;
}

template <class Load, class Term>
HWY_INLINE void sum_denominator(const AdmRowParameters& p, uint64_t sums[3], const Load& load, const Term& term) {
    const AdmRange columns{p.s.left, p.s.right};
    VU64 sum_h = hn::Zero(DU64()), sum_v = sum_h, sum_d = sum_h;
    for_vectors(columns, [&](uint32_t x) HWY_ATTR {
        VU32 m[3];
        load(x, m);
        clear_outside(x, columns, m);  // the cube of 0 adds nothing
        sum_h = hn::Add(sum_h, term(m[0]));
        sum_v = hn::Add(sum_v, term(m[1]));
        sum_d = hn::Add(sum_d, term(m[2]));
    });
    sums[0] = total(sum_h);
    sums[1] = total(sum_v);
    sums[2] = total(sum_d);
}

void Denominator(const AdmRowParameters& p, const AdmBandRow& ref, uint64_t sums[3]) {
    const DI16 d16;
    const DI32 d32;
    const DU32 du32;
    const DU64 du64;
    if (p.scale == 0) {
        const auto load = [&](uint32_t x, VU32 m[3]) HWY_ATTR {
            const VU32 hv = hn::BitCast(du32, hn::Abs(hn::BitCast(d16, hn::LoadU(d32, ref.h + x))));
            const VU32 ad = hn::BitCast(du32, hn::Abs(hn::BitCast(d16, hn::LoadU(d32, ref.a + x))));
            m[0] = hn::And(hv, hn::Set(du32, 0xffff));
            m[1] = hn::ShiftRight<16>(hv);
            m[2] = hn::ShiftRight<16>(ad);
        };
        const auto cube = [&](VU32 m) HWY_ATTR {
            const VU32 square = hn::BitCast(du32, multiply_pairs(hn::BitCast(d16, m), hn::BitCast(d16, m), hn::Zero(d32)));
            return hn::Add(hn::MulEven(square, m), hn::MulEven(odd_to_even(square), odd_to_even(m)));
        };
        return sum_denominator(p, sums, load, cube);
    }
    const auto load = [&](uint32_t x, VU32 m[3]) HWY_ATTR {
        const int32_t* rows[3] = {ref.h, ref.v, ref.d};
        for (int i = 0; i < 3; ++i) m[i] = hn::BitCast(du32, hn::Abs(hn::LoadU(d32, rows[i] + x)));
    };
    const Shift64 shift(p.s.den_term_shift);
    const VU64 half = hn::Set(du64, p.s.den_term_shift ? uint64_t{1} << (p.s.den_term_shift - 1) : 0);
    const auto rounded = [&](auto square_shift) HWY_ATTR {
        constexpr int kShift = decltype(square_shift)::value;
        const VU64 one = hn::Set(du64, uint64_t{1} << kShift);
        const auto term = [&](VU32 m) HWY_ATTR {
            const VU64 square = hn::ShiftRight<kShift>(hn::Add(hn::MulEven(m, m), one));
            return shift.right(hn::Add(hn::MulEven(hn::BitCast(du32, square), m), half));
        };
        sum_denominator(p, sums, load, [&](VU32 m) HWY_ATTR { return hn::Add(term(m), term(odd_to_even(m))); });
    };
    p.scale == 2 ? rounded(std::integral_constant<int, 30>()) : rounded(std::integral_constant<int, 31>());
}

// Cubes of excesses, rounded twice: adm_term(). 2^63 is added before the last shift and taken away from the sum, so that it may be a logical one.
template <int kSquareShift>
struct Cubes {
    VI64 half = hn::Set(DI64(), int64_t{1} << (kSquareShift - 1));
    Shift64 shift;
    VU64 start;

    explicit Cubes(uint32_t term_shift) : shift(term_shift), start(hn::Set(DU64(), (uint64_t{1} << 63) + (term_shift ? uint64_t{1} << (term_shift - 1) : 0))) {}

    HWY_INLINE VU64 of_even(VI32 x) const {
        const VI64 square = hn::BitCast(DI64(), hn::ShiftRight<kSquareShift>(hn::BitCast(DU64(), hn::Add(hn::MulEven(x, x), half))));
        const VI64 cube = hn::MulEven(hn::BitCast(DI32(), square), x);
        return shift.right(hn::Add(hn::BitCast(DU64(), cube), start));
    }
    HWY_INLINE VU64 of(VI32 x) const { return hn::Add(of_even(x), of_even(odd_to_even(x))); }
};

// `excesses(x, threshold, out)` gives what exceeds the threshold, by orientation.
template <int kSquareShift, int kSquareShiftDiagonal, class Excesses>
HWY_INLINE void sum_numerator(const AdmRowParameters& p, const AdmPlaneRow& masking, const int32_t* above, const int32_t* below, int32_t* scratch,
                              uint64_t sums[3], const Excesses& excesses) {
    const DI32 d32;
    const AdmRange columns{p.s.left, p.s.right};
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d32));
    // Sums of columns, one more on both sides.
    const uint32_t first = columns.begin == 0 ? 0 : columns.begin - 1, end = std::min(p.s.width, columns.end + 1);
    for_vectors({first, end}, [&](uint32_t x) HWY_ATTR {
        hn::StoreU(hn::Add(hn::Add(hn::LoadU(d32, above + x), hn::LoadU(d32, masking.neighbours + x)), hn::LoadU(d32, below + x)), d32, scratch + x);
    });
    if (columns.begin == 0) scratch[-1] = scratch[1];
    if (columns.end == p.s.width) scratch[columns.end] = scratch[columns.end - 1];

    const Cubes<kSquareShift> straight(p.s.term_shift[0]);
    const Cubes<kSquareShiftDiagonal> diagonal(p.s.term_shift[2]);
    VU64 sum_h = hn::Zero(DU64()), sum_v = sum_h, sum_d = sum_h;  // variables, not an array: they stay in registers
    uint64_t vectors = 0;
    for_vectors(columns, [&](uint32_t x) HWY_ATTR {
        const int32_t* s = scratch + x;
        const VI32 threshold = hn::Add(hn::Add(hn::LoadU(d32, s - 1), hn::LoadU(d32, s)), hn::Add(hn::LoadU(d32, s + 1), hn::LoadU(d32, masking.centres + x)));
        VI32 e[3];
        excesses(x, threshold, e);
        clear_outside(x, columns, e);
        if (hn::AllTrue(d32, hn::Eq(hn::Or(hn::Or(e[0], e[1]), e[2]), hn::Zero(d32)))) return;  // nothing exceeds: terms of 0
        ++vectors;
        sum_h = hn::Add(sum_h, straight.of(e[0]));
        sum_v = hn::Add(sum_v, straight.of(e[1]));
        sum_d = hn::Add(sum_d, diagonal.of(e[2]));
    });
    const uint64_t terms = vectors * lanes;
    sums[0] = total(sum_h) - (terms << (63 - p.s.term_shift[0]));
    sums[1] = total(sum_v) - (terms << (63 - p.s.term_shift[1]));
    sums[2] = total(sum_d) - (terms << (63 - p.s.term_shift[2]));
}

void Numerator(const AdmRowParameters& p, const AdmPlaneRow& measured, const AdmPlaneRow& masking, const int32_t* above, const int32_t* below,
               int32_t* scratch, uint64_t sums[3]) {
    const DI32 d32;
    const DU32 du32;
    const DU16 du16;
    const VI32 zero = hn::Zero(d32);
    if (p.scale == 0) {
        const VU16 w_hv = hn::BitCast(du16, hn::Set(du32, p.s.weight[0] | p.s.weight[1] << 16)), w_d = hn::BitCast(du16, hn::Set(du32, p.s.weight[2] << 16));
        return sum_numerator<29, 30>(p, masking, above, below, scratch, sums, [&](uint32_t x, VI32 threshold, VI32 out[3]) HWY_ATTR {
            const VU16 hv = hn::BitCast(du16, hn::LoadU(d32, measured.measured[0] + x)), d = hn::BitCast(du16, hn::LoadU(d32, measured.measured[1] + x));
            const VU32 lower_hv = hn::BitCast(du32, hn::Mul(hv, w_hv)), upper_hv = hn::BitCast(du32, hn::MulHigh(hv, w_hv));
            const VU32 lower_d = hn::BitCast(du32, hn::Mul(d, w_d)), upper_d = hn::BitCast(du32, hn::MulHigh(d, w_d));
            const auto join = [&](VU32 upper, VU32 lower) HWY_ATTR { return hn::BitCast(d32, hn::OddEven(hn::BitCast(du16, upper), hn::BitCast(du16, lower))); };
            const VI32 scaled = hn::ShiftLeft<10>(threshold);
            out[0] = hn::Max(hn::Sub(join(hn::ShiftLeft<16>(upper_hv), lower_hv), scaled), zero);
            out[1] = hn::Max(hn::Sub(join(upper_hv, hn::ShiftRight<16>(lower_hv)), scaled), zero);
            out[2] = hn::Max(hn::Sub(join(upper_d, hn::ShiftRight<16>(lower_d)), hn::ShiftLeft<2>(scaled)), zero);
        });
    }
    sum_numerator<30, 30>(p, masking, above, below, scratch, sums, [&](uint32_t x, VI32 threshold, VI32 out[3]) HWY_ATTR {
        for (int i = 0; i < 3; ++i) out[i] = hn::Max(hn::Sub(hn::LoadU(d32, measured.measured[i] + x), threshold), zero);
    });
}

}  // namespace
#endif  // HWY_TARGET

void SetAdmRows(AdmKernels& kernels) {
#if HWY_TARGET != HWY_SCALAR
    kernels.decouple = &Decouple;
    kernels.denominator = &Denominator;
    kernels.numerator = &Numerator;
#else
    static_cast<void>(kernels);  // the plain ones stay
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::cpu {

HWY_EXPORT(SetAdmRows);

AdmKernels adm_kernels(int64_t target) {
    AdmKernels kernels = plain_adm_kernels();
    for_target(HWY_DISPATCH_TABLE(SetAdmRows), target)(kernels);
    set_adm_transforms(target, kernels);
    return kernels;
}

}  // namespace exactvq::cpu
#endif
