// SPDX-License-Identifier: BSD-2-Clause
#include "tests/parity/backends.h"

#include <cstdlib>
#include <set>
#include <stdexcept>

#include "host/metric.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/reference.h"
#include "tests/support/picture.h"

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

std::vector<BackendUnderTest> backends_under_test(const std::vector<uint32_t>& threads) {
    const char* name = std::getenv("EXACTVQ_BACKEND");
    if (!name || std::string(name) == "cpu") return cpu_backends(threads);
#ifdef EXACTVQ_CUDA
    if (std::string(name) == "cuda") {
        // One that stays open: the driver takes the GPU's context down with the last one, and thousands are made here.
        static const std::unique_ptr<Backend> keeper = [] {
            BackendConfig config;
            config.geometry = make_geometry(make_format(16, 16, 8, "400"));
            config.accumulators = {{AccumulatorKind::kSse, 0, {}, {}}};
            return make_cuda_backend(config);
        }();
        return {{keeper->description(), &make_cuda_backend}};
    }
#endif
#ifdef EXACTVQ_HIP
    if (std::string(name) == "hip") {
        BackendConfig config;
        config.geometry = make_geometry(make_format(16, 16, 8, "400"));
        config.accumulators = {{AccumulatorKind::kSse, 0, {}, {}}};
        static const std::unique_ptr<Backend> keeper = make_hip_backend(config);
        return {{keeper->description(), &make_hip_backend}};
    }
#endif
    throw std::runtime_error(std::string("EXACTVQ_BACKEND: this build has no backend '") + name + "'");
}

std::vector<AccumulatorSpec> all_accumulators(const Geometry& geometry) {
    std::vector<AccumulatorSpec> specs;
    for (uint8_t p = 0; p < geometry.planes; ++p) {
        specs.push_back({AccumulatorKind::kSse, p, {}, {}});
        specs.push_back({AccumulatorKind::kRoundedSse, p, {}, {}});
        if (geometry.depth > kPsnrHvsMaxDepth) continue;
        specs.push_back({AccumulatorKind::kPsnrHvsSum, p, PsnrHvsMask::kF32, {}});
        specs.push_back({AccumulatorKind::kPsnrHvsSum, p, PsnrHvsMask::kF64, {}});
    }
    if (geometry.plane[0].width >= kAdmMinSide && geometry.plane[0].height >= kAdmMinSide)
        for (const char* options : {"", "adm_enhn_gain_limit=1.2|adm_skip_aim=1|adm_norm_view_dist=5", "adm_enhn_gain_limit=1|adm_csf_mode=2|adm_skip_scale0=1"})
            specs.push_back(adm_accumulator(geometry, options));
    AccumulatorSpec spec;
    spec.kind = AccumulatorKind::kVif;
    if (geometry.plane[0].width >= kVifMinSide && geometry.plane[0].height >= kVifMinSide) {
        for (const VifParameters& parameters : {VifParameters{}, VifParameters{1.0, false}, VifParameters{1.37, true}}) {
            spec.vif = parameters;
            specs.push_back(spec);
        }
    }
    spec = {};
    spec.kind = AccumulatorKind::kMotion;
    if (geometry.plane[0].width >= kMotionMinSide && geometry.plane[0].height >= kMotionMinSide) {
        for (uint8_t distance : {1, 2}) {
            spec.motion_distance = distance;
            specs.push_back(spec);
        }
    }
    return specs;
}

std::vector<AccumulatorSpec> accumulators_in_turn(const Geometry& geometry, uint32_t n) {
    std::vector<AccumulatorSpec> specs = all_accumulators(geometry);
    for (AccumulatorKind kind : {AccumulatorKind::kAdm, AccumulatorKind::kVif}) {
        uint32_t i = 0;
        std::erase_if(specs, [&](const AccumulatorSpec& s) { return s.kind == kind && i++ != n % 3; });
    }
    return specs;
}

AccumulatorSpec adm_accumulator(const Geometry& geometry, const std::string& options) {
    const MetricList list = parse_metrics("adm", options);
    std::vector<exactvq_option> pairs;
    for (const auto& [key, value] : list.instances[0].options) pairs.push_back({key.c_str(), value.c_str()});
    const MetricInfo& info = *find_metric("adm");
    return info.make(OptionValues(info.name, info.options, pairs.data(), pairs.size()), geometry)->accumulators().at(0);
}

std::string describe(const std::vector<AccumulatorSpec>& specs, size_t word) {
    size_t i = 0;
    for (; word >= specs[i].words(); ++i) word -= specs[i].words();
    const AccumulatorSpec& spec = specs[i];
    if (spec.kind == AccumulatorKind::kAdm) {
        static const char* const sums[] = {"denominator", "detail", "additive"};
        return "adm (gain " + std::to_string(spec.adm.gain_limit) + ", skips aim " + std::to_string(spec.adm.skip_aim) + " scale0 " + std::to_string(spec.adm.skip_scale0) +
               ") scale " + std::to_string(word / 9) + " " + sums[word / 3 % 3] + " " + "hvd"[word % 3];
    }
    if (spec.kind == AccumulatorKind::kVif) {
        static const char* const sums[] = {"NL", "DL", "C", "NN"};
        return "vif (gain " + std::to_string(spec.vif.gain_limit) + ", skips scale0 " + std::to_string(spec.vif.skip_scale0) + ") scale " + std::to_string(word / kVifSums) + " " +
               sums[word % kVifSums];
    }
    if (spec.kind == AccumulatorKind::kMotion) return "motion distance " + std::to_string(spec.motion_distance);
    static const char* const kinds[] = {"sse", "rounded_sse", "psnr_hvs_sum"};
    return std::string(kinds[static_cast<int>(spec.kind)]) + (spec.mask == PsnrHvsMask::kF64 ? " f64" : "") + " plane " + std::to_string(spec.plane);
}

}  // namespace exactvq::test
