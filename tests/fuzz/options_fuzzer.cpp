// SPDX-License-Identifier: BSD-2-Clause
//
// Any texts as metrics, options and models. What is accepted opens or is refused, has names that a log can hold, and gives scores.
// The input is three texts, each with "\ " behind it, then bytes that choose the format.
#include <set>

#include "tests/fuzz/fuzz.h"

using namespace exactvq::fuzz;

extern "C" int LLVMFuzzerInitialize(int*, char***) { return setenv("EXACTVQ_MODEL_PATH", EXACTVQ_TEST_DATA "/models", 1); }

namespace {

// A name that is an XML attribute, a JSON key and a CSV cell as it is.
bool is_plain(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    for (const char c : name)
        if (!letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '-') return false;
    return !name.empty() && letter(name[0]);
}

void check_names(exactvq_session* session) {
    std::set<std::string> names, log_names;
    for (size_t i = 0; i < exactvq_output_count(session); ++i) {
        exactvq_output output{};
        output.struct_size = sizeof output;
        check(exactvq_get_output(session, i, &output) == EXACTVQ_OK, "every output is described");
        check(is_plain(output.name) && is_plain(output.libvmaf_name), std::string("a name is plain: ") + output.name + ", " + output.libvmaf_name);
        check(names.insert(output.name).second, std::string("a name is there once: ") + output.name);
        check(log_names.insert(output.libvmaf_name).second, std::string("a name is in the log once: ") + output.libvmaf_name);
        if (output.unavailable) check_sentence(output.unavailable);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    FuzzedDataProvider input(data, size);
    constexpr size_t kLongest = 4096;
    const std::string metrics = input.ConsumeRandomLengthString(kLongest), options = input.ConsumeRandomLengthString(kLongest), models = input.ConsumeRandomLengthString(kLongest);
    exactvq_metric_list list;
    char error[1024];
    const exactvq_status status = exactvq_parse_metrics(metrics.c_str(), options.c_str(), models.empty() ? nullptr : models.c_str(), &list, error, sizeof error);
    check((status == EXACTVQ_OK) == (list.count > 0) && (status == EXACTVQ_OK) == (error[0] == 0), "a list, or a sentence");
    if (status != EXACTVQ_OK) return check_sentence(error), 0;

    static constexpr uint32_t kSides[] = {1, 8, 16, 17, 24, 33};
    exactvq_config config{};
    config.struct_size = sizeof config;
    config.metrics = list.metrics;
    config.metric_count = list.count;
    config.format = {input.PickValueInArray(kSides), input.PickValueInArray(kSides), input.ConsumeIntegralInRange<uint32_t>(8, 16), input.ConsumeBool() ? 1u : 3u,
                     input.ConsumeIntegralInRange<uint32_t>(0, 2), input.ConsumeIntegralInRange<uint32_t>(0, 2)};
    config.threads = 1;
    const SessionPointer session = open(config);
    exactvq_free_metrics(&list);
    if (!session) return 0;
    check_names(session.get());
    score_two_pairs(session.get(), config.format, input.ConsumeIntegral<uint32_t>());
    return 0;
}
