// SPDX-License-Identifier: BSD-2-Clause
//
// A pair of frames in system memory on its way to a GPU: packed into pinned memory by many threads, uploaded by one copy.
#ifndef EXACTVQ_KERNELS_GPU_STAGING_H
#define EXACTVQ_KERNELS_GPU_STAGING_H

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/gpu/plan.h"

namespace exactvq::gpu {

// How the planes of one pair that are in system memory are packed: rows at multiples of 64 bytes, planes at multiples of 256. Interleaved chroma is packed once.
class StagingLayout {
public:
    // Bytes that hold every pair of this geometry, whatever the step of its samples.
    static size_t largest(const Geometry& geometry, const PlanesRead& read);

    StagingLayout() = default;
    // Of those planes that are read, and there. Pictures in shared buffers are left where they are.
    StagingLayout(const FramePair& pair, const Geometry& geometry, const PlanesRead& read);

    size_t bytes() const { return bytes_; }
    uint32_t stripes() const { return stripes_; }

    // Copies stripe i, some rows of one plane, to pinned memory at `to`, which is a multiple of 64. Any thread.
    void copy_stripe(uint32_t i, uint8_t* to) const;

    // The pair where the packed bytes lie at `at`.
    FramePair packed(uint64_t at) const;

private:
    struct Block {
        const uint8_t* from = nullptr;
        ptrdiff_t stride = 0;
        size_t row_bytes = 0, pitch = 0, offset = 0;
        uint32_t rows = 0, first_stripe = 0;
    };
    struct View {
        size_t offset = 0, pitch = 0;
    };

    View pack(const uint8_t* from, ptrdiff_t stride, size_t row_bytes, uint32_t rows);
    View pack(const PlaneView& view);
    static void place(PlaneView& view, const View& packed, uint64_t at);

    FramePair pair_{};
    std::array<Block, 8> blocks_{};
    uint32_t count_ = 0, stripes_ = 0;
    size_t bytes_ = 0;
    View view_[3][2];   // ref, main; those that are not read have no pitch
    View earlier_[2];
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_STAGING_H
