// SPDX-License-Identifier: BSD-2-Clause
//
// Correctly rounded quotients in binary64 from the approximate reciprocal that AMD GPUs have: v_rcp_f64 (2^29 units in the last place off at most).
// LLVM's own sequence is not known to round correctly for divisors just below a power of two.
#ifndef EXACTVQ_KERNELS_COMMON_AMD_QUOTIENT_H
#define EXACTVQ_KERNELS_COMMON_AMD_QUOTIENT_H

#include "kernels/common/amd_root.h"

namespace exactvq {

// The quotient of a and b, given one that is at most one unit in the last place off. Its remainder a - q b is exact then, and so are half a unit times b: the
// quotient is right if the remainder is between those. No quotient lies in the middle of two numbers.
EXACTVQ_HD double repaired_quotient(double a, double b, double q) {
    const double below = double_from_bits(double_bits(q) - 1), above = double_from_bits(double_bits(q) + 1);
    const double remainder = fused(-q, b, a);
    if (remainder > (above - q) * 0.5 * b) return above;
    return remainder < (below - q) * 0.5 * b ? below : q;
}

// Of positive numbers between 2^-200 and 2^200, so that nothing here overflows or is subnormal. `rcp` approximates 1 / b.
template <class Rcp>
EXACTVQ_HD double amd_quotient(double a, double b, Rcp rcp) {
    double y = rcp(b);
    y = fused(fused(-b, y, 1.0), y, y);  // Newton: squares the relative error
    y = fused(fused(-b, y, 1.0), y, y);
    const double q = a * y;
    return repaired_quotient(a, b, fused(fused(-q, b, a), y, q));
}

}  // namespace exactvq

#endif  // EXACTVQ_KERNELS_COMMON_AMD_QUOTIENT_H
