// SPDX-License-Identifier: BSD-2-Clause
//
// Any bytes as a model file: refused with a sentence, or a model that predicts, whatever it is given; and the same through the C API with frames.
#include <sys/mman.h>
#include <unistd.h>

#include <limits>

#include "host/error.h"
#include "host/vmaf_model_reader.h"
#include "tests/fuzz/fuzz.h"

using namespace exactvq;
using namespace exactvq::fuzz;

namespace {

// The name of a file with this text.
const char* file(std::string_view text) {
    static const int fd = memfd_create("model", MFD_CLOEXEC);
    static const std::string name = "/proc/self/fd/" + std::to_string(fd);
    check(ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "the model file can be written");
    return name.c_str();
}

// False if it is refused.
bool predicts(std::string_view text, const VmafFlags& flags) {
    try {
        const VmafModel model = parse_vmaf_model(text, "any.json", flags);
        check(!model.features().empty() && model.features().size() <= kMaxVmafFeatures, "a model has features");
        std::vector<double> features(model.features().size()), scores(model.suffixes().size());
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        for (const double value : {0.5, 0.0, -1.0, 1e300, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
            for (size_t i = 0; i < features.size(); ++i) features[i] = i % 3 ? value : 0.75;
            model.predict(features.data(), scores.data());
        }
        return true;
    } catch (const Error& error) {
        const std::string_view sentence = error.what();
        check_sentence(sentence);
        check(sentence.find("the model file 'any.json' ") == 0, "the sentence names the file: " + std::string(sentence));
        check(sentence.size() < 600, "the sentence is short: " + std::string(sentence));
        return false;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const bool model = predicts(text, {});
    for (const VmafFlags flags : {VmafFlags{true, true, false}, VmafFlags{false, false, true}}) check(predicts(text, flags) == model, "flags do not change what is a model");
    if (!model) return 0;
    const exactvq_option options[] = {{"model", file(text)}, {"phone", size % 2 ? "1" : "0"}, {"noclip", size % 3 ? "1" : "0"}};
    const exactvq_metric metric{"vmaf", nullptr, options, 3};
    exactvq_config config{};
    config.struct_size = sizeof config;
    config.metrics = &metric;
    config.metric_count = 1;
    config.format = {24, 20, 8, 1, 0, 0};
    config.threads = 1;
    if (const SessionPointer session = open(config)) score_two_pairs(session.get(), config.format, static_cast<uint32_t>(size));
    return 0;
}
