// SPDX-License-Identifier: BSD-2-Clause
//
// Every call of the C library's mathematics on a score path, and why its result is the same everywhere, or where it is not. (Square roots in
// kernels/ are not among them: IEEE-754 defines them to the bit, and processors compute them in one instruction.)
//
// All are called on the host only, on accumulators that are equal everywhere. What is not exact by definition is not correctly rounded in general:
// two machines agree in the last bit if both run the same C library on the same kind of processor (glibc on x86-64 takes a variant with FMA where the
// processor has it). The counts below compare glibc 2.36's two variants.
#ifndef EXACTVQ_HOST_LIBM_H
#define EXACTVQ_HOST_LIBM_H

#include <cmath>

namespace exactvq::libm {

// Hides an argument from the compiler, so that it calls the function that is named here (Clang makes exp2(y) of pow(2, y)) and does not compute it itself.
template <class T>
T opaque(T x) {
    volatile T hidden = x;
    return hidden;
}

// The variants differ in the last bit or two in about 3 of 100,000 cases between 1 and 10.
inline double log10(double x) { return std::log10(x); }

// The variants differ in the last bit in about 1 of 1,000 cases. ADM rounds what they give to binary32, where that bit is lost but for about 1 case in 10^11.
// VMAF adds some hundred values of exp for a prediction: about 1 of 80 predictions differs, by at most 2.4e-12.
inline double pow(double x, double y) { return std::pow(opaque(x), opaque(y)); }
inline double exp(double x) { return std::exp(opaque(x)); }

// The variants agree for every x >= 0 with y = 1/3, ADM's exponent unless adm_p_norm says otherwise.
inline float powf(float x, float y) { return std::pow(opaque(x), opaque(y)); }

// VIF's table of logarithms rounds it to binary32; the closest of its 32768 entries to a decision is 0.008 units of binary32 away, far more than any library
// is off.
inline double log2(double x) { return std::log2(x); }

// Exact by definition.
inline double ceil(double x) { return std::ceil(x); }
inline double floor(double x) { return std::floor(x); }
inline double sqrt(double x) { return std::sqrt(x); }

}  // namespace exactvq::libm

#endif  // EXACTVQ_HOST_LIBM_H
