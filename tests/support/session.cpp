// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/session.h"

namespace exactvq::test {

exactvq_status open_session(const SessionOptions& options, exactvq_session** session) {
    *session = nullptr;
    exactvq_metric_list list;
    char error[512];
    exactvq_status status = exactvq_parse_metrics(options.metrics.c_str(), options.options.c_str(), options.models.c_str(), &list, error, sizeof error);
    if (status != EXACTVQ_OK) return status;
    exactvq_config config{};
    config.struct_size = sizeof config;
    config.metrics = list.metrics;
    config.metric_count = list.count;
    config.format = options.format;
    config.threads = options.threads;
    config.backend = options.backend;
    config.memory = options.memory;
    config.frames_in_flight = options.frames_in_flight;
    config.cpu_mask = options.cpu_mask;
    config.subsample = options.subsample;
    config.keep_scores = options.keep_scores;
    config.log = options.log;
    config.log_opaque = options.log_opaque;
    status = exactvq_open(&config, session);
    exactvq_free_metrics(&list);
    return status;
}

exactvq_status run_session(exactvq_session* session, const std::vector<std::pair<exactvq_frame, exactvq_frame>>& pairs, std::vector<Scored>& scored) {
    const auto receive = [&] {
        Scored next{0, std::vector<exactvq_score>(exactvq_output_count(session))};
        const exactvq_status status = exactvq_receive(session, next.scores.data(), &next.index, 0);
        if (status == EXACTVQ_OK) scored.push_back(std::move(next));
        return status;
    };
    exactvq_status status = EXACTVQ_OK;
    for (uint64_t i = 0; i < pairs.size();) {
        status = exactvq_submit(session, &pairs[i].first, &pairs[i].second, i);
        if (status == EXACTVQ_OK) ++i;
        else if (status != EXACTVQ_AGAIN || (status = receive()) != EXACTVQ_OK) return status;
    }
    if ((status = exactvq_flush(session)) != EXACTVQ_OK) return status;
    while ((status = receive()) == EXACTVQ_OK) {
    }
    return status == EXACTVQ_END ? EXACTVQ_OK : status;
}

}  // namespace exactvq::test
