// SPDX-License-Identifier: BSD-2-Clause
//
// Samples of a row as 16-bit lanes, however they lie. Included once for each Highway target.
#if defined(EXACTVQ_KERNELS_CPU_SAMPLES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EXACTVQ_KERNELS_CPU_SAMPLES_INL_H
#undef EXACTVQ_KERNELS_CPU_SAMPLES_INL_H
#else
#define EXACTVQ_KERNELS_CPU_SAMPLES_INL_H
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/cpu/pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exactvq::cpu {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace {

// Samples of one byte or two. Rows may be read as far as `readable` samples; those of a vector that are beyond are 0.
template <uint32_t kBytes>
class SampleReader {
public:
    SampleReader(uint32_t step, uint32_t shift, uint32_t depth, uint32_t readable)
        : shift_(static_cast<int>(shift)), largest_((1u << depth) - 1), step_(step), readable_(readable), whole_(0) {
        const uint32_t lanes = static_cast<uint32_t>(hn::Lanes(DU16()));
        if (step == kBytes && readable >= lanes) whole_ = readable - lanes + 1;
    }

    HWY_INLINE VU16 operator()(const uint8_t* row, uint32_t x) const {
        return HWY_LIKELY(x < whole_) ? words(row + size_t{x} * kBytes) : piece(row, x);
    }

private:
    HWY_INLINE VU16 words(const uint8_t* p) const {
        if constexpr (kBytes == 1) {
            return hn::PromoteTo(DU16(), hn::LoadU(hn::Rebind<uint8_t, DU16>(), p));
        } else {
            const VU16 samples = hn::ShiftRightSame(hn::BitCast(DU16(), hn::LoadU(hn::Repartition<uint8_t, DU16>(), p)), shift_);
            return hn::And(samples, hn::Set(DU16(), static_cast<uint16_t>(largest_)));  // as PlaneView::clean_sample()
        }
    }
    // Pictures may end with their last sample, and other samples may lie between those of a plane.
    HWY_NOINLINE VU16 piece(const uint8_t* row, uint32_t x) const {
        alignas(64) uint8_t bytes[HWY_MAX_BYTES] = {};
        const uint32_t count = x < readable_ ? std::min(static_cast<uint32_t>(hn::Lanes(DU16())), readable_ - x) : 0;
        for (uint32_t i = 0; i < count; ++i) memcpy(bytes + i * kBytes, row + size_t{x + i} * step_, kBytes);
        return words(bytes);
    }

    int shift_;
    uint32_t largest_, step_, readable_;
    uint32_t whole_;  // columns at which vectors may begin that are loaded at once
};

}  // namespace
#endif  // HWY_TARGET
}  // namespace HWY_NAMESPACE
}  // namespace exactvq::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
