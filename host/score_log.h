// SPDX-License-Identifier: BSD-2-Clause
//
// Scores of a whole run, and their text in the shapes of libvmaf 3's log files.
#ifndef EXACTVQ_HOST_SCORE_LOG_H
#define EXACTVQ_HOST_SCORE_LOG_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "exactvq/exactvq.h"
#include "host/metric.h"
#include "host/pooling.h"

namespace exactvq {

// Scores by frame; a score without value is NaN.
class ScoreStore {
public:
    explicit ScoreStore(size_t outputs) : outputs_(outputs) {}
    void add(uint64_t index, const double* scores);

    size_t frames() const { return index_.size(); }
    uint64_t index(size_t frame) const { return index_[frame]; }
    const double* scores(size_t frame) const { return values_.data() + frame * outputs_; }

private:
    size_t outputs_;
    std::vector<uint64_t> index_;
    std::vector<double> values_;
};

// Everything that a log says.
struct ScoreLog {
    uint32_t width, height;
    double frames_per_cpu_second;
    std::vector<std::string> names;  // of the outputs
    const ScoreStore* store;
    const std::vector<Pooling>* pooling;
    std::vector<MetricAggregate> aggregates;
    bool full_precision = false;  // the shortest decimals that read back as the same double, instead of libvmaf's six digits
};

// Takes the text piece by piece.
using LogSink = std::function<void(std::string_view)>;

void render_log(const ScoreLog& log, exactvq_log_format format, const LogSink& sink);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_SCORE_LOG_H
