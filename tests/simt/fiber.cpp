// SPDX-License-Identifier: BSD-2-Clause
#include "tests/simt/fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace exactvq::simt {
namespace {

constexpr size_t kPage = 4096;
#if defined(EXACTVQ_SIMT_ASAN) || defined(EXACTVQ_SIMT_TSAN)
constexpr size_t kStackBytes = 256 * 1024;
#else
constexpr size_t kStackBytes = 128 * 1024;  // address space; only pages that are touched cost memory
#endif

#ifdef EXACTVQ_SIMT_ASAN
thread_local Fiber* left;  // the fiber that was running before this one
#endif

}  // namespace

#ifndef EXACTVQ_SIMT_UCONTEXT
// Saves what a function must preserve, changes stacks, and returns where that stack was left: mostly the same place, so that returns are predicted well.
extern "C" void exactvq_simt_switch(void** save, void* stack_pointer);
asm(R"(
    .text
    .globl exactvq_simt_switch
    .hidden exactvq_simt_switch
    .type exactvq_simt_switch, @function
exactvq_simt_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size exactvq_simt_switch, . - exactvq_simt_switch
)");
#endif

Fiber::Fiber(uint32_t number) {
    void* const memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, kPage, PROT_NONE);
    stack_ = static_cast<uint8_t*>(memory);
    top_ = stack_ + kStackBytes - number % 61 * 64;
#ifdef EXACTVQ_SIMT_ASAN
    bottom_ = stack_;
    size_ = kStackBytes;
#endif
#ifdef EXACTVQ_SIMT_TSAN
    tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::Fiber(CurrentThread) {
#ifdef EXACTVQ_SIMT_TSAN
    tsan_fiber_ = __tsan_get_current_fiber();
#endif
}

Fiber::~Fiber() {
    if (!stack_) return;
#ifdef EXACTVQ_SIMT_TSAN
    __tsan_destroy_fiber(tsan_fiber_);
#endif
    unpoison(stack_, kStackBytes);
    munmap(stack_, kStackBytes);
}

void Fiber::start(void (*entry)()) {
    unpoison(stack_ + kStackBytes - 2 * kPage, 2 * kPage);  // frames that never returned
#ifdef EXACTVQ_SIMT_UCONTEXT
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_;
    context_.uc_stack.ss_size = static_cast<size_t>(top_ - stack_);
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
#else
    void** frame = reinterpret_cast<void**>(top_);
    *--frame = nullptr;  // entry's return address
    *--frame = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--frame = nullptr;  // saved registers
    stack_pointer_ = frame;
#endif
}

void Fiber::entered() {
#ifdef EXACTVQ_SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &left->bottom_, &left->size_);  // so an OS thread's own stack gets known
#endif
}

void Fiber::leave_for(Fiber& next) {
#ifdef EXACTVQ_SIMT_ASAN
    left = this;
    __sanitizer_start_switch_fiber(&fake_stack_, next.bottom_, next.size_);
#endif
#ifdef EXACTVQ_SIMT_TSAN
    __tsan_switch_to_fiber(next.tsan_fiber_, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef EXACTVQ_SIMT_UCONTEXT
    swapcontext(&context_, &next.context_);
#else
    exactvq_simt_switch(&stack_pointer_, next.stack_pointer_);
#endif
}

void Fiber::switch_to(Fiber& next) {
    leave_for(next);
#ifdef EXACTVQ_SIMT_ASAN
    __sanitizer_finish_switch_fiber(fake_stack_, &left->bottom_, &left->size_);
#endif
}

EXACTVQ_SIMT_NEVER_RETURNS void Fiber::finish(Fiber& next) {
    leave_for(next);
    std::abort();  // a fiber that is done was resumed
}

}  // namespace exactvq::simt
