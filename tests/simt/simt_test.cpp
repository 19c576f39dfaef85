// SPDX-License-Identifier: BSD-2-Clause
//
// Kernels on fibers: what they compute when they are right, and that each kind of mistake is caught.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tests/simt/sanitizers.h"
#include "kernels/common/root.h"
#include "tests/simt/simt_platform.h"

namespace exactvq::gpu {
namespace {

#ifdef EXACTVQ_SIMT_TSAN_CODE
constexpr bool kTsan = true;
#else
constexpr bool kTsan = false;
#endif
#ifdef EXACTVQ_SIMT_ASAN
constexpr bool kAsan = true;
#else
constexpr bool kAsan = false;
#endif
constexpr uint64_t kSeeds[] = {0, 1, 2, 3};

template <uint32_t kWave, class F>
void run_body(simt::Launch launch, F body) {
    launch.wave = kWave;
    simt::launch(launch, [&body](void* shared) { body(SimtPlatform<kWave>(), shared); });
}

TEST(Simt, EveryThreadOfEveryBlockRunsOnce) {
    for (uint32_t workers : {1, 2}) {
        for (uint32_t threads : {64, 192, 1024}) {
            std::vector<uint32_t> count(3 * 5 * 2 * threads);
            simt::Launch launch;
            launch.blocks = {3, 5, 2};
            launch.threads = threads;
            launch.workers = workers;
            run_body<32>(launch, [&]<class P>(P, void*) {
                EXPECT_TRUE(P::blocks_x() == 3 && P::blocks_y() == 5 && P::blocks_z() == 2);
                ++count[((P::block_z() * 5 + P::block_y()) * 3 + P::block_x()) * threads + P::thread()];
            });
            EXPECT_EQ(count, std::vector<uint32_t>(count.size(), 1));
        }
    }
}

TEST(Simt, OrderDependsOnSeedOnly) {
    const auto order = [](uint64_t seed) {
        std::vector<uint32_t> result;
        simt::Launch launch;
        launch.blocks = {4, 1, 1};
        launch.threads = 128;
        launch.seed = seed;
        run_body<32>(launch, [&]<class P>(P, void*) {
            for (int i = 0; i < 2; ++i) {
                result.push_back(P::block_x() << 16 | P::thread());
                P::sync();
            }
        });
        return result;
    };
    if (kTsan) GTEST_SKIP() << "the threads share a vector";
    std::set<std::vector<uint32_t>> orders;
    for (uint64_t seed : kSeeds) {
        EXPECT_EQ(order(seed), order(seed));
        orders.insert(order(seed));
    }
    EXPECT_EQ(orders.size(), std::size(kSeeds));
}

template <uint32_t kWave>
void check_wave_operations(uint64_t seed) {
    simt::Launch launch;
    launch.threads = 128;
    launch.seed = seed;
    run_body<kWave>(launch, []<class P>(P, void*) {
        const uint32_t thread = P::thread(), lane = thread % kWave, first = thread - lane;
        for (uint32_t n = 0; n < kWave; ++n) {
            EXPECT_EQ(P::shuffle_down(thread, n), lane + n < kWave ? thread + n : thread);
            EXPECT_EQ(P::shuffle_xor(uint64_t{thread} << 40, n), uint64_t{first + (lane ^ n)} << 40);
            EXPECT_EQ(P::shuffle(-static_cast<int64_t>(thread), n), -static_cast<int64_t>(first + n));
            EXPECT_EQ(P::shuffle(static_cast<float>(thread), (lane + n) % kWave), static_cast<float>(first + (lane + n) % kWave));
            EXPECT_EQ(P::shuffle_down(-static_cast<int32_t>(thread), 0), -static_cast<int32_t>(thread));
        }
        for (uint32_t n = 0; n < 8; ++n) {
            uint64_t expected = 0;
            for (uint32_t i = 0; i < kWave; ++i) expected |= uint64_t{((first + i) * 37 >> n & 1) == 1} << i;
            EXPECT_EQ(P::ballot((thread * 37 >> n & 1) == 1), expected);
        }
    });
}

TEST(Simt, WaveOperations) {
    for (uint64_t seed : kSeeds) {
        check_wave_operations<32>(seed);
        check_wave_operations<64>(seed);
    }
}

TEST(Simt, Arithmetic) {
    using P = SimtPlatform<64>;
    EXPECT_EQ(P::multiply_high(0xffffffffu, 0xffffffffu), 0xfffffffeu);
    EXPECT_EQ(root(2.0f), 0x1.6a09e6p+0f);
    EXPECT_EQ(root(2.0), 0x1.6a09e667f3bcdp+0);
}

// Sum of all values of an array, by block_sum and an atomic addition for each block.
template <class T, uint32_t kBlock>
struct SumKernel {
    struct Arguments {
        const T* values;
        uint32_t count;
        uint64_t* sum;
    };
    static constexpr uint32_t kThreads = kBlock;
    template <class P>
    struct Shared {
        T partial[kThreads / P::kWave];
    };

    template <class P>
    static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t i = P::block_x() * kThreads + P::thread();
        const T sum = block_sum<P, kThreads>(i < a.count ? a.values[i] : T{}, s.partial);
        if (P::thread() == 0) P::atomic_add(a.sum, static_cast<uint64_t>(sum));
    }
};

template <class T, uint32_t kThreads>
void check_block_sum(const std::vector<T>& values) {
    const uint64_t expected = static_cast<uint64_t>(std::accumulate(values.begin(), values.end(), T{}));
    for (uint64_t seed : kSeeds) {
        for (uint32_t workers : {1, 2}) {
            simt::Launch launch;
            launch.blocks = {5, 1, 1};
            launch.seed = seed;
            launch.workers = workers;
            uint64_t sum[2] = {};
            using Arguments = typename SumKernel<T, kThreads>::Arguments;
            const auto arguments = [&](int i) { return Arguments{values.data(), static_cast<uint32_t>(values.size()), &sum[i]}; };
            run_kernel<SumKernel<T, kThreads>, 32>(launch, arguments(0));
            run_kernel<SumKernel<T, kThreads>, 64>(launch, arguments(1));
            EXPECT_EQ(sum[0], expected) << kThreads << " threads, wave 32, seed " << seed;
            EXPECT_EQ(sum[1], expected) << kThreads << " threads, wave 64, seed " << seed;
        }
    }
}

template <class T, uint32_t kThreads>
void check_block_sum() {
    std::vector<T> values(kThreads * 5 - 13);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>((i * 2654435761u >> 7) % 100003) - static_cast<T>(i % 7 * 9);
    check_block_sum<T, kThreads>(values);
    // The largest and the smallest sums that do not overflow, and carries from the lower half of a word in every addition.
    const T count = static_cast<T>(values.size());
    const T carries = sizeof(T) == 4 ? T{1} : static_cast<T>(std::numeric_limits<uint32_t>::max());
    for (const T value : {std::numeric_limits<T>::max() / count, std::numeric_limits<T>::min() / count, carries}) {
        std::fill(values.begin(), values.end(), value);
        check_block_sum<T, kThreads>(values);
    }
}

// Case A15 of the acceptance tests.
TEST(Simt, BlockSum) {
    check_block_sum<uint64_t, 64>();
    check_block_sum<uint64_t, 192>();
    check_block_sum<int64_t, 256>();
    check_block_sum<int32_t, 512>();
    check_block_sum<uint64_t, 1024>();
}

// The last block to finish adds what all have written.
struct LastBlockKernel {
    struct Arguments {
        uint32_t* partial;
        uint32_t* finished;
        uint32_t* sum;
    };
    static constexpr uint32_t kThreads = 64;
    template <class P>
    struct Shared {
        uint32_t last;
    };

    template <class P>
    static void run(const Arguments& a, Shared<P>& s) {
        if (P::thread() == 0) {
            a.partial[P::block_x()] = P::block_x() + 1;
            P::fence();
            s.last = P::atomic_add(a.finished, 1) + 1 == P::blocks_x();
            P::fence();
        }
        P::sync();
        if (!s.last || P::thread() != 0) return;
        *a.sum = 0;
        for (uint32_t i = 0; i < P::blocks_x(); ++i) *a.sum += a.partial[i];
    }
};

TEST(Simt, FenceOrdersBlocks) {
    for (uint64_t seed : kSeeds) {
        uint32_t partial[20], finished = 0, sum = 0;
        simt::Launch launch;
        launch.blocks = {20, 1, 1};
        launch.seed = seed;
        launch.workers = 2;
        run_kernel<LastBlockKernel, 32>(launch, {partial, &finished, &sum});
        EXPECT_EQ(sum, 210u);
    }
}

TEST(Simt, ExceptionsLeaveTheLaunch) {
    if (kTsan) GTEST_SKIP() << "the threads share counters";
    struct Unwound {
        uint32_t& count;
        ~Unwound() { ++count; }
    };
    for (uint32_t thread : {0, 77, 127}) {
        uint32_t unwound = 0, entered = 0;
        simt::Launch launch;
        launch.threads = 128;
        EXPECT_THROW(run_body<64>(launch,
                                  [&]<class P>(P, void*) {
                                      const Unwound guard{unwound};
                                      ++entered;
                                      P::sync();
                                      P::shuffle_xor(1u, 1);
                                      if (P::thread() == thread) throw std::out_of_range("");
                                      P::sync();
                                  }),
                     std::out_of_range);
        EXPECT_EQ(entered, 128u);
        EXPECT_EQ(unwound, 128u);
    }
}

TEST(Simt, RefusesWhatAGpuWould) {
    const auto nothing = [](void*) {};
    const auto refused = [&](simt::Launch launch) { EXPECT_THROW(simt::launch(launch, nothing), std::invalid_argument); };
    simt::Launch launch;
    for (uint32_t threads : {0, 32, 96, 1088}) refused({"k", {1, 1, 1}, threads, 32, 0, 0, 1});
    refused({"k", {0, 1, 1}, 64, 32, 0, 0, 1});
    refused({"k", {1, 65536, 1}, 64, 32, 0, 0, 1});
    refused({"k", {1, 1, 1}, 64, 16, 0, 0, 1});
    refused({"k", {1, 1, 1}, 64, 32, simt::kMaxSharedBytes + 1, 0, 1});
    launch.shared_bytes = simt::kMaxSharedBytes;
    EXPECT_NO_THROW(simt::launch(launch, nothing));
}

// One sum kernel, with a mistake.
enum class Bug {
    kNone,
    kMissingBarrier,
    kUnwrittenShared,
    kDivergentBarrier,
    kBarrierCount,
    kDivergentShuffle,
    kDifferentShuffles,
    kEarlyReturn,
    kSharedOverrun,
    kLiteralWave64,
    kLiteralWave32,
    kSharedReuse,
    kPlainAdd,
};

template <Bug kBug>
struct BuggyKernel {
    struct Arguments {
        const uint32_t* values;
        uint32_t count, limit;
        uint64_t* sum;
    };
    static constexpr uint32_t kThreads = 256;
    template <class P>
    struct Shared {
        uint64_t partial[kThreads];
    };

    template <class P>
    static void run(const Arguments& a, Shared<P>& s) {
        const uint32_t t = P::thread(), i = P::block_x() * kThreads + t;
        if (kBug == Bug::kEarlyReturn && i >= a.count) return;
        uint64_t v = i < a.count ? a.values[i] : 0;

        if (kBug == Bug::kDivergentBarrier && t < a.limit) P::sync();
        if (kBug == Bug::kBarrierCount)
            for (uint32_t k = 0; k < (t < a.limit ? 2u : 3u); ++k) P::sync();
        if (kBug == Bug::kDivergentShuffle && v > a.limit) v += P::shuffle_xor(v, 1) & 1;
        if (kBug == Bug::kDifferentShuffles) {
            if (t < a.limit)
                v = P::shuffle_xor(v, 0);
            else
                v = P::shuffle_xor(v, 0);
        }

        if (kBug != Bug::kUnwrittenShared || t != 7) s.partial[t] = v;
        if (kBug == Bug::kSharedOverrun && t == 255) (&s.partial[0])[t + a.limit / 100] = 1;
        if (kBug != Bug::kMissingBarrier) P::sync();
        for (uint32_t n = kThreads / 2; n >= P::kWave; n /= 2) {
            if (t < n) s.partial[t] += s.partial[t + n];
            P::sync();
        }
        v = s.partial[t % P::kWave];
        const uint32_t wave = kBug == Bug::kLiteralWave64 ? 64 : kBug == Bug::kLiteralWave32 ? 32 : P::kWave;
        for (uint32_t n = wave / 2; n > 0; n /= 2) v += P::shuffle_down(v, n);

        if (kBug == Bug::kSharedReuse) {  // thread 0 may still be reading
            if (t % P::kWave == 0) s.partial[t / P::kWave] = v + t;
            P::sync();
            uint64_t first = 0;
            if (t == 0) first = s.partial[1] - P::kWave;
            if (t == P::kWave) s.partial[1] = 0;
            v = t == 0 ? first : v;
        }
        if (t != 0) return;
        if (kBug == Bug::kPlainAdd)
            *a.sum += v;
        else
            P::atomic_add(a.sum, v);
    }
};

struct Outcome {
    uint32_t right = 0, wrong = 0;
    std::set<std::string> violations;
};

// With each seed, in waves of 32 and 64, or of one size only.
template <Bug kBug>
Outcome run_buggy(uint32_t only_wave = 0, uint32_t workers = 1, uint32_t blocks = 4) {
    using Kernel = BuggyKernel<kBug>;
    std::vector<uint32_t> values(256 * blocks - 13);
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = (i * 2654435761u >> 13) & 0xff;
    const uint64_t expected = std::accumulate(values.begin(), values.end(), uint64_t{0});
    Outcome outcome;
    for (uint64_t seed : kSeeds) {
        for (uint32_t wave : {32, 64}) {
            if (only_wave != 0 && wave != only_wave) continue;
            simt::Launch launch;
            launch.kernel = "BuggyKernel";
            launch.blocks = {blocks, 1, 1};
            launch.seed = seed;
            launch.workers = workers;
            uint64_t sum = 0;
            const typename Kernel::Arguments arguments{values.data(), static_cast<uint32_t>(values.size()), 100, &sum};
            try {
                if (wave == 32) run_kernel<Kernel, 32>(launch, arguments);
                if (wave == 64) run_kernel<Kernel, 64>(launch, arguments);
                ++(sum == expected ? outcome.right : outcome.wrong);
            } catch (const simt::Violation& violation) {
                EXPECT_EQ(violation.kernel, "BuggyKernel");
                EXPECT_LT(violation.block.x, blocks);
                outcome.violations.insert(violation.what());
            }
        }
    }
    return outcome;
}

template <Bug kBug>
void expect_violation(const std::string& words) {
    const Outcome outcome = run_buggy<kBug>();
    EXPECT_EQ(outcome.right + outcome.wrong, 0u);
    EXPECT_FALSE(outcome.violations.empty());
    for (const std::string& violation : outcome.violations) EXPECT_TRUE(violation.find(words) != std::string::npos) << violation;
}

// A data race: wrong results, or a report by ThreadSanitizer.
template <Bug kBug>
void expect_race() {
    if (kTsan) {
        testing::FLAGS_gtest_death_test_style = "threadsafe";
        EXPECT_EXIT((run_buggy<kBug>(), std::exit(0)), testing::ExitedWithCode(66), "data race");
    } else {
        const Outcome outcome = run_buggy<kBug>();
        EXPECT_EQ(outcome.right, 0u);
        EXPECT_EQ(outcome.wrong, 2 * std::size(kSeeds));
    }
}

TEST(SimtBug, None) {
    for (uint32_t workers : {1, 2}) {
        const Outcome outcome = run_buggy<Bug::kNone>(0, workers);
        EXPECT_EQ(outcome.right, 2 * std::size(kSeeds));
        EXPECT_TRUE(outcome.violations.empty());
    }
}

TEST(SimtBug, MissingBarrier) { expect_race<Bug::kMissingBarrier>(); }

TEST(SimtBug, SharedMemoryReusedTooEarly) {
    if (kTsan) return expect_race<Bug::kSharedReuse>();
    const Outcome outcome = run_buggy<Bug::kSharedReuse>();
    EXPECT_GT(outcome.wrong, 0u);  // of four blocks: with most orders
}

TEST(SimtBug, UnwrittenSharedElement) {
    const Outcome outcome = run_buggy<Bug::kUnwrittenShared>();
    EXPECT_EQ(outcome.wrong, 2 * std::size(kSeeds));
}

TEST(SimtBug, BarrierInDivergentCode) { expect_violation<Bug::kDivergentBarrier>("waits at the barrier of "); }

TEST(SimtBug, DifferentNumbersOfBarriers) { expect_violation<Bug::kBarrierCount>("barrier"); }

TEST(SimtBug, ShuffleInDivergentCode) { expect_violation<Bug::kDivergentShuffle>("shuffle_xor ("); }

TEST(SimtBug, DifferentShufflesInOneWave) { expect_violation<Bug::kDifferentShuffles>("is in shuffle_xor ("); }

TEST(SimtBug, EarlyReturn) { expect_violation<Bug::kEarlyReturn>("has returned"); }

TEST(SimtBug, SharedOverrun) {
    if (kAsan) {
        testing::FLAGS_gtest_death_test_style = "threadsafe";
        EXPECT_DEATH(run_buggy<Bug::kSharedOverrun>(), "use-after-poison");
    } else {
        expect_violation<Bug::kSharedOverrun>("wrote 0 bytes behind its 2048 bytes of shared memory");
    }
}

TEST(SimtBug, LiteralWaveSize) {
    EXPECT_EQ(run_buggy<Bug::kLiteralWave64>(64).right, std::size(kSeeds));
    const Outcome of32 = run_buggy<Bug::kLiteralWave64>(32);
    EXPECT_EQ(of32.right + of32.wrong, 0u);
    for (const std::string& violation : of32.violations) EXPECT_TRUE(violation.find("does not exist") != std::string::npos) << violation;
    EXPECT_EQ(run_buggy<Bug::kLiteralWave32>(32).right, std::size(kSeeds));
    EXPECT_EQ(run_buggy<Bug::kLiteralWave32>(64).wrong, std::size(kSeeds));
}

TEST(SimtBug, PlainAddToGlobalMemory) {
    if (!kTsan) GTEST_SKIP() << "only ThreadSanitizer sees it";
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT((run_buggy<Bug::kPlainAdd>(0, 2, 200), std::exit(0)), testing::ExitedWithCode(66), "data race");
}

// The message names what is needed to find the line and to run it again.
TEST(SimtBug, Message) {
    const auto message = [](auto body) -> std::string {
        simt::Launch launch;
        launch.kernel = "exactvq_FooKernel";
        launch.blocks = {1, 1, 2};
        launch.seed = 9;
        try {
            run_body<32>(launch, body);
        } catch (const simt::Violation& violation) {
            EXPECT_EQ(violation.block.z, 1u);
            return violation.what();
        }
        return "";
    };
    const auto at = [](int line) { return std::string(__FILE__) + ":" + std::to_string(line); };
    const std::string start = "exactvq_FooKernel (wave 32, seed 9), block (0, 0, 1), thread ";

    const int first = __LINE__;
    const auto one_lane = []<class P>(P, void*) {
        if (P::block_z() == 0 || P::thread() != 5) return;
        P::ballot(true);
    };
    EXPECT_EQ(message(one_lane), start + "5: waits in ballot (" + at(first + 3) + ") for ever: thread 0 of its wave has returned");

    const int second = __LINE__;
    const auto one_too_few = []<class P>(P, void*) {
        P::sync();
        if (P::block_z() == 0 || P::thread() == 63) return;
        P::sync();
    };
    EXPECT_EQ(message(one_too_few),
              start + "0: waits at the barrier of " + at(second + 4) + " for ever: thread 63 has returned after 1 barriers, this is number 2");

    const int third = __LINE__;
    const auto two_lines = []<class P>(P, void*) {
        if (P::block_z() == 1 && P::thread() == 40) P::sync();
        if (P::block_z() == 1 && P::thread() != 40) P::sync();
    };
    const std::string text = message(two_lines);
    for (const std::string& words : {start, at(third + 2), at(third + 3)}) EXPECT_NE(text.find(words), std::string::npos) << text;

    const auto barrier_or_shuffle = []<class P>(P, void*) {
        if (P::block_z() == 1 && P::thread() == 40)
            P::sync();
        else if (P::block_z() == 1)
            P::shuffle_xor(1, 1);
    };
    EXPECT_NE(message(barrier_or_shuffle).find("thread 40 of its wave waits at the barrier of"), std::string::npos) << message(barrier_or_shuffle);
}

}  // namespace
}  // namespace exactvq::gpu
