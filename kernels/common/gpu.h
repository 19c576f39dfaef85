// SPDX-License-Identifier: BSD-2-Clause
//
// What all GPU kernels share. A kernel is a struct:
//
//     struct FooKernel {
//         struct Arguments { ... };                  // trivially copyable; device addresses as plain pointers
//         static constexpr uint32_t kThreads = 256;  // threads of a block, a multiple of 64
//         static constexpr uint32_t kBlocks = 1;     // of them that a multiprocessor should hold at once: bounds the registers
//         template <class P> struct Shared { ... };  // shared memory of a block
//         template <class P> EXACTVQ_DEVICE static void run(const Arguments& a, Shared<P>& s);
//     };
//
// P is the platform: CudaPlatform, HipPlatform, or in tests SimtPlatform. All its members are static:
//
//     kWave                                          threads that shuffle with each other: 32 or 64
//     thread(), block_x(), block_y(), block_z(), blocks_x(), blocks_y(), blocks_z()
//     sync()                                         barrier of the block
//     shuffle_down(v, n), shuffle_xor(v, mask), shuffle(v, lane), ballot(b)     the whole wave takes part
//     multiply_high(a, b)                            upper 32 bits of an unsigned product
//
// Square roots: root() of root.h.
// No kernel relies on cleared memory, on lockstep within a wave, or on an order of blocks.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_H
#define EXACTVQ_KERNELS_COMMON_GPU_H

#include "kernels/common/plane.h"

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDA__)
#define EXACTVQ_DEVICE __device__ __forceinline__
#else
#define EXACTVQ_DEVICE inline
#endif

namespace exactvq::gpu {

// Mistakes that the gate (tests/simt/gate_test.cpp) plants to see that parity notices them. In other builds there is nothing of them.
enum class Planted : int {
    kNone,
    kFloatSums,      // squared differences summed in binary32
    kTileFolds,      // ADM's rows rounded once a tile
    kFloatLogarithm, // ADM's shift of the denominator from a binary32 logarithm
    kReliesOnClear,  // a word is added to, as if somebody had cleared it
    kBlockSums,      // psnr_hvs summed block by block
    kLiteralWave,    // a wave is 32 threads
    kVifFloatGain,   // VIF's gain in binary32
    kVifNoEpsilon,   // VIF's gain without the small number in the divisor
    kVifLimitedNoise,  // VIF's gain limited before the noise is computed from it
    kVifShiftedMeans,  // VIF's means rounded to samples before they are squared
    kVifTileBorders,   // VIF's tiles mirrored at their own borders
    kMotionSign,       // motion's difference the other way round
    kMotionTowardsZero,  // motion's shift rounds towards zero
    kCount
};
#ifdef EXACTVQ_PLANTED_FAULTS
extern Planted planted;
EXACTVQ_DEVICE bool is_planted(Planted fault) { return planted == fault; }
#else
EXACTVQ_DEVICE constexpr bool is_planted(Planted) { return false; }
#endif

// A sample of a plane in device memory, where words lie at their own alignment.
EXACTVQ_DEVICE uint32_t load_sample(const PlaneView& plane, uint32_t x, uint32_t y) {
    const uint8_t* p = plane.row(y) + static_cast<size_t>(x) * plane.step;
    return plane.depth == 8 ? *p : static_cast<uint32_t>(*reinterpret_cast<const uint16_t*>(p)) >> plane.shift;
}

// A column of a plane in device memory, samples of 8 bits or of more; clean_sample() of plane.h.
template <bool kBytes>
class Column {
public:
    EXACTVQ_DEVICE Column(const PlaneView& plane, uint32_t x)
        : top_(plane.data + static_cast<size_t>(x) * plane.step), stride_(plane.stride), shift_(plane.shift), largest_(plane.largest()) {}

    EXACTVQ_DEVICE uint32_t operator[](uint32_t y) const {
        const uint8_t* p = top_ + static_cast<ptrdiff_t>(y) * stride_;
        return kBytes ? *p : (static_cast<uint32_t>(*reinterpret_cast<const uint16_t*>(p)) >> shift_) & largest_;
    }
    // Row y becomes row 0.
    EXACTVQ_DEVICE void skip(int32_t y) { top_ += y * stride_; }

private:
    const uint8_t* top_;
    ptrdiff_t stride_;
    uint32_t shift_, largest_;
};

// Sum of the products of four bytes each, plus `start`, modulo 2^32.
EXACTVQ_DEVICE uint32_t dot4(uint32_t a, uint32_t b, uint32_t start) {
#if defined(__CUDA_ARCH__)
    uint32_t result;
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(start));
    return result;
#else
    for (uint32_t i = 0; i < 32; i += 8) start += (a >> i & 0xff) * (b >> i & 0xff);
    return start;
#endif
}

// Zeros above the highest bit set, of a number that is not 0.
EXACTVQ_DEVICE uint32_t leading_zeros(uint32_t bits) {
#if defined(__CUDACC__) && !defined(__clang__)
    return static_cast<uint32_t>(__clz(static_cast<int>(bits)));
#else
    return static_cast<uint32_t>(__builtin_clz(bits));
#endif
}

// Index of the lowest bit set; 64 for 0.
EXACTVQ_DEVICE uint32_t lowest_bit(uint64_t bits) {
    if (bits == 0) return 64;
#if defined(__CUDACC__) && !defined(__clang__)
    return static_cast<uint32_t>(__ffsll(static_cast<long long>(bits))) - 1;
#else
    return static_cast<uint32_t>(__builtin_ctzll(bits));
#endif
}

// mirrored() of mirror.h for a tile that may reach further: there, any sample.
EXACTVQ_DEVICE uint32_t reflect(int32_t i, uint32_t n) {
    const int32_t last = static_cast<int32_t>(n) - 1, from_first = i < 0 ? -i : i, from_last = 2 * last - from_first;
    const int32_t nearer = from_first < from_last ? from_first : from_last;
    return static_cast<uint32_t>(nearer < 0 ? 0 : nearer);
}

// Sum over the wave; valid in its first thread.
template <class P, class T>
EXACTVQ_DEVICE T wave_sum(T v) {
    for (uint32_t n = is_planted(Planted::kLiteralWave) ? 16 : P::kWave / 2; n > 0; n /= 2) v += P::shuffle_down(v, n);
    return v;
}

// Sum over the block of kThreads; valid in thread 0. Integers: the order of additions cannot matter.
template <class P, uint32_t kThreads, class T>
EXACTVQ_DEVICE T block_sum(T v, T (&partial)[kThreads / P::kWave]) {
    v = wave_sum<P>(v);
    if (P::thread() % P::kWave == 0) partial[P::thread() / P::kWave] = v;
    P::sync();
    if (P::thread() == 0)
        for (uint32_t i = 1; i < kThreads / P::kWave; ++i) v += partial[i];
    return v;
}

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_H
