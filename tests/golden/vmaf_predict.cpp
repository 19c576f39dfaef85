// SPDX-License-Identifier: BSD-2-Clause
//
// vmaf-predict MODEL.json [--disable-clip] [--enable-transform] [--disable-transform] < VECTORS
//
// The library's predictions in the form of independent/vmaf_oracle.py, to be compared with it by independent/check_vmaf.py.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>

#include "host/vmaf_model_reader.h"

int main(int count, char** arguments) {
    exactvq::VmafFlags flags;
    for (int i = 2; i < count; ++i) {
        flags.disable_clip |= !std::strcmp(arguments[i], "--disable-clip");
        flags.enable_transform |= !std::strcmp(arguments[i], "--enable-transform");
        flags.disable_transform |= !std::strcmp(arguments[i], "--disable-transform");
    }
    try {
        const exactvq::VmafModel model = exactvq::read_vmaf_model(count > 1 ? arguments[1] : "", flags);
        std::vector<double> features(model.features().size()), scores(model.suffixes().size());
        for (std::string line; std::getline(std::cin, line);) {
            std::istringstream words(line);
            for (double& feature : features) {
                uint64_t bits = 0;
                words >> std::hex >> bits;
                feature = std::bit_cast<double>(bits);
            }
            model.predict(features.data(), scores.data());
            for (size_t i = 0; i < scores.size(); ++i) std::printf("%s%016llx", i ? " " : "", static_cast<unsigned long long>(std::bit_cast<uint64_t>(scores[i])));
            std::printf("\n");
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
