// SPDX-License-Identifier: BSD-2-Clause
//
// What the shared arithmetic may assume of every compiler that reads it: C++17, IEEE-754 binary32/binary64 with rounding to nearest,
// no contraction of a * b + c (-ffp-contract=off, -fmad=false) and correctly rounded division and square root.
#ifndef EXACTVQ_KERNELS_COMMON_PLATFORM_H
#define EXACTVQ_KERNELS_COMMON_PLATFORM_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#if defined(__clang__) && ((defined(__CUDA__) && !defined(__CUDACC__)) || defined(__HIP__))
// Clang without the toolkits of CUDA and ROCm: what their headers define.
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
extern "C" __device__ __forceinline__ void* memcpy(void* to, const void* from, size_t size) noexcept { return __builtin_memcpy(to, from, size); }
#endif

#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDA__)
#define EXACTVQ_HD __host__ __device__ inline
#else
#define EXACTVQ_HD inline
#endif

// A constant array that device code indexes at run time.
#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDA__)
#define EXACTVQ_TABLE static __device__ const
#else
#define EXACTVQ_TABLE inline constexpr
#endif

// Arrays that are indexed in a loop stay in registers if the loop is unrolled.
#if defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDA__) || defined(__clang__)
#define EXACTVQ_UNROLL _Pragma("unroll")
#else
#define EXACTVQ_UNROLL
#endif

namespace exactvq {

// a / b, rounded up.
EXACTVQ_HD constexpr uint32_t divide_up(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

EXACTVQ_HD uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

EXACTVQ_HD float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

EXACTVQ_HD uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

EXACTVQ_HD double double_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The parts of a float.
inline constexpr uint32_t kFloatMantissa = 0x007fffffu;
inline constexpr uint32_t kFloatExponent = 0x7f800000u;

template <class Float>
struct FloatFields;
template <>
struct FloatFields<float> {
    using Bits = uint32_t;
    static constexpr Bits kMantissa = kFloatMantissa, kExponent = kFloatExponent;
    EXACTVQ_HD static Bits bits(float value) { return float_bits(value); }
    EXACTVQ_HD static float value(Bits bits) { return float_from_bits(bits); }
};
template <>
struct FloatFields<double> {
    using Bits = uint64_t;
    static constexpr Bits kMantissa = 0x000fffffffffffffu, kExponent = 0x7ff0000000000000u;
    EXACTVQ_HD static Bits bits(double value) { return double_bits(value); }
    EXACTVQ_HD static double value(Bits bits) { return double_from_bits(bits); }
};

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_PLATFORM_H
