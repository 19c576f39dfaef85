// SPDX-License-Identifier: BSD-2-Clause
//
// The runtime on the CPU: memory, lazy streams, faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "host/error.h"
#include "tests/simt/sanitizers.h"
#include "tests/simt/simt_runtime.h"

namespace exactvq::gpu {
namespace {

using Runtime = SimtRuntime<64>;

constexpr uint32_t kCount = 100;

// A device with two arrays, pinned memory, two streams and an event.
struct Device {
    explicit Device(uint64_t seed = 0, SimtFaults* faults = nullptr)
        : runtime(BackendConfig(), {seed, 1, faults, [this](const std::string& s) { reports.push_back(s); }}), scope(runtime) {
        a = runtime.allocate(4 * kCount);
        b = runtime.allocate(4 * kCount);
        result = static_cast<uint32_t*>(runtime.allocate_host(4 * kCount));
        for (auto& stream : streams) stream = runtime.create_stream();
        event = runtime.create_event();
    }
    ~Device() { close(); }

    void close() {
        if (!event) return;
        runtime.destroy_event(event);
        event = nullptr;
        for (auto& stream : streams) runtime.destroy_stream(stream);
        runtime.free(a);
        runtime.free(b);
        runtime.free_host(result);
    }

    void add(Runtime::Stream stream, Runtime::Address from, Runtime::Address to, uint32_t addend, uint32_t count = kCount) {
        const AddKernel::Arguments arguments{reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to), count, addend};
        runtime.launch(stream, KernelId::AddKernel, (count + 63) / 64, 1, 1, &arguments, sizeof arguments);
    }
    void upload(Runtime::Stream stream, Runtime::Address to, const std::vector<uint32_t>& values) {
        runtime.upload(stream, to, 4 * kCount, values.data(), 4 * kCount, 4 * kCount, 1);
    }
    void synchronize(Runtime::Stream stream) {
        runtime.record(event, stream);
        runtime.synchronize(event);
    }
    std::vector<uint32_t> results() const { return {result, result + kCount}; }

    std::vector<std::string> reports;
    Runtime runtime;
    Runtime::Scope scope;
    Runtime::Address a, b;
    uint32_t* result;
    Runtime::Stream streams[2];
    Runtime::Event event;
};

std::vector<uint32_t> numbers(uint32_t first) {
    std::vector<uint32_t> values(kCount);
    for (uint32_t i = 0; i < kCount; ++i) values[i] = first + i;
    return values;
}

std::string sentence_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(SimtRuntime, Description) { EXPECT_EQ(Device().runtime.description(), "simt (wave 64)"); }

TEST(SimtRuntime, OneDevice) {
    BackendConfig config;
    config.device = 1;
    EXPECT_EQ(sentence_of([&] { SimtRuntime<32> runtime(config); }), "simt (wave 32): device 1 does not exist, there is only device 0");
}

TEST(SimtRuntime, UploadRunDownload) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        Device d(seed);
        const std::vector<uint32_t> values = numbers(1000);
        d.upload(d.streams[0], d.a, values);
        d.add(d.streams[0], d.a, d.b, 5);
        d.runtime.download(d.streams[0], d.result, d.b, 4 * kCount);
        d.synchronize(d.streams[0]);
        EXPECT_EQ(d.results(), numbers(1005));
        EXPECT_TRUE(d.reports.empty());
    }
}

TEST(SimtRuntime, UploadOfRowsEitherWayUp) {
    Device d;
    uint8_t picture[6][10];
    for (uint8_t i = 0; i < 60; ++i) picture[i / 10][i % 10] = i;
    d.runtime.upload(d.streams[0], d.a, 16, picture[5], -10, 7, 6);
    d.runtime.download(d.streams[0], d.result, d.a, 16 * 6 - 9);
    d.synchronize(d.streams[0]);
    for (int y = 0; y < 6; ++y) EXPECT_EQ(std::memcmp(reinterpret_cast<uint8_t*>(d.result) + 16 * y, picture[5 - y], 7), 0);
}

TEST(SimtRuntime, ArgumentsAreCopiedByLaunch) {
    Device d;
    const std::vector<uint32_t> values = numbers(0);
    d.upload(d.streams[0], d.a, values);
    AddKernel::Arguments arguments{reinterpret_cast<const uint32_t*>(d.a), reinterpret_cast<uint32_t*>(d.b), kCount, 1};
    d.runtime.launch(d.streams[0], KernelId::AddKernel, 2, 1, 1, &arguments, sizeof arguments);
    arguments = {};
    d.runtime.download(d.streams[0], d.result, d.b, 4 * kCount);
    d.synchronize(d.streams[0]);
    EXPECT_EQ(d.results(), numbers(1));
}

TEST(SimtRuntime, MemoryHoldsGarbage) {
    const auto contents = [](uint64_t seed) {
        Device d(seed);
        d.runtime.download(d.streams[0], d.result, d.a, 4 * kCount);
        d.synchronize(d.streams[0]);
        return d.results();
    };
    EXPECT_EQ(contents(1), contents(1));
    EXPECT_NE(contents(1), contents(2));
}

TEST(SimtRuntime, NothingRunsUntilSomebodyWaits) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        Device d(seed);
        std::vector<uint32_t> values = numbers(0);
        const std::vector<uint32_t> before = d.results();
        d.upload(d.streams[0], d.a, values);
        d.runtime.download(d.streams[0], d.result, d.a, 4 * kCount);
        d.runtime.record(d.event, d.streams[0]);
        EXPECT_EQ(d.results(), before);
        for (uint32_t& value : values) value += 7;  // too early: the upload has not read them
        d.runtime.synchronize(d.event);
        EXPECT_EQ(d.results(), numbers(7));
    }
}

TEST(SimtRuntime, AskingOftenIsWaiting) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        Device d(seed);
        const std::vector<uint32_t> values = numbers(0);
        EXPECT_TRUE(d.runtime.finished(d.event));  // never recorded
        d.upload(d.streams[0], d.a, values);
        for (int i = 0; i < 10; ++i) d.add(d.streams[0], d.a, d.b, 1);
        d.runtime.record(d.event, d.streams[0]);
        int polls = 0;
        while (!d.runtime.finished(d.event)) ++polls;
        EXPECT_GT(polls, 0);
        EXPECT_LT(polls, 20);
    }
}

// One stream writes what another one reads.
std::vector<uint32_t> across_streams(uint64_t seed, bool wait) {
    Device d(seed);
    const std::vector<uint32_t> values = numbers(0);
    d.upload(d.streams[0], d.a, values);
    d.add(d.streams[0], d.a, d.b, 1);
    d.runtime.record(d.event, d.streams[0]);
    if (wait) d.runtime.wait(d.streams[1], d.event);
    d.runtime.download(d.streams[1], d.result, d.b, 4 * kCount);
    d.synchronize(d.streams[1]);
    const std::vector<uint32_t> results = d.results();
    d.synchronize(d.streams[0]);
    return results;
}

TEST(SimtRuntime, WaitOrdersStreams) {
    uint32_t wrong = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
        EXPECT_EQ(across_streams(seed, true), numbers(1));
        wrong += across_streams(seed, false) != numbers(1);
    }
    EXPECT_GE(wrong, 20u);  // half of the time nothing but what was waited for runs
    EXPECT_LT(wrong, 40u);
}

TEST(SimtRuntime, WaitTakesTheEventAsItIs) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
        Device d(seed);
        const std::vector<uint32_t> values = numbers(0);
        d.runtime.wait(d.streams[1], d.event);  // never recorded: nothing to wait for
        d.upload(d.streams[0], d.a, values);
        d.runtime.record(d.event, d.streams[0]);
        d.runtime.wait(d.streams[1], d.event);
        d.runtime.download(d.streams[1], d.result, d.a, 4 * kCount);
        d.runtime.record(d.event, d.streams[1]);
        d.runtime.synchronize(d.event);
        EXPECT_EQ(d.results(), numbers(0));
    }
}

TEST(SimtRuntime, WaitsForAProducer) {
    for (uint64_t seed = 0; seed < 10; ++seed) {
        for (bool is_default : {false, true}) {
            Device d(seed);
            SimtStream own, &producer = is_default ? simt_default_stream() : own;
            std::vector<uint32_t> frame(kCount);
            producer.push({[&] { std::ranges::copy(numbers(50), frame.begin()); }});
            d.runtime.wait_for(d.streams[0], d.event, is_default ? nullptr : &own);
            producer.push({[&] { std::ranges::copy(numbers(60), frame.begin()); }});  // the next one: nobody waits for it
            d.add(d.streams[0], reinterpret_cast<uint64_t>(frame.data()), d.a, 1);
            d.runtime.download(d.streams[0], d.result, d.a, 4 * kCount);
            d.synchronize(d.streams[0]);
            EXPECT_EQ(d.results(), numbers(51));
            producer.queue.clear();
            producer.ran = producer.queued;
        }
    }
}

TEST(SimtRuntime, ViolationIsAnErrorOfWhoeverWaits) {
    Device d;
    const DivergentKernel::Arguments arguments{10};
    d.runtime.launch(d.streams[0], KernelId::DivergentKernel, 1, 1, 1, &arguments, sizeof arguments);
    const std::string sentence = sentence_of([&] { d.synchronize(d.streams[0]); });
    EXPECT_NE(sentence.find("simt (wave 64): exactvq_DivergentKernel (wave 64, seed"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("waits at the barrier of"), std::string::npos) << sentence;
    EXPECT_NE(sentence_of([&] { d.runtime.allocate(1); }).find("allocate after a failure: "), std::string::npos);
}

TEST(SimtRuntime, RangesAreChecked) {
    Device d;
    const std::vector<uint32_t> values = numbers(0);
    const auto refused = [](const std::string& words, const std::function<void()>& call) {
        const std::string sentence = sentence_of(call);
        EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
    };
    refused("not inside an allocation", [&] { d.upload(d.streams[0], d.a + 4, values); });
    refused("not inside an allocation", [&] { d.upload(d.streams[0], d.a - 4, values); });
    refused("not inside an allocation", [&] { d.runtime.download(d.streams[0], d.result, d.a, 4 * kCount + 1); });
    refused("not inside an allocation", [&] { uint32_t on_stack; d.runtime.download(d.streams[0], &on_stack, d.a, 4); });
    refused("longer than their distance", [&] { d.runtime.upload(d.streams[0], d.a, 4, values.data(), 8, 5, 2); });
    refused("takes 24 bytes of arguments, not 3", [&] { d.runtime.launch(d.streams[0], KernelId::AddKernel, 1, 1, 1, values.data(), 3); });
    refused("no bytes", [&] { d.runtime.allocate(0); });
    std::thread([&] { refused("allocate: the device is not current on this thread", [&] { d.runtime.allocate(1); }); }).join();
}

TEST(SimtRuntime, OverrunIsReported) {
    const auto overrun = [] {
        Device d;
        const std::vector<uint32_t> values = numbers(0);
        d.upload(d.streams[0], d.a, values);
        d.add(d.streams[0], d.b, d.a, 1, kCount + 1);
        d.synchronize(d.streams[0]);
        d.close();
        return d.reports;
    };
#ifdef EXACTVQ_SIMT_ASAN
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_DEATH(overrun(), "use-after-poison");
#else
    const std::vector<std::string> reports = overrun();
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_NE(reports[0].find("were overrun"), std::string::npos) << reports[0];
#endif
}

TEST(SimtRuntime, ForgottenThingsAreReported) {
    std::vector<std::string> reports;
    const SimtOptions options{0, 1, nullptr, [&](const std::string& s) { reports.push_back(s); }};
    {
        Runtime runtime(BackendConfig(), options);
        const Runtime::Scope scope(runtime);
        const Runtime::Address a = runtime.allocate(8), b = runtime.allocate(8);
        const Runtime::Stream stream = runtime.create_stream();
        const uint64_t value = 1;
        runtime.upload(stream, a, 8, &value, 8, 8, 1);
        runtime.free(a);
        EXPECT_EQ(reports.size(), 1u);
        EXPECT_NE(reports.back().find("free while 1 operations are queued"), std::string::npos);
        const Runtime::Event event = runtime.create_event();
        runtime.record(event, stream);
        EXPECT_NE(sentence_of([&] { runtime.synchronize(event); }).find("upload: 8 bytes at"), std::string::npos);  // into freed memory
        runtime.free(a);
        EXPECT_EQ(reports.size(), 2u);
        EXPECT_NE(reports.back().find("not allocated"), std::string::npos);
        static_cast<void>(b);
    }
    EXPECT_EQ(reports.size(), 3u);
    EXPECT_NE(reports.back().find("close: 8 bytes at"), std::string::npos);
}

TEST(SimtRuntime, LostLaunch) {
    for (uint64_t lost = 1; lost <= 3; ++lost) {
        SimtFaults faults;
        faults.lost_launch = lost;
        Device d(0, &faults);
        const std::vector<uint32_t> values = numbers(0);
        d.upload(d.streams[0], d.a, values);
        for (uint32_t addend : {1, 10, 100}) d.add(d.streams[0], d.a, d.a, addend);
        d.runtime.download(d.streams[0], d.result, d.a, 4 * kCount);
        d.synchronize(d.streams[0]);
        EXPECT_EQ(d.results(), numbers(lost == 1 ? 110 : lost == 2 ? 101 : 11));
        EXPECT_EQ(faults.launches, 3u);
    }
}

TEST(SimtRuntime, EveryCallCanFail) {
    const auto use = [](SimtFaults& faults) {
        return sentence_of([&] {
            Runtime runtime(BackendConfig(), {0, 1, &faults, {}});
            const Runtime::Scope scope(runtime);
            const Runtime::Stream stream = runtime.create_stream();
            const Runtime::Event event = runtime.create_event();
            runtime.record(event, stream);
            runtime.wait(stream, event);
            runtime.finished(event);
            runtime.synchronize(event);
        });
    };
    SimtFaults none;
    EXPECT_EQ(use(none), "");
    EXPECT_EQ(none.calls, 7u);
    std::vector<std::string> sentences;
    for (uint64_t n = 1; n <= none.calls; ++n) {
        SimtFaults faults;
        faults.failing_call = n;
        sentences.push_back(use(faults));
        EXPECT_EQ(faults.calls, n);
    }
    for (std::string& sentence : sentences) sentence = sentence.substr(16);
    EXPECT_EQ(sentences, (std::vector<std::string>{"open was made to fail", "create_stream was made to fail", "create_event was made to fail",
                                                   "record was made to fail", "wait was made to fail", "finished was made to fail",
                                                   "synchronize was made to fail"}));
}

TEST(SimtRuntime, FailureForGood) {
    SimtFaults faults;
    faults.fails_for_good = true;
    Device d(0, &faults);
    faults.failing_call = faults.calls + 2;
    EXPECT_NO_THROW(d.runtime.record(d.event, d.streams[0]));
    EXPECT_THROW(d.runtime.record(d.event, d.streams[0]), Error);
    EXPECT_THROW(d.runtime.synchronize(d.event), Error);
}

TEST(SimtRuntime, MemoryIsLimited) {
    SimtFaults faults;
    Device d(0, &faults);
    EXPECT_EQ(faults.allocated, 8 * kCount);
    faults.memory = 8 * kCount + 100;
    const Runtime::Address address = d.runtime.allocate(100);
    try {
        d.runtime.allocate(1);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), EXACTVQ_ERROR_NO_MEMORY);
    }
    d.runtime.free(address);
    d.runtime.free(d.runtime.allocate(100));
    EXPECT_EQ(faults.allocated, 8 * kCount);
}

}  // namespace
}  // namespace exactvq::gpu
