// SPDX-License-Identifier: BSD-2-Clause
//
// The platform trait of kernels/common/gpu.h on NVIDIA GPUs, for nvcc and for clang without the CUDA toolkit.
#ifndef EXACTVQ_KERNELS_CUDA_PLATFORM_H
#define EXACTVQ_KERNELS_CUDA_PLATFORM_H

#include "kernels/common/gpu.h"

namespace exactvq::gpu {

struct CudaPlatform {
    static constexpr uint32_t kWave = 32;

#if defined(__CUDACC__)
    EXACTVQ_DEVICE static uint32_t thread() { return threadIdx.x; }
    EXACTVQ_DEVICE static uint32_t block_x() { return blockIdx.x; }
    EXACTVQ_DEVICE static uint32_t block_y() { return blockIdx.y; }
    EXACTVQ_DEVICE static uint32_t block_z() { return blockIdx.z; }
    EXACTVQ_DEVICE static uint32_t blocks_x() { return gridDim.x; }
    EXACTVQ_DEVICE static uint32_t blocks_y() { return gridDim.y; }
    EXACTVQ_DEVICE static uint32_t blocks_z() { return gridDim.z; }
    EXACTVQ_DEVICE static void fence() { __threadfence(); }
    EXACTVQ_DEVICE static uint64_t ballot(bool b) { return __ballot_sync(kAll, b); }
    EXACTVQ_DEVICE static uint32_t multiply_high(uint32_t a, uint32_t b) { return __umulhi(a, b); }
    EXACTVQ_DEVICE static uint32_t atomic_add(uint32_t* p, uint32_t v) { return atomicAdd(p, v); }
    EXACTVQ_DEVICE static uint64_t atomic_add(uint64_t* p, uint64_t v) { return atomicAdd(reinterpret_cast<unsigned long long*>(p), v); }
#else
    EXACTVQ_DEVICE static uint32_t thread() { return __nvvm_read_ptx_sreg_tid_x(); }
    EXACTVQ_DEVICE static uint32_t block_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
    EXACTVQ_DEVICE static uint32_t block_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
    EXACTVQ_DEVICE static uint32_t block_z() { return __nvvm_read_ptx_sreg_ctaid_z(); }
    EXACTVQ_DEVICE static uint32_t blocks_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
    EXACTVQ_DEVICE static uint32_t blocks_y() { return __nvvm_read_ptx_sreg_nctaid_y(); }
    EXACTVQ_DEVICE static uint32_t blocks_z() { return __nvvm_read_ptx_sreg_nctaid_z(); }
    EXACTVQ_DEVICE static void fence() { __nvvm_membar_gl(); }
    EXACTVQ_DEVICE static uint64_t ballot(bool b) { return __nvvm_vote_ballot_sync(kAll, b); }
    EXACTVQ_DEVICE static uint32_t multiply_high(uint32_t a, uint32_t b) { return __nvvm_mulhi_ui(a, b); }
    EXACTVQ_DEVICE static uint32_t atomic_add(uint32_t* p, uint32_t v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
    EXACTVQ_DEVICE static uint64_t atomic_add(uint64_t* p, uint64_t v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
#endif

    EXACTVQ_DEVICE static void sync() { __syncthreads(); }

    template <class T>
    EXACTVQ_DEVICE static T shuffle_down(T v, uint32_t delta) {
        return in_words(v, [delta](uint32_t word) { return down(word, delta); });
    }
    template <class T>
    EXACTVQ_DEVICE static T shuffle_xor(T v, uint32_t mask) {
        return in_words(v, [mask](uint32_t word) { return flip(word, mask); });
    }
    template <class T>
    EXACTVQ_DEVICE static T shuffle(T v, uint32_t lane) {
        return in_words(v, [lane](uint32_t word) { return from(word, lane); });
    }

private:
    static constexpr uint32_t kAll = 0xffffffffu;  // the whole wave

#if defined(__CUDACC__)
    EXACTVQ_DEVICE static uint32_t down(uint32_t word, uint32_t delta) { return __shfl_down_sync(kAll, word, delta); }
    EXACTVQ_DEVICE static uint32_t flip(uint32_t word, uint32_t mask) { return __shfl_xor_sync(kAll, word, static_cast<int>(mask)); }
    EXACTVQ_DEVICE static uint32_t from(uint32_t word, uint32_t lane) { return __shfl_sync(kAll, word, static_cast<int>(lane)); }
#else
    EXACTVQ_DEVICE static uint32_t down(uint32_t word, uint32_t delta) { return __nvvm_shfl_sync_down_i32(kAll, word, delta, 31); }
    EXACTVQ_DEVICE static uint32_t flip(uint32_t word, uint32_t mask) { return __nvvm_shfl_sync_bfly_i32(kAll, word, mask, 31); }
    EXACTVQ_DEVICE static uint32_t from(uint32_t word, uint32_t lane) { return __nvvm_shfl_sync_idx_i32(kAll, word, lane, 31); }
#endif

    // f of each 32-bit word of v.
    template <class T, class F>
    EXACTVQ_DEVICE static T in_words(T v, F f) {
        static_assert(sizeof(T) == 4 || sizeof(T) == 8);
        uint32_t words[sizeof(T) / 4];
        memcpy(words, &v, sizeof v);
        for (uint32_t i = 0; i < sizeof(T) / 4; ++i) words[i] = f(words[i]);
        memcpy(&v, words, sizeof v);
        return v;
    }
};

// For kernels/gpu/entry_points.h.
using Platform = CudaPlatform;
#define EXACTVQ_BLOCK(K) __launch_bounds__(K::kThreads, K::kBlocks)
#if defined(__CUDACC__)
#define EXACTVQ_PARAMETER const __grid_constant__  // read in place, whatever a kernel does with its address
#else
#define EXACTVQ_PARAMETER const
#endif

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_CUDA_PLATFORM_H
