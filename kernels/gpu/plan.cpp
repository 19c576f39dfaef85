// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/gpu/plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "host/adm_parameters.h"

namespace exactvq::gpu {
namespace {

class Builder {
public:
    Builder(const BackendConfig& config, const std::function<uint64_t(size_t)>& allocate) : config_(config), allocate_(allocate) {}

    GpuPlan build() {
        // Marks follow the words; how many there are is known when all launches are.
        size_t word = 0;
        for (const AccumulatorSpec& spec : config_.accumulators) {
            if (spec.kind == AccumulatorKind::kMotion) plan_.read.earlier[spec.motion_distance - 1] = true;
            else plan_.read.pair[spec.plane] = true;
            switch (spec.kind) {
            case AccumulatorKind::kSse: sse_.push_back({&spec, word}); break;
            case AccumulatorKind::kRoundedSse: add_rounded_sse(spec.plane, word); break;
            case AccumulatorKind::kAdm: add_adm(spec.adm, word); break;
            case AccumulatorKind::kPsnrHvsSum: psnr_hvs_.push_back({&spec, word}); break;
            case AccumulatorKind::kVif: add_vif(spec.vif, word); break;
            case AccumulatorKind::kMotion: add_motion(spec.motion_distance, word); break;
            }
            word += spec.words();
        }
        for (size_t i = 0; i < sse_.size(); i += 3) add_sse(i, std::min<size_t>(3, sse_.size() - i));
        for (size_t i = 0; i < psnr_hvs_.size(); i += 3) add_psnr_hvs(i, std::min<size_t>(3, psnr_hvs_.size() - i));
        plan_.result_words = word + plan_.launches.size();
        for (const auto& [offset, index] : sums_) {
            GpuPlan::Sum& sum = plan_.sums[index];
            words_.push_back({sum.launch, offset, plan_.result_words});
            sum.first = plan_.result_words;
            plan_.result_words += sum.count;
        }
        plan_.results = allocate_(8 * plan_.result_words);
        for (size_t i = 0; i < plan_.launches.size(); ++i) {
            GpuLaunch& launch = plan_.launches[i];
            const uint64_t mark = plan_.results + 8 * (word + i);
            std::memcpy(launch.arguments.data() + launch.mark + offsetof(Mark, address), &mark, sizeof mark);
        }
        for (const auto& [launch, offset, index] : words_) {
            const uint64_t address = plan_.results + 8 * index;
            std::memcpy(plan_.launches[launch].arguments.data() + offset, &address, sizeof address);
        }
        return std::move(plan_);
    }

private:
    template <class T>
    T* memory(size_t count) {
        return reinterpret_cast<T*>(allocate_(count * sizeof(T)));
    }

    template <class Kernel>
    GpuLaunch& add(const typename Kernel::Arguments& arguments, uint32_t x, uint32_t y, uint32_t z) {
        GpuLaunch launch;
        launch.kernel = KernelIdOf<Kernel>::value;
        launch.grid[0] = x;
        launch.grid[1] = y;
        launch.grid[2] = z;
        launch.arguments.resize(sizeof arguments);
        std::memcpy(launch.arguments.data(), &arguments, sizeof arguments);
        launch.mark = offsetof(typename Kernel::Arguments, mark);
        plan_.launches.push_back(std::move(launch));
        return plan_.launches.back();
    }

    // The last launch writes word `index`, and those after it, through the pointer at `offset` of its arguments.
    void writes_word(size_t offset, size_t index) { words_.push_back({plan_.launches.size() - 1, offset, index}); }

    // The last launch writes `count` sums, which the host adds up to word `word`, through the pointer at `offset` of its arguments.
    void leaves_sums(size_t offset, size_t count, size_t word) {
        sums_.push_back({offset, plan_.sums.size()});
        plan_.sums.push_back({word, 0, count, plan_.launches.size() - 1});
    }

    // Up to three planes in one launch.
    void add_sse(size_t first, size_t count) {
        SseKernel::Arguments a{};
        uint32_t blocks = 0;
        std::vector<GpuLaunch::Pair> pairs;
        for (size_t i = 0; i < count; ++i) {
            const uint32_t plane = sse_[first + i].spec->plane;
            a.plane[i].first_block = blocks;
            a.plane[i].blocks = SseKernel::blocks(config_.geometry.plane[plane].height);
            blocks += a.plane[i].blocks;
            pairs.push_back({offsetof(SseKernel::Arguments, plane) + i * sizeof(SsePlane) + offsetof(SsePlane, pair), plane});
        }
        for (size_t i = count; i < 3; ++i) a.plane[i].first_block = blocks;
        add<SseKernel>(a, blocks, 1, 1).pairs = std::move(pairs);
        for (size_t i = 0; i < count; ++i)
            leaves_sums(offsetof(SseKernel::Arguments, plane) + i * sizeof(SsePlane) + offsetof(SsePlane, sums), a.plane[i].blocks, sse_[first + i].word);
    }

    void add_rounded_sse(uint32_t plane, size_t word) {
        const uint32_t height = config_.geometry.plane[plane].height;
        RoundedSseRowsKernel::Arguments rows{};
        RoundedSseSumKernel::Arguments sum{};
        sum.sums = rows.sums = memory<uint64_t>(height);
        add<RoundedSseRowsKernel>(rows, divide_up(height, 8), 1, 1).pairs = {{offsetof(RoundedSseRowsKernel::Arguments, pair), plane}};
        add<RoundedSseSumKernel>(sum, 1, 1, 1).pairs = {{offsetof(RoundedSseSumKernel::Arguments, pair), plane}};
        writes_word(offsetof(RoundedSseSumKernel::Arguments, word), word);
    }

    void add_adm(const AdmParameters& parameters, size_t word) {
        AdmExtent extents[kAdmScales];
        adm_extents(parameters, 0, 1, extents);
        AdmFoldKernel::Arguments fold{};
        fold.skip_aim = parameters.skip_aim;
        AdmScaleArguments a{};
        uint32_t width = config_.geometry.plane[0].width, height = config_.geometry.plane[0].height;
        for (uint32_t i = 0; i < kAdmScales; ++i) {
            const AdmExtent& extent = extents[i];
            const AdmScale& s = parameters.scale[i];
            for (int picture = 0; picture < 2; ++picture) a.input[picture] = a.a[picture];
            a.input_stride = a.a_stride;
            a.input_width = width;
            a.input_height = height;
            a.a_stride = (s.width + 31) / 32 * 32;
            if (i + 1 < kAdmScales)
                for (void*& plane : a.a) plane = i == 0 ? static_cast<void*>(memory<int16_t>(size_t{a.a_stride} * s.height)) : memory<int32_t>(size_t{a.a_stride} * s.height);
            a.s = s;
            a.gain = make_adm_gain(parameters.gain_limit);
            a.first_column = extent.columns.begin;
            a.first_row = extent.rows.begin;
            a.detail = i > 0 || !parameters.skip_scale0;
            a.skip_aim = parameters.skip_aim;
            a.rows = s.bottom - s.top;
            const uint32_t own = adm_own_columns(i), tiles = divide_up(extent.columns.end - extent.columns.begin, own);
            const uint32_t tile_rows = divide_up(extent.rows.end - extent.rows.begin, kAdmOwnRows);
            a.sums = a.detail ? memory<uint64_t>(size_t{tiles} * kAdmSums * a.rows) : nullptr;
            fold.scale[i] = {a.sums, a.rows, tiles, s.den_row_shift, s.row_shift};
            if (i == 0 && is_planted(Planted::kFloatLogarithm)) {
                const float bits = std::ceil(std::log2(static_cast<float>(adm_area(s))));
                fold.scale[i].den_row_shift = bits > 20.0f ? static_cast<uint32_t>(bits) - 20 : 0;
            }
            switch (i) {
            case 0: add<AdmScale0Kernel>(a, tiles, tile_rows, 1).pairs = {{offsetof(AdmScaleArguments, pair), 0}}; break;
            case 1: add<AdmScale1Kernel>(a, tiles, tile_rows, 1); break;
            case 2: add<AdmScale2Kernel>(a, tiles, tile_rows, 1); break;
            case 3: add<AdmScale3Kernel>(a, tiles, tile_rows, 1); break;
            }
            width = s.width;
            height = s.height;
        }
        add<AdmFoldKernel>(fold, kAdmSums, kAdmScales, 1);
        writes_word(offsetof(AdmFoldKernel::Arguments, words), word);
    }

    void add_vif(const VifParameters& parameters, size_t word) {
        VifFoldKernel::Arguments fold{};
        VifScaleArguments a{};
        a.width = config_.geometry.plane[0].width;
        a.height = config_.geometry.plane[0].height;
        a.gain_limit = parameters.gain_limit;
        for (uint32_t scale = 0; scale < kVifScales; ++scale) {
            a.input = a.output;
            a.input_stride = a.output_stride;
            const uint32_t width = a.width / 2, height = a.height / 2;  // of the next scale
            if (scale + 1 < kVifScales) {
                a.output_stride = divide_up(width, 32) * 32;
                a.output = memory<uint32_t>(size_t{a.output_stride} * height);
            }
            const VifTile tile = vif_tile(scale);
            const uint32_t columns = divide_up(a.width, tile.columns), rows = divide_up(a.height, tile.rows);
            a.statistics = scale > 0 || !parameters.skip_scale0;
            a.sums = a.statistics ? memory<uint64_t>(size_t{kVifSums} * columns * rows) : nullptr;
            fold.scale[scale] = {a.sums, columns * rows};
            switch (scale) {
            case 0:
                (config_.geometry.depth == 8 ? add<VifScale0Kernel>(a, columns, rows, 1) : add<VifDeepScale0Kernel>(a, columns, rows, 1)).pairs = {
                    {offsetof(VifScaleArguments, pair), 0}};
                break;
            case 1: add<VifScale1Kernel>(a, columns, rows, 1); break;
            case 2: add<VifScale2Kernel>(a, columns, rows, 1); break;
            case 3: add<VifScale3Kernel>(a, columns, rows, 1); break;
            }
            a.width = width;
            a.height = height;
        }
        add<VifFoldKernel>(fold, kVifSums, kVifScales, 1);
        writes_word(offsetof(VifFoldKernel::Arguments, words), word);
    }

    void add_motion(uint32_t distance, size_t word) {
        const PlaneSize size = config_.geometry.plane[0];
        const uint32_t columns = divide_up(size.width, kMotionColumns), rows = divide_up(size.height, kMotionRows);
        const MotionArguments a{};
        GpuLaunch& launch = config_.geometry.depth == 8 ? add<MotionKernel>(a, columns, rows, 1) : add<DeepMotionKernel>(a, columns, rows, 1);
        launch.pairs = {{offsetof(MotionArguments, pair), 0}};
        launch.motion_distance = distance;
        leaves_sums(offsetof(MotionArguments, sums), columns * rows, word);
    }

    // Up to three planes in one launch each.
    void add_psnr_hvs(size_t first, size_t count) {
        PsnrHvsArguments a{};
        std::vector<GpuLaunch::Pair> pairs;
        uint32_t tiles = 0;
        for (size_t i = 0; i < count; ++i) {
            const AccumulatorSpec& spec = *psnr_hvs_[first + i].spec;
            const PlaneSize size = config_.geometry.plane[spec.plane];
            PsnrHvsPlane& p = a.plane[i];
            p.columns = psnr_hvs_blocks(size.width);
            p.blocks = p.columns * psnr_hvs_blocks(size.height);
            p.tiles = divide_up(p.blocks, kPsnrHvsTile);
            p.spans = divide_up(p.blocks, kPsnrHvsSpan);
            p.first_tile = tiles;
            tiles += p.tiles;
            p.mask = static_cast<uint32_t>(spec.mask);
            for (uint32_t k = 0; k < kPsnrHvsTerms; ++k) {
                p.w[k] = float_from_bits(kPsnrHvsTable[spec.plane].w[k]);
                p.k[k] = float_from_bits(kPsnrHvsTable[spec.plane].k[k]);
            }
            p.terms = memory<float>(size_t{divide_up(p.blocks, 32)} * 32 * kPsnrHvsTerms);
            p.block_sums = memory<float>(p.blocks);
            p.tile_sums = memory<double>(p.tiles);
            p.block_maps = memory<PsnrHvsMaps>(p.blocks);
            p.span_maps = memory<PsnrHvsMaps>(p.spans);
            pairs.push_back({offsetof(PsnrHvsArguments, plane) + i * sizeof(PsnrHvsPlane) + offsetof(PsnrHvsPlane, pair), spec.plane});
        }
        a.planes = static_cast<uint32_t>(count);
        if (tiles > 0) {
            add<PsnrHvsTermsKernel>(a, tiles, 1, 1).pairs = pairs;
            add<PsnrHvsForecastKernel>(a, a.planes, 1, 1);
            add<PsnrHvsMapsKernel>(a, tiles, 1, 1);
        }
        add<PsnrHvsSumKernel>(a, a.planes, 1, 1);
        for (size_t i = 0; i < count; ++i)
            writes_word(offsetof(PsnrHvsArguments, plane) + i * sizeof(PsnrHvsPlane) + offsetof(PsnrHvsPlane, word), psnr_hvs_[first + i].word);
    }

    struct Word {
        size_t launch, offset, index;
    };
    struct BlockSums {
        size_t offset, sum;
    };
    struct Asked {
        const AccumulatorSpec* spec;
        size_t word;
    };
    const BackendConfig& config_;
    const std::function<uint64_t(size_t)>& allocate_;
    GpuPlan plan_;
    std::vector<Word> words_;
    std::vector<BlockSums> sums_;
    std::vector<Asked> sse_, psnr_hvs_;  // launched together
};

}  // namespace

GpuPlan make_gpu_plan(const BackendConfig& config, const std::function<uint64_t(size_t)>& allocate) { return Builder(config, allocate).build(); }

}  // namespace exactvq::gpu
