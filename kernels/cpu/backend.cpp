// SPDX-License-Identifier: BSD-2-Clause
//
// The CPU backend: the stripes of all accumulators of a pair are shared out among the workers of a thread pool, pair after pair.
#include "host/backend.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cfenv>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

#include "host/error.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/plane_job.h"

namespace exactvq {
namespace {

uint32_t available_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return static_cast<uint32_t>(CPU_COUNT(&set));
    const unsigned count = std::thread::hardware_concurrency();
    return count ? count : 1;
}

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
        for (size_t i = 0; i < jobs_.size(); ++i) jobs_[i]->begin(pair.plane[specs_[i].plane]);
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
            jobs_[job]->run(stripe);
            if (left_.fetch_sub(1) == 1) finish();
        }
    }

    void finish() noexcept {
        uint64_t* words = words_;
        for (size_t i = 0; i < jobs_.size(); ++i) {
            jobs_[i]->result(words);
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
    const std::vector<AccumulatorSpec> specs_;
    std::vector<std::unique_ptr<cpu::PlaneJob>> jobs_;
    uint32_t stripes_ = 0;
    uint64_t* words_ = nullptr;
    std::atomic<uint32_t> next_{0}, left_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = true;
};

class BlockedSignals {
public:
    BlockedSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

private:
    sigset_t before_;
};

// Asio's scheduler on threads of our own. (boost::asio::thread_pool never returns from its constructor when a later thread cannot be started.)
class ThreadPool {
public:
    explicit ThreadPool(uint32_t count) : work_(boost::asio::make_work_guard(context_)) {
        const BlockedSignals blocked;  // inherited by the workers: the application's handlers run on its own threads
        try {
            threads_.reserve(count);
            while (threads_.size() < count) {
                threads_.emplace_back([this] {
                    std::fesetenv(FE_DFL_ENV);  // not the rounding mode of whoever opened the session
                    context_.run();
                });
            }
        } catch (const std::system_error& error) {
            join();
            throw Error(EXACTVQ_ERROR_NO_MEMORY, "cannot start " + std::to_string(count) + " threads (" + error.code().message() + "): ask for fewer");
        } catch (...) {
            join();
            throw;
        }
    }
    ~ThreadPool() { join(); }

    template <class Function>
    void post(Function&& function) {
        boost::asio::post(context_, std::forward<Function>(function));
    }

private:
    // Runs what was posted, then ends the threads.
    void join() {
        work_.reset();
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }

    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::vector<std::thread> threads_;
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
