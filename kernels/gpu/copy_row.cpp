// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/gpu/copy_row.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gpu/copy_row.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace exactvq::gpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void CopyRow(uint8_t* to, const uint8_t* from, size_t bytes) {
    const hn::CappedTag<uint8_t, 64> d;
    const size_t lines = bytes / 64 * 64;
    for (size_t i = 0; i < lines; i += hn::Lanes(d)) hn::Stream(hn::LoadU(d, from + i), d, to + i);
    std::memcpy(to + lines, from + lines, bytes - lines);
}

}  // namespace exactvq::gpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exactvq::gpu {

HWY_EXPORT(CopyRow);

void copy_row(uint8_t* to, const uint8_t* from, size_t bytes) { HWY_DYNAMIC_DISPATCH(CopyRow)(to, from, bytes); }

void finish_copies() { hwy::FlushStream(); }

}  // namespace exactvq::gpu
#endif  // HWY_ONCE
