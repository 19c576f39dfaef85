// SPDX-License-Identifier: BSD-2-Clause
#include "host/plan.h"

#include <algorithm>

#include "host/error.h"

namespace exactvq {
namespace {

std::string with_label(const std::string& label, const std::string& name) { return label.empty() ? name : label + "." + name; }

}  // namespace

Plan::Plan(const exactvq_metric* metrics, size_t count, const Geometry& geometry) {
    if (!metrics || count == 0) throw Error(EXACTVQ_ERROR_ARGUMENT, "no metric is asked for: the metrics are " + list_metrics());
    for (size_t m = 0; m < count; ++m) {
        const std::string name = metrics[m].name ? metrics[m].name : "";
        const MetricInfo* info = find_metric(name);
        if (!info) throw Error(EXACTVQ_ERROR_ARGUMENT, "unknown metric '" + name + "': the metrics are " + list_metrics());
        Instance instance;
        instance.label = metrics[m].label ? metrics[m].label : "";
        check_label(instance.label);
        if (metrics[m].option_count > 0 && !metrics[m].options) throw Error(EXACTVQ_ERROR_ARGUMENT, name + " has a count of options but no options");
        const OptionValues options(info->name, info->options, metrics[m].options, metrics[m].option_count);
        instance.metric = info->make(options, geometry);
        for (const MetricOutput& output : instance.metric->outputs()) {
            const std::string full = with_label(instance.label, output.name);
            for (const PlanOutput& other : outputs_)
                if (other.name == full) throw Error(EXACTVQ_ERROR_ARGUMENT, "'" + full + "' is asked for twice: give one of them a label (" + name + "@label)");
            const std::string libvmaf = with_label(instance.label, output.libvmaf_name.empty() ? output.name : output.libvmaf_name);
            outputs_.push_back({full, libvmaf, instance.label, output.unavailable, info->name, output.unit});
        }
        for (const AccumulatorSpec& spec : instance.metric->accumulators()) {
            const auto found = std::find(accumulators_.begin(), accumulators_.end(), spec);
            uint32_t offset = 0;
            for (auto other = accumulators_.begin(); other != found; ++other) offset += other->words();
            instance.offsets.push_back(offset);
            if (found == accumulators_.end()) accumulators_.push_back(spec);
        }
        for (const MetricAggregate& aggregate : instance.metric->aggregates())
            aggregates_.push_back({with_label(instance.label, aggregate.name), instance.label, info->name});
        needs_every_frame_ = needs_every_frame_ || instance.metric->needs_every_frame();
        instances_.push_back(std::move(instance));
    }
}

void Plan::conclude(const uint64_t* words, double* scores) const {
    for (const Instance& instance : instances_) {
        instance.metric->conclude(Accumulators(words, instance.offsets.data()), scores);
        scores += instance.metric->outputs().size();
    }
}

void Plan::add_frame(const uint64_t* words) {
    for (const Instance& instance : instances_) instance.metric->add_frame(Accumulators(words, instance.offsets.data()));
}

std::vector<double> Plan::aggregate_values() const {
    std::vector<double> values;
    for (const Instance& instance : instances_)
        for (const MetricAggregate& aggregate : instance.metric->aggregates()) values.push_back(aggregate.value);
    return values;
}

}  // namespace exactvq
