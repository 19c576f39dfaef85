// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/plane_job.h"

#include <algorithm>
#include <new>

#include "kernels/common/sse.h"
#include "kernels/cpu/adm_strip.h"
#include "kernels/cpu/vif_strip.h"

namespace exactvq::cpu {

PlaneJob::PlaneJob(uint32_t stripes, uint32_t window) : stripes_(stripes), window_(window), ready_(window) {}

void PlaneJob::begin(const PlanePair& pair) {
    const std::lock_guard lock(mutex_);
    pair_ = pair;
    folded_ = 0;
    reset();
}

void PlaneJob::run(uint32_t stripe) noexcept {
    const uint32_t place = stripe % window_;
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return stripe - folded_ < window_; });
    lock.unlock();
    compute(stripe, place);
    lock.lock();
    ready_[place] = true;
    if (folding_) return;  // the thread that folds will see it
    folding_ = true;
    while (folded_ < stripes_ && ready_[folded_ % window_]) {
        const uint32_t next = folded_;
        lock.unlock();
        fold(next, next % window_);
        lock.lock();
        ready_[next % window_] = false;
        ++folded_;
        moved_.notify_all();
    }
    folding_ = false;
}

namespace {

constexpr uint32_t kSamplesPerStripe = 1u << 16;

uint32_t rows_per_stripe(PlaneSize size) { return std::max(1u, kSamplesPerStripe / std::max(1u, size.width)); }

// Places for results: enough that threads rarely wait for the fold.
uint32_t window_for(uint32_t workers, uint32_t stripes) { return std::max(1u, std::min(2 * workers, stripes)); }

class SseJob final : public PlaneJob {
public:
    SseJob(PlaneSize size, const Kernels& kernels, uint32_t workers) : SseJob(size, kernels, workers, rows_per_stripe(size)) {}

    void result(uint64_t* words) const override { *words = total_; }

private:
    SseJob(PlaneSize size, const Kernels& kernels, uint32_t workers, uint32_t rows)
        : PlaneJob(divide_up(size.height, rows), window_for(workers, divide_up(size.height, rows))),
          sse_(kernels.sse.sse),
          rows_(rows),
          partial_(window_for(workers, stripes())) {}

    void reset() override { total_ = 0; }
    void compute(uint32_t stripe, uint32_t place) noexcept override {
        partial_[place] = sse_(pair_, stripe * rows_, std::min(pair_.ref.height, (stripe + 1) * rows_));
    }
    void fold(uint32_t, uint32_t place) noexcept override { total_ += partial_[place]; }

    uint64_t (*sse_)(const PlanePair&, uint32_t, uint32_t);
    uint32_t rows_;
    std::vector<uint64_t> partial_;
    uint64_t total_ = 0;
};

// Integer sums while they are exact in binary64; from the row on in which the sum passes 2^53, binary64 additions in raster order.
class RoundedSseJob final : public PlaneJob {
public:
    RoundedSseJob(PlaneSize size, const Kernels& kernels, uint32_t workers)
        : PlaneJob(size.height, window_for(workers, size.height)), sse_(kernels.sse.rounded_sse), partial_(window_for(workers, size.height)) {}

    void result(uint64_t* words) const override { *words = double_bits(rounded_ ? sum_ : static_cast<double>(total_)); }

private:
    void reset() override {
        total_ = 0;
        sum_ = 0;
        rounded_ = false;
    }
    void compute(uint32_t row, uint32_t place) noexcept override { partial_[place] = sse_(pair_, row, row + 1); }
    void fold(uint32_t row, uint32_t place) noexcept override {
        if (!rounded_ && total_ + partial_[place] <= kExactDoubleSum) {
            total_ += partial_[place];
            return;
        }
        if (!rounded_) sum_ = static_cast<double>(total_);
        rounded_ = true;
        for (uint32_t x = 0; x < pair_.ref.width; ++x)
            sum_ = sum_ + static_cast<double>(rounded_squared_difference(pair_.ref.sample(x, row), pair_.main.sample(x, row)));
    }

    uint64_t (*sse_)(const PlanePair&, uint32_t, uint32_t);
    std::vector<uint64_t> partial_;
    uint64_t total_ = 0;
    double sum_ = 0;
    bool rounded_ = false;
};

struct AlignedFree {
    void operator()(void* p) const { ::operator delete[](p, std::align_val_t(64)); }
};

class PsnrHvsJob final : public PlaneJob {
public:
    PsnrHvsJob(PlaneSize size, const AccumulatorSpec& spec, const Kernels& kernels, uint32_t workers)
        : PlaneJob(psnr_hvs_blocks(size.width) ? psnr_hvs_blocks(size.height) : 0, window_for(workers, psnr_hvs_blocks(size.height))),
          kernels_(kernels.psnr_hvs),
          table_(kPsnrHvsTable[spec.plane]),
          mask_(spec.mask),
          blocks_(psnr_hvs_blocks(size.width)),
          row_floats_(size_t{64} * divide_up(blocks_, kernels_.lanes) * kernels_.lanes),
          terms_(static_cast<float*>(::operator new[](std::max<size_t>(1, row_floats_ * window_for(workers, stripes())) * sizeof(float), std::align_val_t(64)))) {}

    void result(uint64_t* words) const override { *words = float_bits(sum_); }

private:
    void reset() override { sum_ = 0.0f; }
    void compute(uint32_t row, uint32_t place) noexcept override { kernels_.terms(pair_, row, table_, mask_, terms_.get() + place * row_floats_); }
    void fold(uint32_t, uint32_t place) noexcept override { sum_ = kernels_.add(sum_, terms_.get() + place * row_floats_, blocks_); }

    PsnrHvsKernels kernels_;
    const PsnrHvsTable& table_;
    PsnrHvsMask mask_;
    uint32_t blocks_;
    size_t row_floats_;  // of one place; a multiple of 64, so every place begins at 64 bytes
    std::unique_ptr<float[], AlignedFree> terms_;
    float sum_ = 0.0f;
};

// One stripe a strip, each with its own rows; kWords sums.
template <class Strip, uint32_t kWords>
class StripJob final : public PlaneJob {
public:
    // make(i): strip i
    template <class Make>
    StripJob(uint32_t strips, const Make& make) : PlaneJob(strips, strips), partial_(size_t{strips} * kWords) {
        for (uint32_t i = 0; i < strips; ++i) strips_.push_back(make(i));
    }

    void result(uint64_t* words) const override { std::copy_n(total_, kWords, words); }

private:
    void reset() override { std::fill_n(total_, kWords, 0); }
    void compute(uint32_t stripe, uint32_t place) noexcept override { strips_[stripe]->run(pair_, &partial_[size_t{place} * kWords]); }
    void fold(uint32_t, uint32_t place) noexcept override {
        for (uint32_t i = 0; i < kWords; ++i) total_[i] += partial_[size_t{place} * kWords + i];
    }

    std::vector<std::unique_ptr<Strip>> strips_;
    std::vector<uint64_t> partial_;
    uint64_t total_[kWords] = {};
};

std::unique_ptr<PlaneJob> make_adm_job(PlaneSize size, const AdmParameters& parameters, const Kernels& kernels, uint32_t strips) {
    return std::make_unique<StripJob<AdmStrip, kAdmWords>>(
        strips, [&](uint32_t i) { return std::make_unique<AdmStrip>(parameters, size.width, size.height, i, strips, kernels.adm); });
}

std::unique_ptr<PlaneJob> make_vif_job(PlaneSize size, uint32_t depth, const VifParameters& parameters, const Kernels& kernels, uint32_t strips) {
    return std::make_unique<StripJob<VifStrip, kVifWords>>(
        strips, [&](uint32_t i) { return std::make_unique<VifStrip>(parameters, size.width, size.height, depth, i, strips, kernels.vif); });
}

// The pair: the reference's plane now, and an earlier one as main.
class MotionJob final : public PlaneJob {
public:
    MotionJob(PlaneSize size, const Kernels& kernels, uint32_t workers)
        : PlaneJob(divide_up(size.height, rows_per_stripe(size)), window_for(workers, divide_up(size.height, rows_per_stripe(size)))),
          sum_(kernels.motion.sum),
          rows_(rows_per_stripe(size)),
          scratch_elements_(2 * motion_row(size.width)),
          partial_(window_for(workers, stripes())),
          scratch_(static_cast<int16_t*>(::operator new[](scratch_elements_ * partial_.size() * sizeof(int16_t), std::align_val_t(64)))) {
        std::fill_n(scratch_.get(), scratch_elements_ * partial_.size(), int16_t{0});
    }

    void result(uint64_t* words) const override { *words = total_; }

private:
    void reset() override { total_ = 0; }
    void compute(uint32_t stripe, uint32_t place) noexcept override {
        const uint32_t end = std::min(pair_.ref.height, (stripe + 1) * rows_);
        partial_[place] = pair_.main.data ? sum_(pair_.ref, pair_.main, stripe * rows_, end, scratch_.get() + place * scratch_elements_) : 0;
    }
    void fold(uint32_t, uint32_t place) noexcept override { total_ += partial_[place]; }

    uint64_t (*sum_)(const PlaneView&, const PlaneView&, uint32_t, uint32_t, int16_t*);
    uint32_t rows_;
    size_t scratch_elements_;  // of one place
    std::vector<uint64_t> partial_;
    std::unique_ptr<int16_t[], AlignedFree> scratch_;
    uint64_t total_ = 0;
};

}  // namespace

std::unique_ptr<PlaneJob> make_plane_job(const AccumulatorSpec& spec, const Geometry& geometry, const Kernels& kernels, uint32_t workers, uint32_t slots) {
    const PlaneSize size = geometry.plane[spec.plane];
    switch (spec.kind) {
    case AccumulatorKind::kSse: return std::make_unique<SseJob>(size, kernels, workers);
    case AccumulatorKind::kRoundedSse: return std::make_unique<RoundedSseJob>(size, kernels, workers);
    case AccumulatorKind::kPsnrHvsSum: return std::make_unique<PsnrHvsJob>(size, spec, kernels, workers);
    case AccumulatorKind::kAdm: return make_adm_job(size, spec.adm, kernels, adm_strips(spec.adm, workers, slots));
    case AccumulatorKind::kVif: return make_vif_job(size, geometry.depth, spec.vif, kernels, vif_strips(size.height, workers, slots));
    case AccumulatorKind::kMotion: return std::make_unique<MotionJob>(size, kernels, workers);
    }
    return nullptr;
}

}  // namespace exactvq::cpu
