// SPDX-License-Identifier: BSD-2-Clause
//
// GPU backends on the CPU, for parity tests.
#ifndef EXACTVQ_TESTS_SIMT_SIMT_BACKENDS_H
#define EXACTVQ_TESTS_SIMT_SIMT_BACKENDS_H

#include "tests/parity/backends.h"
#include "tests/simt/simt_device.h"

namespace exactvq::test {

// Waves of 32 and of 64, with an order of threads, blocks and streams that the seed makes.
std::vector<BackendUnderTest> simt_backends(const gpu::SimtOptions& options);

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_SIMT_SIMT_BACKENDS_H
