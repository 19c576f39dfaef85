// SPDX-License-Identifier: BSD-2-Clause
//
// A GPU vendor's library, opened at run time, and its functions.
#ifndef EXACTVQ_KERNELS_GPU_LIBRARY_H
#define EXACTVQ_KERNELS_GPU_LIBRARY_H

#include <dlfcn.h>

#include <memory>
#include <span>
#include <string>

namespace exactvq::gpu {

class Library {
public:
    // Opens the first of these names that is there; if none is, reason() says why the first is not.
    explicit Library(std::span<const char* const> names) {
        for (const char* name : names) {
            // Drivers keep threads and handlers of their own, so their code stays in the process once it is there.
            handle_.reset(dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
            name_ = name;
            if (handle_) return;
            const char* text = dlerror();
            if (reason_.empty()) reason_ = text ? text : name;
        }
    }

    bool is_open() const { return handle_ != nullptr; }
    const std::string& name() const { return name_; }
    const std::string& reason() const { return reason_; }
    void* find(const char* symbol) const { return dlsym(handle_.get(), symbol); }

private:
    struct Close {
        void operator()(void* library) const { dlclose(library); }
    };
    std::unique_ptr<void, Close> handle_;
    std::string name_, reason_;
};

// A function that knows its name.
template <class Signature>
struct Call {
    const char* name = nullptr;
    Signature* function = nullptr;
};

// Calls of a driver whose functions give a Result, 0 for success. Derived has fail(), which throws Error with the driver's name of what went wrong.
template <class Derived, class Result>
class Caller {
public:
    // A call whose result the caller looks at.
    template <class... Parameters, class... Arguments>
    Result attempt(const Call<Result(Parameters...)>& call, Arguments... arguments) const {
        return call.function(arguments...);
    }
    // A call that must succeed.
    template <class... Parameters, class... Arguments>
    void call(const Call<Result(Parameters...)>& call, Arguments... arguments) const {
        if (const Result result = call.function(arguments...); result != Result{}) static_cast<const Derived*>(this)->fail(call.name, result);
    }
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_LIBRARY_H
