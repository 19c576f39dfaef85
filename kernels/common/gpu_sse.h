// SPDX-License-Identifier: BSD-2-Clause
//
// Squared differences on GPUs. Exact sums are integers: blocks leave theirs, and the host adds them up in any order. float_psnr's sum, where it can leave 2^53
// units, rounds with every addition from there on: rows are summed first, then one block adds them in raster order.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_SSE_H
#define EXACTVQ_KERNELS_COMMON_GPU_SSE_H

#include "kernels/common/gpu_mark.h"
#include "kernels/common/ordered_sum.h"
#include "kernels/common/sse.h"

namespace exactvq::gpu {

// The share that one of `lanes` threads has in the sum of a row.
template <bool kRounded>
class SseRow {
public:
    EXACTVQ_DEVICE static uint64_t share(const PlanePair& pair, uint32_t y, uint32_t lane, uint32_t lanes) {
        const uint32_t width = pair.ref.width;
        uint64_t sum = 0;
        uint32_t x = 0;
        if (aligned(pair.ref) && aligned(pair.main)) {
            const uint32_t samples = 16 / pair.ref.word_bytes(), whole = width / samples;
            const Words *ref = reinterpret_cast<const Words*>(pair.ref.row(y)), *main = reinterpret_cast<const Words*>(pair.main.row(y));
            constexpr uint32_t kAhead = 4;  // loads on their way at once
            for (uint32_t i = lane; i < whole; i += kAhead * lanes) {
                Words r[kAhead] = {}, m[kAhead] = {};
                EXACTVQ_UNROLL
                for (uint32_t n = 0; n < kAhead; ++n) {
                    if (i + n * lanes >= whole) continue;
                    r[n] = ref[i + n * lanes];
                    m[n] = main[i + n * lanes];
                }
                EXACTVQ_UNROLL
                for (uint32_t n = 0; n < kAhead; ++n) sum += words_sum(pair, r[n], m[n]);
            }
            x = whole * samples;
        }
        for (x += lane; x < width; x += lanes) sum += term(load_sample(pair.ref, x, y), load_sample(pair.main, x, y));
        return sum;
    }

    EXACTVQ_DEVICE static uint32_t term(uint32_t ref, uint32_t main) {
        return kRounded ? rounded_squared_difference(ref, main) : squared_difference(ref, main);
    }

private:
    struct alignas(16) Words {
        uint32_t at[4];
    };

    EXACTVQ_DEVICE static bool aligned(const PlaneView& view) {
        return ((reinterpret_cast<uintptr_t>(view.data) | static_cast<uintptr_t>(view.stride)) & 15) == 0 && view.step == view.word_bytes();
    }

    EXACTVQ_DEVICE static uint64_t words_sum(const PlanePair& pair, const Words& r, const Words& m) {
        if (pair.ref.depth == 8) {
            uint32_t squares = 0, products = 0;  // modulo 2^32, like their difference
            for (uint32_t k = 0; k < 4; ++k) {
                squares = dot4(m.at[k], m.at[k], dot4(r.at[k], r.at[k], squares));
                products = dot4(r.at[k], m.at[k], products);
            }
            return squares - 2 * products;
        }
        uint64_t sum = 0;
        for (uint32_t k = 0; k < 4; ++k) {
            sum += term((r.at[k] & 0xffff) >> pair.ref.shift, (m.at[k] & 0xffff) >> pair.main.shift);
            sum += term(r.at[k] >> 16 >> pair.ref.shift, m.at[k] >> 16 >> pair.main.shift);
        }
        return sum;
    }
};

struct SsePlane {
    PlanePair pair;
    uint64_t* sums;  // of its blocks
    uint32_t first_block, blocks;
};

// Up to three planes; one wave a row.
struct SseKernel {
    struct Arguments {
        SsePlane plane[3];  // those that are not there have no blocks, and a first block beyond all
        Mark mark;
    };
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        uint64_t partial[kThreads / P::kWave];
    };

    // Of a plane of this height.
    static uint32_t blocks(uint32_t height) { return divide_up(height, 8); }

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t p = (P::block_x() >= a.plane[1].first_block) + (P::block_x() >= a.plane[2].first_block);
        const SsePlane& plane = a.plane[p];
        const uint32_t block = P::block_x() - plane.first_block, height = plane.pair.ref.height;
        const uint32_t each = divide_up(height, plane.blocks), begin = block * each, end = begin + each < height ? begin + each : height;
        uint64_t sum = 0;
        for (uint32_t y = begin + P::thread() / P::kWave; y < end; y += kThreads / P::kWave) sum += SseRow<false>::share(plane.pair, y, P::thread() % P::kWave, P::kWave);
        sum = block_sum<P, kThreads>(sum, s.partial);
        if (is_planted(Planted::kFloatSums)) sum = static_cast<uint64_t>(static_cast<float>(sum));
        if (is_planted(Planted::kReliesOnClear)) sum += plane.sums[block];
        if (P::thread() == 0) plane.sums[block] = sum;
        leave<P>(a.mark);
    }
};

// One wave a row: the sum of each row, of float_psnr's terms.
struct RoundedSseRowsKernel {
    struct Arguments {
        PlanePair pair;
        uint64_t* sums;
        Mark mark;
    };
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {};

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>&) {
        for (uint32_t y = P::block_x() * (kThreads / P::kWave) + P::thread() / P::kWave; y < a.pair.ref.height; y += P::blocks_x() * (kThreads / P::kWave)) {
            const uint64_t sum = wave_sum<P>(SseRow<true>::share(a.pair, y, P::thread() % P::kWave, P::kWave));
            if (P::thread() % P::kWave == 0) a.sums[y] = sum;
        }
        leave<P>(a.mark);
    }
};

// One block: the rows' sums added up, in order where additions round (spec: psnr.md 5.6).
struct RoundedSseSumKernel {
    struct Arguments {
        PlanePair pair;  // read again from the row on in which the sum leaves 2^53
        const uint64_t* sums;
        uint64_t* word;  // bits of a binary64
        Mark mark;
    };
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        static constexpr uint32_t kRows = kThreads / P::kWave;
        uint64_t partial[kRows];
        DoubleOrderedSumMap map[kRows];
        double sum;
        uint32_t row;  // first that is not in it
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t height = a.pair.ref.height;
        uint64_t total = 0;
        for (uint32_t y = P::thread(); y < height; y += kThreads) total += a.sums[y];
        total = block_sum<P, kThreads>(total, s.partial);
        if (P::thread() == 0) {
            uint64_t exact = total;
            uint32_t y = height;
            if (total > kExactDoubleSum)
                for (exact = 0, y = 0; exact + a.sums[y] <= kExactDoubleSum; ++y) exact += a.sums[y];
            s.sum = static_cast<double>(exact);
            s.row = y;
        }
        P::sync();
        while (s.row < height) add_rows<P>(a, s);
        if (P::thread() == 0) *a.word = double_bits(s.sum);
        leave<P>(a.mark);
    }

private:
    // Adds the next rows, one a wave. A row in which the sum leaves its binade is added term by term, and the maps of those after it are worth nothing.
    template <class P>
    EXACTVQ_DEVICE static void add_rows(const Arguments& a, Shared<P>& s) {
        const uint32_t first = s.row, left = a.pair.ref.height - first, rows = left < Shared<P>::kRows ? left : Shared<P>::kRows, wave = P::thread() / P::kWave;
        if (wave < rows) {
            const DoubleOrderedSumMap map = row_map<P>(a.pair, first + wave, s.sum);
            if (P::thread() % P::kWave == 0) s.map[wave] = map;
        }
        P::sync();
        if (P::thread() == 0) {
            double sum = s.sum;
            uint32_t i = 0;
            while (i < rows && has_binade(sum) && apply_ordered_sum_map(sum, s.map[i])) ++i;
            if (i < rows) {
                for (uint32_t x = 0; x < a.pair.ref.width; ++x) sum = sum + term(a.pair, x, first + i);
                ++i;
            }
            s.sum = sum;
            s.row = first + i;
        }
        P::sync();
    }

    // The map of a row in the binade of `sum`, composed of those of the lanes' stretches; valid in the wave's first thread.
    template <class P>
    EXACTVQ_DEVICE static DoubleOrderedSumMap row_map(const PlanePair& pair, uint32_t y, double sum) {
        const uint32_t lane = P::thread() % P::kWave, width = pair.ref.width, each = divide_up(width, P::kWave);
        const uint32_t end = (lane + 1) * each < width ? (lane + 1) * each : width;
        OrderedSumRun<double> run(sum);
        for (uint32_t x = lane * each; x < end; ++x) run.add(term(pair, x, y));
        DoubleOrderedSumMap map = run.map();
        for (uint32_t n = 1; n < P::kWave; n *= 2) {
            const DoubleOrderedSumMap next = {P::shuffle_down(map.even, n), P::shuffle_down(map.odd, n)};
            map = compose(map, next);  // worth something in lanes that are multiples of 2 * n
        }
        return map;
    }

    EXACTVQ_DEVICE static double term(const PlanePair& pair, uint32_t x, uint32_t y) {
        return static_cast<double>(SseRow<true>::term(load_sample(pair.ref, x, y), load_sample(pair.main, x, y)));
    }
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_SSE_H
