// SPDX-License-Identifier: BSD-2-Clause
//
// The platform trait of kernels/common/gpu.h on fibers.
#ifndef EXACTVQ_TESTS_SIMT_SIMT_PLATFORM_H
#define EXACTVQ_TESTS_SIMT_SIMT_PLATFORM_H

#include <type_traits>

#include "kernels/common/gpu.h"
#include "tests/simt/simt.h"

namespace exactvq::gpu {

// Default arguments of what a kernel calls, so that reports name the kernel's line.
#define EXACTVQ_SIMT_CALLER const char *file = __builtin_FILE(), int line = __builtin_LINE()

template <uint32_t kWaveSize>
struct SimtPlatform {
    static_assert(kWaveSize == 32 || kWaveSize == 64);
    static constexpr uint32_t kWave = kWaveSize;

    static uint32_t thread() { return simt::position.thread; }
    static uint32_t block_x() { return simt::position.block.x; }
    static uint32_t block_y() { return simt::position.block.y; }
    static uint32_t block_z() { return simt::position.block.z; }
    static uint32_t blocks_x() { return simt::position.blocks.x; }
    static uint32_t blocks_y() { return simt::position.blocks.y; }
    static uint32_t blocks_z() { return simt::position.blocks.z; }

    static void sync(EXACTVQ_SIMT_CALLER) { simt::barrier({file, line}); }

    // A lane beyond the wave: the own value. A distance of a whole wave is a mistake.
    template <class T>
    static T shuffle_down(T v, uint32_t delta, EXACTVQ_SIMT_CALLER) {
        const uint32_t lane = thread() % kWave;
        return exchange(simt::Operation::kShuffleDown, v, delta < kWave && lane + delta >= kWave ? lane : lane + delta, {file, line});
    }
    template <class T>
    static T shuffle_xor(T v, uint32_t mask, EXACTVQ_SIMT_CALLER) {
        return exchange(simt::Operation::kShuffleXor, v, thread() % kWave ^ mask, {file, line});
    }
    template <class T>
    static T shuffle(T v, uint32_t lane, EXACTVQ_SIMT_CALLER) {
        return exchange(simt::Operation::kShuffle, v, lane, {file, line});
    }
    static uint64_t ballot(bool b, EXACTVQ_SIMT_CALLER) { return simt::ballot(b, {file, line}); }

    static uint32_t multiply_high(uint32_t a, uint32_t b) { return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32); }

    static void fence() { simt::fence(); }
    static uint32_t atomic_add(uint32_t* p, uint32_t v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
    static uint64_t atomic_add(uint64_t* p, uint64_t v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }

private:
    template <class T>
    static T exchange(simt::Operation operation, T v, uint32_t lane, simt::Site site) {
        static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
        uint64_t bits = 0;
        memcpy(&bits, &v, sizeof v);
        bits = simt::shuffle(operation, bits, lane, site);
        memcpy(&v, &bits, sizeof v);
        return v;
    }
};

#undef EXACTVQ_SIMT_CALLER

// Runs a kernel; `launch` needs name, grid, seed and workers. Throws simt::Violation.
template <class Kernel, uint32_t kWave>
void run_kernel(simt::Launch launch, const typename Kernel::Arguments& arguments) {
    using Platform = SimtPlatform<kWave>;
    using Shared = typename Kernel::template Shared<Platform>;
    static_assert(Kernel::kThreads % 64 == 0 && Kernel::kThreads <= simt::kMaxThreads);
    static_assert(std::is_trivially_copyable_v<typename Kernel::Arguments> && sizeof(typename Kernel::Arguments) <= 4096);
    static_assert(std::is_trivial_v<Shared> && sizeof(Shared) <= simt::kMaxSharedBytes);
    launch.threads = Kernel::kThreads;
    launch.wave = kWave;
    launch.shared_bytes = sizeof(Shared);
    simt::launch(launch, [&arguments](void* shared) { Kernel::template run<Platform>(arguments, *static_cast<Shared*>(shared)); });
}

}  // namespace exactvq::gpu

#endif  // EXACTVQ_TESTS_SIMT_SIMT_PLATFORM_H
