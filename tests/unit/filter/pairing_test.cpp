// SPDX-License-Identifier: BSD-2-Clause
//
// The filter's pairing against a plain statement of its rule, on random time stamps read in the order the pairing asks for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

extern "C" {
#include "filter/exactvq_pairing.h"
}

namespace {

using Times = std::vector<int64_t>;
constexpr int kNone = -1;

struct Result {
    std::vector<int> partner;  // of each main frame: index of a reference frame, or kNone
    std::vector<int> dropped;  // reference frames
    size_t longest_queue = 0;
};

// The rule: main frame after main frame, the nearest reference frame that is left (the earlier of two), if equal in time or nearer than half the
// distance to the nearer neighbouring main frame.
std::vector<int> plain_rule(const Times& main, const Times& reference, int64_t nominal_interval) {
    std::vector<bool> used(reference.size());
    std::vector<int> partner(main.size(), kNone);
    for (size_t i = 0; i < main.size(); ++i) {
        int64_t interval = main.size() == 1 ? nominal_interval : INT64_MAX;
        if (i > 0) interval = std::min(interval, main[i] - main[i - 1]);
        if (i + 1 < main.size()) interval = std::min(interval, main[i + 1] - main[i]);
        int best = kNone;
        for (size_t j = 0; j < reference.size(); ++j) {
            if (used[j]) continue;
            if (best == kNone || std::llabs(reference[j] - main[i]) < std::llabs(reference[static_cast<size_t>(best)] - main[i])) best = static_cast<int>(j);
        }
        if (best == kNone) continue;
        const int64_t distance = std::llabs(reference[static_cast<size_t>(best)] - main[i]);
        if (distance == 0 || 2 * distance < interval) {
            used[static_cast<size_t>(best)] = true;
            partner[i] = best;
        }
    }
    return partner;
}

Result run_pairing(const Times& main, const Times& reference, ExactVQPairing pairing) {
    Result result;
    result.partner.assign(main.size(), -2);
    std::deque<int> main_queue, reference_queue;
    size_t next_main = 0, next_reference = 0;
    const auto pop = [](std::deque<int>& queue, size_t at = 0) {
        const int index = queue.at(at);
        queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(at));
        return index;
    };
    for (int steps = 0; steps < 1000; ++steps) {
        switch (ff_exactvq_pairing_step(&pairing)) {
        case EXACTVQ_NEED_MAIN:
            if (next_main == main.size()) {
                pairing.main.eof = 1;
            } else {
                main_queue.push_back(static_cast<int>(next_main));
                ff_exactvq_pairing_push(&pairing.main, main[next_main++]);
            }
            break;
        case EXACTVQ_NEED_REFERENCE:
            if (next_reference == reference.size()) {
                pairing.reference.eof = 1;
            } else {
                reference_queue.push_back(static_cast<int>(next_reference));
                ff_exactvq_pairing_push(&pairing.reference, reference[next_reference++]);
            }
            break;
        case EXACTVQ_PAIR: {
            const int m = pop(main_queue);
            result.partner[static_cast<size_t>(m)] = pop(reference_queue);
            break;
        }
        case EXACTVQ_MAIN_ALONE:
        case EXACTVQ_MAIN_AFTER_END: result.partner[static_cast<size_t>(pop(main_queue))] = kNone; break;
        case EXACTVQ_REFERENCE_UNUSED: result.dropped.push_back(pop(reference_queue, static_cast<size_t>(pairing.unused))); break;
        case EXACTVQ_ALL_PAIRED: return result;
        }
        result.longest_queue = std::max({result.longest_queue, main_queue.size(), reference_queue.size()});
    }
    ADD_FAILURE() << "no end";
    return result;
}

Times random_times(std::mt19937& random, size_t most, int span) {
    Times times(random() % most);
    for (int64_t& t : times) t = static_cast<int64_t>(random() % static_cast<uint32_t>(span));
    std::sort(times.begin(), times.end());
    return times;
}

TEST(Pairing, ByTimeFollowsTheRule) {
    size_t pairs = 0;
    for (uint32_t seed = 0; seed < 200000; ++seed) {
        std::mt19937 random(seed);
        const int span = 1 + static_cast<int>(random() % 60);
        const Times main = random_times(random, 9, span), reference = random_times(random, 12, span);
        ExactVQPairing pairing{};
        pairing.drain = 1;
        pairing.interval = random() % 10;
        const std::vector<int> expected = plain_rule(main, reference, pairing.interval);
        const Result result = run_pairing(main, reference, pairing);
        ASSERT_LE(result.longest_queue, 2u) << "seed " << seed;
        std::vector<int> seen = result.dropped;
        for (size_t i = 0; i < main.size(); ++i) {
            // Reference frames of equal time are equal partners.
            const auto time = [&](int j) { return j < 0 ? INT64_MIN : reference[static_cast<size_t>(j)]; };
            ASSERT_EQ(time(result.partner[i]), time(expected[i])) << "seed " << seed << ", main frame " << i;
            if (result.partner[i] >= 0) seen.push_back(result.partner[i]), ++pairs;
        }
        // Every reference frame is paired or dropped, once.
        std::sort(seen.begin(), seen.end());
        ASSERT_EQ(seen.size(), reference.size()) << "seed " << seed;
        for (size_t j = 0; j < seen.size(); ++j) ASSERT_EQ(seen[j], static_cast<int>(j)) << "seed " << seed;
    }
    EXPECT_GT(pairs, 100000u);
}

TEST(Pairing, ByIndexIgnoresTimes) {
    const Times main{5, 3, 9, 1}, reference{7, 7, 2};
    ExactVQPairing pairing{};
    pairing.by_index = 1;
    EXPECT_EQ(run_pairing(main, reference, pairing).partner, (std::vector<int>{0, 1, 2, kNone}));
}

}  // namespace
