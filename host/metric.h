// SPDX-License-Identifier: BSD-2-Clause
//
// A metric: its options, the accumulators it needs of a backend, and how scores are concluded from them.
#ifndef EXACTVQ_HOST_METRIC_H
#define EXACTVQ_HOST_METRIC_H

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/accumulator.h"
#include "host/geometry.h"
#include "host/options.h"

namespace exactvq {

struct MetricOutput {
    std::string name;               // without label
    const char* unit;               // "dB" or ""
    std::string unavailable;        // empty, or the sentence why there never is a value in this geometry
    std::string libvmaf_name = "";  // in libvmaf's logs, without label; empty: the same as name
    int log_rank = 0;               // libvmaf's logs have those of rank 0 first, then 1 (known at the end of the sequence), then 2 (predictions)
};

// A score of another metric, with the options that it must have.
struct ScoreRequest {
    std::string metric, output;
    std::map<std::string, std::string> options;
};

struct MetricAggregate {
    std::string name;
    double value;
};

// One instance of a metric with its options, for frames of one geometry.
class Metric {
public:
    virtual ~Metric() = default;

    const std::vector<MetricOutput>& outputs() const { return outputs_; }
    const std::vector<AccumulatorSpec>& accumulators() const { return accumulators_; }

    // True if frames that subsampling leaves out must be measured all the same.
    virtual bool needs_every_frame() const { return false; }

    // Frames after a frame that its scores wait for. Not 0: conclude() is called for every frame, in order, also for those that subsampling leaves out; its
    // accumulators are then kMotion's.
    virtual uint32_t successors() const { return 0; }
    // The next frame is the first of a sequence.
    virtual void restart() {}

    // Scores of a frame, outputs() of them, in the exact steps of the specification. An output that is unavailable gets NaN.
    virtual void conclude(const FrameWindow& window, double* scores) = 0;

    // Scores of other metrics that conclude() is not given by accumulators but predict() as values.
    virtual std::vector<ScoreRequest> requests() const { return {}; }
    virtual void predict(const double* /*values*/, double* /*scores*/) const {}

    // Values of the whole sequence. add_frame() is called for every measured frame, in order.
    virtual void add_frame(const Accumulators&) {}
    virtual std::vector<MetricAggregate> aggregates() const { return {}; }

protected:
    std::vector<MetricOutput> outputs_;
    std::vector<AccumulatorSpec> accumulators_;
};

// A metric that knows nothing but the frame.
class FrameMetric : public Metric {
public:
    virtual void conclude(const Accumulators& accumulators, double* scores) const = 0;
    void conclude(const FrameWindow& window, double* scores) final { static_cast<const FrameMetric*>(this)->conclude(window[0], scores); }
};

// A metric as users ask for it.
struct MetricInfo {
    const char* name;
    const char* help;    // one sentence
    const char* scores;  // names of the outputs, for a person
    std::vector<OptionSpec> options;
    std::unique_ptr<Metric> (*make)(const OptionValues& options, const Geometry& geometry);
};

// Each metric lives in a file of its name.
const MetricInfo& psnr_info();
const MetricInfo& float_psnr_info();
const MetricInfo& psnr_hvs_info();
const MetricInfo& adm_info();
const MetricInfo& vif_info();
const MetricInfo& motion_info();
const MetricInfo& vmaf_info();

const std::vector<const MetricInfo*>& all_metrics();
const MetricInfo* find_metric(std::string_view name);  // nullptr if unknown
std::string list_metrics();                            // "psnr, float_psnr, ..."
std::string describe_metrics();                        // for exactvq_describe_metrics()

}  // namespace exactvq

#endif  // EXACTVQ_HOST_METRIC_H
