// SPDX-License-Identifier: BSD-2-Clause
//
// psnr_hvs on GPUs. Terms never leave the device, and their sum is the sequential one (ordered_sum.h):
//
//   PsnrHvsTermsKernel    one thread a block of 8x8: its 64 terms, their sum as a forecast, and the forecast's sum over the tile of 128 blocks
//   PsnrHvsForecastKernel what the sum will have come to before each tile, about
//   PsnrHvsMapsKernel     for each block, maps for the binade that its forecast is in, and a second one near the end of a binade; for 64 blocks one after
//                         the other ("span") the composition of their maps
//   PsnrHvsSumKernel      one wave a plane goes through the spans, a wave of them at once; where a map is missing or leaves its binade, through the blocks of
//                         the span; where that fails, through the terms of the block
//
// A wrong forecast costs time, never a bit: a map is applied only in its own binade, and only if it stays there.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_PSNR_HVS_H
#define EXACTVQ_KERNELS_COMMON_GPU_PSNR_HVS_H

#include "kernels/common/gpu_mark.h"
#include "kernels/common/ordered_sum.h"
#include "kernels/common/psnr_hvs.h"

namespace exactvq::gpu {

inline constexpr uint32_t kPsnrHvsTile = 128;  // blocks of a tile
inline constexpr uint32_t kPsnrHvsSpan = 64;   // blocks of a span

// Maps of a run of terms for up to two binades; exponent bits of the binade, 0: none, kAnyBinade in the first: all terms are 0, which changes no sum, not even one of 0.
inline constexpr uint32_t kAnyBinade = 1;
struct PsnrHvsMaps {
    uint32_t exponent[2];
    OrderedSumMap map[2];
};

struct PsnrHvsPlane {
    PlanePair pair;
    float w[kPsnrHvsTerms], k[kPsnrHvsTerms];
    uint32_t columns, blocks, tiles, spans;
    uint32_t first_tile;   // of all planes' tiles
    uint32_t mask;         // PsnrHvsMask
    float* terms;          // term i of block b: [(b / 32) * 2048 + i * 32 + b % 32]
    float* block_sums;
    double* tile_sums;     // then what comes before each tile
    PsnrHvsMaps *block_maps, *span_maps;
    uint64_t* word;
};

struct PsnrHvsArguments {
    PsnrHvsPlane plane[3];
    uint32_t planes;
    Mark mark;
};

EXACTVQ_HD size_t psnr_hvs_term_at(uint32_t block, uint32_t term) { return static_cast<size_t>(block / 32) * 2048 + term * 32 + block % 32; }

// The plane of a tile of all planes'.
EXACTVQ_HD const PsnrHvsPlane& psnr_hvs_plane_of(const PsnrHvsArguments& a, uint32_t tile) {
    uint32_t p = 0;
    while (p + 1 < a.planes && tile >= a.plane[p + 1].first_tile) ++p;
    return a.plane[p];
}

struct PsnrHvsTermsKernel {
    using Arguments = PsnrHvsArguments;
    static constexpr uint32_t kThreads = kPsnrHvsTile;
    static constexpr uint32_t kBlocks = 4;
    template <class P>
    struct Shared {
        double partial[kThreads];
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const PsnrHvsPlane& plane = psnr_hvs_plane_of(a, P::block_x());
        const uint32_t tile = P::block_x() - plane.first_tile, block = tile * kPsnrHvsTile + P::thread();
        float sum = 0.0f;
        if (block < plane.blocks) {
            const uint32_t x = block % plane.columns * kPsnrHvsStep, y = block / plane.columns * kPsnrHvsStep;
            const PsnrHvsMask mask = static_cast<PsnrHvsMask>(plane.mask);
            int32_t ref[64], main[64];
            const float ref_threshold = prepare(plane, plane.pair.ref, x, y, mask, ref), main_threshold = prepare(plane, plane.pair.main, x, y, mask, main);
            const float T = main_threshold > ref_threshold ? main_threshold : ref_threshold;
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kPsnrHvsTerms; ++i) {
                const float term = psnr_hvs_term(ref[i], main[i], T, i == 0, plane.k[i], plane.w[i]);
                plane.terms[psnr_hvs_term_at(block, i)] = term;
                sum = sum + term;
            }
            plane.block_sums[block] = sum;
        }
        s.partial[P::thread()] = static_cast<double>(sum);
        P::sync();
        for (uint32_t n = kThreads / 2; n > 0; n /= 2) {
            if (P::thread() < n) s.partial[P::thread()] = s.partial[P::thread()] + s.partial[P::thread() + n];
            P::sync();
        }
        if (P::thread() == 0) plane.tile_sums[tile] = s.partial[0];
        leave<P>(a.mark);
    }

private:
    // Loads and transforms a block; its masking threshold.
    EXACTVQ_DEVICE static float prepare(const PsnrHvsPlane& plane, const PlaneView& view, uint32_t x, uint32_t y, PsnrHvsMask mask, int32_t (&block)[64]) {
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < 64; ++i) block[i] = static_cast<int32_t>(load_sample(view, x + i % 8, y + i / 8));
        const float ratio = psnr_hvs_variance_ratio(block);
        psnr_hvs_dct8x8(block);
        return psnr_hvs_threshold(psnr_hvs_energy(block, plane.k), ratio, mask);
    }
};

// One block a plane.
struct PsnrHvsForecastKernel {
    using Arguments = PsnrHvsArguments;
    static constexpr uint32_t kThreads = 256;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        double partial[kThreads];
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const PsnrHvsPlane& plane = a.plane[P::block_x()];
        const uint32_t each = divide_up(plane.tiles, kThreads), begin = P::thread() * each, end = begin + each < plane.tiles ? begin + each : plane.tiles;
        double sum = 0.0;
        for (uint32_t i = begin; i < end; ++i) sum = sum + plane.tile_sums[i];
        s.partial[P::thread()] = sum;
        P::sync();
        double before = 0.0;
        for (uint32_t i = 0; i < P::thread(); ++i) before = before + s.partial[i];
        for (uint32_t i = begin; i < end; ++i) {
            const double tile = plane.tile_sums[i];
            plane.tile_sums[i] = before;
            before = before + tile;
        }
        leave<P>(a.mark);
    }
};

struct PsnrHvsMapsKernel {
    using Arguments = PsnrHvsArguments;
    static constexpr uint32_t kThreads = kPsnrHvsTile;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        double before[kThreads];
        PsnrHvsMaps maps[kThreads];
        OrderedSumMap run[2][kThreads];
        uint32_t whole[2][kThreads];  // every block of the run has a map for the span's binade
        uint32_t empty[kThreads];     // every block of the run adds nothing
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const PsnrHvsPlane& plane = psnr_hvs_plane_of(a, P::block_x());
        const uint32_t t = P::thread(), tile = P::block_x() - plane.first_tile, block = tile * kPsnrHvsTile + t;
        const bool inside = block < plane.blocks;
        // What comes before this block in its tile.
        const double own = inside ? static_cast<double>(plane.block_sums[block]) : 0.0;
        bool empty = true;  // also behind the last block: nothing is added
        s.before[t] = own;
        P::sync();
        for (uint32_t n = 1; n < kThreads; n *= 2) {
            const double add = t >= n ? s.before[t - n] : 0.0;
            P::sync();
            s.before[t] = s.before[t] + add;
            P::sync();
        }
        const double forecast = plane.tile_sums[tile] + (s.before[t] - own);

        PsnrHvsMaps maps = {};
        if (inside) {
            // The sequential sum runs a little below the exact one.
            const uint32_t low = float_bits(static_cast<float>(forecast * (1.0 - 1.0 / 64))) & kFloatExponent;
            const uint32_t high = float_bits(static_cast<float>((forecast + own) * (1.0 + 1.0 / 1024))) & kFloatExponent;
            maps.exponent[0] = low == kFloatExponent ? 0 : low;
            maps.exponent[1] = high == kFloatExponent || high == low ? 0 : high;
            float even[2], odd[2];
            uint32_t any = 0;
            for (uint32_t c = 0; c < 2; ++c) {
                even[c] = float_from_bits(maps.exponent[c]);
                odd[c] = float_from_bits(maps.exponent[c] | 1);
            }
            for (uint32_t i = 0; i < kPsnrHvsTerms; ++i) {
                const float term = plane.terms[psnr_hvs_term_at(block, i)];
                any |= float_bits(term);
                for (uint32_t c = 0; c < 2; ++c) {
                    even[c] = even[c] + term;
                    odd[c] = odd[c] + term;
                }
            }
            for (uint32_t c = 0; c < 2; ++c) maps.map[c] = {float_bits(even[c]) - maps.exponent[c], float_bits(odd[c]) - (maps.exponent[c] | 1)};
            empty = any == 0;
            plane.block_maps[block] = empty ? PsnrHvsMaps{{kAnyBinade, 0}, {}} : maps;
        }
        s.maps[t] = maps;
        P::sync();

        // Binades of the span: the first of its first block, the last of its last.
        const uint32_t first = t / kPsnrHvsSpan * kPsnrHvsSpan;
        const uint32_t left = plane.blocks > tile * kPsnrHvsTile + first ? plane.blocks - (tile * kPsnrHvsTile + first) : 0;
        const uint32_t last = first + (left < kPsnrHvsSpan ? (left ? left - 1 : 0) : kPsnrHvsSpan - 1);
        uint32_t exponent[2] = {s.maps[first].exponent[0], s.maps[last].exponent[1] ? s.maps[last].exponent[1] : s.maps[last].exponent[0]};
        if (exponent[1] == exponent[0]) exponent[1] = 0;
        for (uint32_t c = 0; c < 2; ++c) {
            const uint32_t which = maps.exponent[0] == exponent[c] ? 0 : 1;
            s.run[c][t] = empty ? OrderedSumMap{0, 0} : maps.map[which];
            s.whole[c][t] = exponent[c] != 0 && (empty || maps.exponent[which] == exponent[c]);
        }
        s.empty[t] = empty;
        P::sync();
        for (uint32_t n = 1; n < kPsnrHvsSpan; n *= 2) {
            if (t % (2 * n) == 0) {
                for (uint32_t c = 0; c < 2; ++c) {
                    s.run[c][t] = compose(s.run[c][t], s.run[c][t + n]);
                    s.whole[c][t] = s.whole[c][t] && s.whole[c][t + n];
                }
                s.empty[t] = s.empty[t] && s.empty[t + n];
            }
            P::sync();
        }
        if (t == first && left) {
            PsnrHvsMaps& out = plane.span_maps[tile * (kPsnrHvsTile / kPsnrHvsSpan) + first / kPsnrHvsSpan];
            for (uint32_t c = 0; c < 2; ++c) {
                out.exponent[c] = s.whole[c][t] ? exponent[c] : 0;
                out.map[c] = s.run[c][t];
            }
            if (s.empty[t]) out = {{kAnyBinade, 0}, {}};
        }
        leave<P>(a.mark);
    }
};

// One block a plane, of which one wave works.
struct PsnrHvsSumKernel {
    using Arguments = PsnrHvsArguments;
    static constexpr uint32_t kThreads = 64;
    static constexpr uint32_t kBlocks = 1;
    template <class P>
    struct Shared {
        uint32_t unused;
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>&) {
        const PsnrHvsPlane& plane = a.plane[P::block_x()];
        if (P::thread() < P::kWave) {
            float sum = 0.0f;
            PsnrHvsMaps next = load<P>(plane.span_maps, 0, plane.spans);
            for (uint32_t first = 0; first < plane.spans; first += P::kWave) {
                const PsnrHvsMaps own = next;
                next = load<P>(plane.span_maps, first + P::kWave, plane.spans);  // arrives while this wave of spans is added
                const uint32_t count = plane.spans - first < P::kWave ? plane.spans - first : P::kWave;
                for (uint32_t i = advance<P>(sum, own, 0, count); i < count; i = advance<P>(sum, own, i + 1, count)) add_span<P>(sum, plane, first + i);
            }
            if (is_planted(Planted::kBlockSums)) {
                sum = 0.0f;
                for (uint32_t i = 0; i < plane.blocks; ++i) sum = sum + plane.block_sums[i];
            }
            if (P::thread() == 0) *plane.word = float_bits(sum);
        }
        leave<P>(a.mark);
    }

private:
    // The maps of run first + lane.
    template <class P>
    EXACTVQ_DEVICE static PsnrHvsMaps load(const PsnrHvsMaps* maps, uint32_t first, uint32_t end) {
        return first + P::thread() < end ? maps[first + P::thread()] : PsnrHvsMaps{};
    }

    // Adds runs from lane `i` on, of the first `count` lanes, while they have maps that stay in the binade of the sum. The lane of the one that is not added.
    template <class P>
    EXACTVQ_DEVICE static uint32_t advance(float& sum, const PsnrHvsMaps& own, uint32_t i, uint32_t count) {
        if (i >= count) return count;
        const uint32_t lane = P::thread(), exponent = float_bits(sum) & kFloatExponent;
        OrderedSumMap map = {0, 0};
        if (lane >= i && lane < count) {
            const bool known = has_binade(sum);
            if (own.exponent[0] == kAnyBinade) map = {0, 0};
            else if (known && own.exponent[0] == exponent) map = own.map[0];
            else if (known && own.exponent[1] == exponent) map = own.map[1];
            else map = {kFloatMantissa + 1, kFloatMantissa + 1};  // as if it left the binade
        }
        for (uint32_t n = 1; n < P::kWave; n *= 2) {
            const OrderedSumMap before = {P::shuffle(map.even, lane < n ? lane : lane - n), P::shuffle(map.odd, lane < n ? lane : lane - n)};
            // compose() without its saturation: increments of a wave add to less than 2^32, and one that left the binade never comes back into it.
            if (lane >= n) map = {before.even + (before.even & 1 ? map.odd : map.even), before.odd + (before.odd & 1 ? map.even : map.odd)};
        }
        float result = sum;
        const bool failed = !apply_ordered_sum_map(result, map);
        const uint64_t failures = P::ballot(lane >= i && lane < count && failed);
        const uint32_t first = lowest_bit(failures), end = first < count ? first : count;
        const uint32_t bits = P::shuffle(float_bits(result), end > i ? end - 1 : 0);
        if (end > i) sum = float_from_bits(bits);
        return end;
    }

    // A span, block by block; a block whose map does not serve, term by term.
    template <class P>
    EXACTVQ_DEVICE static void add_span(float& sum, const PsnrHvsPlane& plane, uint32_t span) {
        const uint32_t begin = span * kPsnrHvsSpan, end = begin + kPsnrHvsSpan < plane.blocks ? begin + kPsnrHvsSpan : plane.blocks;
        PsnrHvsMaps own[kPsnrHvsSpan / P::kWave];
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < kPsnrHvsSpan / P::kWave; ++k) own[k] = load<P>(plane.block_maps, begin + k * P::kWave, end);
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < kPsnrHvsSpan / P::kWave; ++k) {
            const uint32_t first = begin + k * P::kWave;
            if (first >= end) break;
            const uint32_t count = end - first < P::kWave ? end - first : P::kWave;
            for (uint32_t i = advance<P>(sum, own[k], 0, count); i < count; i = advance<P>(sum, own[k], i + 1, count)) add_terms<P>(sum, plane, first + i);
        }
    }

    template <class P>
    EXACTVQ_DEVICE static void add_terms(float& sum, const PsnrHvsPlane& plane, uint32_t block) {
        uint32_t own[kPsnrHvsTerms / P::kWave];
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kPsnrHvsTerms / P::kWave; ++i) own[i] = float_bits(plane.terms[psnr_hvs_term_at(block, i * P::kWave + P::thread())]);
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kPsnrHvsTerms; ++i) sum = sum + float_from_bits(P::shuffle(own[i / P::kWave], i % P::kWave));
    }
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_PSNR_HVS_H
