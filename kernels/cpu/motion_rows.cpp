// SPDX-License-Identifier: BSD-2-Clause
//
// Motion in SIMD. Differences and filtered values have up to 17 bits with their sign: those are split into v >> 1 and v & 1, each of which is filtered by sums
// of products of 16-bit values. With A and C the filtered parts, (2 A + C + 2^(n-1)) >> n is (A + ((C + 2^(n-1)) >> 1)) >> (n - 1).
#include "kernels/cpu/motion.h"

#include "kernels/common/motion.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/motion_rows.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "kernels/common/mirror.h"
#include "kernels/cpu/pairs-inl.h"
#include "kernels/cpu/samples-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR

MotionKernels MakeMotionKernels() { return plain_motion_kernels(); }

#else
namespace {

HWY_INLINE VI16 factors(int32_t first, int32_t second) { return hn::BitCast(DI16(), hn::Set(DI32(), first | second * 65536)); }

// Two vectors of columns, in the order in which interleaving 16-bit values makes them.
struct Interleaved {
    VI32 lower, upper;
};
HWY_INLINE Interleaved add_rows(Interleaved sum, VI16 a, VI16 b, VI16 taps) {
    return {multiply_pairs(hn::InterleaveLower(a, b), taps, sum.lower), multiply_pairs(hn::InterleaveUpper(DI16(), a, b), taps, sum.upper)};
}

// Five rows; `start` is added.
HWY_INLINE Interleaved filter_rows(const VI16 v[5], VI32 start) {
    Interleaved sum{start, start};
    sum = add_rows(sum, v[0], v[1], factors(kMotionFar, kMotionNear));
    sum = add_rows(sum, v[2], v[3], factors(kMotionMiddle, kMotionNear));
    return add_rows(sum, v[4], hn::Zero(DI16()), factors(kMotionFar, 0));
}

// Vertically filtered differences v of a row as v >> 1 and v & 1. kDepth: 8, 16, or 0 for those between. False if all are zero.
template <uint32_t kDepth>
HWY_INLINE bool vertical(const PlaneView& current, const PlaneView& earlier, uint32_t y, int16_t* halves, int16_t* ones) {
    const DI16 d16;
    const DU16 du16;
    const DI32 d32;
    constexpr uint32_t kBytes = kDepth == 8 ? 1 : 2;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    const SampleReader<kBytes> read_current(current.step, current.shift, current.depth, current.width), read_earlier(earlier.step, earlier.shift, earlier.depth, earlier.width);
    const uint8_t *current_rows[5], *earlier_rows[5];
    for (int32_t t = 0; t < 5; ++t) {
        const uint32_t row = mirrored(static_cast<int32_t>(y) + t - static_cast<int32_t>(kMotionHalf), current.height);
        current_rows[t] = current.row(row);
        earlier_rows[t] = earlier.row(row);
    }
    const int depth = static_cast<int>(current.depth);
    const VI16 one16 = hn::Set(d16, 1);
    const VI32 one32 = hn::Set(d32, 1), half = hn::Set(d32, 1 << (depth - 1));
    VI16 any = hn::Zero(d16);
    for (uint32_t x = 0; x < current.width; x += lanes) {
        VI16 v[5];
        Interleaved sum;
        if constexpr (kDepth == 16) {
            VI16 odd[5];
            for (int t = 0; t < 5; ++t) {
                const VU16 a = read_earlier(earlier_rows[t], x), b = read_current(current_rows[t], x);
                v[t] = hn::BitCast(d16, hn::Xor(hn::AverageRound(a, hn::Not(b)), hn::Set(du16, 0x8000)));  // (a - b) >> 1
                odd[t] = hn::And(hn::BitCast(d16, hn::Xor(a, b)), one16);
            }
            const Interleaved rest = filter_rows(odd, half);
            sum = filter_rows(v, hn::Zero(d32));
            sum = {hn::Add(sum.lower, hn::ShiftRight<1>(rest.lower)), hn::Add(sum.upper, hn::ShiftRight<1>(rest.upper))};
        } else {
            for (int t = 0; t < 5; ++t) v[t] = hn::BitCast(d16, hn::Sub(read_earlier(earlier_rows[t], x), read_current(current_rows[t], x)));
            if constexpr (kDepth == 8) {  // sums of two differences fit 16 bits, and so does the rounding
                sum = add_rows({hn::Zero(d32), hn::Zero(d32)}, hn::Add(v[0], v[4]), hn::Add(v[1], v[3]), factors(kMotionFar, kMotionNear));
                sum = add_rows(sum, v[2], one16, factors(kMotionMiddle, 128));
            } else {
                sum = filter_rows(v, half);
            }
        }
        const auto shifted = [&](VI32 s, int more) HWY_ATTR {
            if constexpr (kDepth == 8) return more ? hn::ShiftRight<9>(s) : hn::ShiftRight<8>(s);
            if constexpr (kDepth == 16) return more ? hn::ShiftRight<16>(s) : hn::ShiftRight<15>(s);
            return hn::ShiftRightSame(s, depth + more);
        };
        const VI16 h = hn::ReorderDemote2To(d16, shifted(sum.lower, 1), shifted(sum.upper, 1));
        const VI16 o = hn::ReorderDemote2To(d16, hn::And(shifted(sum.lower, 0), one32), hn::And(shifted(sum.upper, 0), one32));
        any = hn::Or(any, hn::Or(h, o));
        hn::Store(h, d16, halves + x);
        hn::Store(o, d16, ones + x);
    }
    return !hn::AllTrue(d16, hn::Eq(any, hn::Zero(d16)));
}

// Columns outside the picture.
void mirror(int16_t* row, uint32_t width) {
    for (uint32_t i = 1; i <= kMotionHalf; ++i) {
        *(row - i) = row[i];
        row[width - 1 + i] = row[width - 1 - i];
    }
}

// Even and odd columns.
struct Columns {
    VI32 even, odd;
};
HWY_INLINE Columns filter_columns(const int16_t* p, VI32 start) {
    const DI16 d16;
    const VI16 a = hn::LoadU(d16, p - 2), b = hn::LoadU(d16, p), c = hn::LoadU(d16, p + 2);
    return {multiply_pairs(a, factors(kMotionFar, kMotionNear), multiply_pairs(b, factors(kMotionMiddle, kMotionNear), multiply_pairs(c, factors(kMotionFar, 0), start))),
            multiply_pairs(a, factors(0, kMotionFar), multiply_pairs(b, factors(kMotionNear, kMotionMiddle), multiply_pairs(c, factors(kMotionNear, kMotionFar), start)))};
}

uint64_t horizontal(const int16_t* halves, const int16_t* ones, uint32_t width) {
    const DI32 d32;
    const DU64 du64;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(DI16()));
    const VI32 half = hn::Set(d32, 32768);
    VI32 even = hn::Zero(d32), odd = even;  // less than 2^32 in each lane of a row
    const auto magnitude = [](VI32 a, VI32 c) HWY_ATTR { return hn::Abs(hn::ShiftRight<15>(hn::Add(a, hn::ShiftRight<1>(c)))); };
    uint32_t x = 0;
    for (; x < width; x += lanes) {
        const Columns a = filter_columns(halves + x, hn::Zero(d32)), c = filter_columns(ones + x, half);
        VI32 e = magnitude(a.even, c.even), o = magnitude(a.odd, c.odd);
        if (HWY_UNLIKELY(width - x < lanes)) {
            e = hn::IfThenElseZero(hn::FirstN(d32, (width - x + 1) / 2), e);
            o = hn::IfThenElseZero(hn::FirstN(d32, (width - x) / 2), o);
        }
        even = hn::Add(even, e);
        odd = hn::Add(odd, o);
    }
    const auto widen = [&](VI32 v) HWY_ATTR {
        const VU64 pairs = hn::BitCast(du64, v);
        return hn::Add(hn::And(pairs, hn::Set(du64, 0xffffffffu)), hn::ShiftRight<32>(pairs));
    };
    return hn::GetLane(hn::SumOfLanes(du64, hn::Add(widen(even), widen(odd))));
}

template <uint32_t kDepth>
uint64_t sum_rows(const PlaneView& current, const PlaneView& earlier, uint32_t y0, uint32_t y1, int16_t* scratch) {
    int16_t *halves = scratch + kMotionMargin, *ones = halves + motion_row(current.width);
    uint64_t sum = 0;
    for (uint32_t y = y0; y < y1; ++y) {
        if (!vertical<kDepth>(current, earlier, y, halves, ones)) continue;
        mirror(halves, current.width);
        mirror(ones, current.width);
        sum += horizontal(halves, ones, current.width);
    }
    return sum;
}

uint64_t Sum(const PlaneView& current, const PlaneView& earlier, uint32_t y0, uint32_t y1, int16_t* scratch) {
    const auto function = current.depth == 8 ? &sum_rows<8> : current.depth == 16 ? &sum_rows<16> : &sum_rows<0>;
    return function(current, earlier, y0, y1, scratch);
}

}  // namespace

MotionKernels MakeMotionKernels() { return {&Sum}; }

#endif  // HWY_TARGET

}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::cpu {

HWY_EXPORT(MakeMotionKernels);

MotionKernels motion_kernels(int64_t target) {
    return for_target(HWY_DISPATCH_TABLE(MakeMotionKernels), target)();
}

}  // namespace exactvq::cpu
#endif
