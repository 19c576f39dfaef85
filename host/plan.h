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
};

struct PlanAggregate {
    std::string name, label;
    const char* metric;
};

class Plan {
public:
    // Throws Error: unknown metric, wrong option, two outputs of one name.
    Plan(const exactvq_metric* metrics, size_t count, const Geometry& geometry);

    const std::vector<PlanOutput>& outputs() const { return outputs_; }
    const std::vector<AccumulatorSpec>& accumulators() const { return accumulators_; }
    bool needs_every_frame() const { return needs_every_frame_; }

    // `words`: those of accumulators(), one after the other. `scores`: outputs().size() values, NaN where there is none.
    void conclude(const uint64_t* words, double* scores) const;

    // Values of the whole sequence: one value for each of aggregates().
    const std::vector<PlanAggregate>& aggregates() const { return aggregates_; }
    void add_frame(const uint64_t* words);
    std::vector<double> aggregate_values() const;

private:
    struct Instance {
        std::unique_ptr<Metric> metric;
        std::string label;
        std::vector<uint32_t> offsets;  // of the first word of each accumulator of the metric
    };

    std::vector<Instance> instances_;
    std::vector<PlanOutput> outputs_;
    std::vector<PlanAggregate> aggregates_;
    std::vector<AccumulatorSpec> accumulators_;
    bool needs_every_frame_ = false;
};

}  // namespace exactvq

#endif  // EXACTVQ_HOST_PLAN_H
