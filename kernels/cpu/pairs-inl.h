// SPDX-License-Identifier: BSD-2-Clause
//
// Vector types, and products of pairs of 16-bit values, that the loops of adm, vif and motion share. Included once for each Highway target.
#if defined(EXACTVQ_KERNELS_CPU_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EXACTVQ_KERNELS_CPU_PAIRS_INL_H
#undef EXACTVQ_KERNELS_CPU_PAIRS_INL_H
#else
#define EXACTVQ_KERNELS_CPU_PAIRS_INL_H
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DI32 = hn::ScalableTag<int32_t>;
using DU32 = hn::ScalableTag<uint32_t>;
using DF32 = hn::ScalableTag<float>;
using DI16 = hn::Repartition<int16_t, DI32>;
using DU16 = hn::Repartition<uint16_t, DI32>;
using DI64 = hn::Repartition<int64_t, DI32>;
using DU64 = hn::Repartition<uint64_t, DI32>;
using VI32 = hn::Vec<DI32>;
using VU32 = hn::Vec<DU32>;
using VF32 = hn::Vec<DF32>;
using VI16 = hn::Vec<DI16>;
using VU16 = hn::Vec<DU16>;
using VI64 = hn::Vec<DI64>;
using VU64 = hn::Vec<DU64>;

// Word by word: product of the lower halves plus product of the upper halves, plus `start`.
HWY_INLINE VI32 multiply_pairs(VI16 a, VI16 b, VI32 start) {
#if HWY_ARCH_X86
    VI32 unused = hn::Zero(DI32());
    return hn::ReorderWidenMulAccumulate(DI32(), a, b, start, unused);  // pmaddwd: pairs of neighbours here, not so elsewhere
#else
    const VI32 a32 = hn::BitCast(DI32(), a), b32 = hn::BitCast(DI32(), b);
    const VI32 upper = hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32));
    const VI32 lower = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a32)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b32)));
    return hn::Add(start, hn::Add(upper, lower));
#endif
}

// Halves of 32-bit words. join_halves: the upper half of the first, the lower half of the second.
HWY_INLINE VI16 join_halves(VI16 upper, VI16 lower) { return hn::OddEven(upper, lower); }
HWY_INLINE VI16 lower_to_upper(VI16 v) { return hn::BitCast(DI16(), hn::ShiftLeft<16>(hn::BitCast(DI32(), v))); }
HWY_INLINE VI16 upper_to_lower(VI16 v) { return hn::BitCast(DI16(), hn::ShiftRight<16>(hn::BitCast(DU32(), v))); }

}  // namespace
#endif  // HWY_TARGET
}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
