// SPDX-License-Identifier: BSD-2-Clause
//
// VIF on GPUs. One launch a scale: a block filters the columns of a tile and its surroundings, samples in registers, into shared memory, then the rows of the
// tile from there, and adds the terms of its samples. From the same samples it makes its part of the next scale's planes. The blocks' sums are added by a last
// launch.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_VIF_H
#define EXACTVQ_KERNELS_COMMON_GPU_VIF_H

#include "kernels/common/gpu_mark.h"
#include "kernels/common/quotient.h"
#include "kernels/common/vif.h"
#include "kernels/common/vif_log_lines.h"

namespace exactvq::gpu {

// What a block does: a tile of columns and rows; a thread filters `run` rows of a column, then `stretch` columns of a row.
struct VifTile {
    uint32_t columns, rows, run, stretch;
    uint32_t blocks;  // that a multiprocessor should hold at once
};
EXACTVQ_HD constexpr VifTile vif_tile(uint32_t scale) {
    // With those around them 128, 120, 60 and 58 columns, which nearly fill waves. A wave's rows touch different banks if the stretch is odd.
    return scale == 0 ? VifTile{112, 16, 8, 7, 3} : scale == 1 ? VifTile{112, 16, 8, 7, 3} : scale == 2 ? VifTile{56, 16, 4, 7, 4} : VifTile{56, 8, 4, 7, 4};
}

struct VifScaleArguments {
    PlanePair pair;            // scale 0
    const uint32_t* input;     // others: samples of ref in the lower half of a word, of main in the upper
    uint32_t input_stride;     // words
    uint32_t width, height;    // of the scale
    uint32_t* output;          // of scales 0 to 2: the next scale's input
    uint32_t output_stride;
    uint32_t statistics;       // 0: nothing but the next scale's input
    double gain_limit;
    uint64_t* sums;            // sum k of block b: [k * blocks + b]
    Mark mark;
};

// LOG(v) for 2^16 <= v < 2^32, with kVifLogLines.
EXACTVQ_DEVICE uint32_t vif_log_by_lines(const uint32_t* lines, uint32_t v) {
    const uint32_t zeros = leading_zeros(v), top = v << zeros, line = lines[top >> 23 & 255];
    return 2048 * (31 - zeros) + (((line >> 9) + (top >> 16 & 127) * (line & 511)) >> 12);
}
// For v < 2^45: of wide ones the upper bits suffice.
EXACTVQ_DEVICE uint32_t vif_log_by_lines(const uint32_t* lines, uint64_t v) {
    const bool wide = v >> 32 != 0;
    return vif_log_by_lines(lines, static_cast<uint32_t>(wide ? v >> 13 : v)) + (wide ? 13 * 2048 : 0);
}

// Of a positive number below 2^53, without its fraction. In integers: LLVM converts to 64 bits for AMD GPUs with a fused multiply-add.
EXACTVQ_DEVICE uint64_t truncated(double v) {
    const uint64_t bits = double_bits(v), mantissa = (bits & FloatFields<double>::kMantissa) | uint64_t{1} << 52;
    const uint32_t shift = 1075 - static_cast<uint32_t>(bits >> 52);
    return mantissa >> (shift < 63 ? shift : 63);
}

// Sums of a thread's terms; all but the last fit 32 bits.
struct VifSums {
    uint32_t numerator = 0, denominator = 0, flat = 0;
    uint64_t flat_variance = 0;

    // vif_add() of vif.h.
    EXACTVQ_DEVICE void add(const uint32_t* lines, double gain_limit, int32_t s1, int32_t s2, int32_t s12) {
        constexpr uint32_t kNoise = kVifNoise;
        if (s1 < kVifNoise) {
            flat_variance += static_cast<uint32_t>(s2 > 0 ? s2 : 0);
            ++flat;
            return;
        }
        denominator += vif_log_by_lines(lines, kNoise + static_cast<uint32_t>(s1)) - kVifNoiseLog;
        if (s12 <= 0 || s2 <= 0) return;
        const double variance = static_cast<double>(s1), covariance = static_cast<double>(s12);
        double gain = quotient(covariance, is_planted(Planted::kVifNoEpsilon) ? variance : variance + kVifEpsilon);
        if (is_planted(Planted::kVifFloatGain)) gain = static_cast<float>(covariance) / static_cast<float>(variance + kVifEpsilon);
        if (is_planted(Planted::kVifLimitedNoise) && !(gain < gain_limit)) gain = gain_limit;
        const double rest = static_cast<double>(s2) - gain * covariance;
        const uint32_t noise = kNoise + (rest > 0 ? static_cast<uint32_t>(static_cast<int32_t>(rest)) : 0);
        if (!(gain < gain_limit)) gain = gain_limit;
        numerator += vif_log_by_lines(lines, truncated(gain * gain * variance) + noise) - vif_log_by_lines(lines, noise);
    }
};

template <uint32_t kScale, bool kBytes>
struct VifScaleBody {
    using Arguments = VifScaleArguments;
    static constexpr VifTile kTile = vif_tile(kScale);
    static constexpr uint32_t kThreads = kTile.rows * (kTile.columns / kTile.stretch), kBlocks = kTile.blocks;
    static constexpr uint32_t kHalf = vif_half(kScale), kInputs = kTile.columns + 2 * kHalf;  // columns of the vertical pass
    static constexpr uint32_t kPitch = divide_up(kInputs, 32) * 32 + 32 / kTile.rows;         // rows begin at different banks
    static constexpr uint32_t kCoarseRows = kScale < 3 ? kTile.rows / 2 : 1;
    static_assert(kTile.columns % kTile.stretch == 0 && kTile.columns % 2 == 0 && kTile.rows % kTile.run == 0 && kTile.run % 2 == 0);

    template <class P>
    struct Shared {
        uint32_t means[kTile.rows][kPitch];        // ref in the lower half of a word, main in the upper
        uint32_t products[3][kTile.rows][kPitch];  // of ref with itself, main with itself, both
        uint32_t coarse[kCoarseRows][kPitch];      // even rows filtered for the next scale, as means
        uint32_t lines[256];
        uint64_t partial[kVifSums][kThreads / P::kWave];
    };

    template <class P>
    EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t x0 = P::block_x() * kTile.columns, y0 = P::block_y() * kTile.rows;
        for (uint32_t i = P::thread(); i < 256; i += kThreads) s.lines[i] = kVifLogLines[i];
        for (uint32_t i = P::thread(); i < kInputs * (kTile.rows / kTile.run); i += kThreads)
            filter_column<P>(a, s, i % kInputs, i / kInputs * kTile.run, x0, y0);
        P::sync();
        if constexpr (kScale < 3) {
            constexpr uint32_t kCoarseColumns = kTile.columns / 2;
            for (uint32_t i = P::thread(); i < kCoarseRows * kCoarseColumns; i += kThreads) write_coarse<P>(a, s, i % kCoarseColumns, i / kCoarseColumns, x0, y0);
        }
        if (!a.statistics) return leave<P>(a.mark);  // the same for all threads
        VifSums sums;
        add_row<P>(a, s, P::thread() % kTile.rows, P::thread() / kTile.rows * kTile.stretch, x0, y0, sums);
        write_sums<P>(a, s, sums);
        leave<P>(a.mark);
    }

private:
    static constexpr uint32_t kWindow = kTile.run + 2 * kHalf;  // rows that a thread's rows are filtered from
    static constexpr uint32_t kNext = kScale < 3 ? kScale + 1 : 3, kNextHalf = vif_half(kNext);

    // Rows y and on of column x, ref in the lower half of a word and main in the upper. kInside: all rows are inside the picture.
    template <class P, bool kInside>
    EXACTVQ_DEVICE static void load(const Arguments& a, uint32_t x, int32_t y, uint32_t (&both)[kWindow]) {
        const auto row = [&](uint32_t i) {
            if (is_planted(Planted::kVifTileBorders) && P::block_y() > 0 && i < kHalf) return reflect(y + static_cast<int32_t>(2 * kHalf - i), a.height);
            return kInside ? i : reflect(y + static_cast<int32_t>(i), a.height);
        };
        if constexpr (kScale == 0) {
            Column<kBytes> ref(a.pair.ref, x), main(a.pair.main, x);
            if (kInside) {
                ref.skip(y);
                main.skip(y);
            }
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kWindow; ++i) both[i] = ref[row(i)] | main[row(i)] << 16;
        } else {
            const uint32_t* in = a.input + x + (kInside ? static_cast<size_t>(y) * a.input_stride : 0);
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kWindow; ++i) both[i] = in[static_cast<size_t>(row(i)) * a.input_stride];
        }
    }

    // Sum of kernel kK over 2 * half + 1 values, modulo 2^32.
    template <uint32_t kK>
    EXACTVQ_DEVICE static uint32_t filter(const uint32_t* x) {
        constexpr uint32_t half = vif_half(kK);
        uint32_t sum = vif_tap(kK, half) * x[half];
        EXACTVQ_UNROLL
        for (uint32_t t = 0; t < half; ++t) sum += vif_tap(kK, t) * (x[t] + x[2 * half - t]);
        return sum;
    }

    EXACTVQ_DEVICE static uint64_t wide_filter(const uint32_t* x) {
        uint64_t sum = 0;
        EXACTVQ_UNROLL
        for (uint32_t t = 0; t <= 2 * kHalf; ++t) sum += static_cast<uint64_t>(vif_tap(kScale, t)) * x[t];
        return sum;
    }

    // Rows `first` and on of the tile, of column `column` of the vertical pass.
    template <class P>
    EXACTVQ_DEVICE static void filter_column(const Arguments& a, Shared<P>& s, uint32_t column, uint32_t first, uint32_t x0, uint32_t y0) {
        const uint32_t x = reflect(static_cast<int32_t>(x0 + column - kHalf), a.width);
        const int32_t y = static_cast<int32_t>(y0 + first - kHalf);
        uint32_t both[kWindow];
        const bool inside = y0 >= kHalf && y0 + kTile.rows + kHalf <= a.height;  // the same for all threads
        if (inside && !is_planted(Planted::kVifTileBorders)) load<P, true>(a, x, y, both);
        else load<P, false>(a, x, y, both);
        const uint32_t depth = kBytes ? 8 : a.pair.ref.depth;  // counts at scale 0
        {
            uint32_t ref[kWindow], main[kWindow];
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kWindow; ++i) {
                ref[i] = both[i] & 0xffff;
                main[i] = both[i] >> 16;
            }
            if constexpr (kScale < 3) {
                EXACTVQ_UNROLL
                for (uint32_t r = 0; r < kTile.run; r += 2) {
                    const uint32_t begin = r + kHalf - kNextHalf;
                    s.coarse[(first + r) / 2][column] =
                        vif_vertical_mean(filter<kNext>(ref + begin), kScale, depth) | vif_vertical_mean(filter<kNext>(main + begin), kScale, depth) << 16;
                }
            }
            if (!a.statistics) return;
            EXACTVQ_UNROLL
            for (uint32_t r = 0; r < kTile.run; ++r)
                s.means[first + r][column] =
                    vif_vertical_mean(filter<kScale>(ref + r), kScale, depth) | vif_vertical_mean(filter<kScale>(main + r), kScale, depth) << 16;
        }
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < 3; ++k) {
            uint32_t products[kWindow];
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kWindow; ++i) products[i] = (k == 1 ? both[i] >> 16 : both[i] & 0xffff) * (k == 0 ? both[i] & 0xffff : both[i] >> 16);
            EXACTVQ_UNROLL
            for (uint32_t r = 0; r < kTile.run; ++r)
                s.products[k][first + r][column] = kBytes ? filter<kScale>(products + r) : vif_vertical_product(wide_filter(products + r), kScale, depth);
        }
    }

    // A sample of the next scale.
    template <class P>
    EXACTVQ_DEVICE static void write_coarse(const Arguments& a, const Shared<P>& s, uint32_t column, uint32_t row, uint32_t x0, uint32_t y0) {
        const uint32_t x = x0 / 2 + column, y = y0 / 2 + row;
        if (x >= a.width / 2 || y >= a.height / 2) return;
        uint32_t ref[2 * kNextHalf + 1], main[2 * kNextHalf + 1];
        EXACTVQ_UNROLL
        for (uint32_t t = 0; t <= 2 * kNextHalf; ++t) {
            const uint32_t both = s.coarse[row][2 * column + kHalf - kNextHalf + t];
            ref[t] = both & 0xffff;
            main[t] = both >> 16;
        }
        a.output[static_cast<size_t>(y) * a.output_stride + x] = vif_horizontal_sample(filter<kNext>(ref)) | vif_horizontal_sample(filter<kNext>(main)) << 16;
    }

    // The terms of columns `first` and on of a row of the tile.
    template <class P>
    EXACTVQ_DEVICE static void add_row(const Arguments& a, const Shared<P>& s, uint32_t row, uint32_t first, uint32_t x0, uint32_t y0, VifSums& sums) {
        constexpr uint32_t kColumns = kTile.stretch + 2 * kHalf;
        uint32_t means[2][kTile.stretch];
        int32_t moments[3][kTile.stretch];
        {
            uint32_t ref[kColumns], main[kColumns];
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kColumns; ++i) {
                const uint32_t both = s.means[row][first + i];
                ref[i] = both & 0xffff;
                main[i] = both >> 16;
            }
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kTile.stretch; ++i) {
                means[0][i] = filter<kScale>(ref + i);
                means[1][i] = filter<kScale>(main + i);
                if (is_planted(Planted::kVifShiftedMeans))
                    for (auto& mean : means) mean[i] = vif_horizontal_sample(mean[i]) << 16;
            }
        }
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < 3; ++k) {
            uint32_t window[kColumns];
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kColumns; ++i) window[i] = s.products[k][row][first + i];
            EXACTVQ_UNROLL
            for (uint32_t i = 0; i < kTile.stretch; ++i) moments[k][i] = vif_moment(wide_filter(window + i), means[k == 1][i], means[k > 0][i]);
        }
        if (y0 + row >= a.height) return;
        EXACTVQ_UNROLL
        for (uint32_t i = 0; i < kTile.stretch; ++i)
            if (x0 + first + i < a.width) sums.add(s.lines, a.gain_limit, moments[0][i], moments[1][i], moments[2][i]);
    }

    template <class P>
    EXACTVQ_DEVICE static void write_sums(const Arguments& a, Shared<P>& s, const VifSums& sums) {
        const uint64_t of_wave[kVifSums] = {wave_sum<P>(sums.numerator), wave_sum<P>(sums.denominator), wave_sum<P>(sums.flat),
                                            wave_sum<P>(sums.flat_variance)};
        EXACTVQ_UNROLL
        for (uint32_t k = 0; k < kVifSums; ++k)
            if (P::thread() % P::kWave == 0) s.partial[k][P::thread() / P::kWave] = of_wave[k];
        P::sync();
        const uint32_t k = P::thread();
        if (k >= kVifSums) return;
        uint64_t sum = 0;
        for (uint64_t partial : s.partial[k]) sum += partial;
        a.sums[k * (P::blocks_x() * P::blocks_y()) + P::block_y() * P::blocks_x() + P::block_x()] = sum;
    }
};

using VifScale0Kernel = VifScaleBody<0, true>;       // 8 bits
using VifDeepScale0Kernel = VifScaleBody<0, false>;  // 9 to 16
using VifScale1Kernel = VifScaleBody<1, false>;
using VifScale2Kernel = VifScaleBody<2, false>;
using VifScale3Kernel = VifScaleBody<3, false>;

// Block (k, scale): word k of a scale from the sums of its blocks.
struct VifFoldKernel {
    struct Scale {
        const uint64_t* sums;  // nullptr: 0 everywhere
        uint32_t blocks;
    };
    struct Arguments {
        Scale scale[kVifScales];
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
        if (in.sums) {
            constexpr uint32_t kAhead = 4;  // loads on their way at once
            for (uint32_t i = P::thread(); i < in.blocks; i += kAhead * kThreads) {
                EXACTVQ_UNROLL
                for (uint32_t n = 0; n < kAhead; ++n)
                    if (i + n * kThreads < in.blocks) word += in.sums[static_cast<size_t>(k) * in.blocks + i + n * kThreads];
            }
        }
        word = block_sum<P, kThreads>(word, s.partial);
        if (P::thread() == 0) a.words[scale * kVifSums + k] = word;
        leave<P>(a.mark);
    }
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_VIF_H
