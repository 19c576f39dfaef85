// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/gpu/staging.h"

#include <algorithm>

#include "kernels/gpu/copy_row.h"

namespace exactvq::gpu {
namespace {

constexpr uint32_t kStripe = 64;  // rows
constexpr size_t kRowAlignment = 64, kPlaneAlignment = 256;

size_t round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }

// Whether the samples of two planes alternate in the same rows, as in NV12.
bool interleaved(const PlaneView& a, const PlaneView& b) {
    const ptrdiff_t word = a.word_bytes(), apart = reinterpret_cast<intptr_t>(b.data) - reinterpret_cast<intptr_t>(a.data);
    return (apart == word || apart == -word) && a.stride == b.stride && a.step == b.step && a.step == 2 * a.word_bytes();
}

constexpr PlaneView PlanePair::* kPictures[] = {&PlanePair::ref, &PlanePair::main};

size_t row_bytes(const PlaneView& view) { return size_t{view.width - 1} * view.step + view.word_bytes(); }

}  // namespace

size_t StagingLayout::largest(const Geometry& geometry, const PlanesRead& read) {
    size_t bytes = 0;
    for (uint32_t p = 0; p < geometry.planes; ++p) {
        const size_t row = size_t{geometry.plane[p].width} * (geometry.depth > 8 ? 4 : 2);  // interleaved
        uint32_t pictures = read.pair[p] ? 2 : 0;
        if (p == 0 && (read.earlier[0] || read.earlier[1])) pictures = std::max(pictures, 1u) + read.earlier[0] + read.earlier[1];
        bytes += pictures * round_up(round_up(row, kRowAlignment) * geometry.plane[p].height, kPlaneAlignment);
    }
    return bytes;
}

StagingLayout::StagingLayout(const FramePair& pair, const Geometry& geometry, const PlanesRead& read) : pair_(pair) {
    for (uint32_t picture = 0; picture < 2 && !pair.motion_only; ++picture) {
        for (uint32_t p = 0; p < geometry.planes; ++p) {
            if (!read.pair[p] || pair.shared[picture]) continue;
            const PlaneView& view = pair.plane[p].*kPictures[picture];
            if (p == 1 && read.pair[2] && interleaved(view, pair.plane[2].*kPictures[picture])) {
                const PlaneView& other = pair.plane[2].*kPictures[picture];
                const uint8_t* first = std::min(view.data, other.data);
                const View both = pack(first, view.stride, row_bytes(view) + view.word_bytes(), view.height);
                view_[1][picture] = {both.offset + static_cast<size_t>(view.data - first), both.pitch};
                view_[2][picture] = {both.offset + static_cast<size_t>(other.data - first), both.pitch};
                break;
            }
            view_[p][picture] = pack(view);
        }
    }
    for (uint32_t i = 0; i < 2; ++i) {
        if (!read.earlier[i] || !pair.earlier[i].luma.data) continue;
        if (view_[0][0].pitch == 0 && !pair.shared[0]) view_[0][0] = pack(pair.plane[0].ref);
        if (!pair.earlier[i].shared) earlier_[i] = pack(pair.earlier[i].luma);
    }
}

StagingLayout::View StagingLayout::pack(const PlaneView& view) { return pack(view.data, view.stride, row_bytes(view), view.height); }

StagingLayout::View StagingLayout::pack(const uint8_t* from, ptrdiff_t stride, size_t row_bytes, uint32_t rows) {
    Block& block = blocks_[count_++];
    block = {from, stride, row_bytes, round_up(row_bytes, kRowAlignment), bytes_, rows, stripes_};
    bytes_ += round_up(block.pitch * rows, kPlaneAlignment);
    stripes_ += divide_up(rows, kStripe);
    return {block.offset, block.pitch};
}

void StagingLayout::copy_stripe(uint32_t i, uint8_t* to) const {
    uint32_t b = count_ - 1;
    while (i < blocks_[b].first_stripe) --b;
    const Block& block = blocks_[b];
    const uint32_t first = (i - block.first_stripe) * kStripe, end = std::min(block.rows, first + kStripe);
    for (uint32_t y = first; y < end; ++y) copy_row(to + block.offset + block.pitch * y, block.from + static_cast<ptrdiff_t>(y) * block.stride, block.row_bytes);
    finish_copies();
}

void StagingLayout::place(PlaneView& view, const View& packed, uint64_t at) {
    if (packed.pitch == 0) return;  // not read
    view.data = reinterpret_cast<const uint8_t*>(at + packed.offset);
    view.stride = static_cast<ptrdiff_t>(packed.pitch);
}

FramePair StagingLayout::packed(uint64_t at) const {
    FramePair pair = pair_;
    for (uint32_t p = 0; p < 3; ++p)
        for (uint32_t picture = 0; picture < 2; ++picture) place(pair.plane[p].*kPictures[picture], view_[p][picture], at);
    for (uint32_t i = 0; i < 2; ++i) place(pair.earlier[i].luma, earlier_[i], at);
    return pair;
}

}  // namespace exactvq::gpu
