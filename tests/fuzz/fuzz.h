// SPDX-License-Identifier: BSD-2-Clause
//
// What the libFuzzer targets share. A target is one function of bytes; what must hold is checked with check(), which ends the program so that libFuzzer keeps the input.
#ifndef EXACTVQ_TESTS_FUZZ_FUZZ_H
#define EXACTVQ_TESTS_FUZZ_FUZZ_H

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exactvq/exactvq.h"

namespace exactvq::fuzz {

inline void check(bool holds, std::string_view what) {
    if (holds) return;
    std::fprintf(stderr, "must hold, and does not: %s\n", std::string(what).c_str());
    std::abort();
}

// What a person is told: not nothing, and one line.
inline void check_sentence(std::string_view sentence) {
    check(!sentence.empty(), "a failure has a sentence");
    for (const char c : sentence)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') check(false, "a sentence is one line: " + std::string(sentence));
}

struct CloseSession {
    void operator()(exactvq_session* session) const { exactvq_close(session); }
};
using SessionPointer = std::unique_ptr<exactvq_session, CloseSession>;

// Null unless it opens; then what it said was a sentence.
inline SessionPointer open(const exactvq_config& config) {
    exactvq_session* session = nullptr;
    const exactvq_status status = exactvq_open(&config, &session);
    SessionPointer pointer(session);
    check(session, "a session is made");
    if (status == EXACTVQ_OK) {
        check(exactvq_error(session)[0] == 0, "no sentence without a failure");
        return pointer;
    }
    check_sentence(exactvq_error(session));
    return {};
}

inline void check_scores(const std::vector<exactvq_score>& scores) {
    for (const exactvq_score& score : scores) check(score.has_value ? !std::isnan(score.value) : score.value == 0, "a score is a number, or has no value");
}

// A plane of noise or ramps in memory that ends with its last sample.
inline std::unique_ptr<uint8_t[]> make_samples(size_t size, uint32_t seed) {
    std::unique_ptr<uint8_t[]> memory(new uint8_t[size]);
    uint32_t state = seed | 1;
    for (size_t i = 0; i < size; ++i) {
        state = state * 1664525 + 1013904223;
        memory[i] = static_cast<uint8_t>(seed % 2 ? state >> 24 : i * (seed % 7) + (state >> 30));
    }
    return memory;
}

// Two pairs of planar frames through an open session.
inline void score_two_pairs(exactvq_session* session, const exactvq_format& format, uint32_t seed) {
    std::vector<exactvq_score> scores(exactvq_output_count(session));
    std::vector<std::unique_ptr<uint8_t[]>> memory;
    const uint32_t bytes = format.depth > 8 ? 2 : 1;
    for (uint64_t pair = 0; pair < 2; ++pair) {
        exactvq_frame frames[2]{};
        for (exactvq_frame& frame : frames) {
            frame.struct_size = sizeof frame;
            frame.format = format;
            for (uint32_t p = 0; p < format.planes; ++p) {
                const size_t width = p ? (format.width + (1u << format.log2_chroma_w) - 1) >> format.log2_chroma_w : format.width;
                const size_t height = p ? (format.height + (1u << format.log2_chroma_h) - 1) >> format.log2_chroma_h : format.height;
                memory.push_back(make_samples(width * height * bytes, seed++));
                frame.plane[p] = {memory.back().get(), static_cast<ptrdiff_t>(width * bytes), bytes, 0};
            }
        }
        check(exactvq_submit(session, &frames[0], &frames[1], pair) == EXACTVQ_OK, "a right pair is taken");
    }
    check(exactvq_flush(session) == EXACTVQ_OK, "a session is flushed");
    for (uint64_t pair = 0, index = 0; pair < 2; ++pair) {
        check(exactvq_receive(session, scores.data(), &index, 0) == EXACTVQ_OK && index == pair, "a pair that was taken is delivered");
        check_scores(scores);
    }
    check(exactvq_receive(session, scores.data(), nullptr, 0) == EXACTVQ_END, "nothing more is delivered");
}

}  // namespace exactvq::fuzz

#endif  // EXACTVQ_TESTS_FUZZ_FUZZ_H
