// SPDX-License-Identifier: BSD-2-Clause
//
// What the fibers tell the sanitizers. The scheduler is compiled without ThreadSanitizer, so that it sees the kernels' accesses and barriers and nothing else;
// EXACTVQ_SIMT_TSAN then says that the program runs under it.
#ifndef EXACTVQ_TESTS_SIMT_SANITIZERS_H
#define EXACTVQ_TESTS_SIMT_SANITIZERS_H

#include <cstddef>

#if defined(__has_feature)
#define EXACTVQ_HAS_FEATURE(x) __has_feature(x)
#else
#define EXACTVQ_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || EXACTVQ_HAS_FEATURE(address_sanitizer)
#define EXACTVQ_SIMT_ASAN 1
#define EXACTVQ_SIMT_NEVER_RETURNS __attribute__((no_sanitize("address")))  // its frame would count as used for ever
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define EXACTVQ_SIMT_NEVER_RETURNS
#endif
#if defined(__SANITIZE_THREAD__) || EXACTVQ_HAS_FEATURE(thread_sanitizer)
#define EXACTVQ_SIMT_TSAN_CODE 1  // this file is compiled with it
#endif
#ifdef EXACTVQ_SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace exactvq::simt {

// No code may touch the bytes until they are unpoisoned. Without AddressSanitizer nothing happens.
inline void poison([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#ifdef EXACTVQ_SIMT_ASAN
    ASAN_POISON_MEMORY_REGION(p, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* p, [[maybe_unused]] size_t bytes) {
#ifdef EXACTVQ_SIMT_ASAN
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#endif
}

// What one fiber did before release() is ordered before what another does after acquire(). Without ThreadSanitizer nothing happens.
inline void release([[maybe_unused]] void* object) {
#ifdef EXACTVQ_SIMT_TSAN
    __tsan_release(object);
#endif
}

inline void acquire([[maybe_unused]] void* object) {
#ifdef EXACTVQ_SIMT_TSAN
    __tsan_acquire(object);
#endif
}

}  // namespace exactvq::simt

#endif  // EXACTVQ_TESTS_SIMT_SANITIZERS_H
