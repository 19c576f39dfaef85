// SPDX-License-Identifier: BSD-2-Clause
//
// Frames in dma-bufs through the C API and the HIP backend, on a fake libamdhip64. Memory files stand in for dma-bufs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "exactvq/exactvq.h"
#include "kernels/gpu/shared_file.h"
#include "tests/support/fake_driver.h"
#include "tests/support/picture.h"
#include "tests/support/session.h"

namespace exactvq::test {
namespace {

const FakeDriver fake(EXACTVQ_FAKE_HIP_LIBRARY, "EXACTVQ_FAKE_HIP");

// A buffer of random bytes behind a descriptor.
class Buffer {
public:
    explicit Buffer(size_t size, uint32_t seed = 1) : fd_(memfd_create("dma-buf", MFD_CLOEXEC)), size_(size) {
        EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size)), 0);
        bytes_ = static_cast<uint8_t*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
        uint64_t random = seed;
        for (size_t i = 0; i < size; ++i) bytes_[i] = static_cast<uint8_t>((random = random * 6364136223846793005u + 1442695040888963407u) >> 56);
    }
    ~Buffer() {
        munmap(bytes_, size_);
        close(fd_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    int fd() const { return fd_; }
    uint64_t size() const { return size_; }
    uint8_t* bytes() const { return bytes_; }

private:
    int fd_;
    size_t size_;
    uint8_t* bytes_;
};

constexpr uint32_t kWidth = 45, kHeight = 34, kPitch = 128, kBytes = kPitch * 64;
constexpr exactvq_format kFormat{kWidth, kHeight, 8, 3, 1, 1};

// NV12 in a buffer, luma at byte 64.
exactvq_frame nv12(const uint8_t* base) {
    exactvq_frame frame{};
    frame.struct_size = sizeof frame;
    frame.format = kFormat;
    frame.plane[0] = {base + 64, kPitch, 1, 0};
    for (uint32_t i = 1; i < 3; ++i) frame.plane[i] = {base + 64 + kPitch * 40 + i - 1, kPitch, 2, 0};
    return frame;
}
exactvq_frame in_host(const Buffer& buffer) { return nv12(buffer.bytes()); }
exactvq_frame in_dmabuf(const Buffer& buffer) {
    exactvq_frame frame = nv12(nullptr);
    frame.memory = EXACTVQ_MEMORY_DMABUF;
    frame.dmabuf[0] = {buffer.fd(), 0, buffer.size(), 0};
    return frame;
}

int open_files() {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

class DmaBuf : public ::testing::Test {
protected:
    void SetUp() override {
        fake.set("");
        if (!fake.is("libamdhip64.so.7")) GTEST_SKIP() << "libamdhip64.so.7 is not the fake one: set LD_LIBRARY_PATH to its folder";
        options_.format = kFormat;
        options_.memory = EXACTVQ_MEMORY_DMABUF;
        options_.metrics = "psnr+psnr_hvs+motion+motion@five";  // motion reads earlier frames
        options_.options = "five.motion_five_frame_window=1";
        options_.frames_in_flight = 2;
    }
    void TearDown() override {
        EXPECT_EQ(fake.alive(), 0) << "something was left behind";
        fake.unset();
    }

    using Pairs = std::vector<std::pair<exactvq_frame, exactvq_frame>>;
    std::vector<double> values(const SessionOptions& options, const Pairs& pairs, const std::vector<exactvq_frame>& imports = {}) {
        exactvq_session* session;
        EXPECT_EQ(open_session(options, &session), EXACTVQ_OK) << exactvq_error(session);
        for (const exactvq_frame& frame : imports) EXPECT_EQ(exactvq_import(session, &frame), EXACTVQ_OK) << exactvq_error(session);
        std::vector<Scored> scored;
        EXPECT_EQ(run_session(session, pairs, scored), EXACTVQ_OK) << exactvq_error(session);
        exactvq_close(session);
        std::vector<double> all;
        for (const Scored& frame : scored)
            for (const exactvq_score& score : frame.scores) all.push_back(score.value);
        return all;
    }
    std::vector<double> on_cpu(const Pairs& pairs) {
        SessionOptions options = options_;
        options.memory = EXACTVQ_MEMORY_HOST;
        return values(options, pairs);
    }
    // What a session says of a frame that it does not take.
    std::string refusal(exactvq_status status, const exactvq_frame& frame) {
        const Buffer good(kBytes);
        exactvq_session* session;
        EXPECT_EQ(open_session(options_, &session), EXACTVQ_OK);
        EXPECT_EQ(exactvq_import(session, &frame), status);
        const std::string sentence = exactvq_error(session);
        const exactvq_frame other = in_host(good);
        EXPECT_EQ(exactvq_submit(session, &other, &other, 0), EXACTVQ_OK) << "the session does not go on: " << exactvq_error(session);
        EXPECT_EQ(exactvq_submit(session, &other, &frame, 1), status);
        exactvq_close(session);
        return sentence;
    }

    SessionOptions options_;
};

TEST_F(DmaBuf, ScoresAsInHostMemory) {
    const Buffer a(kBytes, 1), b(kBytes, 2);
    const std::vector<double> expected = on_cpu({{in_host(a), in_host(b)}});
    EXPECT_EQ(values(options_, {{in_dmabuf(a), in_dmabuf(b)}}), expected);
    EXPECT_EQ(values(options_, {{in_dmabuf(a), in_host(b)}}), expected);
    EXPECT_EQ(values(options_, {{in_host(a), in_dmabuf(b)}}), expected);
    EXPECT_EQ(values(options_, {{in_host(a), in_host(b)}}), expected);
    // Both in one buffer, and bottom-up.
    EXPECT_EQ(values(options_, {{in_dmabuf(a), in_dmabuf(a)}}), on_cpu({{in_host(a), in_host(a)}}));
    exactvq_frame flipped[2] = {in_dmabuf(b), in_host(b)};
    for (exactvq_frame& frame : flipped) {
        frame.plane[0].data = static_cast<const uint8_t*>(frame.plane[0].data) + kPitch * (kHeight - 1);
        frame.plane[0].stride = -frame.plane[0].stride;
    }
    EXPECT_EQ(values(options_, {{in_dmabuf(a), flipped[0]}}), on_cpu({{in_host(a), flipped[1]}}));
}

TEST_F(DmaBuf, HasABufferForEachPlane) {
    const Buffer a(kBytes, 1), b(kBytes, 2), c(kBytes, 3);
    exactvq_frame apart = in_dmabuf(a), host = in_host(a);
    apart.dmabuf[1] = {b.fd(), 0, 0, 0};
    apart.dmabuf[3] = {c.fd(), 0, c.size(), 0};
    apart.plane_dmabuf[1] = 3;
    apart.plane_dmabuf[2] = 1;
    apart.plane[2].step = 1;
    host.plane[1].data = c.bytes() + reinterpret_cast<uintptr_t>(apart.plane[1].data);
    host.plane[2].data = b.bytes() + reinterpret_cast<uintptr_t>(apart.plane[2].data);
    host.plane[2].step = 1;
    EXPECT_EQ(values(options_, {{in_dmabuf(b), apart}}), on_cpu({{in_host(b), host}}));
}

// More buffers than are kept, each several times, under ever new descriptors; whatever becomes of the descriptors, none is left and none of another is closed.
TEST_F(DmaBuf, ImportsABufferOnce) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (uint32_t i = 0; i < 70; ++i) buffers.push_back(std::make_unique<Buffer>(kBytes, i));
    Pairs host, shared;
    std::vector<int> opened;
    for (uint32_t i = 0; i < 200; ++i) {
        const Buffer &a = *buffers[i % (i < 100 ? 10 : 70)], &b = *buffers[i % 7];
        host.emplace_back(in_host(a), in_host(b));
        shared.emplace_back(in_dmabuf(a), in_dmabuf(b));
        for (exactvq_frame* frame : {&shared.back().first, &shared.back().second}) opened.push_back(frame->dmabuf[0].fd = dup(frame->dmabuf[0].fd));
    }
    const std::vector<double> expected = on_cpu(host);
    for (const char* fate : {"close", "late", "keep"}) {
        fake.set(std::string("fd=") + fate);
        const int files = open_files();
        EXPECT_EQ(values(options_, shared), expected) << fate;
        EXPECT_EQ(open_files(), files) << fate;
        EXPECT_EQ(fake.symbol<int()>("fake_imports")(), 70 + 30) << fate;  // the first thirty of 70 come again when they are no longer kept
        for (int fd : opened) EXPECT_GE(fcntl(fd, F_GETFD), 0) << fate;
    }
    for (int fd : opened) close(fd);
}

TEST_F(DmaBuf, IsRefused) {
    const Buffer buffer(kBytes);
    const auto changed = [&buffer](auto change) {
        exactvq_frame frame = in_dmabuf(buffer);
        change(frame);
        return frame;
    };
    const auto refuse = [&](exactvq_status status, auto change) { return refusal(status, changed(change)); };
    EXPECT_EQ(refuse(EXACTVQ_ERROR_UNSUPPORTED, [](auto& f) { f.dmabuf[0].modifier = 0x200000000401b04; }),
              "the imported frame's layout (DRM format modifier 0x0200000000401b04) is not linear: it has to be copied to host memory");
    EXPECT_EQ(refuse(EXACTVQ_ERROR_UNSUPPORTED, [](auto& f) { f.dmabuf[0].fd = -1; }),
              "the imported frame's dma-buf does not tell its size: it has to be copied to host memory");
    EXPECT_EQ(refuse(EXACTVQ_ERROR_UNSUPPORTED, [](auto& f) { f.dmabuf[0].size = kBytes + 1; }),
              "the imported frame's dma-buf has 8192 bytes, its description 8193");
    EXPECT_EQ(refuse(EXACTVQ_ERROR_ARGUMENT, [](auto& f) { f.plane_dmabuf[2] = 4; }), "plane cr of the imported frame lies in dma-buf 4: there are at most 4");
    EXPECT_EQ(refuse(EXACTVQ_ERROR_UNSUPPORTED, [](auto& f) { f.plane[0].stride = 256; }), "plane y of the imported frame reaches beyond its dma-buf of 8192 bytes");
    EXPECT_EQ(refuse(EXACTVQ_ERROR_UNSUPPORTED, [](auto& f) { f.plane[0].stride = -kPitch; }), "plane y of the imported frame reaches beyond its dma-buf of 8192 bytes");
    const exactvq_frame host = in_host(buffer);
    exactvq_session* session;
    ASSERT_EQ(open_session(options_, &session), EXACTVQ_OK);
    EXPECT_EQ(exactvq_import(session, &host), EXACTVQ_ERROR_ARGUMENT);
    EXPECT_STREQ(exactvq_error(session), "only frames in dma-bufs can be imported, this one is in host memory");
    exactvq_close(session);
}

// Motion reads earlier frames wherever they are: in dma-bufs, or in host memory.
TEST_F(DmaBuf, MixesMemoriesFromPairToPair) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    Pairs host, mixed;
    for (uint32_t i = 0; i < 8; ++i) {
        for (uint32_t which = 0; which < 2; ++which) buffers.push_back(std::make_unique<Buffer>(kBytes, 2 * i + which));
        const Buffer &a = *buffers[2 * i], &b = *buffers[2 * i + 1];
        host.emplace_back(in_host(a), in_host(b));
        mixed.emplace_back(i % 2 ? in_host(a) : in_dmabuf(a), i / 2 % 2 ? in_host(b) : in_dmabuf(b));
    }
    EXPECT_EQ(values(options_, mixed), on_cpu(host));
}

// The last byte of a plane is the last of the buffer.
TEST_F(DmaBuf, EndsWithItsBuffer) {
    constexpr uint32_t end = 64 + kPitch * 40 + kPitch * (kHeight / 2 - 1) + 2 * ((kWidth + 1) / 2);
    const Buffer exact(end, 1), shorter(end - 1, 1);
    EXPECT_EQ(values(options_, {{in_dmabuf(exact), in_dmabuf(exact)}}), on_cpu({{in_host(exact), in_host(exact)}}));
    EXPECT_EQ(refusal(EXACTVQ_ERROR_UNSUPPORTED, in_dmabuf(shorter)), "plane cr of the imported frame reaches beyond its dma-buf of " + std::to_string(end - 1) + " bytes");
}

TEST_F(DmaBuf, IsNotTakenByTheDriver) {
    const Buffer buffer(kBytes);
    const int files = open_files();
    for (const char* call : {"hipImportExternalMemory", "hipExternalMemoryGetMappedBuffer"}) {
        fake.change(std::string(call) + "=2");
        EXPECT_EQ(refusal(EXACTVQ_ERROR_UNSUPPORTED, in_dmabuf(buffer)), "the GPU (Fake GPU 0, gfx1030) does not take a dma-buf: " + std::string(call) + " failed: hipErrorOutOfMemory");
        EXPECT_EQ(fake.alive(), 0);
        EXPECT_EQ(open_files(), files);
    }
}

TEST_F(DmaBuf, IsOfTheHipBackendOnly) {
    for (uint32_t backend : {EXACTVQ_BACKEND_CPU, EXACTVQ_BACKEND_CUDA}) {
        options_.backend = backend;
        exactvq_session* session;
        EXPECT_EQ(open_session(options_, &session), EXACTVQ_ERROR_UNSUPPORTED);
        EXPECT_STREQ(exactvq_error(session), "only the HIP backend reads dma-bufs: use it, or copy the frames to host memory");
        exactvq_close(session);
    }
}

// Every call of a session with imports fails once: an error or a refusal, nothing is left, no wrong score.
TEST_F(DmaBuf, FailsAtEveryCall) {
    const Buffer a(kBytes, 1), b(kBytes, 2);
    const exactvq_frame frames[2] = {in_dmabuf(a), in_dmabuf(b)};
    const std::vector<double> expected = on_cpu({{in_host(a), in_host(b)}, {in_host(b), in_host(a)}});
    options_.metrics = "psnr";
    options_.options = "";
    const std::vector<double> psnr = values(options_, {{frames[0], frames[1]}, {frames[1], frames[0]}});  // checks the device, too
    const auto live = [&]() -> bool {
        exactvq_session* session;
        std::vector<Scored> scored;
        const bool complete = open_session(options_, &session) == EXACTVQ_OK && exactvq_import(session, &frames[0]) == EXACTVQ_OK &&
                              run_session(session, {{frames[0], frames[1]}, {frames[1], frames[0]}}, scored) == EXACTVQ_OK;
        exactvq_close(session);
        std::vector<double> all;
        for (const Scored& frame : scored)
            for (const exactvq_score& score : frame.scores) all.push_back(score.value);
        EXPECT_TRUE(std::equal(all.begin(), all.end(), psnr.begin()));
        return complete;
    };
    const int files = open_files();
    for (const char* fate : {"close", "late", "keep"}) {
        fake.set(std::string("fd=") + fate);
        ASSERT_TRUE(live());
        const int calls = fake.calls();
        int failures = 0;
        for (int n = 1; n <= calls; ++n) {
            fake.set("fail_at=" + std::to_string(n) + ",result=719,fd=" + fate);
            failures += !live();
            EXPECT_LE(fake.alive(), 2) << "call " << n << " of " << calls << ", " << fate;  // what could not be freed
            fake.clear();
            EXPECT_EQ(open_files(), files) << "call " << n << " of " << calls << ", " << fate;
        }
        EXPECT_GT(failures, calls / 2);
    }
}

TEST(SharedFile, WaitsForTheProducer) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_DEVICE, [&] { gpu::wait_until_written(ends[0], 20); }),
              "a dma-buf is still being written after 20 ms: its driver has failed");
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    gpu::wait_until_written(ends[0], 20);
    close(ends[0]);
    close(ends[1]);
}

TEST(SharedFile, KnowsFiles) {
    const Buffer a(100), b(100);
    const int again = dup(a.fd());
    EXPECT_EQ(gpu::identify(a.fd()), gpu::identify(again));
    EXPECT_FALSE(gpu::identify(a.fd()) == gpu::identify(b.fd()));
    EXPECT_TRUE(gpu::identify(a.fd()).unique);
    close(again);
    // Files that share one inode, as dma-bufs before Linux 5.3.
    const int shared[2] = {eventfd(0, 0), eventfd(0, 0)};
    EXPECT_FALSE(gpu::identify(shared[0]).unique);
    for (int fd : shared) close(fd);
    EXPECT_EQ(sentence_of(EXACTVQ_ERROR_UNSUPPORTED, [&] { gpu::identify(shared[0]); }), "a dma-buf cannot be looked at: Bad file descriptor");
}

}  // namespace
}  // namespace exactvq::test
