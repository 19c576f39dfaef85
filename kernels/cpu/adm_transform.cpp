// SPDX-License-Identifier: BSD-2-Clause
//
// ADM's wavelet transform in SIMD: all products are of 16-bit values, summed in pairs to 32 bits (pmaddwd). Rows of two taps lie in pairs for the vertical
// pass, columns lie in pairs by themselves for the horizontal one. 32-bit values are split into an upper half and a lower half less 32768: with
// A and B the filtered halves, the filtered value is 2^16 A + B + 2^15 sum(filter), which is shifted term by term without a carry.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/adm.h"
#include "kernels/cpu/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/adm_transform.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "kernels/cpu/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace {

// Four taps as factors of two pairs of 16-bit values.
struct Filter {
    VI16 first, second;

    explicit Filter(const int32_t* taps) : first(pair(taps[0], taps[1])), second(pair(taps[2], taps[3])) {}

private:
    static VI16 pair(int32_t a, int32_t b) { return hn::BitCast(DI16(), hn::Set(DI32(), adm_i32((a & 0xffff) | int64_t{b} * 65536))); }
};

HWY_INLINE VI32 apply(const Filter& f, VI16 first, VI16 second, VI32 start) { return multiply_pairs(first, f.first, multiply_pairs(second, f.second, start)); }

// Rows of two taps: pairs of the even columns, and of the odd ones.
struct RowPairs {
    VI16 even, odd;
};
HWY_INLINE RowPairs pair_rows(VI16 a, VI16 b) { return {join_halves(lower_to_upper(b), a), join_halves(b, upper_to_lower(a))}; }

// ---- vertical, scale 0 -----------------------------------------------------------------------------------------------

// Shifts known at compile time are a cheaper instruction. kDepth 0: any depth.
template <uint32_t kDepth>
struct DepthShift {
    uint32_t depth;

    HWY_INLINE VI16 narrow(VI32 even, VI32 odd) const {
        if constexpr (kDepth != 0) return join_halves(hn::BitCast(DI16(), hn::ShiftLeft<16 - kDepth>(odd)), hn::BitCast(DI16(), hn::ShiftRight<kDepth>(even)));
        return join_halves(hn::BitCast(DI16(), hn::ShiftLeftSame(odd, static_cast<int>(16 - depth))),
                           hn::BitCast(DI16(), hn::ShiftRightSame(even, static_cast<int>(depth))));
    }
};

HWY_INLINE VI16 load_samples(const uint8_t* p, uint32_t, std::integral_constant<uint32_t, 1>) {
    const hn::Rebind<uint8_t, DI16> d8;
    return hn::PromoteTo(DI16(), hn::LoadU(d8, p));
}
// Less 32768, so that 16 bits are enough.
HWY_INLINE VI16 load_samples(const uint8_t* p, uint32_t shift, std::integral_constant<uint32_t, 2>) {
    const hn::Repartition<uint8_t, DI16> d8;
    const hn::RebindToUnsigned<DI16> du16;
    const auto word = hn::ShiftRightSame(hn::BitCast(du16, hn::LoadU(d8, p)), static_cast<int>(shift));
    return hn::BitCast(DI16(), hn::Xor(word, hn::Set(du16, 0x8000)));
}

template <uint32_t kBytes, uint32_t kDepth, bool kDetail>
void vertical0(const uint8_t* const rows[4], uint32_t depth, uint32_t shift, AdmRange columns, int16_t* low, int16_t* high) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const Filter low_pass(kAdmLow), high_pass(kAdmHigh);
    const DepthShift<kDepth> narrow{depth};
    // Mid-grey is taken away and half a step added for the rounding. 32-bit sums wrap, complete values fit.
    const int64_t offset = kBytes == 1 ? 0 : 32768, half = int64_t{1} << (depth - 1);
    const VI32 low_start = hn::Set(d32, adm_i32(kAdmLowSum * (offset - half) + half)), high_start = hn::Set(d32, adm_i32(half));
    const std::integral_constant<uint32_t, kBytes> bytes;
    const auto step = [&](const uint8_t* a, const uint8_t* b, const uint8_t* c, const uint8_t* d, uint32_t x) HWY_ATTR {
        const RowPairs first = pair_rows(load_samples(a, shift, bytes), load_samples(b, shift, bytes));
        const RowPairs second = pair_rows(load_samples(c, shift, bytes), load_samples(d, shift, bytes));
        hn::StoreU(narrow.narrow(apply(low_pass, first.even, second.even, low_start), apply(low_pass, first.odd, second.odd, low_start)), d16, low + x);
        if constexpr (kDetail)
            hn::StoreU(narrow.narrow(apply(high_pass, first.even, second.even, high_start), apply(high_pass, first.odd, second.odd, high_start)), d16, high + x);
    };
    uint32_t x = columns.begin;
    for (; columns.end - x >= lanes; x += lanes) {
        const size_t at = size_t{x} * kBytes;
        step(rows[0] + at, rows[1] + at, rows[2] + at, rows[3] + at, x);
    }
    if (x == columns.end) return;
    uint8_t rest[4][2 * HWY_MAX_BYTES] = {};  // pictures may end with their last sample
    for (int t = 0; t < 4; ++t) std::memcpy(rest[t], rows[t] + size_t{x} * kBytes, size_t{columns.end - x} * kBytes);
    step(rest[0], rest[1], rest[2], rest[3], x);
}

// ---- vertical, scales 1 to 3 -----------------------------------------------------------------------------------------

// Stores 32-bit values of consecutive columns as two rows of halves.
HWY_INLINE void store_split(VI32 first, VI32 second, int16_t* const row[2], uint32_t x) {
    const DI16 d16;
    const VI16 a = hn::BitCast(d16, first), b = hn::BitCast(d16, second);
    hn::StoreU(hn::ConcatOdd(d16, b, a), d16, row[0] + x);
    hn::StoreU(hn::Xor(hn::ConcatEven(d16, b, a), hn::Set(d16, INT16_MIN)), d16, row[1] + x);
}

// Scale 1: the lower halves of four rows of pairs; the filtered values are exact in 32 bits.
template <bool kDetail>
void vertical1(const int32_t* const rows[4], AdmRange columns, const AdmFiltered& out) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d32));
    const Filter low_pass(kAdmLow), high_pass(kAdmHigh);
    const VI32 zero = hn::Zero(d32);
    const auto load = [&](int t, uint32_t x) HWY_ATTR { return hn::BitCast(d16, hn::LoadU(d32, rows[t] + x)); };
    const auto pair = [&](int t, uint32_t x) HWY_ATTR { return join_halves(lower_to_upper(load(t + 1, x)), load(t, x)); };
    for (uint32_t x = columns.begin; x < columns.end; x += 2 * lanes) {
        const VI16 first0 = pair(0, x), second0 = pair(2, x), first1 = pair(0, x + lanes), second1 = pair(2, x + lanes);
        store_split(apply(low_pass, first0, second0, zero), apply(low_pass, first1, second1, zero), out.low, x);
        if constexpr (kDetail) store_split(apply(high_pass, first0, second0, zero), apply(high_pass, first1, second1, zero), out.high, x);
    }
}

// 2^16 A + B + 2^15 sum, rounded and shifted by kShift. `sum` is that of the filter.
template <int kShift>
HWY_INLINE VI32 shift_halves(VI32 upper, VI32 lower, int32_t sum) {
    const VI32 result = hn::Add(hn::ShiftLeft<16 - kShift>(upper), hn::ShiftRight<kShift>(lower));  // `lower` has the rounding already
    return sum ? hn::Add(result, hn::Set(DI32(), sum >> (kShift - 15))) : result;
}

// Scales 2 and 3.
template <bool kDetail>
void vertical2(const int32_t* const rows[4], AdmRange columns, const AdmFiltered& out) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d32));
    const Filter low_pass(kAdmLow), high_pass(kAdmHigh);
    const VI32 zero = hn::Zero(d32), half = hn::Set(d32, 32768);
    const VI16 sign = hn::Set(d16, INT16_MIN);
    const auto step = [&](uint32_t x, VI32& low, VI32& high) HWY_ATTR {
        VI16 s[4];
        for (int t = 0; t < 4; ++t) s[t] = hn::BitCast(d16, hn::LoadU(d32, rows[t] + x));
        const VI16 upper01 = join_halves(s[1], upper_to_lower(s[0])), upper23 = join_halves(s[3], upper_to_lower(s[2]));
        const VI16 lower01 = hn::Xor(join_halves(lower_to_upper(s[1]), s[0]), sign), lower23 = hn::Xor(join_halves(lower_to_upper(s[3]), s[2]), sign);
        low = shift_halves<16>(apply(low_pass, upper01, upper23, zero), apply(low_pass, lower01, lower23, half), kAdmLowSum);
        high = shift_halves<16>(apply(high_pass, upper01, upper23, zero), apply(high_pass, lower01, lower23, half), 0);
    };
    for (uint32_t x = columns.begin; x < columns.end; x += 2 * lanes) {
        VI32 low0, low1, high0, high1;
        step(x, low0, high0);
        step(x + lanes, low1, high1);
        store_split(low0, low1, out.low, x);
        if constexpr (kDetail) store_split(high0, high1, out.high, x);
    }
}

// ---- horizontal ------------------------------------------------------------------------------------------------------

// Columns outside the picture.
void mirror(int16_t* row, AdmRange columns, uint32_t width) {
    if (columns.begin == 0) row[-1] = row[1];
    if (columns.end == width) {
        row[width] = row[width - 1];
        row[width + 1] = row[width - 2];
    }
}

template <bool kDetail>
void horizontal0(const int16_t* low, const int16_t* high, AdmRange columns, const AdmBandRow& out) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d32));
    const Filter low_pass(kAdmLow), high_pass(kAdmHigh);
    const VI32 half = hn::Set(d32, 32768);
    for (uint32_t x = columns.begin; x < columns.end; x += lanes) {
        const ptrdiff_t at = 2 * static_cast<ptrdiff_t>(x);
        const VI16 low01 = hn::LoadU(d16, low + at - 1), low23 = hn::LoadU(d16, low + at + 1);
        const auto value = [&](const Filter& f, VI16 a, VI16 b) HWY_ATTR { return hn::BitCast(d16, apply(f, a, b, half)); };  // the upper half of each
        const VI16 a = value(low_pass, low01, low23);
        if constexpr (!kDetail) {
            hn::StoreU(hn::BitCast(d32, upper_to_lower(a)), d32, out.a + x);
            continue;
        }
        const VI16 high01 = hn::LoadU(d16, high + at - 1), high23 = hn::LoadU(d16, high + at + 1);
        const VI16 v = value(high_pass, low01, low23);
        const VI16 h = value(low_pass, high01, high23), d = value(high_pass, high01, high23);
        hn::StoreU(hn::BitCast(d32, join_halves(d, upper_to_lower(a))), d32, out.a + x);
        hn::StoreU(hn::BitCast(d32, join_halves(v, upper_to_lower(h))), d32, out.h + x);
    }
}

template <int kShift, bool kDetail>
void horizontal(const AdmFiltered& in, AdmRange columns, const AdmBandRow& out) {
    const DI16 d16;
    const DI32 d32;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d32));
    const Filter low_pass(kAdmLow), high_pass(kAdmHigh);
    const VI32 zero = hn::Zero(d32), half = hn::Set(d32, 1 << (kShift - 1));
    for (uint32_t x = columns.begin; x < columns.end; x += lanes) {
        const ptrdiff_t at = 2 * static_cast<ptrdiff_t>(x);
        const auto pass = [&](int16_t* const row[2], int32_t* low_out, int32_t* high_out) HWY_ATTR {
            const VI16 upper01 = hn::LoadU(d16, row[0] + at - 1), upper23 = hn::LoadU(d16, row[0] + at + 1);
            const VI16 lower01 = hn::LoadU(d16, row[1] + at - 1), lower23 = hn::LoadU(d16, row[1] + at + 1);
            hn::StoreU(shift_halves<kShift>(apply(low_pass, upper01, upper23, zero), apply(low_pass, lower01, lower23, half), kAdmLowSum), d32, low_out + x);
            if constexpr (kDetail)
                hn::StoreU(shift_halves<kShift>(apply(high_pass, upper01, upper23, zero), apply(high_pass, lower01, lower23, half), 0), d32, high_out + x);
        };
        pass(in.low, out.a, out.v);
        if constexpr (kDetail) pass(in.high, out.h, out.d);
    }
}

// ---- entry points ----------------------------------------------------------------------------------------------------

template <bool kDetail>
void transform0(const PlaneView& plane, const uint32_t rows[4], AdmRange inputs, AdmRange outputs, const AdmFiltered& filtered, const AdmBandRow& out) {
    const uint32_t bytes = plane.word_bytes();
    const uint8_t* pointers[4];
    for (int t = 0; t < 4; ++t) pointers[t] = plane.row(rows[t]);
    int16_t *low = filtered.low[0], *high = filtered.high[0];
    if (plane.step != bytes) {  // samples of a plane between those of another: brought together in pieces
        constexpr uint32_t kPiece = 1024;
        for (uint32_t x = inputs.begin; x < inputs.end; x += kPiece) {
            const uint32_t count = std::min(kPiece, inputs.end - x);
            alignas(64) uint16_t pieces[4][kPiece];
            const uint8_t* piece_rows[4];
            for (int t = 0; t < 4; ++t) {
                for (uint32_t i = 0; i < count; ++i) pieces[t][i] = static_cast<uint16_t>(plane.sample(x + i, rows[t]));
                piece_rows[t] = reinterpret_cast<const uint8_t*>(pieces[t]);
            }
            vertical0<2, 0, kDetail>(piece_rows, plane.depth, 0, {0, count}, low + x, high + x);
        }
    } else if (bytes == 1) {
        vertical0<1, 8, kDetail>(pointers, 8, 0, inputs, low, high);
    } else if (plane.depth == 10) {
        vertical0<2, 10, kDetail>(pointers, 10, plane.shift, inputs, low, high);
    } else {
        vertical0<2, 0, kDetail>(pointers, plane.depth, plane.shift, inputs, low, high);
    }
    mirror(low, inputs, plane.width);
    if constexpr (kDetail) mirror(high, inputs, plane.width);
    horizontal0<kDetail>(low, high, outputs, out);
}

void Transform0(const PlaneView& plane, const uint32_t rows[4], AdmRange inputs, AdmRange outputs, const AdmFiltered& filtered, const AdmBandRow& out) {
    out.h ? transform0<true>(plane, rows, inputs, outputs, filtered, out) : transform0<false>(plane, rows, inputs, outputs, filtered, out);
}

template <bool kDetail>
void transform(uint32_t scale, const int32_t* const rows[4], AdmRange inputs, uint32_t width, AdmRange outputs, const AdmFiltered& filtered,
               const AdmBandRow& out) {
    scale == 1 ? vertical1<kDetail>(rows, inputs, filtered) : vertical2<kDetail>(rows, inputs, filtered);
    for (int k = 0; k < 2; ++k) {
        mirror(filtered.low[k], inputs, width);
        if constexpr (kDetail) mirror(filtered.high[k], inputs, width);
    }
    scale == 2 ? horizontal<16, kDetail>(filtered, outputs, out) : horizontal<15, kDetail>(filtered, outputs, out);
}

void Transform(uint32_t scale, const int32_t* const rows[4], AdmRange inputs, uint32_t width, AdmRange outputs, const AdmFiltered& filtered,
               const AdmBandRow& out) {
    out.h ? transform<true>(scale, rows, inputs, width, outputs, filtered, out) : transform<false>(scale, rows, inputs, width, outputs, filtered, out);
}

}  // namespace
#endif  // HWY_TARGET

void SetAdmTransforms(AdmKernels& kernels) {
#if HWY_TARGET != HWY_SCALAR
    kernels.transform0 = &Transform0;
    kernels.transform = &Transform;
#else
    static_cast<void>(kernels);  // the plain ones stay
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::cpu {

HWY_EXPORT(SetAdmTransforms);

void set_adm_transforms(int64_t target, AdmKernels& kernels) {
    for_target(HWY_DISPATCH_TABLE(SetAdmTransforms), target)(kernels);
}

}  // namespace exactvq::cpu
#endif
