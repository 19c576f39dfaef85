// SPDX-License-Identifier: BSD-2-Clause
//
// Allocation and thread creation fail, one after the other, at every place where the library asks for them: each call must answer with
// EXACTVQ_ERROR_NO_MEMORY or succeed, release what it took, and leave a session that can be closed.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "tests/support/picture.h"
#include "tests/support/session.h"

namespace {

// Calls until failure; negative: never.
std::atomic<long> allocations_left{-1}, threads_left{-1};
std::atomic<long> live_blocks{0};

bool spend(std::atomic<long>& left) {
    if (left.load() < 0) return true;
    return left.fetch_sub(1) > 0 || (left = 0, false);
}

void* allocate(size_t size, size_t alignment) {
    if (!spend(allocations_left)) return nullptr;
    void* p = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment) : std::malloc(size ? size : 1);
    if (p) ++live_blocks;
    return p;
}

void* allocate_or_throw(size_t size, size_t alignment) {
    if (void* p = allocate(size, alignment)) return p;
    throw std::bad_alloc();
}

void deallocate(void* p) {
    if (p) --live_blocks;
    std::free(p);
}

}  // namespace

void* operator new(size_t size) { return allocate_or_throw(size, 0); }
void* operator new[](size_t size) { return allocate_or_throw(size, 0); }
void* operator new(size_t size, std::align_val_t a) { return allocate_or_throw(size, static_cast<size_t>(a)); }
void* operator new[](size_t size, std::align_val_t a) { return allocate_or_throw(size, static_cast<size_t>(a)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return allocate(size, 0); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return allocate(size, 0); }
void operator delete(void* p) noexcept { deallocate(p); }
void operator delete[](void* p) noexcept { deallocate(p); }
void operator delete(void* p, size_t) noexcept { deallocate(p); }
void operator delete[](void* p, size_t) noexcept { deallocate(p); }
void operator delete(void* p, std::align_val_t) noexcept { deallocate(p); }
void operator delete[](void* p, std::align_val_t) noexcept { deallocate(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { deallocate(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { deallocate(p); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
    if (!spend(threads_left)) return EAGAIN;
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const Create create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return create(thread, attributes, start, argument);
}

namespace exactvq::test {
namespace {

class Fault : public testing::Test {
protected:
    Fault() : format_(make_format(64, 48, 8, "420")), geometry_(make_geometry(format_)) {
        const ContentPair samples = make_content(Content::kTexture, geometry_, 1);
        ref_ = std::make_unique<Picture>(samples.ref, geometry_, Layout::kPlanar);
        main_ = std::make_unique<Picture>(samples.main, geometry_, Layout::kSemiPlanar);
        options_.metrics = "psnr+float_psnr+psnr_hvs+adm+adm@neg+vif+motion+vmaf";
        options_.options = "enable_apsnr=1|neg.adm_enhn_gain_limit=1|neg.debug=1";
        options_.models = EXACTVQ_TEST_DATA "/models/small.json|" EXACTVQ_TEST_DATA "/models/small_collection.json@many";
        options_.format = format_;
        options_.threads = 3;
        options_.frames_in_flight = 2;
        options_.keep_scores = 1;
    }

    ~Fault() override { std::filesystem::remove(log_); }

    // Open, three pairs, flush, receive, log, summary, close. Only library calls allocate while faults are armed.
    exactvq_status scenario() {
        exactvq_session* session;
        exactvq_status status = open_session(options_, &session);
        if (status == EXACTVQ_OK) status = exactvq_start_log(session, log_.c_str(), EXACTVQ_LOG_FORMAT_JSON, EXACTVQ_LOG_FULL_PRECISION);
        if (status == EXACTVQ_OK) status = stream(session);
        if (status == EXACTVQ_OK) status = exactvq_finish_log(session);
        exactvq_aggregate aggregate{};
        aggregate.struct_size = sizeof aggregate;
        if (status == EXACTVQ_OK) status = exactvq_get_aggregate(session, 0, &aggregate);
        exactvq_pooled pooled{};
        pooled.struct_size = sizeof pooled;
        if (status == EXACTVQ_OK) status = exactvq_summary(session, 0, &pooled);
        if (status != EXACTVQ_OK) {
            EXPECT_NE(exactvq_error(session)[0], 0);
        }
        exactvq_close(session);
        return status;
    }

    exactvq_status stream(exactvq_session* session) {
        exactvq_frame ref = ref_->frame(format_), main = main_->frame(format_);
        main.release = ref.release = [](void* opaque) { ++*static_cast<int*>(opaque); };
        main.opaque = ref.opaque = &released_;
        exactvq_score scores[64];
        for (uint64_t i = 0; i < 3;) {
            exactvq_status status = exactvq_submit(session, &ref, &main, i);
            if (status == EXACTVQ_OK) {
                submitted_ += 2;
                ++i;
                continue;
            }
            if (status == EXACTVQ_AGAIN) status = exactvq_receive(session, scores, nullptr, 0);
            if (status != EXACTVQ_OK) return status;
        }
        exactvq_flush(session);
        exactvq_status status;
        while ((status = exactvq_receive(session, scores, nullptr, 0)) == EXACTVQ_OK) {
        }
        return status == EXACTVQ_END ? EXACTVQ_OK : status;
    }

    exactvq_format format_;
    Geometry geometry_;
    std::unique_ptr<Picture> ref_, main_;
    SessionOptions options_;
    const std::string log_ = std::filesystem::temp_directory_path() / ("exactvq-fault-test." + std::to_string(getpid()));
    int released_ = 0, submitted_ = 0;
};

TEST_F(Fault, EveryAllocationMayFail) {
    ASSERT_EQ(scenario(), EXACTVQ_OK);  // statics exist from here on
    long failures = 0, n = 0;
    const long before = live_blocks;
    for (;; ++n) {
        released_ = submitted_ = 0;
        allocations_left = n;
        const exactvq_status status = scenario();
        const bool ran_out = allocations_left == 0;
        allocations_left = -1;
        EXPECT_EQ(released_, submitted_) << "allocation " << n;
        if (status == EXACTVQ_OK && !ran_out) break;
        EXPECT_TRUE(status == EXACTVQ_ERROR_NO_MEMORY || status == EXACTVQ_OK) << "allocation " << n << ": status " << status;
        failures += status != EXACTVQ_OK;
        ASSERT_LT(n, 100000);
    }
    std::printf("%ld allocations, %ld of them lead to an error\n", n, failures);
    EXPECT_GT(failures, 50);
    // Nothing leaks over all these failures. (Asio keeps a recycled block or two for this thread.)
    EXPECT_LE(std::abs(live_blocks - before), 2);
}

TEST_F(Fault, EveryThreadMayFail) {
    for (long n = 0; n < 3; ++n) {
        threads_left = n;
        exactvq_session* session;
        EXPECT_EQ(open_session(options_, &session), EXACTVQ_ERROR_NO_MEMORY);
        EXPECT_NE(std::string(exactvq_error(session)).find("cannot start 3 threads"), std::string::npos) << exactvq_error(session);
        exactvq_close(session);
    }
    threads_left = -1;
    EXPECT_EQ(scenario(), EXACTVQ_OK);
}

}  // namespace
}  // namespace exactvq::test
