// SPDX-License-Identifier: BSD-2-Clause
#include "host/options.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "host/error.h"
#include "host/metric.h"
#include "host/text.h"

namespace exactvq {
namespace {

[[noreturn]] void fail(const std::string& sentence) { throw Error(EXACTVQ_ERROR_ARGUMENT, sentence); }

std::string number_text(double value) {
    char text[32];
    exactvq_format_double(value, text, sizeof text);
    return text;
}

std::string allowed(const OptionSpec& spec) {
    switch (spec.type) {
    case OptionType::kBool: return "0 or 1";
    case OptionType::kNumber: return number_text(spec.min) + " to " + number_text(spec.max);
    case OptionType::kInteger: return "a whole number from " + number_text(spec.min) + " to " + number_text(spec.max);
    case OptionType::kChoice: return "one of " + std::string(spec.choices);
    case OptionType::kText: return "any text";
    }
    return "";
}

bool parse_value(const OptionSpec& spec, std::string_view text, double& value) {
    switch (spec.type) {
    case OptionType::kBool:
        for (std::string_view yes : {"1", "true", "yes", "on"})
            if (text == yes) return value = 1, true;
        for (std::string_view no : {"0", "false", "no", "off"})
            if (text == no) return value = 0, true;
        return false;
    case OptionType::kNumber:
        if (spec.binary32 ? !parse_through_binary32(text, value) : parse_all(text, value) != std::errc()) return false;
        return std::isfinite(value) && value >= spec.min && value <= spec.max;
    case OptionType::kInteger: {
        int whole = 0;
        if (parse_all(text, whole) != std::errc()) return false;
        value = whole;
        return value >= spec.min && value <= spec.max;
    }
    case OptionType::kChoice: {
        const auto choices = split(spec.choices, '|');
        const auto found = std::find(choices.begin(), choices.end(), text);
        value = static_cast<double>(found - choices.begin());
        return found != choices.end();
    }
    case OptionType::kText: return true;
    }
    return false;
}

const OptionSpec* find_option(const MetricInfo& metric, std::string_view key) {
    for (const OptionSpec& spec : metric.options)
        if (key == spec.key) return &spec;
    return nullptr;
}

std::string list_options(const MetricInfo& metric) {
    std::string text;
    for (const OptionSpec& spec : metric.options) text += (text.empty() ? "" : ", ") + std::string(spec.key);
    return text.empty() ? "it has no options" : "its options are " + text;
}

}  // namespace

OptionValues::OptionValues(const char* metric, const std::vector<OptionSpec>& specs, const exactvq_option* options, size_t count) : specs_(&specs) {
    for (const OptionSpec& spec : specs) {
        text_.emplace_back(spec.default_value);
        value_.emplace_back();
        if (!parse_value(spec, spec.default_value, value_.back())) fail(std::string("wrong default of ") + metric + "." + spec.key);
    }
    for (size_t i = 0; i < count; ++i) {
        const std::string_view key = options[i].key ? options[i].key : "", text = options[i].value ? options[i].value : "";
        const auto spec = std::find_if(specs.begin(), specs.end(), [key](const OptionSpec& s) { return key == s.key; });
        if (spec == specs.end()) fail(std::string(metric) + " has no option " + quote(key) + ": " + list_options(*find_metric(metric)));
        const size_t index = static_cast<size_t>(spec - specs.begin());
        if (!parse_value(*spec, text, value_[index]))
            fail(std::string(metric) + "." + spec->key + " cannot be " + quote(text) + ": it takes " + allowed(*spec));
        text_[index] = text;
    }
}

size_t OptionValues::find(std::string_view key) const {
    for (size_t i = 0; i < specs_->size(); ++i)
        if (key == (*specs_)[i].key) return i;
    fail("unknown option " + quote(key));
}

bool OptionValues::flag(std::string_view key) const { return value_[find(key)] != 0; }
double OptionValues::number(std::string_view key) const { return value_[find(key)]; }
int OptionValues::integer(std::string_view key) const { return static_cast<int>(value_[find(key)]); }
std::string_view OptionValues::choice(std::string_view key) const { return text_[find(key)]; }

bool OptionValues::same_scores(const OptionValues& other) const {
    if (specs_ != other.specs_) return false;
    for (size_t i = 0; i < specs_->size(); ++i) {
        const OptionSpec& spec = (*specs_)[i];
        if (std::string_view(spec.key) != "debug" && (spec.type == OptionType::kText ? text_[i] != other.text_[i] : value_[i] != other.value_[i])) return false;
    }
    return true;
}

std::string OptionValues::libvmaf_suffix() const {
    std::map<std::string_view, std::string> parts;  // by key
    for (size_t i = 0; i < specs_->size(); ++i) {
        const OptionSpec& spec = (*specs_)[i];
        double default_value = 0;
        if (!spec.alias || (parse_value(spec, spec.default_value, default_value) && value_[i] == default_value)) continue;
        std::string& part = parts[spec.key] = std::string("_") + spec.alias;
        if (spec.type != OptionType::kBool) part += "_";
        if (spec.type == OptionType::kNumber) part += six_digits(value_[i]);
        if (spec.type == OptionType::kInteger) part += std::to_string(static_cast<int>(value_[i]));
        if (spec.type == OptionType::kChoice) part += text_[i];
    }
    std::string suffix;
    for (const auto& [key, part] : parts) suffix += part;
    return suffix;
}

void check_label(std::string_view label) {
    if (label.empty()) return;
    bool good = label.size() <= 32 && label[0] >= 'a' && label[0] <= 'z';
    for (char c : label) good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    if (!good) fail("the label " + quote(label) + " is not valid: it takes up to 32 characters a-z, 0-9 and _, the first a letter");
    if (label == "paired") fail("the label 'paired' is the name of the mark of frames without partner: choose another");
    if (find_metric(label)) fail("the label " + quote(label) + " is a metric's name: choose another");
}

namespace {

// Cuts "+flag" off the end of a model if it is there.
bool cut_flag(std::string_view& model, std::string_view flag) {
    if (model.size() < flag.size() || model.substr(model.size() - flag.size()) != flag) return false;
    model.remove_suffix(flag.size());
    return true;
}

// "file or name[@label][+phone][+noclip]" as an instance of vmaf.
MetricList::Instance parse_model(std::string_view text) {
    MetricList::Instance instance{"vmaf", "", {}};
    std::string_view model = text;
    bool phone = false, noclip = false;
    for (;;) {
        if (cut_flag(model, "+phone")) phone = true;
        else if (cut_flag(model, "+noclip")) noclip = true;
        else break;
    }
    if (const size_t at = model.rfind('@'); at != std::string_view::npos && model.find('/', at) == std::string_view::npos) {
        instance.label = model.substr(at + 1);
        if (instance.label.empty()) fail("the name after '@' in " + quote(text) + " is empty");
        check_label(instance.label);
        model = model.substr(0, at);
    }
    if (model.empty()) fail("the model " + quote(text) + " is empty: it is a name or a file, then perhaps @name, +phone, +noclip");
    instance.options.emplace_back("model", model);
    if (phone) instance.options.emplace_back("phone", "1");
    if (noclip) instance.options.emplace_back("noclip", "1");
    return instance;
}

}  // namespace

MetricList parse_metrics(std::string_view metrics, std::string_view options, std::string_view models) {
    MetricList list;
    std::vector<const MetricInfo*> infos;
    if (!metrics.empty() || models.empty()) {
        for (std::string_view item : split(metrics, '+')) {
            const size_t at = item.find('@');
            const std::string_view name = item.substr(0, at), label = at == std::string_view::npos ? "" : item.substr(at + 1);
            const MetricInfo* info = find_metric(name);
            if (!info) fail("unknown metric " + quote(name) + ": the metrics are " + list_metrics());
            if (at != std::string_view::npos && label.empty()) fail("the label after '@' in " + quote(item) + " is empty");
            check_label(label);
            if (info == &vmaf_info() && label.empty() && !models.empty()) continue;  // the models say which
            list.instances.push_back({std::string(name), std::string(label), {}});
            infos.push_back(info);
        }
    }
    if (!models.empty()) {
        for (std::string_view item : split(models, '|')) {
            list.instances.push_back(parse_model(item));
            infos.push_back(&vmaf_info());
        }
    }
    if (options.empty()) return list;
    for (std::string_view item : split(options, '|')) {
        const size_t equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0) fail("the option " + quote(item) + " is not of the form key=value");
        const std::string_view full = item.substr(0, equals), value = item.substr(equals + 1);
        const size_t dot = full.find('.');
        const std::string_view scope = dot == std::string_view::npos ? "" : full.substr(0, dot);
        const std::string_view key = dot == std::string_view::npos ? full : full.substr(dot + 1);
        if (dot == 0) fail("the option " + quote(full) + " begins with a dot: it is key, metric.key or label.key");
        bool scope_known = scope.empty(), used = false;
        for (size_t i = 0; i < list.instances.size(); ++i) {
            MetricList::Instance& instance = list.instances[i];
            const bool in_scope = scope.empty()        ? instance.label.empty()
                                  : find_metric(scope) ? instance.label.empty() && instance.name == scope
                                                       : instance.label == scope;
            scope_known = scope_known || in_scope;
            if (!in_scope || !find_option(*infos[i], key)) continue;
            instance.options.emplace_back(std::string(key), std::string(value));
            used = true;
        }
        if (!scope_known) fail("the option " + quote(full) + " is for " + quote(scope) + ", but no such metric or label is asked for");
        if (!used) {
            std::string known;
            for (auto info = infos.begin(); info != infos.end(); ++info)
                if (std::find(infos.begin(), info, *info) == info) known += std::string(known.empty() ? "" : "; ") + (*info)->name + ": " + list_options(**info);
            fail("no metric that is asked for has the option " + quote(full) + " (" + known + ")");
        }
    }
    return list;
}

}  // namespace exactvq
