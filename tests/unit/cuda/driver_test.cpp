// SPDX-License-Identifier: BSD-2-Clause
//
// CudaRuntime on a fake driver: what it says when something is missing or fails, and that nothing is left behind then.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/cuda/runtime.h"
#include "tests/support/fake_driver.h"

namespace exactvq::test {
namespace {

using cuda::Image;
using gpu::CudaRuntime;

constexpr const char* kLibrary = EXACTVQ_FAKE_CUDA_DRIVER;
const uint32_t kFatbin[] = {0xba55ed50u, 0};
const Image kNew[] = {{kFatbin, sizeof kFatbin, 13000, 75, "machine code for sm_75 and sm_90, PTX for sm_75 and later"}};

const FakeDriver fake(kLibrary, "EXACTVQ_FAKE_CUDA");
using User = RuntimeUser<CudaRuntime>;

class CudaDriver : public ::testing::Test {
protected:
    void SetUp() override { fake.set(""); }
    void TearDown() override {
        EXPECT_EQ(fake.alive(), 0) << "something was left behind";
        fake.unset();
    }
};

std::string open_sentence(exactvq_status status, const BackendConfig& config = {}, std::span<const Image> images = kNew, const char* library = kLibrary) {
    return sentence_of(status, [&] { CudaRuntime runtime(config, library, images); });
}

TEST_F(CudaDriver, IsMissing) {
    const std::string sentence = open_sentence(EXACTVQ_ERROR_DEVICE, {}, kNew, "libexactvq-no-driver.so.1");
    EXPECT_EQ(sentence,
              "there is no NVIDIA driver (libexactvq-no-driver.so.1: cannot open shared object file: No such file or directory): "
              "install it or use the CPU backend");
}

TEST_F(CudaDriver, IsMissingOnThisMachine) {
    if (void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
        dlclose(library);
        GTEST_SKIP() << "this machine has a CUDA driver";
    }
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [] { CudaRuntime runtime{BackendConfig{}}; }),
              "there is no NVIDIA driver (libcuda.so.1: cannot open shared object file: No such file or directory): install it or use the CPU backend");
}

TEST_F(CudaDriver, LacksAFunction) {
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, kNew, "libm.so.6"), "the NVIDIA driver is too old, its libm.so.6 has no cuInit: update the driver");
}

TEST_F(CudaDriver, HasNoDevice) {
    for (const char* settings : {"cuInit=100", "devices=0"}) {
        fake.set(settings);
        EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE), "there is no NVIDIA GPU that this process may use: use the CPU backend") << settings;
    }
}

TEST_F(CudaDriver, HasNoSuchDevice) {
    BackendConfig config;
    config.device = 1;
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_ARGUMENT, config), "there is no NVIDIA GPU 1: this process may use 1, which is 0");
    config.device = -1;
    fake.set("devices=2");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_ARGUMENT, config), "there is no NVIDIA GPU -1: this process may use 2, numbered from 0");
}

TEST_F(CudaDriver, HasAnotherArchitecture) {
    const char* sentence =
        "this build of libexactvq has no code for the GPU (Fake GPU 0, sm_61), it has machine code for sm_75 and sm_90, PTX for sm_75 and later";
    fake.set("capability=61");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_UNSUPPORTED), sentence);
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_UNSUPPORTED, {}, {}), "this build of libexactvq has no code for the GPU (Fake GPU 0, sm_61), it has none");
    fake.set("capability=100,cuModuleLoadDataEx=209");
    EXPECT_NE(open_sentence(EXACTVQ_ERROR_UNSUPPORTED).find("(Fake GPU 0, sm_100)"), std::string::npos);
}

TEST_F(CudaDriver, IsTooOld) {
    const char* sentence =
        "the NVIDIA driver is too old for this build of libexactvq: it supports CUDA 12.4, the code for Fake GPU 0, sm_90 needs CUDA 13.0: update "
        "the driver";
    fake.set("version=12040");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE), sentence);
    fake.set("version=13000,cuModuleLoadDataEx=222");  // no machine code for the GPU, and PTX of a newer minor version
    const Image newer[] = {{kFatbin, sizeof kFatbin, 13020, 75, ""}};
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, newer),
              "the NVIDIA driver is too old for this build of libexactvq: it supports CUDA 13.0, the code for Fake GPU 0, sm_90 needs CUDA 13.2: update "
              "the driver");
}

// Every entry point, as PTX.
std::string all_entry_points() {
    std::string text = "//\n";
    for (const gpu::KernelInfo& kernel : gpu::kKernels) text += ".visible .entry " + std::string(kernel.name) + "(\n";
    return text;
}

TEST_F(CudaDriver, TakesOlderCode) {
    const std::string ptx = all_entry_points();
    const Image both[] = {kNew[0], {ptx.c_str(), ptx.size(), 9000, 70, "PTX for sm_70 and later"}};
    for (const char* settings : {"version=12040", "capability=70", "refuse=1"}) {
        fake.set(settings);
        CudaRuntime runtime({}, kLibrary, both);
        User(runtime).use();
    }
    fake.set("version=8000");
    EXPECT_NE(open_sentence(EXACTVQ_ERROR_DEVICE, {}, both).find("supports CUDA 8.0, the code for Fake GPU 0, sm_90 needs CUDA 9.0"), std::string::npos);
}

TEST_F(CudaDriver, RefusesTheCode) {
    const Image text[] = {{"not PTX", 7, 9000, 70, ""}};
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, text), "cuModuleLoadDataEx failed: CUDA_ERROR_INVALID_PTX: ptxas application input, line 1; fatal");
    const Image empty[] = {{"// no kernels\n", 14, 9000, 70, ""}};
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_DEVICE, {}, empty), "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND");
    fake.set("cuModuleLoadDataEx=2");
    EXPECT_EQ(open_sentence(EXACTVQ_ERROR_NO_MEMORY), "cuModuleLoadDataEx failed: CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(CudaDriver, IsOutOfMemory) {
    CudaRuntime runtime({}, kLibrary, kNew);
    CudaRuntime::Scope scope(runtime);
    fake.change("cuMemAlloc_v2=2,cuMemHostAlloc=2");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_NO_MEMORY, [&] { runtime.allocate(123456); }),
              "out of memory on the GPU (Fake GPU 0, sm_90): 123456 bytes were asked for; ask for fewer frames in flight");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_NO_MEMORY, [&] { runtime.allocate_host(77); }), "out of page-locked memory: 77 bytes were asked for");
}

TEST_F(CudaDriver, NamesWhatFailed) {
    CudaRuntime runtime({}, kLibrary, kNew);
    User user(runtime);
    user.use();
    fake.change("cuEventQuery=719,cuLaunchKernel=719,cuMemcpyDtoHAsync_v2=12345");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { runtime.finished(user.event); }),
              "cuEventQuery failed: CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { user.launch(1, 1, 1); }),
              "cuLaunchKernel of " + std::string(kAnyKernelInfo.name) + " failed: CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { runtime.download(user.stream, user.host, user.memory, 8); }),
              "cuMemcpyDtoHAsync failed: CUDA error 12345");
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { runtime.launch(user.stream, kAnyKernel, 1, 1, 1, kAnyArguments.data(), 8); }),
              std::string(kAnyKernelInfo.name) + " was launched with arguments of another kernel");
    fake.change("cuEventQuery=600");
    EXPECT_FALSE(runtime.finished(user.event));
}

// Every call of a whole life fails once.
TEST_F(CudaDriver, FailsAtEveryCall) {
    const auto live = [] {
        CudaRuntime runtime({}, kLibrary, kNew);
        User(runtime).use();
    };
    live();
    const int calls = fake.calls();
    ASSERT_EQ(fake.alive(), 0);
    int failures = 0;
    for (int n = 1; n <= calls; ++n) {
        fake.set("fail_at=" + std::to_string(n) + ",result=999");
        try {
            live();
        } catch (const Error& error) {
            ++failures;
            EXPECT_EQ(error.status(), EXACTVQ_ERROR_DEVICE);
            EXPECT_NE(std::string(error.what()).find(" failed: CUDA_ERROR_UNKNOWN (unknown error)"), std::string::npos) << error.what();
            EXPECT_EQ(fake.alive(), 0) << "call " << n << " of " << calls << ": " << error.what();
            continue;
        }
        // Only what frees may fail in silence; the fake driver then keeps the object.
        const int left = fake.alive();
        EXPECT_TRUE(left == 1 || left == 0) << n;
        EXPECT_GE(n, calls - 7) << "a failure of call " << n << " was ignored";
        fake.clear();
    }
    EXPECT_GE(failures, calls - 7);
}

TEST_F(CudaDriver, WorksInTheContextOfTheCaller) {
    fake.set("devices=3");
    void* context = fake.symbol<void*(int)>("fake_make_context")(2);
    BackendConfig config;
    config.device_context = context;
    config.device = 77;  // the context says which
    {
        CudaRuntime runtime(config, kLibrary, kNew);
        EXPECT_EQ(runtime.description(), "cuda (Fake GPU 2, sm_90)");
        for (int device = 0; device < 3; ++device) EXPECT_EQ(fake.symbol<int(int)>("fake_primary_uses")(device), 0);
        std::thread([&] { User(runtime).use(); }).join();
    }
    fake.symbol<void(void*)>("fake_free_context")(context);
}

TEST_F(CudaDriver, SharesThePrimaryContext) {
    fake.set("devices=2");
    BackendConfig config;
    config.device = 1;
    CudaRuntime first(config, kLibrary, kNew);
    {
        CudaRuntime second(config, kLibrary, kNew);
        EXPECT_EQ(fake.symbol<int(int)>("fake_primary_uses")(1), 2);
    }
    EXPECT_EQ(fake.symbol<int(int)>("fake_primary_uses")(1), 1);
    EXPECT_EQ(fake.symbol<int(int)>("fake_primary_uses")(0), 0);
    CudaRuntime::Scope outer(first), inner(first);
}

TEST_F(CudaDriver, Launches) {
    CudaRuntime runtime({}, kLibrary, kNew);
    User user(runtime);
    user.use();
    user.launch(5, 6, 7);
    EXPECT_EQ(fake.last_launch(), launch_text("5x6x7"));
}

// Rows from any pitch, and nothing outside them.
TEST_F(CudaDriver, Uploads) {
    CudaRuntime runtime({}, kLibrary, kNew);
    User user(runtime);
    user.use();
    constexpr size_t kWidth = 5, kRows = 4, kPitch = 16;
    const CudaRuntime::Address memory = runtime.allocate((kRows - 1) * kPitch + kWidth);
    for (const ptrdiff_t pitch : {5, 9, -5, -9, 0, 2, -3}) {
        for (const size_t rows : {size_t{0}, size_t{1}, kRows}) {
            // The source is exactly as large as the rows that are read.
            const size_t span = kWidth + static_cast<size_t>(std::abs(pitch)) * (rows ? rows - 1 : 0);
            std::vector<uint8_t> source(span);
            for (size_t i = 0; i < span; ++i) source[i] = static_cast<uint8_t>(i + 1);
            const uint8_t* first = pitch < 0 ? source.data() + span - kWidth : source.data();
            memset(reinterpret_cast<void*>(memory), 0xee, (kRows - 1) * kPitch + kWidth);
            runtime.upload(user.stream, memory, kPitch, first, pitch, kWidth, rows);
            const uint8_t* result = reinterpret_cast<const uint8_t*>(memory);
            for (size_t i = 0; i < (kRows - 1) * kPitch + kWidth; ++i) {
                const size_t y = i / kPitch, x = i % kPitch;
                const uint8_t expected = x < kWidth && y < rows ? first[static_cast<ptrdiff_t>(y) * pitch + static_cast<ptrdiff_t>(x)] : 0xee;
                ASSERT_EQ(result[i], expected) << "pitch " << pitch << ", " << rows << " rows, byte " << i;
            }
        }
    }
    runtime.free(memory);
}

// What the library carries.
TEST_F(CudaDriver, GetsCode) {
    ASSERT_FALSE(cuda::images().empty());
    for (const Image& image : cuda::images()) {
        const char* data = static_cast<const char*>(image.data);
        EXPECT_EQ(data[image.size], 0);
        EXPECT_GE(image.cuda, 9000);
        EXPECT_GE(image.lowest, 70);
        EXPECT_NE(std::string(image.code).find("PTX for sm_" + std::to_string(image.lowest) + " and later"), std::string::npos) << image.code;
        CudaRuntime runtime({}, kLibrary, {&image, 1});  // the fake driver looks at its beginning, and for entry points
        if (strncmp(data, "//", 2) == 0) {
            EXPECT_EQ(strlen(data), image.size);
        }
    }
    CudaRuntime runtime({}, kLibrary, cuda::images());
}

}  // namespace
}  // namespace exactvq::test
