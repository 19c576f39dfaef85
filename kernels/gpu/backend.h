// SPDX-License-Identifier: BSD-2-Clause
//
// Scheduling on a GPU, once for all vendors: a template over a runtime (runtime.h says what that is). Each pair in flight has a slot with its own stream and
// memory; no device or pinned memory is allocated for a frame, and nobody waits but for a frame's results.
#ifndef EXACTVQ_KERNELS_GPU_BACKEND_H
#define EXACTVQ_KERNELS_GPU_BACKEND_H

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "host/backend.h"
#include "host/error.h"
#include "host/thread_pool.h"
#include "kernels/gpu/plan.h"

namespace exactvq::gpu {

template <class Runtime>
class GpuBackend final : public Backend {
public:
    explicit GpuBackend(const BackendConfig& config) : config_(config), runtime_(config) {
        constexpr uint32_t kCopyThreads = 8;  // more do not copy faster
        if (!config.device_memory) pool_ = std::make_unique<ThreadPool>(config.threads ? config.threads : std::min(available_cpus(), kCopyThreads));
        const typename Runtime::Scope scope(runtime_);
        try {
            for (uint32_t i = 0; i < config.slots; ++i) slots_.push_back(std::make_unique<Slot>(*this));
        } catch (...) {
            slots_.clear();  // while their context is current
            throw;
        }
    }

    ~GpuBackend() override {
        try {
            const typename Runtime::Scope scope(runtime_);
            slots_.clear();
        } catch (...) {  // the caller's context is gone, and with it all that was in it
            slots_.clear();
        }
    }

    std::string description() const override { return runtime_.description(); }

    void start(uint32_t index, const FramePair& pair, uint64_t* words) override {
        const typename Runtime::Scope scope(runtime_);
        slots_[index]->start(pair, words);
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
                has_stream_ = true;
                finished_ = runtime_.create_event();
                has_event_ = true;
                produced_ = runtime_.create_event();
                has_produced_ = true;
                words_ = count_words(config_.accumulators);
                plan_ = make_gpu_plan(config_, [this](size_t bytes) { return memory_.allocate(bytes); });
                results_ = static_cast<uint64_t*>(memory_.allocate_host(8 * (words_ + plan_.launches.size())));
                for (uint32_t p = 0; p < 3; ++p) {
                    if (!plan_.planes[p]) continue;
                    const PlaneSize size = config_.geometry.plane[p];
                    const size_t step = 2 * (config_.geometry.depth > 8 ? 2 : 1);  // semi-planar chroma is uploaded as it lies
                    pitch_[p] = (size_t{size.width} * step + 255) / 256 * 256;
                    if (config_.device_memory) continue;
                    for (Address& plane : plane_[p]) plane = memory_.allocate(pitch_[p] * size.height);
                    for (uint8_t*& staging : staging_[p]) staging = static_cast<uint8_t*>(memory_.allocate_host(pitch_[p] * size.height));
                }
            } catch (...) {
                release();
                throw;
            }
        }
        ~Slot() { release(); }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

        void start(const FramePair& pair, uint64_t* words) {
            // From the first call that could queue work on, a failure is one of the frame: it is reported when somebody waits.
            out_ = words;
            failure_.clear();
            busy_ = true;
            try {
                FramePair device = pair;
                if (config_.device_memory) {
                    for (void* producer : pair.stream) runtime_.wait_for(stream_, produced_, producer);
                } else {
                    copy_to_staging(pair);
                    for (uint32_t p = 0; p < config_.geometry.planes; ++p) {
                        if (!plan_.planes[p]) continue;
                        device.plane[p].ref = upload(pair.plane[p].ref, p, 0);
                        device.plane[p].main = upload(pair.plane[p].main, p, 1);
                    }
                }
                sequence_ = next_sequence();
                for (GpuLaunch& launch : plan_.launches) {
                    launch.set(device, sequence_);
                    runtime_.launch(stream_, launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2], launch.arguments.data(), launch.arguments.size());
                }
                runtime_.download(stream_, results_, plan_.results, 8 * (words_ + plan_.launches.size()));
                runtime_.record(finished_, stream_);
            } catch (const Error& error) {
                failure_ = error.what();
                failure_status_ = error.status();
            }
        }

        bool done() { return !busy_ || !failure_.empty() || runtime_.finished(finished_); }

        void wait() {
            if (!busy_) return;
            if (!failure_.empty()) throw Error(failure_status_, failure_);
            runtime_.synchronize(finished_);
            busy_ = false;  // from here on nothing of this slot is queued
            for (size_t i = 0; i < plan_.launches.size(); ++i) {
                if (results_[words_ + i] != sequence_)
                    throw Error(EXACTVQ_ERROR_DEVICE, std::string("the GPU did not run ") + kernel_info(plan_.launches[i].kernel).name +
                                                          " for this frame: the driver lost a launch");
            }
            std::copy_n(results_, words_, out_);
        }

    private:
        // Another number for every pair of the process: what an earlier session left in the same memory is no mark.
        static uint64_t next_sequence() {
            static std::atomic<uint64_t> last{0x5eed0000};
            return ++last;
        }

        static size_t row_bytes(const PlaneView& view) { return size_t{view.width - 1} * view.step + view.word_bytes(); }

        // To pinned memory, in stripes that the workers share out: one thread alone is slower than the bus.
        void copy_to_staging(const FramePair& pair) {
            constexpr uint32_t kStripe = 64;  // rows
            stripes_.clear();
            for (uint32_t p = 0; p < config_.geometry.planes; ++p)
                for (uint32_t picture = 0; plan_.planes[p] && picture < 2; ++picture)
                    for (uint32_t y = 0; y < pair.plane[p].ref.height; y += kStripe) stripes_.push_back({p, picture, y});
            backend_.pool_->run(static_cast<uint32_t>(stripes_.size()), [&](uint32_t i) {
                const Copy& s = stripes_[i];
                const PlaneView& view = s.picture ? pair.plane[s.plane].main : pair.plane[s.plane].ref;
                const uint32_t end = std::min(view.height, s.first + kStripe);
                for (uint32_t y = s.first; y < end; ++y) std::memcpy(staging_[s.plane][s.picture] + pitch_[s.plane] * y, view.row(y), row_bytes(view));
            });
        }

        // Queues a plane's way to the device. The view of it there.
        PlaneView upload(const PlaneView& view, uint32_t p, uint32_t picture) {
            runtime_.upload(stream_, plane_[p][picture], pitch_[p], staging_[p][picture], static_cast<ptrdiff_t>(pitch_[p]), row_bytes(view), view.height);
            PlaneView device = view;
            device.data = reinterpret_cast<const uint8_t*>(plane_[p][picture]);
            device.stride = static_cast<ptrdiff_t>(pitch_[p]);
            return device;
        }

        void release() noexcept {
            if (has_event_) {
                if (busy_) {
                    try {  // also what a failed start had queued
                        runtime_.record(finished_, stream_);
                        runtime_.synchronize(finished_);
                    } catch (...) {  // the device failed: nothing runs any more
                    }
                }
                runtime_.destroy_event(finished_);
            }
            if (has_produced_) runtime_.destroy_event(produced_);
            if (has_stream_) runtime_.destroy_stream(stream_);
            has_event_ = has_produced_ = has_stream_ = false;
        }

        struct Copy {
            uint32_t plane, picture, first;  // row
        };

        GpuBackend& backend_;
        Runtime& runtime_;
        const BackendConfig& config_;
        Memory memory_;
        std::vector<Copy> stripes_;
        typename Runtime::Stream stream_{};
        typename Runtime::Event finished_{}, produced_{};
        bool has_stream_ = false, has_event_ = false, has_produced_ = false, busy_ = false;
        GpuPlan plan_;
        size_t words_ = 0;
        uint64_t sequence_ = 0;
        uint64_t* results_ = nullptr;  // pinned: words, then marks
        uint64_t* out_ = nullptr;
        std::string failure_;
        exactvq_status failure_status_ = EXACTVQ_ERROR_DEVICE;
        size_t pitch_[3] = {};
        Address plane_[3][2] = {};
        uint8_t* staging_[3][2] = {};
    };

    const BackendConfig config_;
    Runtime runtime_;
    std::unique_ptr<ThreadPool> pool_;  // copies frames of system memory
    std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_BACKEND_H
