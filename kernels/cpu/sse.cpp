// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/sse.h"

#include <algorithm>

#include "kernels/common/sse.h"
#include "kernels/cpu/dispatch.h"
#include "kernels/cpu/plain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/sse.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR

SseKernels MakeSseKernels() { return plain_sse_kernels(); }

#else
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DU8 = hn::ScalableTag<uint8_t>;
using DU16 = hn::ScalableTag<uint16_t>;
using DU32 = hn::ScalableTag<uint32_t>;
using DU64 = hn::ScalableTag<uint64_t>;
using DF32 = hn::ScalableTag<float>;
using DF64 = hn::ScalableTag<double>;
using VU16 = hn::Vec<DU16>;
using VU32 = hn::Vec<DU32>;
using VU64 = hn::Vec<DU64>;

// Adds the 32-bit lanes of `sum32` to the 64-bit lanes of `sum64`.
HWY_INLINE VU64 widen_add(VU64 sum64, VU32 sum32) {
    const DU64 d64;
    const VU64 pairs = hn::BitCast(d64, sum32);
    return hn::Add(sum64, hn::Add(hn::And(pairs, hn::Set(d64, 0xffffffffu)), hn::ShiftRight<32>(pairs)));
}

// |a - b| of unsigned lanes.
template <class V>
HWY_INLINE V abs_difference(V a, V b) {
    return hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a));
}

// Pairwise sums of squares of 16-bit lanes, all below 2^15.
HWY_INLINE VU32 square_pairs(VU16 d) {
    const hn::RepartitionToWide<hn::ScalableTag<int16_t>> di32;
    const hn::ScalableTag<int16_t> di16;
    auto odd = hn::Zero(di32);
    const auto v = hn::BitCast(di16, d);
    const auto even = hn::ReorderWidenMulAccumulate(di32, v, v, hn::Zero(di32), odd);
    return hn::BitCast(DU32(), hn::Add(even, odd));
}

uint64_t row_sse8(const uint8_t* a, const uint8_t* b, uint32_t width) {
    const DU8 d8;
    const DU32 d32;
    const DU64 d64;
    const size_t lanes = hn::Lanes(d8);
    // One step adds at most 4 * 255^2 to a 32-bit lane; 2^14 steps stay below 2^32.
    constexpr uint32_t kSteps = 1u << 14;
    VU64 total = hn::Zero(d64);
    uint32_t x = 0;
    while (width - x >= lanes) {
        VU32 sum = hn::Zero(d32);
        for (uint32_t n = 0; n < kSteps && width - x >= lanes; ++n, x += static_cast<uint32_t>(lanes)) {
            const auto d = abs_difference(hn::LoadU(d8, a + x), hn::LoadU(d8, b + x));
            const auto zero = hn::Zero(d8);
            sum = hn::Add(sum, square_pairs(hn::BitCast(DU16(), hn::InterleaveLower(d8, d, zero))));
            sum = hn::Add(sum, square_pairs(hn::BitCast(DU16(), hn::InterleaveUpper(d8, d, zero))));
        }
        total = widen_add(total, sum);
    }
    uint64_t result = hn::GetLane(hn::SumOfLanes(d64, total));
    for (; x < width; ++x) result += squared_difference(a[x], b[x]);
    return result;
}

// Largest difference for which kSteps16 steps of square_pairs() stay below 2^32: that of 12-bit samples.
constexpr uint16_t kSmallDifference = 4095;
constexpr uint32_t kSteps16 = 64;

// Words at p, shifted down to sample values.
HWY_INLINE VU16 load16(const uint8_t* p, int shift) {
    return hn::ShiftRightSame(hn::BitCast(DU16(), hn::LoadU(DU8(), p)), shift);
}

uint16_t sample16(const uint8_t* p, uint32_t shift) {
    uint16_t word;
    memcpy(&word, p, sizeof word);
    return static_cast<uint16_t>(word >> shift);
}

uint64_t row_sse16(const uint8_t* a, const uint8_t* b, uint32_t width, uint32_t shift_a, uint32_t shift_b) {
    const DU16 d16;
    const DU32 d32;
    const DU64 d64;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    VU64 total = hn::Zero(d64);
    uint32_t x = 0;
    while (width - x >= lanes) {
        const uint32_t start = x, end = x + std::min(kSteps16, (width - x) / lanes) * lanes;
        VU32 sum = hn::Zero(d32);
        VU16 largest = hn::Zero(d16);
        for (; x < end; x += lanes) {
            const VU16 d = abs_difference(load16(a + 2 * size_t{x}, static_cast<int>(shift_a)), load16(b + 2 * size_t{x}, static_cast<int>(shift_b)));
            largest = hn::Max(largest, d);
            sum = hn::Add(sum, square_pairs(d));
        }
        if (HWY_LIKELY(hn::AllTrue(d16, hn::Eq(hn::SaturatedSub(largest, hn::Set(d16, kSmallDifference)), hn::Zero(d16))))) {
            total = widen_add(total, sum);
            continue;
        }
        for (x = start; x < end; x += lanes) {  // any 16-bit difference: squares fill 32 bits
            const VU16 d = abs_difference(load16(a + 2 * size_t{x}, static_cast<int>(shift_a)), load16(b + 2 * size_t{x}, static_cast<int>(shift_b)));
            const VU32 lower = hn::BitCast(d32, hn::InterleaveLower(d16, d, hn::Zero(d16)));
            const VU32 upper = hn::BitCast(d32, hn::InterleaveUpper(d16, d, hn::Zero(d16)));
            total = widen_add(widen_add(total, hn::Mul(lower, lower)), hn::Mul(upper, upper));
        }
    }
    uint64_t result = hn::GetLane(hn::SumOfLanes(d64, total));
    for (; x < width; ++x) result += squared_difference(sample16(a + 2 * size_t{x}, shift_a), sample16(b + 2 * size_t{x}, shift_b));
    return result;
}

// Sums in binary64: exact, because the range holds less than 2^53 units.
uint64_t row_rounded_sse16(const uint8_t* a, const uint8_t* b, uint32_t width, uint32_t shift_a, uint32_t shift_b) {
    const DU16 d16;
    const hn::RebindToSigned<DU32> di32;
    const DF32 df32;
    const DF64 df64;
    const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(d16));
    auto sum0 = hn::Zero(df64), sum1 = hn::Zero(df64);
    uint32_t x = 0;
    for (; width - x >= lanes; x += lanes) {
        const VU16 d = abs_difference(load16(a + 2 * size_t{x}, static_cast<int>(shift_a)), load16(b + 2 * size_t{x}, static_cast<int>(shift_b)));
        for (const auto half : {hn::InterleaveLower(d16, d, hn::Zero(d16)), hn::InterleaveUpper(d16, d, hn::Zero(d16))}) {
            const auto f = hn::ConvertTo(df32, hn::BitCast(di32, half));
            const auto t = hn::Mul(f, f);  // rounds to 24 bits as float_psnr does
            sum0 = hn::Add(sum0, hn::PromoteTo(df64, hn::LowerHalf(t)));
            sum1 = hn::Add(sum1, hn::PromoteTo(df64, hn::UpperHalf(hn::Half<DF32>(), t)));
        }
    }
    uint64_t result = static_cast<uint64_t>(hn::GetLane(hn::SumOfLanes(df64, hn::Add(sum0, sum1))));
    for (; x < width; ++x) result += rounded_squared_difference(sample16(a + 2 * size_t{x}, shift_a), sample16(b + 2 * size_t{x}, shift_b));
    return result;
}

// Semi-planar chroma: rows of every second sample are brought together in pieces that stay in the cache.
constexpr uint32_t kPiece = 2048;

template <class Word>
void gather(const uint8_t* p, uint32_t step, uint32_t count, uint8_t* out) {
    for (uint32_t x = 0; x < count; ++x) memcpy(out + sizeof(Word) * x, p + size_t{step} * x, sizeof(Word));
}

template <class RowFunction>
uint64_t sum_rows(const PlanePair& pair, uint32_t y0, uint32_t y1, RowFunction&& row_sum) {
    const uint32_t bytes = pair.ref.word_bytes(), width = pair.ref.width;
    const bool planar = pair.ref.step == bytes && pair.main.step == bytes;
    uint64_t sum = 0;
    for (uint32_t y = y0; y < y1; ++y) {
        const uint8_t *a = pair.ref.row(y), *b = pair.main.row(y);
        if (planar) {
            sum += row_sum(a, b, width);
            continue;
        }
        alignas(64) uint8_t piece[2][2 * kPiece];
        const uint8_t* source[2] = {a, b};
        const uint32_t step[2] = {pair.ref.step, pair.main.step};
        for (uint32_t x = 0; x < width; x += kPiece) {
            const uint32_t count = std::min(kPiece, width - x);
            const uint8_t* samples[2];
            for (int i = 0; i < 2; ++i) {
                samples[i] = source[i] + size_t{step[i]} * x;
                if (step[i] == bytes) continue;
                bytes == 1 ? gather<uint8_t>(samples[i], step[i], count, piece[i]) : gather<uint16_t>(samples[i], step[i], count, piece[i]);
                samples[i] = piece[i];
            }
            sum += row_sum(samples[0], samples[1], count);
        }
    }
    return sum;
}

uint64_t Sse(const PlanePair& pair, uint32_t y0, uint32_t y1) {
    if (pair.ref.depth == 8) return sum_rows(pair, y0, y1, row_sse8);
    return sum_rows(pair, y0, y1, [&pair](const uint8_t* a, const uint8_t* b, uint32_t width) {
        return row_sse16(a, b, width, pair.ref.shift, pair.main.shift);
    });
}

uint64_t RoundedSse(const PlanePair& pair, uint32_t y0, uint32_t y1) {
    if (pair.ref.depth == 8) return sum_rows(pair, y0, y1, row_sse8);  // 8-bit squares never round
    return sum_rows(pair, y0, y1, [&pair](const uint8_t* a, const uint8_t* b, uint32_t width) {
        return row_rounded_sse16(a, b, width, pair.ref.shift, pair.main.shift);
    });
}

}  // namespace

SseKernels MakeSseKernels() { return {&Sse, &RoundedSse}; }

#endif  // HWY_TARGET

}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::cpu {

HWY_EXPORT(MakeSseKernels);

SseKernels sse_kernels(int64_t target) {
    return for_target(HWY_DISPATCH_TABLE(MakeSseKernels), target)();
}

}  // namespace exactvq::cpu
#endif
