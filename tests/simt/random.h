// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers that depend on the seed only (splitmix64).
#ifndef EXACTVQ_TESTS_SIMT_RANDOM_H
#define EXACTVQ_TESTS_SIMT_RANDOM_H

#include <cstdint>
#include <utility>

namespace exactvq::simt {

class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        return z ^ z >> 31;
    }

    uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }

    template <class T>
    void shuffle(T* items, uint32_t count) {
        for (uint32_t i = count; i > 1; --i) std::swap(items[i - 1], items[below(i)]);
    }

private:
    uint64_t state_;
};

}  // namespace exactvq::simt

#endif  // EXACTVQ_TESTS_SIMT_RANDOM_H
