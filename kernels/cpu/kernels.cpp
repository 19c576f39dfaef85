// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cpu/kernels.h"

#include <array>

#include "exactvq/exactvq.h"
#include "hwy/targets.h"
#include "kernels/cpu/motion.h"
#include "kernels/cpu/plain.h"
#include "kernels/cpu/psnr_hvs.h"
#include "kernels/cpu/sse.h"

namespace exactvq::cpu {
namespace {

struct Level {
    Kernels kernels;
    uint32_t needs;  // EXACTVQ_CPU_* bits, cumulative
};

struct Target {
    int64_t target;
    uint32_t needs;
};

constexpr Target kTargets[] = {
#if HWY_ARCH_X86
    {HWY_SSSE3, EXACTVQ_CPU_SSSE3},
    {HWY_SSE4, EXACTVQ_CPU_SSSE3 | EXACTVQ_CPU_SSE4},
    {HWY_AVX2, EXACTVQ_CPU_SSSE3 | EXACTVQ_CPU_SSE4 | EXACTVQ_CPU_AVX2},
    {HWY_AVX3, EXACTVQ_CPU_SSSE3 | EXACTVQ_CPU_SSE4 | EXACTVQ_CPU_AVX2 | EXACTVQ_CPU_AVX512},
#elif HWY_ARCH_ARM_A64
    {HWY_NEON, 0},
#endif
};

// Levels that this CPU runs, from plain C++ upwards.
const std::vector<Level>& levels() {
    static const std::vector<Level> list = [] {
        std::vector<Level> result{{{"C", plain_sse_kernels(), plain_psnr_hvs_kernels(), plain_adm_kernels(), plain_vif_kernels(), plain_motion_kernels()}, 0}};
        for (const Target& t : kTargets)
            if (hwy::SupportedTargets() & HWY_TARGETS & t.target)  // that were compiled
                result.push_back({{hwy::TargetName(t.target), sse_kernels(t.target), psnr_hvs_kernels(t.target), adm_kernels(t.target), vif_kernels(t.target),
                                   motion_kernels(t.target)},
                                  t.needs});
        return result;
    }();
    return list;
}

}  // namespace

const Kernels& select_kernels(uint32_t mask) {
    const Level* best = &levels().front();
    for (const Level& level : levels())
        if (!(mask & EXACTVQ_CPU_LIMIT) || (level.needs & ~mask) == 0) best = &level;
    return best->kernels;
}

std::vector<const Kernels*> all_kernels() {
    std::vector<const Kernels*> result;
    for (const Level& level : levels()) result.push_back(&level.kernels);
    return result;
}

}  // namespace exactvq::cpu
