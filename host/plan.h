// SPDX-License-Identifier: BSD-2-Clause
//
// What a session computes: metric instances, the accumulators they share, and the list of all scores.
#ifndef EXACTVQ_HOST_PLAN_H
#define EXACTVQ_HOST_PLAN_H

#include <memory>
#include <string>
#include <vector>

#include "host/metric.h"

namespace exactvq {

struct PlanOutput {
    std::string name, libvmaf_name, label, unavailable;
    const char* metric;
    const char* unit;
    int log_rank;  // MetricOutput's
};

struct PlanAggregate {
    std::string name, label;
    const char* metric;
};

class Plan {
public:
    // Throws Error: unknown metric, wrong option, two outputs of one name.
    Plan(const exactvq_metric* metrics, size_t count, const Geometry& geometry);

    // Those of the metrics that were asked for, in their order; then those that models need; then the models'.
    const std::vector<PlanOutput>& outputs() const { return outputs_; }
    const std::vector<AccumulatorSpec>& accumulators() const { return accumulators_; }
    bool needs_every_frame() const { return needs_every_frame_; }
    uint32_t successors() const { return successors_; }  // frames after a frame that its scores wait for

    // Scores of a frame, outputs().size() values, NaN where there is none. `words`: those of accumulators(), one after the other, of the frame and of the frames
    // after it, successors() of them unless the sequence ends. To be called for every frame, in order, if there are successors; `scored`: not left out by
    // subsampling (else only accumulators of kind kMotion count, and `scores` means nothing).
    void conclude(const uint64_t* const* words, uint32_t frames, bool scored, double* scores);
    // The same of a sequence of one frame.
    void conclude(const uint64_t* words, double* scores) { conclude(&words, 1, true, scores); }

    // Values of the whole sequence: one value for each of aggregates().
    const std::vector<PlanAggregate>& aggregates() const { return aggregates_; }
    void add_frame(const uint64_t* words);
    // The next frame starts a sequence.
    void restart();
    std::vector<double> aggregate_values() const;

private:
    struct Instance {
        const MetricInfo* info;
        std::string label;
        OptionValues options;
        std::unique_ptr<Metric> metric;
        size_t first_output = 0;
        std::vector<uint32_t> offsets;  // of the first word of each accumulator of the metric
        std::vector<size_t> sources;    // of a prediction: outputs
        std::vector<double> values;     // theirs
        bool requested = false;         // by a prediction: libvmaf's names have no label then, options tell instances apart
    };

    static Instance make_instance(const MetricInfo& info, const std::string& label, const exactvq_option* options, size_t count, const Geometry& geometry);
    void add(Instance instance);
    void add_requested(Instance& prediction, const Geometry& geometry);

    std::vector<Instance> instances_;  // predictions last
    std::vector<PlanOutput> outputs_;
    std::vector<PlanAggregate> aggregates_;
    std::vector<AccumulatorSpec> accumulators_;
    bool needs_every_frame_ = false;
    uint32_t successors_ = 0;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_PLAN_H
