// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/plane_job.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/picture.h"

namespace exactvq::cpu {
namespace {

// Notes the order of folds and checks that no place is used by two stripes at once.
class Recorder final : public PlaneJob {
public:
    Recorder(uint32_t stripes, uint32_t window) : PlaneJob(stripes, window), busy_(window) {}
    void result(uint64_t* words) const override { *words = order_.size(); }
    const std::vector<uint32_t>& order() const { return order_; }
    bool clean() const { return clean_; }

private:
    void reset() override { order_.clear(); }
    void compute(uint32_t stripe, uint32_t place) noexcept override {
        if (busy_[place].exchange(true)) clean_ = false;
        if (test::hash(stripe, place) % 3 == 0) std::this_thread::yield();
    }
    void fold(uint32_t stripe, uint32_t place) noexcept override {
        if (!busy_[place].exchange(false) || folding_.exchange(true)) clean_ = false;
        order_.push_back(stripe);
        folding_ = false;
    }

    std::vector<uint32_t> order_;
    std::vector<std::atomic<bool>> busy_;
    std::atomic<bool> clean_{true}, folding_{false};
};

TEST(PlaneJob, FoldsEveryStripeOnceAndInOrder) {
    for (uint32_t threads : {1u, 2u, 5u}) {
        for (uint32_t window : {1u, 2u, 7u}) {
            Recorder job(200, window);
            for (int pair = 0; pair < 5; ++pair) {
                job.begin({});
                std::atomic<uint32_t> next{0};
                std::vector<std::thread> workers;
                for (uint32_t t = 0; t < threads; ++t)
                    workers.emplace_back([&] {
                        for (uint32_t s; (s = next++) < job.stripes();) job.run(s);
                    });
                for (std::thread& worker : workers) worker.join();
                ASSERT_EQ(job.order().size(), 200u);
                for (uint32_t i = 0; i < 200; ++i) ASSERT_EQ(job.order()[i], i);
                ASSERT_TRUE(job.clean());
            }
        }
    }
}

}  // namespace
}  // namespace exactvq::cpu
