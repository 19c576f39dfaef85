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
#include "kernels/cpu/reference.h"

namespace exactvq::test {

struct BackendUnderTest {
    std::string name;
    std::function<std::unique_ptr<Backend>(BackendConfig)> make;
};

// CPU: every SIMD level of this CPU, with `threads` workers each.
std::vector<BackendUnderTest> cpu_backends(const std::vector<uint32_t>& threads);

// What the tests are run on: the CPU, or with EXACTVQ_BACKEND=cuda or hip the GPU.
std::vector<BackendUnderTest> backends_under_test(const std::vector<uint32_t>& threads);

// Accumulators by the reference loops.
inline std::vector<uint64_t> reference_words(const std::vector<AccumulatorSpec>& specs, const FramePair& pair) { return reference::words(specs, pair); }

// Every accumulator that exists for a geometry; of adm, which has many parameters, a few.
std::vector<AccumulatorSpec> all_accumulators(const Geometry& geometry);

// The same, of adm and vif one each: options choose what a sample adds, not how it is filtered. With n, n + 1 and n + 2 all options have their turn.
std::vector<AccumulatorSpec> accumulators_in_turn(const Geometry& geometry, uint32_t n);

// The accumulators of adm with options as exactvq_parse_metrics() takes them.
AccumulatorSpec adm_accumulator(const Geometry& geometry, const std::string& options);

// Word `word` of the accumulators of a list, for a message.
std::string describe(const std::vector<AccumulatorSpec>& specs, size_t word);

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_PARITY_BACKENDS_H
