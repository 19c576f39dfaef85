// SPDX-License-Identifier: BSD-2-Clause
#include "host/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "host/error.h"

namespace exactvq {
namespace {

// A prediction's label is the name of its score, which has no label.
bool is_prediction(const MetricInfo& info) { return &info == &vmaf_info(); }

std::string full_name(const MetricInfo& info, const std::string& label, const std::string& name) {
    if (label.empty()) return name;
    return is_prediction(info) ? label + name.substr(std::string_view(info.name).size()) : label + "." + name;
}

}  // namespace

Plan::Plan(const exactvq_metric* metrics, size_t count, const Geometry& geometry) {
    if (!metrics || count == 0) throw Error(EXACTVQ_ERROR_ARGUMENT, "no metric is asked for: the metrics are " + list_metrics());
    std::vector<Instance> predictions;
    for (size_t m = 0; m < count; ++m) {
        const std::string name = metrics[m].name ? metrics[m].name : "";
        const MetricInfo* info = find_metric(name);
        if (!info) throw Error(EXACTVQ_ERROR_ARGUMENT, "unknown metric '" + name + "': the metrics are " + list_metrics());
        const std::string label = metrics[m].label ? metrics[m].label : "";
        check_label(label);
        if (metrics[m].option_count > 0 && !metrics[m].options) throw Error(EXACTVQ_ERROR_ARGUMENT, name + " has a count of options but no options");
        Instance instance = make_instance(*info, label, metrics[m].options, metrics[m].option_count, geometry);
        if (is_prediction(*info)) predictions.push_back(std::move(instance));
        else add(std::move(instance));
    }
    for (Instance& prediction : predictions) add_requested(prediction, geometry);
    for (Instance& prediction : predictions) add(std::move(prediction));
}

Plan::Instance Plan::make_instance(const MetricInfo& info, const std::string& label, const exactvq_option* options, size_t count, const Geometry& geometry) {
    OptionValues values(info.name, info.options, options, count);
    std::unique_ptr<Metric> metric = info.make(values, geometry);
    return {&info, label, std::move(values), std::move(metric), 0, {}, {}, {}, false};
}

void Plan::add(Instance instance) {
    const Metric& metric = *instance.metric;
    const MetricInfo& info = *instance.info;
    instance.first_output = outputs_.size();
    std::string unavailable;  // a prediction is as available as what it is made from
    for (size_t source : instance.sources)
        if (unavailable.empty() && !outputs_[source].unavailable.empty()) unavailable = full_name(info, instance.label, info.name) + " is made from " + outputs_[source].name + ": " + outputs_[source].unavailable;
    const auto in_log = [&](const std::string& name) { return std::any_of(outputs_.begin(), outputs_.end(), [&](const PlanOutput& o) { return o.libvmaf_name == name; }); };
    const auto log_name = [](const MetricOutput& output) { return output.libvmaf_name.empty() ? output.name : output.libvmaf_name; };
    // In the log a model's metrics have libvmaf's names, unless others have them, which differ by an option that is in no name.
    const bool plain = instance.requested && std::none_of(metric.outputs().begin(), metric.outputs().end(), [&](const MetricOutput& output) { return in_log(log_name(output)); });
    std::vector<PlanOutput> outputs;
    for (const MetricOutput& output : metric.outputs()) {
        const std::string full = full_name(info, instance.label, output.name), logged = full_name(info, plain ? "" : instance.label, log_name(output));
        for (const PlanOutput& other : outputs_)
            if (other.name == full) throw Error(EXACTVQ_ERROR_ARGUMENT, "'" + full + "' is asked for twice: give one of them a label (" + info.name + "@label)");
        if (in_log(logged)) throw Error(EXACTVQ_ERROR_ARGUMENT, "'" + logged + "' is the name of another score in the log: give the model another name (@name)");
        outputs.push_back({full, logged, is_prediction(info) ? "" : instance.label, output.unavailable.empty() ? unavailable : output.unavailable, info.name, output.unit, output.log_rank});
    }
    outputs_.insert(outputs_.end(), outputs.begin(), outputs.end());
    for (const AccumulatorSpec& spec : metric.accumulators()) {
        const auto found = std::find(accumulators_.begin(), accumulators_.end(), spec);
        uint32_t offset = 0;
        for (auto other = accumulators_.begin(); other != found; ++other) offset += other->words();
        instance.offsets.push_back(offset);
        if (found == accumulators_.end()) accumulators_.push_back(spec);
    }
    for (const MetricAggregate& aggregate : metric.aggregates()) aggregates_.push_back({full_name(info, instance.label, aggregate.name), instance.label, info.name});
    needs_every_frame_ = needs_every_frame_ || metric.needs_every_frame();
    successors_ = std::max(successors_, metric.successors());
    instances_.push_back(std::move(instance));
}

// Finds the scores that a prediction is made from, and adds the metrics that are not there yet.
void Plan::add_requested(Instance& prediction, const Geometry& geometry) {
    for (const ScoreRequest& request : prediction.metric->requests()) {
        const MetricInfo& info = *find_metric(request.metric);
        std::vector<exactvq_option> options;
        for (const auto& [key, value] : request.options) options.push_back({key.c_str(), value.c_str()});
        Instance wanted = make_instance(info, "", options.data(), options.size(), geometry);
        const auto same = [&](const Instance& other) { return other.info == &info && other.options.same_scores(wanted.options); };
        auto found = std::find_if(instances_.begin(), instances_.end(), same);
        if (found == instances_.end()) {
            // The first of a metric has no label; others, of models that bring their own options, have the model's name.
            const auto taken = [&](const std::string& label) {
                return std::any_of(instances_.begin(), instances_.end(), [&](const Instance& other) { return other.info == &info && other.label == label; });
            };
            const std::string name = prediction.label.empty() ? prediction.info->name : prediction.label;
            for (unsigned n = 1; taken(wanted.label); ++n) wanted.label = n == 1 ? name : name + std::to_string(n);
            wanted.requested = true;
            add(std::move(wanted));
            found = instances_.end() - 1;
        }
        const std::vector<MetricOutput>& outputs = found->metric->outputs();
        const auto output = std::find_if(outputs.begin(), outputs.end(), [&](const MetricOutput& o) { return o.name == request.output; });
        if (output == outputs.end()) throw Error(EXACTVQ_ERROR_UNSUPPORTED, "the model asks for " + request.output + ", which " + info.name + " does not give");
        prediction.sources.push_back(found->first_output + static_cast<size_t>(output - outputs.begin()));
    }
    prediction.values.resize(prediction.sources.size());
}

void Plan::conclude(const uint64_t* const* words, uint32_t frames, bool scored, double* scores) {
    for (Instance& instance : instances_) {
        double* own = scores + instance.first_output;
        if (!instance.sources.empty()) {
            bool known = scored;
            for (size_t i = 0; i < instance.sources.size(); ++i) {
                instance.values[i] = scores[instance.sources[i]];
                known = known && !std::isnan(instance.values[i]);
            }
            if (known) instance.metric->predict(instance.values.data(), own);
            else std::fill_n(own, instance.metric->outputs().size(), std::numeric_limits<double>::quiet_NaN());
        } else if (scored || instance.metric->successors() > 0) {
            instance.metric->conclude(FrameWindow(words, frames, instance.offsets.data()), own);
        }
    }
}

void Plan::add_frame(const uint64_t* words) {
    for (const Instance& instance : instances_) instance.metric->add_frame(Accumulators(words, instance.offsets.data()));
}

void Plan::restart() {
    for (const Instance& instance : instances_) instance.metric->restart();
}

std::vector<double> Plan::aggregate_values() const {
    std::vector<double> values;
    for (const Instance& instance : instances_)
        for (const MetricAggregate& aggregate : instance.metric->aggregates()) values.push_back(aggregate.value);
    return values;
}

}  // namespace exactvq
