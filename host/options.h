// SPDX-License-Identifier: BSD-2-Clause
//
// Typed options of metrics, and the text form that command lines use.
#ifndef EXACTVQ_HOST_OPTIONS_H
#define EXACTVQ_HOST_OPTIONS_H

#include <string>
#include <string_view>
#include <vector>

#include "exactvq/exactvq.h"

namespace exactvq {

enum class OptionType { kBool, kNumber, kInteger, kChoice, kText };

struct OptionSpec {
    const char* key;
    OptionType type;
    const char* default_value;
    double min, max;              // kNumber, kInteger: both inclusive
    const char* choices;          // kChoice: "a|b|c"
    const char* help;             // one sentence, units included
    const char* alias = nullptr;  // in libvmaf's names of scores where the value is not the default; nullptr: not there
    bool binary32 = false;        // kNumber: as libvmaf parses it, rounded to binary32 and then to the six digits of "%g"; the range counts after that
};

// Values of all options of one instance: defaults, overridden by the caller's. Throws Error naming option, value and what is allowed.
class OptionValues {
public:
    OptionValues(const char* metric, const std::vector<OptionSpec>& specs, const exactvq_option* options, size_t count);

    bool flag(std::string_view key) const;
    double number(std::string_view key) const;
    int integer(std::string_view key) const;
    std::string_view choice(std::string_view key) const;
    std::string_view text(std::string_view key) const { return choice(key); }

    // True if an instance with these options gives the same scores: all but `debug`, which adds some, is equal.
    bool same_scores(const OptionValues& other) const;

    // What libvmaf appends to the names of scores: "_alias_value" ("_alias" of a flag) of each option that differs from its default, sorted by key.
    std::string libvmaf_suffix() const;

private:
    size_t find(std::string_view key) const;

    const std::vector<OptionSpec>* specs_;
    std::vector<std::string> text_;
    std::vector<double> value_;
};

// What the two option strings of a command line ask for.
struct MetricList {
    struct Instance {
        std::string name, label;
        std::vector<std::pair<std::string, std::string>> options;
    };
    std::vector<Instance> instances;
};

// See exactvq_parse_metrics(). Throws Error.
MetricList parse_metrics(std::string_view metrics, std::string_view options, std::string_view models = {});

// Throws Error unless the label is empty or [a-z][a-z0-9_]{0,31} and no metric's name.
void check_label(std::string_view label);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_OPTIONS_H
