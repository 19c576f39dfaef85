// SPDX-License-Identifier: BSD-2-Clause
//
// Backends against the reference loops on one picture after another.
#ifndef EXACTVQ_TESTS_PARITY_PARITY_H
#define EXACTVQ_TESTS_PARITY_PARITY_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/parity/backends.h"
#include "tests/support/picture.h"

namespace exactvq::test {

// Sanitizer builds are ten times slower: EXACTVQ_TEST_STRIDE=n runs every n-th case of the long tests (of the sweep of small sizes every third).
inline uint32_t stride() {
    const char* text = std::getenv("EXACTVQ_TEST_STRIDE");
    return text ? static_cast<uint32_t>(std::max(1, std::atoi(text))) : 1;
}

// Which backend's words of which metric were compared, and whether all were equal. At the end of the process they are appended to the file EXACTVQ_CELLS, from
// which scripts/make-exactness-table makes docs/exactness.md. A run that leaves cases out writes nothing, one that failed only what differed. To split a run
// use gtest's shards, not its filter.
class Cells {
public:
    static Cells& get() {
        static Cells cells;
        return cells;
    }
    void add(AccumulatorKind kind, const std::string& backend, bool equal) {
        static const char* const metrics[] = {"psnr", "float_psnr", "psnr_hvs", "adm", "vif", "motion"};
        const auto [cell, is_new] = cells_.emplace(std::pair(metrics[static_cast<int>(kind)], backend), equal);
        cell->second = cell->second && equal;
    }
    ~Cells() {
        const char* path = std::getenv("EXACTVQ_CELLS");
        const bool whole = stride() == 1 && testing::GTEST_FLAG(filter) == "*" && !std::getenv("EXACTVQ_ADM_CASES") && !std::getenv("EXACTVQ_VIF_CASES");
        FILE* file = path && whole ? std::fopen(path, "a") : nullptr;
        if (!file) return;
        const bool failed = testing::UnitTest::GetInstance()->Failed();  // perhaps before all was compared
        for (const auto& [cell, equal] : cells_)
            if (!equal || !failed) std::fprintf(file, "%s\t%s\t%s\n", cell.first.c_str(), cell.second.c_str(), equal ? "equal" : "different");
        std::fclose(file);
    }

private:
    std::map<std::pair<std::string, std::string>, bool> cells_;
};

class Parity {
public:
    Parity(const exactvq_format& format, const std::vector<BackendUnderTest>& backends, std::vector<AccumulatorSpec> specs = {})
        : format_(format), geometry_(make_geometry(format)), specs_(std::move(specs)) {
        if (specs_.empty()) specs_ = all_accumulators(geometry_);
        BackendConfig config;
        config.geometry = geometry_;
        config.accumulators = specs_;
        for (const BackendUnderTest& backend : backends) {
            names_.push_back(backend.name);
            static const std::regex variant(" (x|seed )[0-9]+$");  // threads, order
            cells_.push_back(std::regex_replace(backend.name, variant, ""));
            backends_.push_back(backend.make(config));
        }
    }

    // Returns the number of words compared.
    size_t check(Content content, Layout ref_layout, Layout main_layout, uint32_t seed) {
        if (expected_.empty() || content != content_ || seed != seed_) {  // what is expected does not depend on layouts
            content_ = content;
            seed_ = seed;
            samples_ = make_content(content, geometry_, seed);
            earlier_ = make_content(content, geometry_, seed + 1);
            expected_.clear();
        }
        const Pair pair(*this, ref_layout, main_layout);
        if (expected_.empty()) expected_ = reference_words(specs_, pair.get);
        for (size_t b = 0; b < backends_.size(); ++b) {
            std::vector<uint64_t> words(expected_.size(), 0xdeadbeefdeadbeefu);
            backends_[b]->start(0, pair.get, words.data());
            backends_[b]->wait(0);
            size_t first = 0;
            for (const AccumulatorSpec& spec : specs_) {
                Cells::get().add(spec.kind, cells_[b], std::equal(words.begin() + first, words.begin() + first + spec.words(), expected_.begin() + first));
                first += spec.words();
            }
            for (size_t i = 0; i < words.size(); ++i) {
                if (words[i] == expected_[i]) continue;
                ADD_FAILURE() << names_[b] << ", " << describe(specs_, i) << ": " << std::hex << words[i] << ", reference " << expected_[i] << std::dec << "; "
                              << format_.width << "x" << format_.height << ", depth " << format_.depth << ", planes " << format_.planes << ", chroma >> "
                              << format_.log2_chroma_w << "," << format_.log2_chroma_h << ", content " << name(content) << ", layouts "
                              << name(ref_layout) << " and " << name(main_layout) << ", seed " << seed;
            }
        }
        return backends_.size() * expected_.size();
    }

private:
    // The pictures of a check in memory.
    struct Pair {
        Pair(const Parity& parity, Layout ref_layout, Layout main_layout)
            : ref(parity.samples_.ref, parity.geometry_, ref_layout), main(parity.samples_.main, parity.geometry_, main_layout),
              earlier(parity.earlier_.main, parity.geometry_, ref_layout), get(make_pair(ref, main, parity.geometry_)) {
            if (parity.seed_ % 8) get.earlier[0].luma = main.view(0);  // of the first pair there is none
            if (parity.seed_ % 8 > 1) get.earlier[1].luma = earlier.view(0);
        }
        const Picture ref, main, earlier;
        FramePair get;
    };

    exactvq_format format_;
    Geometry geometry_;
    Content content_{};
    uint32_t seed_ = 0;
    ContentPair samples_, earlier_;
    std::vector<uint64_t> expected_;  // by the reference loops
    std::vector<AccumulatorSpec> specs_;
    std::vector<std::string> names_, cells_;
    std::vector<std::unique_ptr<Backend>> backends_;
};

inline Content content_at(uint32_t i) { return static_cast<Content>(i % static_cast<uint32_t>(Content::kCount)); }
inline Layout layout_at(uint32_t i) { return static_cast<Layout>(i % static_cast<uint32_t>(Layout::kCount)); }

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_PARITY_PARITY_H
