// SPDX-License-Identifier: BSD-2-Clause
//
// Frames per second of whole sessions on GPU 0 through the C API: frames already on the device, and frames in system memory with the share they reach of what
// the bus carries when nothing else is done.
//     gpu-bench [--seconds=S] [--sizes=1920x1080,3840x2160] [--content=texture] [--profile]
// --profile: two 8-bit pairs of each size with all metrics, two with float_psnr, two of motion's sums, and nothing else, for a profiler.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "host/error.h"
#include "host/thread_pool.h"
#include "kernels/cuda/runtime.h"
#include "tests/support/picture.h"
#include "tests/support/session.h"

using namespace exactvq;
using namespace exactvq::test;

namespace {

using Clock = std::chrono::steady_clock;

double seconds = 2.0;
Content content = Content::kTexture;

// Pairs in system memory and, copied there once, on the device: more than its caches hold.
class Clip {
public:
    Clip(gpu::CudaRuntime& runtime, const exactvq_format& f) : format(f), geometry(make_geometry(f)), runtime_(runtime) {
        const ContentPair samples = make_content(content, geometry, 1);
        const gpu::CudaRuntime::Scope scope(runtime_);
        const auto stream = runtime_.create_stream();
        const auto event = runtime_.create_event();
        for (size_t i = 0; i < kPairs; ++i) {
            for (const Samples* planes : {samples.ref, samples.main}) {
                pictures_.push_back(std::make_unique<Picture>(planes, geometry, Layout::kPlanar));
                exactvq_frame frame = pictures_.back()->frame(format);
                frame.memory = EXACTVQ_MEMORY_CUDA;
                for (uint32_t p = 0; p < geometry.planes; ++p) {
                    const PlaneView view = pictures_.back()->view(p);
                    const size_t row = size_t{view.width} * view.word_bytes(), pitch = (row + 255) / 256 * 256;
                    const uint64_t address = runtime_.allocate(pitch * view.height);
                    runtime_.upload(stream, address, pitch, view.data, view.stride, row, view.height);
                    memory_.push_back(address);
                    frame.plane[p].data = reinterpret_cast<const void*>(address);
                    frame.plane[p].stride = static_cast<ptrdiff_t>(pitch);
                    if (i == 0) (p == 0 ? luma_bytes : bytes) += row * view.height;
                }
                device_.push_back(frame);
            }
        }
        bytes += luma_bytes;
        runtime_.record(event, stream);
        runtime_.synchronize(event);
        runtime_.destroy_event(event);
        runtime_.destroy_stream(stream);
    }
    ~Clip() {
        const gpu::CudaRuntime::Scope scope(runtime_);
        for (uint64_t address : memory_) runtime_.free(address);
    }

    exactvq_frame frame(uint64_t pair, int which, bool on_device) const {
        const size_t i = 2 * (pair % kPairs) + static_cast<size_t>(which);
        return on_device ? device_[i] : pictures_[i]->frame(format);
    }

    const exactvq_format format;
    const Geometry geometry;
    size_t bytes = 0, luma_bytes = 0;  // of one pair

private:
    static constexpr size_t kPairs = 12;
    gpu::CudaRuntime& runtime_;
    std::vector<std::unique_ptr<Picture>> pictures_;
    std::vector<exactvq_frame> device_;
    std::vector<uint64_t> memory_;
};

double frames_per_second(const Clip& clip, const std::string& metrics, bool on_device, uint64_t warm = 20, uint64_t least = 40) {
    SessionOptions o;
    o.metrics = metrics;
    o.format = clip.format;
    o.frames_in_flight = least < 8 ? 1 : 8;
    o.backend = EXACTVQ_BACKEND_CUDA;
    o.threads = 0;
    o.memory = on_device ? EXACTVQ_MEMORY_CUDA : EXACTVQ_MEMORY_HOST;
    exactvq_session* session;
    if (open_session(o, &session) != EXACTVQ_OK) {
        std::fprintf(stderr, "gpu-bench: %s\n", exactvq_error(session));
        std::exit(1);
    }
    std::vector<exactvq_score> scores(exactvq_output_count(session));
    uint64_t submitted = 0, received = 0, first = 0;
    Clock::time_point start = Clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    while (received < least || elapsed() < seconds) {
        const exactvq_frame ref = clip.frame(submitted, 0, on_device), main = clip.frame(submitted, 1, on_device);
        const exactvq_status status = exactvq_submit(session, &ref, &main, submitted);
        if (status == EXACTVQ_OK) {
            ++submitted;
            continue;
        }
        if (status != EXACTVQ_AGAIN || exactvq_receive(session, scores.data(), nullptr, 0) != EXACTVQ_OK) {
            std::fprintf(stderr, "gpu-bench: %s\n", exactvq_error(session));
            std::exit(1);
        }
        if (++received == warm) {  // warm
            start = Clock::now();
            first = received;
        }
    }
    const double rate = static_cast<double>(received - first) / elapsed();
    exactvq_close(session);
    return rate;
}

// Motion's sums alone, of frames on the device.
void measure_motion(const Clip& clip, uint64_t pairs) {
    BackendConfig config;
    config.geometry = clip.geometry;
    config.device_memory = true;
    config.accumulators.resize(1);
    config.accumulators[0].kind = AccumulatorKind::kMotion;
    const auto luma = [&](uint64_t pair, int which) {
        const exactvq_plane plane = clip.frame(pair, which, true).plane[0];
        const uint8_t* data = static_cast<const uint8_t*>(plane.data);
        return PlaneView{data, plane.stride, clip.format.width, clip.format.height, clip.format.depth, plane.step, plane.shift};
    };
    const auto backend = make_cuda_backend(config);
    for (uint64_t i = 0; i < pairs; ++i) {
        FramePair pair;
        pair.plane[0] = {luma(i, 0), luma(i, 1)};
        pair.earlier[0].luma = luma(i, 1);
        uint64_t word = 0;
        backend->start(0, pair, &word);
        backend->wait(0);
    }
}

// Bytes per second of copies from pinned memory, many in flight.
double bus_rate(gpu::CudaRuntime& runtime) {
    constexpr size_t kBytes = size_t{32} << 20, kCopies = 100;
    const gpu::CudaRuntime::Scope scope(runtime);
    void* const from = runtime.allocate_host(kBytes);
    const uint64_t to = runtime.allocate(kBytes);
    const auto stream = runtime.create_stream();
    const auto event = runtime.create_event();
    double best = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
        const Clock::time_point start = Clock::now();
        for (size_t i = 0; i < kCopies; ++i) runtime.upload(stream, to, kBytes, from, kBytes, kBytes, 1);
        runtime.record(event, stream);
        runtime.synchronize(event);
        best = std::max(best, static_cast<double>(kBytes * kCopies) / std::chrono::duration<double>(Clock::now() - start).count());
    }
    runtime.destroy_event(event);
    runtime.destroy_stream(stream);
    runtime.free(to);
    runtime.free_host(from);
    return best;
}

}  // namespace

int main(int argc, char** argv) try {
    std::string sizes = "1920x1080,3840x2160";
    bool profile = false;
    for (int i = 1; i < argc; ++i) {
        const std::string arg = argv[i];
        if (arg.rfind("--seconds=", 0) == 0) seconds = std::atof(arg.c_str() + 10);
        else if (arg.rfind("--sizes=", 0) == 0) sizes = arg.substr(8);
        else if (arg == "--profile") profile = true;
        else if (arg.rfind("--content=", 0) == 0) {
            uint32_t k = 0;
            while (k < static_cast<uint32_t>(Content::kCount) && arg.substr(10) != name(static_cast<Content>(k))) ++k;
            if (k == static_cast<uint32_t>(Content::kCount)) {
                std::fprintf(stderr, "gpu-bench: no content is named '%s'\n", arg.c_str() + 10);
                return 2;
            }
            content = static_cast<Content>(k);
        }
        else {
            std::fprintf(stderr, "usage: gpu-bench [--seconds=S] [--sizes=WxH,WxH] [--content=NAME] [--profile]\n");
            return 2;
        }
    }
    BackendConfig config;
    config.geometry = make_geometry(make_format(64, 64, 8, "420"));
    gpu::CudaRuntime runtime(config);
    const double bus = profile ? 1 : bus_rate(runtime);
    if (!profile)
        std::printf("%s, %u CPUs, bus alone %.1f GB/s\n%-10s %-5s %-28s %12s %12s %10s %10s\n", runtime.description().c_str(), available_cpus(), bus / 1e9, "size", "bits",
                    "metrics", "device fps", "system fps", "GB/s", "of the bus");
    std::stringstream list(sizes);
    for (std::string size; std::getline(list, size, ',');) {
        uint32_t w = 0, h = 0;
        if (std::sscanf(size.c_str(), "%ux%u", &w, &h) != 2) return 2;
        if (profile) {
            seconds = 0;
            const Clip clip(runtime, make_format(w, h, 8, "420"));
            for (const char* metrics : {"psnr+psnr_hvs+adm+vif", "float_psnr"}) frames_per_second(clip, metrics, true, 1, 2);
            measure_motion(clip, 2);
            continue;
        }
        for (uint32_t depth : {8u, 10u}) {
            const Clip clip(runtime, make_format(w, h, depth, "420"));
            for (const char* metrics : {"psnr", "float_psnr", "psnr_hvs", "adm", "vif", "motion", "adm+vif+motion", "psnr+psnr_hvs+adm+vif+motion"}) {
                const double device = frames_per_second(clip, metrics, true), system = frames_per_second(clip, metrics, false);
                const std::string name = metrics;
                const bool luma = name == "float_psnr" || name == "adm" || name == "vif" || name == "motion" || name == "adm+vif+motion";  // other planes stay where they are
                const double rate = system * static_cast<double>(luma ? clip.luma_bytes : clip.bytes);
                std::printf("%-10s %-5u %-28s %12.0f %12.0f %10.2f %9.0f%%\n", size.c_str(), depth, metrics, device, system, rate / 1e9, 100 * rate / bus);
                std::fflush(stdout);
            }
        }
    }
} catch (const Error& error) {
    std::fprintf(stderr, "gpu-bench: %s\n", error.what());
    return 1;
}
