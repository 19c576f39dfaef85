// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/gpu/self_check.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "host/error.h"
#include "host/metric.h"
#include "kernels/cpu/reference.h"

namespace exactvq::gpu {

SelfCheck::SelfCheck(const BackendConfig& session) : config_(session) {
    config_.slots = 1;
    config_.threads = 1;
    config_.device_memory = false;
    Geometry& geometry = config_.geometry;
    geometry.planes = 3;
    geometry.plane[0] = {70, 52};
    geometry.plane[1] = geometry.plane[2] = {35, 26};

    config_.accumulators.clear();
    const uint32_t depth = geometry.depth;
    for (uint8_t p = 0; p < 3; ++p) {
        config_.accumulators.push_back({AccumulatorKind::kSse, p, {}, {}});
        config_.accumulators.push_back({AccumulatorKind::kRoundedSse, p, {}, {}});
        if (depth > kPsnrHvsMaxDepth) continue;
        for (PsnrHvsMask mask : {PsnrHvsMask::kF32, PsnrHvsMask::kF64}) config_.accumulators.push_back({AccumulatorKind::kPsnrHvsSum, p, mask, {}});
    }
    const MetricInfo& adm = *find_metric("adm");
    config_.accumulators.push_back(adm.make(OptionValues(adm.name, adm.options, nullptr, 0), geometry)->accumulators().at(0));
    AccumulatorSpec spec;
    spec.kind = AccumulatorKind::kVif;
    config_.accumulators.push_back(spec);
    spec.kind = AccumulatorKind::kMotion;
    config_.accumulators.push_back(spec);

    // Slopes with noise, and edges: every kernel has something to do.
    uint64_t random = 1;
    for (uint32_t p = 0; p < 3; ++p) {
        const PlaneSize size = geometry.plane[p];
        const uint32_t largest = (1u << depth) - 1, noise = 1u << (depth - 4);
        for (uint32_t picture = 0; picture < 2; ++picture) {
            std::vector<uint16_t>& samples = samples_[p][picture];
            for (uint32_t i = 0; i < size.width * size.height; ++i) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                const uint32_t x = i % size.width, y = i / size.width, slope = static_cast<uint32_t>((x + 2 * y) * uint64_t{largest} / 200);
                const uint32_t sample = x / 8 % 3 == 2 ? largest - slope : slope + static_cast<uint32_t>(random >> 33) % noise;
                samples.push_back(static_cast<uint16_t>(std::min(sample, largest)));
            }
            if (depth == 8)
                for (size_t i = 0; i < samples.size(); ++i) reinterpret_cast<uint8_t*>(samples.data())[i] = static_cast<uint8_t>(samples[i]);
            PlaneView& view = picture ? pair_.plane[p].main : pair_.plane[p].ref;
            view.data = reinterpret_cast<const uint8_t*>(samples.data());
            view.width = size.width;
            view.height = size.height;
            view.depth = depth;
            view.step = view.word_bytes();
            view.stride = static_cast<ptrdiff_t>(size.width) * view.step;
        }
    }
    pair_.earlier[0].luma = pair_.plane[0].main;
}

void SelfCheck::run(Backend& backend) const {
    const std::vector<uint64_t> expected = reference::words(config_.accumulators, pair_);
    std::vector<uint64_t> words(expected.size());
    backend.start(0, pair_, words.data());
    backend.wait(0);
    const size_t wrong = expected.size() - static_cast<size_t>(std::inner_product(words.begin(), words.end(), expected.begin(), size_t{0}, std::plus<>(), std::equal_to<>()));
    if (wrong > 0) {
        throw Error(EXACTVQ_ERROR_DEVICE, "the GPU computes wrong numbers: " + std::to_string(wrong) + " of the " + std::to_string(expected.size()) +
                                              " sums of a test picture on " + backend.description() + " differ from the CPU's; use the CPU backend");
    }
}

}  // namespace exactvq::gpu
