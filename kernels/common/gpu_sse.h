// SPDX-License-Identifier: BSD-2-Clause
//
// Squared differences on GPUs: sums of rows, then their sum. Integers, so that any order gives the same bits; float_psnr's sum beyond 2^53 units is added in
// raster order by one thread.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_SSE_H
#define EXACTVQ_KERNELS_COMMON_GPU_SSE_H

#include "kernels/common/gpu_mark.h"
#include "kernels/common/sse.h"

namespace exactvq::gpu {

// One wave a row. Sums: of each row if rounded, else of the rows of each block.
template <bool kRounded>
struct SseRows {
    struct Arguments {
        PlanePair pair;
        uint64_t* sums;
        Mark mark;
    };
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        uint64_t partial[kThreads / P::kWave];
    };

    // Rows of a block.
    static constexpr uint32_t rows(uint32_t wave) { return kThreads / wave; }

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t each = divide_up(a.pair.ref.height, P::blocks_x()), begin = P::block_x() * each, lane = P::thread() % P::kWave;
        const uint32_t end = begin + each < a.pair.ref.height ? begin + each : a.pair.ref.height;
        uint64_t sum = 0;
        for (uint32_t y = begin + P::thread() / P::kWave; y < end; y += rows(P::kWave)) {
            const uint64_t share = row_sum(a.pair, y, lane, P::kWave);
            if constexpr (kRounded) {
                const uint64_t row = wave_sum<P>(share);
                if (lane == 0) a.sums[y] = row;
            }
            sum += share;
        }
        if constexpr (!kRounded) {
            sum = block_sum<P, kThreads>(sum, s.partial);
            if (is_planted(Planted::kFloatSums)) sum = static_cast<uint64_t>(static_cast<float>(sum));
            if (P::thread() == 0) a.sums[P::block_x()] = sum;
        }
        leave<P>(a.mark);
    }

private:
    struct alignas(16) Words {
        uint32_t at[4];
    };

    EXACTVQ_DEVICE static bool aligned(const PlaneView& view) {
        return ((reinterpret_cast<uintptr_t>(view.data) | static_cast<uintptr_t>(view.stride)) & 15) == 0 && view.step == view.word_bytes();
    }

    // The share of one lane.
    EXACTVQ_DEVICE static uint64_t row_sum(const PlanePair& pair, uint32_t y, uint32_t lane, uint32_t lanes) {
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

    EXACTVQ_DEVICE static uint32_t term(uint32_t ref, uint32_t main) {
        return kRounded ? rounded_squared_difference(ref, main) : squared_difference(ref, main);
    }
};
using SseRowsKernel = SseRows<false>;
using RoundedSseRowsKernel = SseRows<true>;

// One block: the sum of all sums; rounded ones are those of rows.
struct SseSumKernel {
    struct Arguments {
        const uint64_t* sums;
        uint32_t count;
        uint32_t rounded;  // the word is the binary64 sum's bits
        PlanePair pair;    // rounded: read again from the row on in which the sum leaves 2^53
        uint64_t* word;
        Mark mark;
    };
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        uint64_t partial[kThreads / P::kWave];
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        uint64_t sum = 0;
        for (uint32_t i = P::thread(); i < a.count; i += kThreads) sum += a.sums[i];
        sum = block_sum<P, kThreads>(sum, s.partial);
        if (is_planted(Planted::kReliesOnClear)) sum += *a.word;
        if (P::thread() == 0) *a.word = !a.rounded ? sum : sum <= kExactDoubleSum ? double_bits(static_cast<double>(sum)) : double_bits(in_order(a));
        leave<P>(a.mark);
    }

private:
    EXACTVQ_DEVICE static double in_order(const Arguments& a) {
        uint64_t exact = 0;
        uint32_t y = 0;
        while (y < a.count && exact + a.sums[y] <= kExactDoubleSum) exact += a.sums[y++];
        double sum = static_cast<double>(exact);
        for (; y < a.count; ++y)
            for (uint32_t x = 0; x < a.pair.ref.width; ++x)
                sum = sum + static_cast<double>(rounded_squared_difference(load_sample(a.pair.ref, x, y), load_sample(a.pair.main, x, y)));
        return sum;
    }
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_SSE_H
