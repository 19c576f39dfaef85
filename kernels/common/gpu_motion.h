// SPDX-License-Identifier: BSD-2-Clause
//
// Motion on GPUs: a block filters the columns of a tile's difference into shared memory, then its rows. The host adds the blocks' sums.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_MOTION_H
#define EXACTVQ_KERNELS_COMMON_GPU_MOTION_H

#include <type_traits>

#include "kernels/common/gpu_mark.h"
#include "kernels/common/motion.h"

namespace exactvq::gpu {

inline constexpr uint32_t kMotionColumns = 112, kMotionRows = 32;  // of a tile
inline constexpr uint32_t kMotionRun = 16;      // rows of a column that a thread filters
inline constexpr uint32_t kMotionStretch = 14;  // columns of a row that a thread filters

struct MotionArguments {
    PlanePair pair;  // the reference now (ref) and earlier (main)
    uint64_t* sums;  // of blocks
    Mark mark;
};

template <bool kBytes>
struct MotionBody {
    using Arguments = MotionArguments;
    static constexpr uint32_t kThreads = kMotionRows * (kMotionColumns / kMotionStretch);
    static constexpr uint32_t kBlocks = kBytes ? 4 : 3;
    static constexpr uint32_t kInputs = kMotionColumns + 2 * kMotionHalf;  // columns of the vertical pass
    static constexpr uint32_t kPitch = kInputs | 1;                        // a wave's rows lie in different banks
    static_assert(kMotionColumns % kMotionStretch == 0 && kMotionRows % kMotionRun == 0 && kMotionRows == 32);

    template <class P>
    struct Shared {
        int32_t filtered[kMotionRows][kPitch];
        uint32_t partial[kThreads / P::kWave];
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t x0 = P::block_x() * kMotionColumns, y0 = P::block_y() * kMotionRows, width = a.pair.ref.width, height = a.pair.ref.height;
        for (uint32_t i = P::thread(); i < kInputs * (kMotionRows / kMotionRun); i += kThreads)
            filter_column<P>(a.pair, s, i % kInputs, i / kInputs * kMotionRun, x0, y0);
        P::sync();
        const uint32_t row = P::thread() % kMotionRows, first = P::thread() / kMotionRows * kMotionStretch;
        int32_t window[kMotionStretch + 2 * kMotionHalf];
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kMotionStretch + 2 * kMotionHalf; ++i) window[i] = s.filtered[row][first + i];
        uint32_t sum = 0;  // of a block at most 2^28
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kMotionStretch; ++i) {
            const int32_t v = shifted(motion_filter(window + i), 16);
            if (y0 + row < height && x0 + first + i < width) sum += static_cast<uint32_t>(v < 0 ? -v : v);
        }
        sum = block_sum<P, kThreads>(sum, s.partial);
        if (P::thread() == 0) a.sums[P::block_y() * P::blocks_x() + P::block_x()] = sum;
        leave<P>(a.mark);
    }

private:
    static constexpr uint32_t kWindow = kMotionRun + 2 * kMotionHalf;  // rows that a thread's rows are filtered from
    using Sum = std::conditional_t<kBytes, int32_t, int64_t>;  // of the vertical pass

    template <class T>
    EXACTVQ_DEVICE static int32_t shifted(T sum, uint32_t shift) {
        const T rounded = sum + (T{1} << (shift - 1));
        if (is_planted(Planted::kMotionTowardsZero)) return static_cast<int32_t>(rounded / (T{1} << shift));
        return static_cast<int32_t>(rounded >> shift);
    }

    // Rows `first` and on of the tile, of column `column` of the vertical pass.
    template <class P>
    EXACTVQ_DEVICE static void filter_column(const PlanePair& pair, Shared<P>& s, uint32_t column, uint32_t first, uint32_t x0, uint32_t y0) {
        const uint32_t x = reflect(static_cast<int32_t>(x0 + column - kMotionHalf), pair.ref.width);
        const int32_t y = static_cast<int32_t>(y0 + first - kMotionHalf);
        int32_t difference[kWindow];
        if (y0 >= kMotionHalf && y0 + kMotionRows + kMotionHalf <= pair.ref.height) load<true>(pair, x, y, difference);  // the same for all threads
        else load<false>(pair, x, y, difference);
        EXACTVQ_UNROLL
        for (uint32_t r = 0; r < kMotionRun; ++r) s.filtered[first + r][column] = shifted(motion_filter<Sum>(difference + r), kBytes ? 8 : pair.ref.depth);
    }

    // Rows y and on of column x. kInside: all are inside the picture.
    template <bool kInside>
    EXACTVQ_DEVICE static void load(const PlanePair& pair, uint32_t x, int32_t y, int32_t (&difference)[kWindow]) {
        Column<kBytes> now(pair.ref, x), earlier(pair.main, x);
        if (kInside) {
            now.skip(y);
            earlier.skip(y);
        }
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kWindow; ++i) {
            const uint32_t row = kInside ? i : reflect(y + static_cast<int32_t>(i), pair.ref.height);
            difference[i] = static_cast<int32_t>(earlier[row]) - static_cast<int32_t>(now[row]);
            if (is_planted(Planted::kMotionSign)) difference[i] = -difference[i];
        }
    }
};

using MotionKernel = MotionBody<true>;       // 8 bits
using DeepMotionKernel = MotionBody<false>;  // 9 to 16

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_MOTION_H
