// SPDX-License-Identifier: BSD-2-Clause
//
// The CPU backend: the stripes of all accumulators of a pair are shared out among the workers of a thread pool, pair after pair.
#include "host/backend.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "host/thread_pool.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/plane_job.h"

namespace exactvq {
namespace {

// One pair being measured.
class Slot {
public:
    Slot(const BackendConfig& config, const cpu::Kernels& kernels, uint32_t workers) : specs_(config.accumulators) {
        for (const AccumulatorSpec& spec : specs_) {
            jobs_.push_back(cpu::make_plane_job(spec, config.geometry, kernels, workers, config.slots));
            stripes_ += jobs_.back()->stripes();
        }
    }

    uint32_t stripes() const { return stripes_; }

    void begin(const FramePair& pair, uint64_t* words) {
        motion_only_ = pair.motion_only;
        for (size_t i = 0; i < jobs_.size(); ++i) {
            const bool motion = specs_[i].kind == AccumulatorKind::kMotion;
            jobs_[i]->begin(motion ? PlanePair{pair.plane[0].ref, pair.earlier[specs_[i].motion_distance - 1].luma} : pair.plane[specs_[i].plane]);
        }
        words_ = words;
        left_ = stripes_;
        {
            const std::lock_guard lock(mutex_);
            done_ = false;
        }
        next_ = 0;  // last: from here on a worker that was late for the slot's previous pair may claim stripes
    }

    // Runs stripes until none is left to claim. Any number of threads at once.
    void work() noexcept {
        for (;;) {
            uint32_t stripe = next_.fetch_add(1);
            if (stripe >= stripes_) return;
            size_t job = 0;
            while (stripe >= jobs_[job]->stripes()) stripe -= jobs_[job++]->stripes();
            if (wanted(job)) jobs_[job]->run(stripe);
            if (left_.fetch_sub(1) == 1) finish();
        }
    }

    void finish() noexcept {
        uint64_t* words = words_;
        for (size_t i = 0; i < jobs_.size(); ++i) {
            if (wanted(i)) jobs_[i]->result(words);
            words += specs_[i].words();
        }
        const std::lock_guard lock(mutex_);
        done_ = true;
        changed_.notify_all();
    }

    bool done() {
        const std::lock_guard lock(mutex_);
        return done_;
    }

    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return done_; });
    }

private:
    bool wanted(size_t job) const { return !motion_only_ || specs_[job].kind == AccumulatorKind::kMotion; }

    const std::vector<AccumulatorSpec> specs_;
    std::vector<std::unique_ptr<cpu::PlaneJob>> jobs_;
    uint32_t stripes_ = 0;
    uint64_t* words_ = nullptr;
    bool motion_only_ = false;
    std::atomic<uint32_t> next_{0}, left_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = true;
};

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(const BackendConfig& config)
        : kernels_(cpu::select_kernels(config.cpu_mask)), workers_(config.threads ? config.threads : available_cpus()) {
        for (uint32_t i = 0; i < config.slots; ++i) slots_.push_back(std::make_unique<Slot>(config, kernels_, workers_));
        pool_ = std::make_unique<ThreadPool>(workers_);
    }

    std::string description() const override {
        return std::string("cpu (") + kernels_.name + ", " + std::to_string(workers_) + (workers_ == 1 ? " thread)" : " threads)");
    }

    void start(uint32_t index, const FramePair& pair, uint64_t* words) override {
        Slot* slot = slots_[index].get();
        slot->begin(pair, words);
        if (slot->stripes() == 0) return slot->finish();
        const uint32_t wanted = std::min(workers_, slot->stripes());
        for (uint32_t i = 0; i < wanted; ++i) {
            try {
                // A worker that comes late finds nothing left to claim, or helps with the slot's next pair: both are right.
                pool_->post([slot] { slot->work(); });
            } catch (...) {  // no memory for the handler: fewer workers do the same work, at worst this thread alone
                if (i == 0) slot->work();
                return;
            }
        }
    }

    bool done(uint32_t slot) override { return slots_[slot]->done(); }
    void wait(uint32_t slot) override { slots_[slot]->wait(); }

private:
    const cpu::Kernels& kernels_;
    const uint32_t workers_;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::unique_ptr<ThreadPool> pool_;  // destroyed, and so joined, before the slots
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const BackendConfig& config) { return std::make_unique<CpuBackend>(config); }

}  // namespace exactvq
