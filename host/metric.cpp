// SPDX-License-Identifier: BSD-2-Clause
#include "host/metric.h"

namespace exactvq {

const std::vector<const MetricInfo*>& all_metrics() {
    static const std::vector<const MetricInfo*> list{&psnr_info(), &float_psnr_info(), &psnr_hvs_info(), &adm_info(), &vif_info(), &motion_info(), &vmaf_info()};
    return list;
}

const MetricInfo* find_metric(std::string_view name) {
    for (const MetricInfo* info : all_metrics())
        if (name == info->name) return info;
    return nullptr;
}

std::string list_metrics() {
    std::string text;
    for (const MetricInfo* info : all_metrics()) text += (text.empty() ? "" : ", ") + std::string(info->name);
    return text;
}

std::string describe_metrics() {
    std::string text;
    for (const MetricInfo* info : all_metrics()) {
        text += std::string(info->name) + ": " + info->help + "\n  scores: " + info->scores + "\n";
        for (const OptionSpec& option : info->options) {
            text += std::string("  ") + option.key + "=";
            switch (option.type) {
            case OptionType::kBool: text += "0|1"; break;
            case OptionType::kChoice: text += option.choices; break;
            case OptionType::kText: text += "text"; break;
            case OptionType::kNumber:
            case OptionType::kInteger: {
                char low[32], high[32];
                exactvq_format_double(option.min, low, sizeof low);
                exactvq_format_double(option.max, high, sizeof high);
                text += std::string(low) + ".." + high;
                break;
            }
            }
            text += std::string(" (default ") + option.default_value + "): " + option.help + "\n";
        }
    }
    return text;
}

}  // namespace exactvq
