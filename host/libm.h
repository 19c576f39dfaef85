// SPDX-License-Identifier: BSD-2-Clause
//
// Every call of the C library's mathematics on a score path, and why its result is the same everywhere, or where it is not. (Square roots in
// kernels/ are not among them: IEEE-754 defines them to the bit, and processors compute them in one instruction.)
#ifndef EXACTVQ_HOST_LIBM_H
#define EXACTVQ_HOST_LIBM_H

#include <cmath>

namespace exactvq::libm {

// Not correctly rounded in general: two machines agree in the last bit if both run the same C library (glibc has one generic log10, without
// CPU-dependent variants). Called on the host only, once a score, on accumulators that are equal everywhere.
inline double log10(double x) { return std::log10(x); }

// Exact by definition.
inline double ceil(double x) { return std::ceil(x); }

}  // namespace exactvq::libm

#endif  // EXACTVQ_HOST_LIBM_H
