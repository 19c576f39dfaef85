// SPDX-License-Identifier: BSD-2-Clause
//
// What the tests of runtimes on fake drivers share.
#ifndef EXACTVQ_TESTS_SUPPORT_FAKE_DRIVER_H
#define EXACTVQ_TESTS_SUPPORT_FAKE_DRIVER_H

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "host/error.h"
#include "kernels/gpu/kernel_list.h"

namespace exactvq::test {

// The sentence with which f fails.
template <class F>
std::string sentence_of(exactvq_status status, F f) {
    try {
        f();
    } catch (const Error& error) {
        EXPECT_EQ(error.status(), status) << error.what();
        return error.what();
    }
    ADD_FAILURE() << "nothing failed";
    return {};
}

// A fake driver's library, and the environment variable with its settings.
class FakeDriver {
public:
    FakeDriver(const char* library, const char* variable) : library_(dlopen(library, RTLD_NOW)), variable_(variable) {}

    template <class F>
    F* symbol(const char* name) const {
        return reinterpret_cast<F*>(dlsym(library_, name));
    }
    int alive() const { return symbol<int()>("fake_alive")(); }
    int calls() const { return symbol<int()>("fake_calls")(); }
    std::string last_launch() const { return symbol<const char*()>("fake_last_launch")(); }
    void change(const std::string& settings) const { setenv(variable_, settings.c_str(), 1); }
    // From here on calls are counted.
    void set(const std::string& settings) const {
        change(settings);
        symbol<void()>("fake_reset")();
    }
    // Whether dlopen() finds this one under its own name (LD_LIBRARY_PATH).
    bool is(const char* name) const { return library_ && dlopen(name, RTLD_NOW) == library_; }
    void clear() const { symbol<void()>("fake_clear")(); }
    void unset() const { unsetenv(variable_); }

private:
    void* library_;
    const char* variable_;
};

// The first kernel stands for all.
inline constexpr gpu::KernelId kAnyKernel{0};
inline const gpu::KernelInfo& kAnyKernelInfo = gpu::kernel_info(kAnyKernel);
inline const std::vector<uint64_t> kAnyArguments(kAnyKernelInfo.arguments / 8 + 1, 0x1234);
inline std::string launch_text(const char* grid) { return std::string(kAnyKernelInfo.name) + " " + grid + " of " + std::to_string(kAnyKernelInfo.threads) + "x1x1, 0 bytes, 1234"; }

// Uses everything once, and frees it whatever happens.
template <class Runtime>
struct RuntimeUser {
    explicit RuntimeUser(Runtime& r) : runtime(r), scope(r) {}
    ~RuntimeUser() {
        runtime.free(memory);
        runtime.free_host(host);
        runtime.destroy_event(event);
        runtime.destroy_stream(stream);
    }
    void use() {
        memory = runtime.allocate(64);
        host = runtime.allocate_host(64);
        stream = runtime.create_stream();
        event = runtime.create_event();
        std::memset(host, 7, 64);
        runtime.upload(stream, memory, 8, host, 8, 8, 8);
        runtime.upload(stream, memory, 64, host, 64, 64, 1);
        launch(1, 1, 1);
        runtime.download(stream, host, memory, 64);
        runtime.record(event, stream);
        runtime.wait(stream, event);
        runtime.wait_for(stream, event, nullptr);
        EXPECT_TRUE(runtime.finished(event));
        runtime.synchronize(event);
    }
    void launch(uint32_t x, uint32_t y, uint32_t z) { runtime.launch(stream, kAnyKernel, x, y, z, kAnyArguments.data(), kAnyKernelInfo.arguments); }

    Runtime& runtime;
    typename Runtime::Scope scope;
    typename Runtime::Address memory = 0;
    void* host = nullptr;
    typename Runtime::Stream stream = nullptr;
    typename Runtime::Event event = nullptr;
};

}  // namespace exactvq::test

#endif  // EXACTVQ_TESTS_SUPPORT_FAKE_DRIVER_H
