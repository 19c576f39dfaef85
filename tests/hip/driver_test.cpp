// SPDX-License-Identifier: BSD-2-Clause
//
// HipRuntime and the HIP backend on a fake libamdhip64: what they say when something is missing or fails, that nothing is left behind then, and the words.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "kernels/gpu/backend.h"
#include "kernels/hip/runtime.h"
#include "tests/parity/parity.h"
#include "tests/support/fake_driver.h"

namespace exactvq::test {
namespace {

using gpu::HipRuntime;
using hip::Image;

const char* const kLibrary[] = {EXACTVQ_FAKE_HIP_LIBRARY};
// The head of an ELF file for an AMD GPU.
const unsigned char kElf[32] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 224, 0};
const Image kImages[] = {{kElf, sizeof kElf, "gfx90a"}, {kElf, sizeof kElf, "gfx1030"}};
const FakeDriver fake(kLibrary[0], "EXACTVQ_FAKE_HIP");
using User = RuntimeUser<HipRuntime>;

class Hip : public ::testing::Test {
protected:
    void SetUp() override { fake.set(""); }
    void TearDown() override {
        EXPECT_EQ(fake.alive(), 0) << "something was left behind";
        fake.unset();
    }
};

std::string open_sentence(exactvq_status status, const BackendConfig& config = {}, std::span<const Image> images = kImages,
                          std::span<const char* const> libraries = kLibrary) {
    return sentence_of(status, [&] { HipRuntime runtime(config, libraries, images); });
}

TEST_F(Hip, IsMissing) {
    const char* const libraries[] = {"libexactvq-no-hip.so.7", "libexactvq-no-hip.so.6"};
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, kImages, libraries),
              "there is no HIP runtime (libexactvq-no-hip.so.7: cannot open shared object file: No such file or directory): install ROCm or use the CPU backend");
}

TEST_F(Hip, TheNewestLibraryIsTaken) {
    const char* const libraries[] = {"libexactvq-no-hip.so.7", EXACTVQ_FAKE_HIP_LIBRARY, "libm.so.6"};
    HipRuntime runtime({}, libraries, kImages);
    EXPECT_EQ(runtime.description(), "hip (Fake GPU 0, gfx1030)");
}

TEST_F(Hip, LacksAFunction) {
    const char* const libraries[] = {"libm.so.6"};
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, kImages, libraries), "the HIP runtime is too old, its libm.so.6 has no hipInit: install a newer ROCm");
}

TEST_F(Hip, HasNoDevice) {
    for (const char* settings : {"hipInit=100", "hipInit=101", "devices=0", "hipGetDeviceCount=100"}) {
        fake.set(settings);
        EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE), "there is no AMD GPU that this process may use: use the CPU backend") << settings;
    }
}

TEST_F(Hip, HasNoSuchDevice) {
    BackendConfig config;
    config.device = 1;
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_ARGUMENT, config), "there is no AMD GPU 1: this process may use 1, which is 0");
    config.device = -1;
    fake.set("devices=2");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_ARGUMENT, config), "there is no AMD GPU -1: this process may use 2, numbered from 0");
}

TEST_F(Hip, HasAnotherArchitecture) {
    fake.set("arch=gfx1201");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_UNSUPPORTED),
              "this build of libexactvq has no code for the GPU (Fake GPU 0, gfx1201), it has code for gfx90a, gfx1030: use the CPU backend");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_UNSUPPORTED, {}, {}), "this build of libexactvq has no code for the GPU (Fake GPU 0, gfx1201), it has none: use the CPU backend");
    fake.set("hipModuleLoadData=209");
    EXPECT_NE(open_sentence(EXACTVQ_ERROR_UNSUPPORTED).find("(Fake GPU 0, gfx1030)"), std::string::npos);
    fake.set("arch=unknown");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE), "the HIP runtime does not tell the architecture of GPU 0 (Fake GPU 0): use the CPU backend");
    for (const char* settings : {"arch=gfx90a", "arch=gfx90a:sramecc+:xnack-"}) {
        fake.set(settings);
        EXPECT_EQ(HipRuntime({}, kLibrary, kImages).description(), "hip (Fake GPU 0, gfx90a)");
    }
}

TEST_F(Hip, RefusesTheCode) {
    const Image text[] = {{"not an ELF file", 15, "gfx1030"}};
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, text), "hipModuleLoadData failed: hipErrorInvalidImage");
    fake.set("hipModuleGetFunction=500");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE), "hipModuleGetFunction failed: hipErrorNotFound");
    fake.set("hipModuleLoadData=2");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_NO_MEMORY), "hipModuleLoadData failed: hipErrorOutOfMemory");
}

TEST_F(Hip, IsOutOfMemory) {
    HipRuntime runtime({}, kLibrary, kImages);
    HipRuntime::Scope scope(runtime);
    fake.change("hipMalloc=2,hipHostMalloc=2");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_NO_MEMORY, [&] { runtime.allocate(123456); }),
              "out of memory on the GPU (Fake GPU 0, gfx1030): 123456 bytes were asked for; ask for fewer frames in flight");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_NO_MEMORY, [&] { runtime.allocate_host(77); }), "out of page-locked memory: 77 bytes were asked for");
}

TEST_F(Hip, NamesWhatFailed) {
    fake.set("dry=1");
    HipRuntime runtime({}, kLibrary, kImages);
    User user(runtime);
    user.use();
    fake.change("hipEventQuery=719,hipModuleLaunchKernel=719,hipMemcpyAsync=12345");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { runtime.finished(user.event); }), "hipEventQuery failed: hipErrorLaunchFailure (unspecified launch failure)");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { user.launch(1, 1, 1); }),
              "hipModuleLaunchKernel of " + std::string(kAnyKernelInfo.name) + " failed: hipErrorLaunchFailure (unspecified launch failure)");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { runtime.download(user.stream, user.host, user.memory, 8); }), "hipMemcpyAsync failed: HIP error 12345");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { runtime.launch(user.stream, kAnyKernel, 1, 1, 1, kAnyArguments.data(), 8); }),
              std::string(kAnyKernelInfo.name) + " was launched with arguments of another kernel");
    fake.change("hipEventQuery=600");
    EXPECT_FALSE(runtime.finished(user.event));
}

// Every call of a whole life fails once.
TEST_F(Hip, FailsAtEveryCall) {
    BackendConfig config;
    config.device = 1;
    const auto live = [&config] {
        HipRuntime runtime(config, kLibrary, kImages);
        User(runtime).use();
    };
    fake.set("devices=2,dry=1");
    live();
    const int calls = fake.calls();
    ASSERT_EQ(fake.alive(), 0);
    for (int n = 1; n <= calls; ++n) {
        fake.set("devices=2,dry=1,fail_at=" + std::to_string(n) + ",result=999");
        try {
            live();
        } catch (const Error& error) {
            EXPECT_EQ(error.status(), EXACTVQ_ERROR_DEVICE);
            const std::string text = error.what();
            EXPECT_TRUE(text.find(" failed: hipErrorUnknown (unknown error)") != std::string::npos || text.find("does not tell the architecture") != std::string::npos) << text;
            EXPECT_EQ(fake.alive(), 0) << "call " << n << " of " << calls << ": " << text;
            continue;
        }
        // Only what frees, and what makes the former device current again, may fail in silence; the fake library then keeps the object.
        const int left = fake.alive();
        EXPECT_TRUE(left == 1 || left == 0) << n;
        static const std::set<std::string> silent = {"hipFree", "hipHostFree", "hipStreamDestroy", "hipEventDestroy", "hipModuleUnload", "hipSetDevice", "hipGetDevice"};
        EXPECT_TRUE(silent.count(fake.symbol<const char*()>("fake_failed")())) << "a failure of call " << n << ", " << fake.symbol<const char*()>("fake_failed")() << ", was ignored";
        fake.clear();
        fake.symbol<hip::Result(int)>("hipSetDevice")(0);
    }
}

// The device that was current is so again, also on other threads.
TEST_F(Hip, LeavesTheCurrentDevice) {
    fake.set("devices=3,dry=1");
    BackendConfig config;
    config.device = 2;
    HipRuntime runtime(config, kLibrary, kImages);
    const auto current = [] {
        int device = -1;
        fake.symbol<hip::Result(int*)>("hipGetDevice")(&device);
        return device;
    };
    EXPECT_EQ(current(), 0);
    std::thread([&] {
        fake.symbol<hip::Result(int)>("hipSetDevice")(1);
        {
            User user(runtime);
            user.use();
            EXPECT_EQ(current(), 2);
            HipRuntime::Scope inner(runtime);
        }
        EXPECT_EQ(current(), 1);
    }).join();
    EXPECT_EQ(current(), 0);
}

TEST_F(Hip, Launches) {
    fake.set("dry=1");
    HipRuntime runtime({}, kLibrary, kImages);
    User user(runtime);
    user.use();
    user.launch(5, 6, 7);
    EXPECT_EQ(fake.last_launch(), launch_text("5x6x7"));
}

// What the library carries.
TEST_F(Hip, GetsCode) {
    ASSERT_FALSE(hip::images().empty());
    for (const Image& image : hip::images()) {
        fake.set("arch=" + std::string(image.architecture));
        EXPECT_EQ(HipRuntime({}, kLibrary, hip::images()).description(), "hip (Fake GPU 0, " + std::string(image.architecture) + ")");
    }
}

// ---- the whole backend: libamdhip64.so.7 is the fake one (LD_LIBRARY_PATH) -----------------------------------------------------------------

class HipBackend : public Hip {
protected:
    void SetUp() override {
        Hip::SetUp();
        if (!fake.is("libamdhip64.so.7")) GTEST_SKIP() << "libamdhip64.so.7 is not the fake one: set LD_LIBRARY_PATH to its folder";
    }
    static std::string first_architecture(bool wave64) {
        for (const Image& image : hip::images())
            if ((std::string(image.architecture).rfind("gfx9", 0) == 0) == wave64) return image.architecture;
        return {};
    }
};

TEST_F(HipBackend, GivesTheReferenceWords) {
    for (bool wave64 : {false, true}) {
        const std::string architecture = first_architecture(wave64);
        ASSERT_NE(architecture, "");
        fake.set("arch=" + architecture);
        uint32_t n = 0;
        for (uint32_t depth : {8u, 10u, 12u, 16u}) {
            for (const char* chroma : {"400", "420", "444"}) {
                Parity parity(make_format(61 + 10 * (n % 3), 47 + 8 * (n % 4), depth, chroma), {{"hip " + architecture, &make_hip_backend}});
                for (uint32_t i = 0; i < 2; ++i, ++n) parity.check(content_at(n), layout_at(n), layout_at(n / 3), n);
            }
        }
    }
}

TEST_F(HipBackend, RefusesADeviceThatComputesWrongBits) {
    // Another number than before: what a process has checked, it does not check again.
    BackendConfig config;
    config.device = 3;
    config.geometry = make_geometry(make_format(64, 64, 8, "420"));
    config.accumulators = {{AccumulatorKind::kSse, 0, {}, {}}};
    fake.set("devices=4,wrong=1");
    const std::string sentence = sentence_of(EXACTVQ_ERROR_DEVICE, [&] { make_hip_backend(config); });
    EXPECT_EQ(sentence.rfind("the GPU computes wrong numbers: ", 0), 0u) << sentence;
    EXPECT_NE(sentence.find("on hip (Fake GPU 3, "), std::string::npos) << sentence;
    EXPECT_EQ(fake.alive(), 0);
    fake.set("devices=4,lose=2");
    EXPECT_NE(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { make_hip_backend(config); }).find("the driver lost a launch"), std::string::npos);
    fake.set("devices=4");
    make_hip_backend(config);
}

// Every call of sessions through the backend fails once: an error, and nothing is left.
TEST_F(HipBackend, FailsAtEveryCall) {
    const Geometry geometry = make_geometry(make_format(24, 20, 8, "420"));
    const ContentPair samples = make_content(Content::kTexture, geometry, 1);
    const Picture ref(samples.ref, geometry, Layout::kPlanar), main(samples.main, geometry, Layout::kPlanar);
    const FramePair pair = make_pair(ref, main, geometry);
    BackendConfig config;
    config.geometry = geometry;
    config.accumulators = {{AccumulatorKind::kSse, 0, {}, {}}, {AccumulatorKind::kPsnrHvsSum, 0, PsnrHvsMask::kF32, {}}};
    config.slots = 2;
    config.threads = 1;
    const std::vector<uint64_t> expected = reference_words(config.accumulators, pair);
    const auto live = [&] {
        std::vector<uint64_t> words(expected.size());
        const auto backend = make_hip_backend(config);
        for (uint32_t i = 0; i < 3; ++i) {
            backend->start(i % 2, pair, words.data());
            backend->wait(i % 2);
            EXPECT_EQ(words, expected);
        }
    };
    fake.set("");
    live();  // checks itself
    fake.set("");
    live();
    const int calls = fake.calls();
    int failures = 0, last = 0;
    for (int n = 1; n <= calls; ++n) {
        fake.set("fail_at=" + std::to_string(n) + ",result=719");
        try {
            live();
        } catch (const Error& error) {
            ++failures;
            last = n;
            EXPECT_EQ(error.status(), EXACTVQ_ERROR_DEVICE) << error.what();
        }
        EXPECT_LE(fake.alive(), 1) << "call " << n;  // what could not be freed
        fake.clear();
    }
    EXPECT_GT(failures, calls * 2 / 3);
    EXPECT_GT(last, calls * 2 / 3);
}

}  // namespace
}  // namespace exactvq::test
