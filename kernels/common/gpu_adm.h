// SPDX-License-Identifier: BSD-2-Clause
//
// ADM on GPUs. One launch a scale: a block transforms a tile of both pictures, decouples it, finds thresholds and terms, and writes sums of the rows of its
// tile (nothing else but the approximation for the next scale leaves the block). A last launch adds the tiles of each row, rounds the row once, and adds the rows.
//
// In a tile eight neighbouring threads share a row; each takes every eighth column, so that sums of rows are sums in a thread and three shuffles.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_ADM_H
#define EXACTVQ_KERNELS_COMMON_GPU_ADM_H

#include <type_traits>

#include "kernels/common/adm.h"
#include "kernels/common/adm_fast.h"
#include "kernels/common/gpu_mark.h"

namespace exactvq::gpu {

inline constexpr uint32_t kAdmRowThreads = 8;    // threads of a row
inline constexpr uint32_t kAdmTileRows = 24;     // rows of a tile, with one more than it owns above and below
inline constexpr uint32_t kAdmOwnRows = kAdmTileRows - 2;
inline constexpr uint32_t kAdmThreads = kAdmRowThreads * kAdmTileRows;
inline constexpr uint32_t kAdmSums = 9;          // of a row: kinds times orientations

// Columns of a tile at scale 0 and at the others, likewise with one more on both sides.
EXACTVQ_HD constexpr uint32_t adm_tile_columns(uint32_t scale) { return scale == 0 ? 63 : 31; }
EXACTVQ_HD constexpr uint32_t adm_own_columns(uint32_t scale) { return adm_tile_columns(scale) - 2; }

struct AdmScaleArguments {
    PlanePair pair;                      // scale 0
    const void* input[2];                // others: approximation of the finer scale, ref and main
    uint32_t input_stride;               // elements
    uint32_t input_width, input_height;  // samples of the input
    void* a[2];                          // approximation, scales 0 to 2
    uint32_t a_stride;
    AdmScale s;
    AdmGain gain;
    uint32_t first_column, first_row;    // owned by the first tile
    uint32_t detail;                     // 0: the approximation only
    uint32_t skip_aim;
    uint64_t* sums;                      // sum k of scored row y in tile column x: [(x * kAdmSums + k) * rows + y]
    uint32_t rows;                       // scored
    Mark mark;
};

// Sample of an input mirrored at its ends; beyond what is ever used, any sample.
EXACTVQ_HD uint32_t adm_mirror(int32_t p, uint32_t n) {
    const int32_t size = static_cast<int32_t>(n), q = p < 0 ? (p == -1 ? 1 : 0) : p >= size ? 2 * size - 1 - p : p;
    return static_cast<uint32_t>(q < 0 ? 0 : q);
}

template <uint32_t kScale>
struct AdmScaleBody {
    using Arguments = AdmScaleArguments;
    static constexpr uint32_t kThreads = kAdmThreads;
    static constexpr uint32_t kBlocks = kScale == 0 ? 3 : 4;
    static constexpr uint32_t kColumns = adm_tile_columns(kScale), kOwn = adm_own_columns(kScale);
    static constexpr uint32_t kInputs = 2 * kColumns + 2;                            // columns of the vertical pass
    static constexpr uint32_t kSteps = (kColumns + kAdmRowThreads - 1) / kAdmRowThreads;  // columns of a thread
    using Filtered = std::conditional_t<kScale == 0, int16_t, int32_t>;
    static constexpr uint32_t kStride = kInputs + 16;                                // rows of a wave begin at different banks
    static constexpr uint32_t kVerticalShift = kAdmVerticalShift[kScale], kHorizontalShift = kAdmHorizontalShift[kScale], kDenSquareShift = kAdmDenSquareShift[kScale];
    static constexpr uint32_t kNeighbourStride = kSteps * kAdmRowThreads + 8;

    template <class P>
    struct Shared {
        Filtered low[2][kAdmTileRows][kStride], high[2][kAdmTileRows][kStride];
        int32_t neighbours[2][kAdmTileRows][kNeighbourStride];  // of the restored and the additive plane
    };

    // What a position keeps between the passes.
    struct Position {
        int32_t centres[2];
        uint32_t measured[2][3];
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const AdmScale& scale = a.s;
        const int32_t x0 = static_cast<int32_t>(a.first_column + P::block_x() * kOwn) - 1, y0 = static_cast<int32_t>(a.first_row + P::block_y() * kAdmOwnRows) - 1;
        for (uint32_t i = P::thread(); i < 2 * kInputs; i += kThreads) filter_column<P>(a, s, i / kInputs, i % kInputs, x0, y0);
        P::sync();

        const uint32_t row = P::thread() / kAdmRowThreads, first = P::thread() % kAdmRowThreads;
        const int32_t y = y0 + static_cast<int32_t>(row);
        const bool row_inside = y >= 0 && y < static_cast<int32_t>(scale.height), own_row = row >= 1 && row <= kAdmOwnRows;
        const bool scored_row = own_row && a.detail && y >= static_cast<int32_t>(scale.top) && y < static_cast<int32_t>(scale.bottom);
        const auto scored_column = [&](uint32_t column, int32_t x) {
            return column >= 1 && column <= kOwn && x >= static_cast<int32_t>(scale.left) && x < static_cast<int32_t>(scale.right);
        };
        uint64_t sums[kAdmSums] = {};
        Position position[kSteps];
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < kSteps; ++k) {
            const uint32_t column = first + k * kAdmRowThreads;
            const int32_t x = x0 + static_cast<int32_t>(column);
            if (column >= kColumns || !row_inside || x < 0 || x >= static_cast<int32_t>(scale.width)) continue;
            int32_t o[4], t[4];  // h, v, d, a
            bands(s.low[0][row], s.high[0][row], column, o);
            bands(s.low[1][row], s.high[1][row], column, t);
            if (kScale < 3 && own_row && column >= 1 && column <= kOwn) {
                const size_t at = static_cast<size_t>(y) * a.a_stride + static_cast<uint32_t>(x);
                using Stored = std::conditional_t<kScale == 0, int16_t, int32_t>;
                static_cast<Stored*>(a.a[0])[at] = static_cast<Stored>(o[3]);
                static_cast<Stored*>(a.a[1])[at] = static_cast<Stored>(t[3]);
            }
            if (!a.detail) continue;
            if (scored_row && scored_column(column, x))
                for (uint32_t i = 0; i < kAdmOrientations; ++i)
                    sums[i] += kScale == 0 ? adm_den_term0(o[i]) : adm_den_term(o[i], kDenSquareShift, scale.den_term_shift);
            decouple(a, o, t, s.neighbours[0][row][column], s.neighbours[1][row][column], position[k]);
        }
        if (!a.detail) return leave<P>(a.mark);  // the same for all threads
        P::sync();

        // Rows and columns of the neighbours, mirrored at the edges of the band.
        const uint32_t above = y == 0 ? row + 1 : row - 1, below = y + 1 == static_cast<int32_t>(scale.height) ? row : row + 1;
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < kSteps; ++k) {
            const uint32_t column = first + k * kAdmRowThreads;
            const int32_t x = x0 + static_cast<int32_t>(column);
            if (!scored_row || !scored_column(column, x)) continue;
            const uint32_t left = x == 0 ? column + 1 : column - 1, right = x + 1 == static_cast<int32_t>(scale.width) ? column : column + 1;
            EXACTVQ_UNROLL
            for (uint32_t kind = 0; kind < 2; ++kind) {
                if (kind == 1 && a.skip_aim) continue;
                const auto& n = s.neighbours[1 - kind];
                uint32_t threshold = static_cast<uint32_t>(position[k].centres[1 - kind]);
                for (uint32_t r : {above, row, below}) {
                    threshold += static_cast<uint32_t>(n[r][left]) + static_cast<uint32_t>(n[r][column]) + static_cast<uint32_t>(n[r][right]);
                }
                EXACTVQ_UNROLL
                for (uint32_t i = 0; i < kAdmOrientations; ++i) {
                    const uint32_t measured = position[k].measured[kind][i];
                    const int32_t excess = kScale == 0 ? adm_excess0(static_cast<int32_t>(measured), scale.weight[i], adm_i32(threshold), i == 2 ? 12 : 10)
                                                       : adm_excess(static_cast<int32_t>(measured), adm_i32(threshold));
                    sums[(1 + kind) * 3 + i] += static_cast<uint64_t>(adm_term(excess, kScale == 0 && i < 2 ? 29 : 30, scale.term_shift[i]));
                }
            }
        }
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < kAdmSums; ++k) {
            for (uint32_t n = kAdmRowThreads / 2; n > 0; n /= 2) sums[k] += P::shuffle_xor(sums[k], n);
            if (first == 0 && scored_row)
                a.sums[(static_cast<size_t>(P::block_x()) * kAdmSums + k) * a.rows + static_cast<uint32_t>(y) - scale.top] = sums[k];
        }
        leave<P>(a.mark);
    }

private:
    // All rows of the tile, column `i` of the vertical pass.
    template <class P>
    EXACTVQ_DEVICE static void filter_column(const Arguments& a, Shared<P>& s, uint32_t picture, uint32_t i, int32_t x0, int32_t y0) {
        const uint32_t x = adm_mirror(2 * x0 - 1 + static_cast<int32_t>(i), a.input_width);
        const auto value = [&](int32_t p) -> int32_t {
            const uint32_t y = adm_mirror(p, a.input_height);
            if constexpr (kScale == 0) return static_cast<int32_t>(load_sample(picture ? a.pair.main : a.pair.ref, x, y));
            const size_t at = static_cast<size_t>(y) * a.input_stride + x;
            return kScale == 1 ? static_cast<const int16_t*>(a.input[picture])[at] : static_cast<const int32_t*>(a.input[picture])[at];
        };
        int32_t v[4] = {value(2 * y0 - 1), value(2 * y0), 0, 0};
        const uint32_t depth = a.pair.ref.depth;
        for (uint32_t row = 0; row < kAdmTileRows; ++row) {
            const int32_t y = y0 + static_cast<int32_t>(row);
            v[2] = value(2 * y + 1);
            v[3] = value(2 * y + 2);
            if constexpr (kScale == 0) {
                const uint32_t samples[4] = {static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2]), static_cast<uint32_t>(v[3])};
                s.low[picture][row][i] = static_cast<int16_t>(adm_vertical0_fast<false>(samples, depth));
                s.high[picture][row][i] = static_cast<int16_t>(adm_vertical0_fast<true>(samples, depth));
            } else {
                s.low[picture][row][i] = adm_filter_fast<false, kVerticalShift>(v);
                s.high[picture][row][i] = adm_filter_fast<true, kVerticalShift>(v);
            }
            v[0] = v[2];
            v[1] = v[3];
        }
    }

    // h, v, d, a of a column from the rows of the vertical pass.
    EXACTVQ_DEVICE static void bands(const Filtered* low, const Filtered* high, uint32_t column, int32_t out[4]) {
        int32_t l[4], h[4];
        for (uint32_t t = 0; t < 4; ++t) {
            l[t] = low[2 * column + t];
            h[t] = high[2 * column + t];
        }
        if constexpr (kScale == 0) {  // sums fit 32 bits
            out[0] = (adm_taps<false>(h) + 32768) >> 16;
            out[1] = (adm_taps<true>(l) + 32768) >> 16;
            out[2] = (adm_taps<true>(h) + 32768) >> 16;
            out[3] = (adm_taps<false>(l) + 32768) >> 16;
        } else {
            out[0] = adm_filter_fast<false, kHorizontalShift>(h);
            out[1] = adm_filter_fast<true, kHorizontalShift>(l);
            out[2] = adm_filter_fast<true, kHorizontalShift>(h);
            out[3] = adm_filter_fast<false, kHorizontalShift>(l);
        }
    }

    EXACTVQ_DEVICE static void decouple(const Arguments& a, const int32_t* o, const int32_t* t, int32_t& restored_neighbours, int32_t& additive_neighbours,
                                        Position& out) {
        const bool same = adm_same_angle_fast(o[0], o[1], t[0], t[1], kScale > 0);
        uint32_t neighbours[2] = {}, centres[2] = {};
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kAdmOrientations; ++i) {
            const int32_t r = adm_restored_fast(o[i], t[i], same, a.gain);
            const int32_t part[2] = {kScale == 0 ? adm_i16(r) : r, kScale == 0 ? adm_i16(t[i] - r) : adm_i32(int64_t{t[i]} - r)};
            EXACTVQ_UNROLL
            for (uint32_t k = 0; k < 2; ++k) {
                const int32_t u = kScale == 0 ? adm_weighted0_fast(part[k], a.s.weight[i], i == 2) : adm_weighted(part[k], a.s.weight[i]);
                neighbours[k] += static_cast<uint32_t>(kScale == 0 ? adm_neighbour0_fast(u) : adm_neighbour(u));
                centres[k] += static_cast<uint32_t>(kScale == 0 ? adm_centre0_fast(u) : adm_centre(u));
                out.measured[k][i] = kScale == 0 ? adm_magnitude(part[k]) : adm_magnitude(u);
            }
        }
        restored_neighbours = adm_i32(neighbours[0]);
        additive_neighbours = adm_i32(neighbours[1]);
        for (uint32_t k = 0; k < 2; ++k) out.centres[k] = adm_i32(centres[k] - neighbours[k]);
    }
};

using AdmScale0Kernel = AdmScaleBody<0>;
using AdmScale1Kernel = AdmScaleBody<1>;
using AdmScale2Kernel = AdmScaleBody<2>;
using AdmScale3Kernel = AdmScaleBody<3>;

// Block (k, scale): word k of a scale from the sums of its rows.
struct AdmFoldKernel {
    struct Scale {
        const uint64_t* sums;  // nullptr: 0 everywhere
        uint32_t rows, tiles;
        uint32_t den_row_shift, row_shift;
    };
    struct Arguments {
        Scale scale[kAdmScales];
        uint32_t skip_aim;
        uint64_t* words;
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
        const uint32_t k = P::block_x(), scale = P::block_y();
        const Scale& in = a.scale[scale];
        uint64_t word = 0;
        if (in.sums && !(k >= 6 && a.skip_aim)) {
            for (uint32_t y = P::thread(); y < in.rows; y += kThreads) {
                uint64_t sum = 0;
                for (uint32_t tile = 0; tile < in.tiles; ++tile) sum += in.sums[(static_cast<size_t>(tile) * kAdmSums + k) * in.rows + y];
                if (is_planted(Planted::kTileFolds)) {
                    for (uint32_t tile = 0; tile < in.tiles; ++tile)
                        word += adm_fold_den(in.sums[(static_cast<size_t>(tile) * kAdmSums + k) * in.rows + y], k < 3 ? in.den_row_shift : in.row_shift);
                    continue;
                }
                word += k < 3 ? adm_fold_den(sum, in.den_row_shift) : adm_fold(sum, in.row_shift);
            }
        }
        word = block_sum<P, kThreads>(word, s.partial);
        if (P::thread() == 0) a.words[scale * kAdmSums + k] = word;
        leave<P>(a.mark);
    }
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_ADM_H
