// SPDX-License-Identifier: BSD-2-Clause
#include "tests/simt/simt.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/simt/block.h"
#include "tests/simt/sanitizers.h"

namespace exactvq::simt {
namespace {

std::string text(Index i) { return std::string("(") + std::to_string(i.x) + ", " + std::to_string(i.y) + ", " + std::to_string(i.z) + ")"; }

// Blocks between launches, with the stacks of their threads.
class Idle {
public:
    std::unique_ptr<Block> take() {
        const std::lock_guard lock(mutex_);
        if (blocks_.empty()) return std::make_unique<Block>();
        std::unique_ptr<Block> block = std::move(blocks_.back());
        blocks_.pop_back();
        return block;
    }

    void put(std::unique_ptr<Block> block) {
        const std::lock_guard lock(mutex_);
        blocks_.push_back(std::move(block));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Block>> blocks_;
};
Idle idle;

void check(const Launch& launch) {
    const Index n = launch.blocks;
    if (n.x == 0 || n.y == 0 || n.z == 0 || n.x > 0x7fffffff || n.y > 0xffff || n.z > 0xffff || launch.threads == 0 || launch.threads % 64 != 0 ||
        launch.threads > kMaxThreads || (launch.wave != 32 && launch.wave != 64) || launch.shared_bytes > kMaxSharedBytes)
        throw std::invalid_argument(std::string(launch.kernel) + ": a GPU would refuse " + text(n) + " blocks of " + std::to_string(launch.threads) +
                                    " threads with " + std::to_string(launch.shared_bytes) + " bytes of shared memory, wave " + std::to_string(launch.wave));
}

std::string where(const Launch& launch, Index block, uint32_t thread) {
    return std::string(launch.kernel) + " (wave " + std::to_string(launch.wave) + ", seed " + std::to_string(launch.seed) + "), block " + text(block) +
           (thread == kNoThread ? std::string() : ", thread " + std::to_string(thread)) + ": ";
}

}  // namespace

Violation::Violation(const Launch& launch, Index block, uint32_t thread, const std::string& what)
    : std::runtime_error(where(launch, block, thread) + what), kernel(launch.kernel), block(block), thread(thread) {}

void launch(const Launch& launch, const std::function<void(void*)>& body) {
    check(launch);
    std::vector<uint32_t> order(static_cast<size_t>(launch.blocks.x) * launch.blocks.y * launch.blocks.z);
    std::iota(order.begin(), order.end(), 0u);
    Random(launch.seed).shuffle(order.data(), static_cast<uint32_t>(order.size()));

    std::atomic<size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&] {
        Fiber host(Fiber::kCurrentThread);
        std::unique_ptr<Block> block = idle.take();
        release(block->sync_object());
        try {
            for (size_t i; (i = next.fetch_add(1)) < order.size();) {
                const uint32_t n = order[i], xy = launch.blocks.x * launch.blocks.y;
                block->run(launch, body, {n % launch.blocks.x, n % xy / launch.blocks.x, n / xy}, host);
            }
        } catch (...) {
            next = order.size();
            const std::lock_guard lock(mutex);
            if (!error) error = std::current_exception();
        }
        acquire(block->sync_object());
        idle.put(std::move(block));
    };
    {
        std::vector<std::jthread> others;
        const size_t workers = std::min<size_t>(launch.workers, order.size());
        for (size_t i = 1; i < workers; ++i) others.emplace_back(work);
        work();
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace exactvq::simt
