// SPDX-License-Identifier: BSD-2-Clause
//
// Sessions on a real NVIDIA GPU, through the C API. Skips where there is none; EXACTVQ_REQUIRE_GPU=1 makes that a failure. With EXACTVQ_BACKEND=hip the sessions
// go through the HIP backend, on tests/hip-on-cuda.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "host/error.h"
#include "kernels/cuda/runtime.h"
#include "kernels/gpu/backend.h"
#include "tests/parity/backends.h"
#include "tests/support/picture.h"
#include "tests/support/session.h"

namespace exactvq::test {
namespace {

// Why a runtime does not open with these images; "" if it does.
std::string runtime_sentence(std::span<const cuda::Image> images) {
    try {
        gpu::CudaRuntime runtime(BackendConfig{}, "libcuda.so.1", images);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

struct Case {
    uint32_t width, height, depth;
    const char *chroma, *metrics;
};

Case case_at(uint32_t n) {
    static const char* const chroma[] = {"420", "444", "422", "400"};
    static const char* const metrics[] = {"psnr", "psnr_hvs", "adm", "float_psnr", "vif+motion", "psnr+float_psnr+psnr_hvs+adm+vif+motion", "psnr_hvs+motion"};
    const uint32_t depth = std::array<uint32_t, 4>{8, 10, 12, 9}[n % 4];
    return {33 + n * 97 % 700, 17 + n * 61 % 500, depth, chroma[n / 3 % 4], metrics[n % 7]};
}

// Scores of the session's pairs as bits, `has_value` first; empty and a failure if there is an error.
std::vector<std::pair<int, uint64_t>> score(const Case& c, uint32_t backend, uint32_t seed) {
    SessionOptions options;
    options.metrics = c.metrics;
    options.format = make_format(c.width, c.height, c.depth, c.chroma);
    options.threads = 2;
    options.frames_in_flight = 1 + seed % 4;
    options.backend = backend;
    const Geometry geometry = make_geometry(options.format);
    std::vector<std::unique_ptr<Picture>> pictures;
    std::vector<std::pair<exactvq_frame, exactvq_frame>> pairs;
    for (uint32_t i = 0; i < 4; ++i) {  // motion looks at neighbours
        const ContentPair samples = make_content(static_cast<Content>((seed + i) % static_cast<uint32_t>(Content::kCount)), geometry, seed + i);
        for (const Samples* planes : {samples.ref, samples.main})
            pictures.push_back(std::make_unique<Picture>(planes, geometry, static_cast<Layout>((seed + i) % static_cast<uint32_t>(Layout::kCount))));
        pairs.emplace_back(pictures[2 * i]->frame(options.format), pictures[2 * i + 1]->frame(options.format));
    }
    std::vector<std::pair<int, uint64_t>> result;
    exactvq_session* session;
    std::vector<Scored> scored;
    if (open_session(options, &session) != EXACTVQ_OK || run_session(session, pairs, scored) != EXACTVQ_OK || scored.size() != pairs.size())
        ADD_FAILURE() << exactvq_error(session);
    for (const Scored& frame : scored)
        for (const exactvq_score& s : frame.scores) result.emplace_back(s.has_value, double_bits(s.value));
    exactvq_close(session);
    return result;
}

uint32_t device_backend() {
    const char* name = std::getenv("EXACTVQ_BACKEND");
    return name && std::string(name) == "hip" ? EXACTVQ_BACKEND_HIP : EXACTVQ_BACKEND_CUDA;
}

void expect_equal(const Case& c, uint32_t seed) {
    const auto device = score(c, device_backend(), seed), host = score(c, EXACTVQ_BACKEND_CPU, seed);
    EXPECT_FALSE(host.empty());
    EXPECT_EQ(device, host) << c.width << "x" << c.height << ", depth " << c.depth << ", " << c.chroma << ", " << c.metrics << ", seed " << seed;
}

size_t open_descriptors() {
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

class Device : public testing::Test {
protected:
    void SetUp() override {
        const std::string sentence = runtime_sentence(cuda::images());
        if (sentence.empty()) return;
        const char* required = std::getenv("EXACTVQ_REQUIRE_GPU");
        if (required && std::string(required) == "1") FAIL() << sentence;
        GTEST_SKIP() << sentence;
    }
};

// The device's memory as the driver sees it, in its primary context, which stays while this lives.
class DeviceMemory {
public:
    DeviceMemory() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)), scope_(runtime_) {
        get_info_ = reinterpret_cast<int (*)(size_t*, size_t*)>(dlsym(library_, "cuMemGetInfo_v2"));
    }

    size_t used() const {
        size_t free = 0, total = 0;
        EXPECT_EQ(get_info_(&free, &total), 0);
        return total - free;
    }

private:
    void* library_;  // stays open, as the runtime's does
    gpu::CudaRuntime runtime_{BackendConfig{}};
    gpu::CudaRuntime::Scope scope_;
    int (*get_info_)(size_t*, size_t*);
};

TEST_F(Device, HundredSessionsOneAfterTheOther) {
    constexpr size_t kPage = size_t{2} << 20;  // the driver takes and gives back memory in these
    const DeviceMemory memory;
    size_t used = 0, descriptors = 0;
    for (uint32_t n = 0; n < 100; ++n) {
        expect_equal(case_at(n), n);
        if (HasFailure()) return;
        if (n < 10) {  // first uses: the driver keeps pools, and modules' code
            used = std::max(used, memory.used());
            descriptors = std::max(descriptors, open_descriptors());
            continue;
        }
        EXPECT_LE(memory.used(), used + kPage) << "session " << n;  // needs a GPU that nobody else uses
        EXPECT_LE(open_descriptors(), descriptors) << "session " << n;
    }
    std::printf("device memory in use: %zu bytes at most after the first ten sessions, %zu after all; open files: %zu, %zu\n", used, memory.used(), descriptors,
                open_descriptors());
}

TEST_F(Device, TwoSessionsAtOnce) {
    const auto sessions = [](uint32_t first) {
        for (uint32_t n = first; n < 40; n += 2) expect_equal(case_at(n), 1000 + n);
    };
    std::thread even(sessions, 0), odd(sessions, 1);
    even.join();
    odd.join();
}

// Frames that are on the device already, among them those that later frames look back at; each has a stream of its own that writes it.
TEST_F(Device, ReadsFramesWhereTheyAre) {
    gpu::CudaRuntime runtime{BackendConfig{}};
    for (uint32_t depth : {8u, 10u}) {
        SessionOptions options;
        options.metrics = "psnr+psnr_hvs+adm+vif+motion+motion@five";
        options.options = "five.motion_five_frame_window=1";
        options.format = make_format(331, 203, depth, "420");
        options.backend = EXACTVQ_BACKEND_CUDA;
        const Geometry geometry = make_geometry(options.format);
        std::vector<std::unique_ptr<Picture>> pictures;
        std::vector<std::pair<exactvq_frame, exactvq_frame>> on_host, on_device;
        std::vector<uint64_t> memory;
        std::vector<gpu::CudaRuntime::Stream> streams;
        {
            const gpu::CudaRuntime::Scope scope(runtime);
            for (uint32_t i = 0; i < 12; ++i) {
                const ContentPair samples = make_content(static_cast<Content>(i % static_cast<uint32_t>(Content::kCount)), geometry, i);
                exactvq_frame frames[2];
                streams.push_back(runtime.create_stream());
                for (uint32_t which = 0; which < 2; ++which) {
                    pictures.push_back(std::make_unique<Picture>(which ? samples.main : samples.ref, geometry, Layout::kPlanar));
                    frames[which] = pictures.back()->frame(options.format);
                }
                on_host.emplace_back(frames[0], frames[1]);
                for (exactvq_frame& frame : frames) {
                    frame.memory = EXACTVQ_MEMORY_CUDA;
                    frame.stream = streams.back();
                    for (uint32_t p = 0; p < geometry.planes; ++p) {
                        const size_t row = size_t{geometry.plane[p].width} * (depth > 8 ? 2 : 1), pitch = (row + 511) / 256 * 256;
                        memory.push_back(runtime.allocate(pitch * geometry.plane[p].height));
                        runtime.upload(streams.back(), memory.back(), pitch, frame.plane[p].data, frame.plane[p].stride, row, geometry.plane[p].height);
                        frame.plane[p].data = reinterpret_cast<const void*>(memory.back());
                        frame.plane[p].stride = static_cast<ptrdiff_t>(pitch);
                    }
                }
                on_device.emplace_back(frames[0], frames[1]);
            }
        }
        std::vector<Scored> scored[2];
        for (uint32_t device = 0; device < 2; ++device) {
            options.backend = device ? EXACTVQ_BACKEND_CUDA : EXACTVQ_BACKEND_CPU;
            options.memory = device ? EXACTVQ_MEMORY_CUDA : EXACTVQ_MEMORY_HOST;
            exactvq_session* session;
            ASSERT_EQ(open_session(options, &session), EXACTVQ_OK) << exactvq_error(session);
            EXPECT_EQ(run_session(session, device ? on_device : on_host, scored[device]), EXACTVQ_OK) << exactvq_error(session);
            exactvq_close(session);
        }
        ASSERT_EQ(scored[1].size(), on_host.size());
        for (size_t n = 0; n < on_host.size(); ++n)
            for (size_t i = 0; i < scored[0][n].scores.size(); ++i)
                EXPECT_EQ(double_bits(scored[1][n].scores[i].value), double_bits(scored[0][n].scores[i].value)) << "depth " << depth << ", frame " << n << ", score " << i;
        const gpu::CudaRuntime::Scope scope(runtime);
        for (const auto stream : streams) runtime.destroy_stream(stream);
        for (const uint64_t address : memory) runtime.free(address);
    }
}

// Frames in device memory, so that it is not page-locked memory that ends first: some terabytes for the largest pictures and the longest queue.
TEST_F(Device, HasNotEnoughMemory) {
    SessionOptions options;
    options.metrics = "psnr_hvs+adm";
    options.format = make_format(32768, 32768, 12, "444");
    options.frames_in_flight = 256;
    options.backend = EXACTVQ_BACKEND_CUDA;
    options.memory = EXACTVQ_MEMORY_CUDA;
    const DeviceMemory memory;
    const size_t before = memory.used();
    exactvq_session* session;
    EXPECT_EQ(open_session(options, &session), EXACTVQ_ERROR_NO_MEMORY);
    const std::string sentence = exactvq_error(session);
    EXPECT_EQ(sentence.rfind("out of memory on the GPU (", 0), 0u) << sentence;
    EXPECT_NE(sentence.find(" bytes were asked for; ask for fewer frames in flight"), std::string::npos) << sentence;
    exactvq_close(session);
    EXPECT_LE(memory.used(), before + (size_t{64} << 20)) << "what was allocated is still there";
    expect_equal(case_at(4), 4);
}

TEST_F(Device, HasNoSuchOrdinal) {
    exactvq_metric metric{};
    metric.name = "psnr";
    exactvq_config config{};
    config.struct_size = sizeof config;
    config.metrics = &metric;
    config.metric_count = 1;
    config.format = make_format(64, 64, 8, "420");
    config.backend = EXACTVQ_BACKEND_CUDA;
    config.device = 99;
    exactvq_session* session;
    EXPECT_EQ(exactvq_open(&config, &session), EXACTVQ_ERROR_ARGUMENT);
    EXPECT_EQ(std::string(exactvq_error(session)).rfind("there is no NVIDIA GPU 99: this process may use ", 0), 0u) << exactvq_error(session);
    exactvq_close(session);
}

// A runtime with one image only, for the backend's template.
const cuda::Image* the_image = nullptr;
struct OneImage : gpu::CudaRuntime {
    explicit OneImage(const BackendConfig& config) : CudaRuntime(config, "libcuda.so.1", {the_image, 1}) {}
};

TEST_F(Device, RunsEachImageByItself) {
    const Geometry geometry = make_geometry(make_format(353, 289, 8, "420"));
    const ContentPair samples = make_content(Content::kTexture, geometry, 1);
    const Picture ref(samples.ref, geometry, Layout::kPlanar), main(samples.main, geometry, Layout::kPlanar);
    const FramePair pair = make_pair(ref, main, geometry);
    BackendConfig config;
    config.geometry = geometry;
    config.accumulators = all_accumulators(geometry);
    const std::vector<uint64_t> expected = reference_words(config.accumulators, pair);
    size_t ran = 0;
    for (const cuda::Image& image : cuda::images()) {
        the_image = &image;
        SCOPED_TRACE(image.code);
        try {
            gpu::GpuBackend<OneImage> backend(config);
            std::vector<uint64_t> words(expected.size(), 0xdeadbeefdeadbeefu);
            backend.start(0, pair, words.data());
            backend.wait(0);
            for (size_t i = 0; i < words.size(); ++i) EXPECT_EQ(words[i], expected[i]) << describe(config.accumulators, i);
            std::printf("%s: runs\n", image.code);
            ++ran;
        } catch (const Error& error) {
            const std::string sentence = error.what();
            std::printf("%s: %s\n", image.code, error.what());
            EXPECT_TRUE(sentence.find("this build of libexactvq has no code for the GPU (") == 0 ||
                        sentence.find("the NVIDIA driver is too old for this build of libexactvq: ") == 0)
                << sentence;
        }
    }
    EXPECT_GT(ran, 0u);
}

}  // namespace
}  // namespace exactvq::test
