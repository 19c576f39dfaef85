// SPDX-License-Identifier: BSD-2-Clause
//
// The backends that the parity tests compare with the reference loops: one entry for each that can run on this machine.
#ifndef EXACTVQ_TESTS_PARITY_BACKENDS_H
#define EXACTVQ_TESTS_PARITY_BACKENDS_H

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/backend.h"

namespace exactvq::test {

struct BackendUnderTest {
    std::string name;
    std::function<std::unique_ptr<Backend>(BackendConfig)> make;
};

// CPU: every SIMD level of this CPU, with `threads` workers each.
std::vector<BackendUnderTest> cpu_backends(const std::vector<uint32_t>& threads);

// Accumulators by the reference loops.
std::vector<uint64_t> reference_words(const std::vector<AccumulatorSpec>& specs, const FramePair& pair);

// Every accumulator that exists for a geometry.
std::vector<AccumulatorSpec> all_accumulators(const Geometry& geometry);

std::string describe(const AccumulatorSpec& spec);

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_PARITY_BACKENDS_H
