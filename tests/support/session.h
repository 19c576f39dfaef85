// SPDX-License-Identifier: BSD-2-Clause
//
// A session driven through the C API, as an application would.
#ifndef EXACTVQ_TESTS_SUPPORT_SESSION_H
#define EXACTVQ_TESTS_SUPPORT_SESSION_H

#include <map>
#include <string>
#include <vector>

#include "exactvq/exactvq.h"

namespace exactvq::test {

struct Scored {
    uint64_t index;
    std::vector<exactvq_score> scores;
};

struct SessionOptions {
    std::string metrics = "psnr", options, models;
    exactvq_format format{};
    uint32_t threads = 1, frames_in_flight = 0, cpu_mask = 0, subsample = 0, keep_scores = 0, backend = EXACTVQ_BACKEND_AUTO, memory = EXACTVQ_MEMORY_HOST;
    exactvq_log_callback log = nullptr;
    void* log_opaque = nullptr;
};

// Opens; on failure *session takes only exactvq_error() and exactvq_close().
exactvq_status open_session(const SessionOptions& options, exactvq_session** session);

// Submits the pairs, receiving when the queue is full, flushes and receives the rest.
exactvq_status run_session(exactvq_session* session, const std::vector<std::pair<exactvq_frame, exactvq_frame>>& pairs, std::vector<Scored>& scored);

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_SUPPORT_SESSION_H
