// SPDX-License-Identifier: BSD-2-Clause
//
// Scheduling on a GPU, once for all vendors: a template over a runtime (runtime.h says what that is). Each pair in flight has a slot with its own stream and
// memory; no device or pinned memory is allocated for a frame, and nobody waits but for a frame's results. Frames in system memory are packed into pinned memory
// by workers; the last one to finish a pair queues its upload and its kernels.
#ifndef EXACTVQ_KERNELS_GPU_BACKEND_H
#define EXACTVQ_KERNELS_GPU_BACKEND_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "host/backend.h"
#include "host/error.h"
#include "host/thread_pool.h"
#include "kernels/gpu/imports.h"
#include "kernels/gpu/plan.h"
#include "kernels/gpu/staging.h"

namespace exactvq::gpu {

// Runtimes that read shared buffers.
template <class Runtime>
concept ImportsBuffers = requires(Runtime& runtime) { runtime.import_shared(0, 0); };

struct NoImports {
    struct Buffer {};
};

template <class Runtime>
class GpuBackend final : public Backend {
public:
    explicit GpuBackend(const BackendConfig& config) : config_(config), runtime_(config) {
        constexpr uint32_t kCopyThreads = 16;  // more do not copy faster: docs/performance.md
        const typename Runtime::Scope scope(runtime_);
        try {
            for (uint32_t i = 0; i < config.slots; ++i) slots_.push_back(std::make_unique<Slot>(*this));
            if (!config.device_memory) pool_ = std::make_unique<ThreadPool>(config.threads ? config.threads : std::min(available_cpus(), kCopyThreads));
        } catch (...) {
            slots_.clear();  // while their context is current
            throw;
        }
    }

    ~GpuBackend() override {
        pool_.reset();  // ends what it has begun
        try {
            const typename Runtime::Scope scope(runtime_);
            for (const auto& slot : slots_) slot->settle();
            slots_.clear();
        } catch (...) {  // the caller's context is gone, and with it all that was in it
            slots_.clear();
        }
    }

    std::string description() const override { return runtime_.description(); }

    void start(uint32_t index, const FramePair& pair, uint64_t* words) override { slots_[index]->start(pair, words); }

    void import(const SharedFrame& frame) override {
        if constexpr (ImportsBuffers<Runtime>) {
            const typename Runtime::Scope scope(runtime_);
            for (const SharedFrame::Buffer& buffer : frame.buffer)
                if (buffer.size > 0) imports_.get(runtime_, buffer);
        } else {
            Backend::import(frame);
        }
    }

    bool done(uint32_t index) override {
        const typename Runtime::Scope scope(runtime_);
        return slots_[index]->done();
    }

    void wait(uint32_t index) override {
        const typename Runtime::Scope scope(runtime_);
        slots_[index]->wait();
    }

private:
    using Address = typename Runtime::Address;
    using BufferImports = std::conditional_t<ImportsBuffers<Runtime>, Imports<Runtime>, NoImports>;

    // Memory of a slot, freed with it.
    class Memory {
    public:
        explicit Memory(Runtime& runtime) : runtime_(runtime) {}
        ~Memory() {
            for (Address address : device_) runtime_.free(address);
            for (void* memory : host_) runtime_.free_host(memory);
        }
        Memory(const Memory&) = delete;
        Memory& operator=(const Memory&) = delete;

        Address allocate(size_t bytes) {
            device_.reserve(device_.size() + 1);
            device_.push_back(runtime_.allocate(std::max<size_t>(bytes, 16)));
            return device_.back();
        }
        void* allocate_host(size_t bytes) {
            host_.reserve(host_.size() + 1);
            host_.push_back(runtime_.allocate_host(std::max<size_t>(bytes, 16)));
            return host_.back();
        }

    private:
        Runtime& runtime_;
        std::vector<Address> device_;
        std::vector<void*> host_;
    };

    class Slot {
    public:
        explicit Slot(GpuBackend& backend) : backend_(backend), runtime_(backend.runtime_), config_(backend.config_), memory_(runtime_) {
            try {
                stream_ = runtime_.create_stream();
                finished_ = runtime_.create_event();
                produced_ = runtime_.create_event();
                words_ = count_words(config_.accumulators);
                plan_ = make_gpu_plan(config_, [this](size_t bytes) { return memory_.allocate(bytes); });
                results_ = static_cast<uint64_t*>(memory_.allocate_host(8 * plan_.result_words));
                if (config_.device_memory) return;
                const size_t bytes = StagingLayout::largest(config_.geometry, plan_.read);
                planes_ = memory_.allocate(bytes);
                staging_ = static_cast<uint8_t*>(memory_.allocate_host(bytes));
            } catch (...) {
                release();
                throw;
            }
        }
        ~Slot() { release(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

        void start(FramePair pair, uint64_t* words) {
            find_shared(pair);
            // From here on a failure is one of the frame: it is reported when somebody waits.
            pair_ = pair;
            out_ = words;
            failure_ = nullptr;
            busy_ = true;
            queued_.store(false, std::memory_order_relaxed);
            if (config_.device_memory) return queue(pair);
            layout_ = StagingLayout(pair, config_.geometry, plan_.read);
            next_stripe_.store(0, std::memory_order_relaxed);
            const uint32_t workers = std::min(layout_.stripes(), backend_.pool_->size());
            working_.store(workers + 1, std::memory_order_relaxed);  // with this thread
            for (uint32_t i = 0; i < workers; ++i) {
                try {
                    backend_.pool_->post([this] { copy_stripes(); });
                } catch (...) {  // no memory for the handler
                    copy_stripes();
                }
            }
            leave();
        }

        bool done() {
            if (!busy_) return true;
            if (!queued_.load(std::memory_order_acquire)) return false;
            return failure_ || runtime_.finished(finished_);
        }

        void wait() {
            if (!busy_) return;
            queued_.wait(false, std::memory_order_acquire);
            if (failure_) std::rethrow_exception(failure_);
            runtime_.synchronize(finished_);
            busy_ = false;  // from here on nothing of this slot is queued
            shared_.clear();
            for (size_t i = 0; i < plan_.launches.size(); ++i) {
                if (plan_.launches[i].wanted(pair_) && results_[words_ + i] != sequence_)
                    throw Error(EXACTVQ_ERROR_DEVICE, std::string("the GPU did not run ") + kernel_info(plan_.launches[i].kernel).name +
                                                          " for this frame: the driver lost a launch");
            }
            std::copy_n(results_, words_, out_);
            for (const GpuPlan::Sum& sum : plan_.sums) {
                const uint64_t* first = results_ + sum.first;
                out_[sum.word] = plan_.launches[sum.launch].wanted(pair_) ? std::accumulate(first, first + sum.count, uint64_t{0}) : 0;
            }
        }

        // Waits for what is queued, also by a start that failed.
        void settle() noexcept {
            if (!busy_) return;
            try {
                runtime_.record(finished_, stream_);
                runtime_.synchronize(finished_);
            } catch (...) {  // the device failed: nothing runs any more
            }
            busy_ = false;
        }

    private:
        // Another number for every pair of the process: what an earlier session left in the same memory is no mark.
        static uint64_t next_sequence() {
            static std::atomic<uint64_t> last{0x5eed0000};
            return ++last;
        }

        // Replaces offsets into shared buffers by the device's addresses, and holds the buffers.
        void find_shared([[maybe_unused]] FramePair& pair) {
            if constexpr (ImportsBuffers<Runtime>) {
                const typename Runtime::Scope scope(runtime_);
                const PlanesRead& read = plan_.read;
                using Begins = std::array<Address, 4>;  // of a frame's buffers, 0: not asked for yet; planes often lie in one
                const auto find = [this](PlaneView& view, const SharedFrame& frame, uint32_t plane, Begins& begins) {
                    const uint32_t index = frame.of_plane[plane];
                    if (begins[index] == 0) {
                        wait_until_written(frame.buffer[index].fd);
                        shared_.push_back(backend_.imports_.get(runtime_, frame.buffer[index]));
                        begins[index] = shared_.back()->address();
                    }
                    view.data = reinterpret_cast<const uint8_t*>(begins[index] + reinterpret_cast<uintptr_t>(view.data));
                };
                Begins begins[2]{};
                for (uint32_t p = 0; p < config_.geometry.planes; ++p) {
                    if (pair.shared[0] && (read.pair[p] || (p == 0 && (read.earlier[0] || read.earlier[1])))) find(pair.plane[p].ref, *pair.shared[0], p, begins[0]);
                    if (pair.shared[1] && read.pair[p]) find(pair.plane[p].main, *pair.shared[1], p, begins[1]);
                }
                for (uint32_t i = 0; i < 2; ++i) {
                    EarlierFrame& earlier = pair.earlier[i];
                    Begins unknown{};
                    if (read.earlier[i] && earlier.shared) find(earlier.luma, *earlier.shared, 0, unknown);
                }
            }
        }

        void copy_stripes() {
            for (uint32_t i; (i = next_stripe_.fetch_add(1, std::memory_order_relaxed)) < layout_.stripes();) layout_.copy_stripe(i, staging_);
            leave();
        }

        // The last to leave queues the pair.
        void leave() {
            if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) queue(layout_.packed(planes_));
        }

        // Queues a pair's way through the device; `device` is where its planes are, or will be after the upload.
        void queue(const FramePair& device) noexcept {
            try {
                const typename Runtime::Scope scope(runtime_);
                if (config_.device_memory) {
                    for (void* producer : device.stream) runtime_.wait_for(stream_, produced_, producer);
                    for (uint32_t i = 0; i < 2; ++i)
                        if (plan_.read.earlier[i] && device.earlier[i].luma.data && device.earlier[i].stream != device.stream[0]) runtime_.wait_for(stream_, produced_, device.earlier[i].stream);
                } else if (layout_.bytes() > 0) {
                    runtime_.upload(stream_, planes_, layout_.bytes(), staging_, static_cast<ptrdiff_t>(layout_.bytes()), layout_.bytes(), 1);
                }
                sequence_ = next_sequence();
                for (GpuLaunch& launch : plan_.launches) {
                    if (!launch.wanted(device)) continue;
                    launch.set(device, sequence_);
                    runtime_.launch(stream_, launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2], launch.arguments.data(), launch.arguments.size());
                }
                if (plan_.result_words > 0) runtime_.download(stream_, results_, plan_.results, 8 * plan_.result_words);
                runtime_.record(finished_, stream_);
            } catch (...) {
                failure_ = std::current_exception();
            }
            queued_.store(true, std::memory_order_release);
            queued_.notify_all();
        }

        void release() noexcept {
            settle();
            runtime_.destroy_event(finished_);
            runtime_.destroy_event(produced_);
            runtime_.destroy_stream(stream_);
        }

        GpuBackend& backend_;
        Runtime& runtime_;
        const BackendConfig& config_;
        Memory memory_;
        typename Runtime::Stream stream_{};
        typename Runtime::Event finished_{}, produced_{};
        bool busy_ = false;
        GpuPlan plan_;
        size_t words_ = 0;
        uint64_t sequence_ = 0;
        uint64_t* results_ = nullptr;  // pinned; as plan_.results
        FramePair pair_;
        uint64_t* out_ = nullptr;

        StagingLayout layout_;
        uint8_t* staging_ = nullptr;  // pinned: the pair, packed
        Address planes_ = 0;          // the same on the device
        std::vector<std::shared_ptr<const typename BufferImports::Buffer>> shared_;  // that the pair lies in
        std::atomic<uint32_t> next_stripe_{0}, working_{0};

        std::exception_ptr failure_;  // written before queued_
        std::atomic<bool> queued_{false};
    };

    const BackendConfig config_;
    Runtime runtime_;
    BufferImports imports_;
    std::vector<std::unique_ptr<Slot>> slots_;
    std::unique_ptr<ThreadPool> pool_;  // copies frames of system memory
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_BACKEND_H
