// SPDX-License-Identifier: BSD-2-Clause
//
// Flows of control that switch to each other by hand, each on a stack of its own.
#ifndef EXACTVQ_TESTS_SIMT_FIBER_H
#define EXACTVQ_TESTS_SIMT_FIBER_H

#include <cstddef>
#include <cstdint>

#include "tests/simt/sanitizers.h"

#if !defined(__x86_64__) && !defined(EXACTVQ_SIMT_UCONTEXT)
#define EXACTVQ_SIMT_UCONTEXT 1  // more than ten times slower: each switch asks the system for the signal mask
#endif
#ifdef EXACTVQ_SIMT_UCONTEXT
#include <ucontext.h>
#endif

namespace exactvq::simt {

// From start() to finish() a fiber stays on one OS thread; then its stack may be used again, on any.
class Fiber {
public:
    enum CurrentThread { kCurrentThread };

    // With a stack. Fibers with different numbers keep the ends of their stacks in different cache sets. Throws std::bad_alloc.
    explicit Fiber(uint32_t number);
    // The OS thread that this is called on.
    explicit Fiber(CurrentThread);
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // The next switch to this fiber calls entry(), which begins with entered() and ends with finish().
    void start(void (*entry)());
    void entered();
    void finish(Fiber& next);  // does not return; not declared so, or AddressSanitizer would clean up at each call

    // Leaves this fiber, the running one, for `next`; returns when another one switches back.
    void switch_to(Fiber& next);

private:
    void leave_for(Fiber& next);

    uint8_t* stack_ = nullptr;  // its lowest page is a guard
    uint8_t* top_ = nullptr;
#ifdef EXACTVQ_SIMT_ASAN
    void* fake_stack_ = nullptr;
    const void* bottom_ = nullptr;
    size_t size_ = 0;
#endif
#ifdef EXACTVQ_SIMT_TSAN
    void* tsan_fiber_ = nullptr;
#endif
#ifdef EXACTVQ_SIMT_UCONTEXT
    ucontext_t context_;
#else
    void* stack_pointer_ = nullptr;
#endif
};

}  // namespace exactvq::simt

#endif  // EXACTVQ_TESTS_SIMT_FIBER_H
