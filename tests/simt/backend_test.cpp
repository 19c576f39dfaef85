// SPDX-License-Identifier: BSD-2-Clause
//
// GpuBackend when things go wrong, or are in flight when it ends: nothing is leaked, freed too early or reported as a result.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/error.h"
#include "tests/parity/parity.h"
#include "tests/simt/simt_backends.h"

namespace exactvq::test {
namespace {

// One format's pictures, their words, and what a backend for them needs.
class Material {
public:
    Material(uint32_t width, uint32_t height, Layout layout, bool device_memory, std::vector<AccumulatorSpec> specs = {}) {
        const Geometry geometry = make_geometry(make_format(width, height, 10, "420"));
        config.geometry = geometry;
        config.accumulators = specs.empty() ? all_accumulators(geometry) : std::move(specs);
        // Of vif one: the others' launches are the same.
        std::erase_if(config.accumulators, [](const AccumulatorSpec& s) { return s.kind == AccumulatorKind::kVif && s.vif.gain_limit < 100; });
        config.slots = 3;
        config.threads = 2;
        config.device_memory = device_memory;
        for (uint32_t seed = 0; seed < 3; ++seed) {
            const ContentPair samples = make_content(Content::kTexture, geometry, seed);
            pictures_.push_back(std::make_unique<Picture>(samples.ref, geometry, layout));
            pictures_.push_back(std::make_unique<Picture>(samples.main, geometry, layout));
            pairs.push_back(make_pair(*pictures_[2 * seed], *pictures_[2 * seed + 1], geometry));
            if (seed > 0) pairs.back().earlier[0].luma = pairs[seed - 1].plane[0].ref;
            if (seed > 1) pairs.back().earlier[1].luma = pairs[seed - 2].plane[0].ref;
            expected.push_back(reference_words(config.accumulators, pairs.back()));
        }
    }

    BackendConfig config;
    std::vector<FramePair> pairs;
    std::vector<std::vector<uint64_t>> expected;

private:
    std::vector<std::unique_ptr<Picture>> pictures_;
};

struct Outcome {
    exactvq_status status = EXACTVQ_OK;
    std::string error;             // the first
    size_t failed = 0, right = 0;  // pairs
    bool opened = false;
    std::vector<std::string> reports;
};

// Six pairs in three slots; with `ask` by done() until it is true, then by wait(). With `leave` it ends with three pairs in flight.
Outcome run(const Material& material, gpu::SimtFaults& faults, uint64_t seed, bool ask, bool leave) {
    Outcome result;
    gpu::SimtOptions options;
    options.seed = seed;
    options.faults = &faults;
    options.report = [&result](const std::string& sentence) { result.reports.push_back(sentence); };
    std::vector<std::vector<uint64_t>> words(6);  // outlive the backend
    const auto note = [&result](const auto& call) {
        try {
            call();
            return true;
        } catch (const Error& error) {
            if (result.error.empty()) {
                result.error = error.what();
                result.status = error.status();
            }
            return false;
        }
    };
    const auto picture = [](uint32_t i) { return (i + i / 3) % 3; };  // another one each time in the same slot
    std::unique_ptr<Backend> backend;
    result.opened = note([&] { backend = simt_backends(options)[seed % 2].make(material.config); });
    for (uint32_t i = 0; result.opened && i < 6 + (leave ? 0 : 3); ++i) {
        if (i >= 3) {
            const uint32_t due = i - 3, slot = due % 3;
            const bool ok = note([&] {
                while (ask && !backend->done(slot)) {}
                backend->wait(slot);
            });
            if (!ok) {
                ++result.failed;
                break;  // the session only takes a close then
            }
            EXPECT_EQ(words[due], material.expected[picture(due)]) << "pair " << due << ", seed " << seed << ", call " << faults.failing_call;
            result.right += words[due] == material.expected[picture(due)];
        }
        if (i < 6) {
            words[i].assign(material.expected[0].size(), 0xdeadbeefdeadbeefu);
            if (!note([&] { backend->start(i % 3, material.pairs[picture(i)], words[i].data()); })) break;
        }
    }
    backend.reset();
    return result;
}

// Each call fails once for good and once not, once seen by done() and once by wait().
TEST(GpuBackend, EveryCallCanFail) {
    for (bool device_memory : {false, true}) {
        const Material material(16, 16, Layout::kPlanar, device_memory);
        for (bool for_good : {false, true}) {
            for (bool ask : {false, true}) {
                uint64_t call = 1 + (for_good != ask) * stride();
                size_t in_open = 0, later = 0;
                for (;; call += 2 * stride()) {
                    gpu::SimtFaults faults;
                    faults.failing_call = call;
                    faults.fails_for_good = for_good;
                    const Outcome result = run(material, faults, call / 2, ask, false);
                    ASSERT_EQ(result.reports, std::vector<std::string>()) << "call " << call;
                    ASSERT_EQ(faults.allocated, 0u) << "call " << call;
                    if (result.error.empty()) {  // there are fewer calls, or the one that failed was the backend's last
                        ASSERT_EQ(result.right, 6u) << "call " << call;
                        if (faults.calls < call) break;
                        continue;
                    }
                    ASSERT_NE(result.error.find("was made to fail"), std::string::npos) << "call " << call << ": " << result.error;
                    ASSERT_EQ(result.status, EXACTVQ_ERROR_DEVICE);
                    ++(result.opened ? later : in_open);
                    ASSERT_LT(call, 100000u);
                }
                EXPECT_GT(in_open, 10 / stride());
                EXPECT_GT(later, 20 / stride());
            }
        }
    }
}

TEST(GpuBackend, DeviceMemoryRunsOut) {
    const Material material(16, 16, Layout::kPlanar, false);
    gpu::SimtFaults enough;
    ASSERT_EQ(run(material, enough, 0, false, false).right, 6u);
    size_t refused = 0;
    for (size_t memory = 0; memory < (size_t{1} << 30); memory = memory * 9 / 8 + 1) {
        gpu::SimtFaults faults;
        faults.memory = memory;
        const Outcome result = run(material, faults, memory, false, false);
        ASSERT_EQ(result.reports, std::vector<std::string>()) << memory << " bytes";
        ASSERT_EQ(faults.allocated, 0u) << memory << " bytes";
        if (result.opened) {
            ASSERT_EQ(result.right, 6u) << memory << " bytes";
            break;
        }
        ASSERT_EQ(result.status, EXACTVQ_ERROR_NO_MEMORY) << memory << " bytes: " << result.error;
        ++refused;
    }
    EXPECT_GT(refused, 20u);
}

TEST(GpuBackend, EndsWithPairsInFlight) {
    for (bool device_memory : {false, true}) {
        const Material material(16, 16, Layout::kPlanar, device_memory);
        for (uint64_t seed = 0; seed < 20; ++seed) {
            gpu::SimtFaults faults;
            const Outcome result = run(material, faults, seed, seed % 2, true);
            EXPECT_EQ(result.error, "");
            EXPECT_EQ(result.right, 3u);
            EXPECT_EQ(result.reports, std::vector<std::string>());
            EXPECT_EQ(faults.allocated, 0u);
        }
    }
}

// A session may ask for metrics that have no value at its depth: its pairs are done all the same.
TEST(GpuBackend, NothingToMeasure) {
    for (bool device_memory : {false, true}) {
        const Material pictures(16, 16, Layout::kPlanar, device_memory);
        BackendConfig config = pictures.config;
        config.accumulators.clear();
        gpu::SimtOptions options;
        const auto backend = simt_backends(options)[0].make(config);
        for (uint32_t i = 0; i < 5; ++i) {
            backend->start(i % 3, pictures.pairs[0], nullptr);
            for (uint32_t n = 0; n < 100 && !backend->done(i % 3); ++n) {}
            ASSERT_TRUE(backend->done(i % 3));
            backend->wait(i % 3);
        }
    }
}

// Pairs of which only motion is wanted, with and without earlier frames; nothing else is launched, or copied.
TEST(GpuBackend, MotionOnly) {
    for (uint32_t layout = 0; layout < static_cast<uint32_t>(Layout::kCount); ++layout) {
        for (bool device_memory : {false, true}) {
            const Material material(70, 40, device_memory ? Layout::kPlanar : static_cast<Layout>(layout), device_memory);
            BackendConfig config = material.config;
            config.accumulators = {{AccumulatorKind::kSse, 0, {}, {}}, {}, {}};
            config.accumulators[1].kind = config.accumulators[2].kind = AccumulatorKind::kMotion;
            config.accumulators[2].motion_distance = 2;
            gpu::SimtFaults faults;
            gpu::SimtOptions options;
            options.faults = &faults;
            const auto backend = simt_backends(options)[layout % 2].make(config);
            for (uint32_t i = 0; i < 9; ++i) {
                FramePair pair = material.pairs[i % 3];
                if (i % 3 > 0) pair.earlier[0].luma = material.pairs[(i + 2) % 3].plane[0].ref;
                if (i % 3 > 1) pair.earlier[1].luma = material.pairs[(i + 1) % 3].plane[0].ref;
                pair.motion_only = i / 3 == 1;
                const std::vector<uint64_t> expected = reference_words(config.accumulators, pair);
                FramePair given = pair;
                if (pair.motion_only) given.plane[0].main = given.plane[1].ref = given.plane[1].main = PlaneView{};
                std::vector<uint64_t> words(3, 0xdeadbeefdeadbeefu);
                const uint64_t before = faults.launches;
                backend->start(i % 3, given, words.data());
                backend->wait(i % 3);
                EXPECT_EQ(faults.launches - before, i % 3 + !pair.motion_only) << i;
                for (uint32_t k = pair.motion_only; k < 3; ++k) EXPECT_EQ(words[k], expected[k]) << "word " << k << " of pair " << i;
            }
        }
    }
}

// Planes of every layout, interleaved chroma packed once, reach the device.
TEST(GpuBackend, PacksEveryLayout) {
    for (uint32_t layout = 0; layout < static_cast<uint32_t>(Layout::kCount); ++layout) {
        const Material material(70, 150, static_cast<Layout>(layout), false);
        gpu::SimtFaults faults;
        EXPECT_EQ(run(material, faults, layout, false, false).right, 6u) << name(static_cast<Layout>(layout));
        for (uint8_t plane = 0; plane < 3; ++plane) {  // only that one is read
            const Material one(70, 150, static_cast<Layout>(layout), false, {{AccumulatorKind::kSse, plane, {}, {}}});
            EXPECT_EQ(run(one, faults, layout, false, false).right, 6u) << name(static_cast<Layout>(layout)) << ", plane " << int{plane};
        }
    }
}

}  // namespace
}  // namespace exactvq::test
