// SPDX-License-Identifier: BSD-2-Clause
//
// The platform trait of kernels/common/gpu.h on AMD GPUs, for clang without ROCm's headers and device libraries.
#ifndef EXACTVQ_KERNELS_HIP_PLATFORM_H
#define EXACTVQ_KERNELS_HIP_PLATFORM_H

#include "kernels/common/gpu.h"

namespace exactvq::gpu {

// Blocks are one-dimensional and whole waves: a thread's lane is its number modulo kWave.
template <uint32_t kWaveSize>
struct HipPlatform {
    static_assert(kWaveSize == 32 || kWaveSize == 64);
    static constexpr uint32_t kWave = kWaveSize;

    EXACTVQ_DEVICE static uint32_t thread() { return __builtin_amdgcn_workitem_id_x(); }
    EXACTVQ_DEVICE static uint32_t block_x() { return __builtin_amdgcn_workgroup_id_x(); }
    EXACTVQ_DEVICE static uint32_t block_y() { return __builtin_amdgcn_workgroup_id_y(); }
    EXACTVQ_DEVICE static uint32_t block_z() { return __builtin_amdgcn_workgroup_id_z(); }
    EXACTVQ_DEVICE static uint32_t blocks_x() { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }
    EXACTVQ_DEVICE static uint32_t blocks_y() { return __builtin_amdgcn_grid_size_y() / __builtin_amdgcn_workgroup_size_y(); }
    EXACTVQ_DEVICE static uint32_t blocks_z() { return __builtin_amdgcn_grid_size_z() / __builtin_amdgcn_workgroup_size_z(); }

    EXACTVQ_DEVICE static void sync() {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __builtin_amdgcn_s_barrier();
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    }
    EXACTVQ_DEVICE static void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }

    EXACTVQ_DEVICE static uint64_t ballot(bool b) {
        if constexpr (kWave == 32) return __builtin_amdgcn_uicmp(b, 0, 33) & 0xffffffffu;
        else return __builtin_amdgcn_uicmp(b, 0, 33);  // 33: not equal
    }
    EXACTVQ_DEVICE static uint32_t multiply_high(uint32_t a, uint32_t b) { return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32); }
    EXACTVQ_DEVICE static uint32_t atomic_add(uint32_t* p, uint32_t v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
    EXACTVQ_DEVICE static uint64_t atomic_add(uint64_t* p, uint64_t v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }

    // A lane beyond the wave: the own value.
    template <class T>
    EXACTVQ_DEVICE static T shuffle_down(T v, uint32_t delta) {
        const uint32_t lane = thread() % kWave;
        return shuffle(v, lane + delta < kWave ? lane + delta : lane);
    }
    template <class T>
    EXACTVQ_DEVICE static T shuffle_xor(T v, uint32_t mask) {
        return shuffle(v, thread() % kWave ^ mask);
    }
    template <class T>
    EXACTVQ_DEVICE static T shuffle(T v, uint32_t lane) {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8);
        int words[sizeof(T) / 4];
        memcpy(words, &v, sizeof v);
        for (uint32_t i = 0; i < sizeof(T) / 4; ++i) words[i] = __builtin_amdgcn_ds_bpermute(static_cast<int>(lane * 4), words[i]);
        memcpy(&v, words, sizeof v);
        return v;
    }
};

// For kernels/gpu/entry_points.h.
using Platform = HipPlatform<__AMDGCN_WAVEFRONT_SIZE>;
#define EXACTVQ_BLOCK(K) __attribute__((amdgpu_flat_work_group_size(K::kThreads, K::kThreads), amdgpu_waves_per_eu(1)))
#define EXACTVQ_PARAMETER const

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_HIP_PLATFORM_H
