// SPDX-License-Identifier: BSD-2-Clause
#include "tests/parity/backends.h"

#include <set>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/reference.h"

namespace exactvq::test {

std::vector<BackendUnderTest> cpu_backends(const std::vector<uint32_t>& threads) {
    std::vector<BackendUnderTest> result;
    std::set<std::string> seen;
    for (uint32_t mask : {0x0u, 0x1u, 0x3u, 0x7u, 0xfu}) {
        const std::string level = cpu::select_kernels(EXACTVQ_CPU_LIMIT | mask).name;
        if (!seen.insert(level).second) continue;  // this CPU has no more
        for (uint32_t n : threads) {
            result.push_back({level + " x" + std::to_string(n), [mask, n](BackendConfig config) {
                                  config.threads = n;
                                  config.cpu_mask = EXACTVQ_CPU_LIMIT | mask;
                                  return make_cpu_backend(config);
                              }});
        }
    }
    return result;
}

std::vector<uint64_t> reference_words(const std::vector<AccumulatorSpec>& specs, const FramePair& pair) {
    std::vector<uint64_t> words;
    for (const AccumulatorSpec& spec : specs) {
        const PlanePair& plane = pair.plane[spec.plane];
        switch (spec.kind) {
        case AccumulatorKind::kSse: words.push_back(reference::sse(plane)); break;
        case AccumulatorKind::kRoundedSse: words.push_back(double_bits(reference::rounded_sse(plane))); break;
        case AccumulatorKind::kPsnrHvsSum: words.push_back(float_bits(reference::psnr_hvs_sum(plane, kPsnrHvsTable[spec.plane], spec.mask))); break;
        case AccumulatorKind::kAdm:
            words.resize(words.size() + kAdmWords);
            reference::adm(plane, spec.adm, words.data() + words.size() - kAdmWords);
            break;
        }
    }
    return words;
}

std::vector<AccumulatorSpec> all_accumulators(const Geometry& geometry) {
    std::vector<AccumulatorSpec> specs;
    for (uint8_t p = 0; p < geometry.planes; ++p) {
        specs.push_back({AccumulatorKind::kSse, p, {}});
        specs.push_back({AccumulatorKind::kRoundedSse, p, {}});
        if (geometry.depth > kPsnrHvsMaxDepth) continue;
        specs.push_back({AccumulatorKind::kPsnrHvsSum, p, PsnrHvsMask::kF32});
        specs.push_back({AccumulatorKind::kPsnrHvsSum, p, PsnrHvsMask::kF64});
    }
    return specs;
}

std::string describe(const AccumulatorSpec& spec) {
    static const char* const kinds[] = {"sse", "rounded_sse", "psnr_hvs_sum"};
    return std::string(kinds[static_cast<int>(spec.kind)]) + (spec.mask == PsnrHvsMask::kF64 ? " f64" : "") + " plane " + std::to_string(spec.plane);
}

}  // namespace exactvq::test
