// SPDX-License-Identifier: BSD-2-Clause
//
// A list of kernels in place of kernels/gpu/kernel_list.h, for the tests of the runtime.
#ifndef EXACTVQ_TESTS_SIMT_TEST_KERNELS_H
#define EXACTVQ_TESTS_SIMT_TEST_KERNELS_H

#include "kernels/common/gpu.h"

namespace exactvq::gpu {

// to[i] = from[i] + addend
struct AddKernel {
    struct Arguments {
        const uint32_t* from;
        uint32_t* to;
        uint32_t count, addend;
    };
    static constexpr uint32_t kThreads = 64;
    template <class P>
    struct Shared {};

    template <class P>
    static void run(const Arguments& a, Shared<P>&) {
        const uint32_t i = P::block_x() * kThreads + P::thread();
        if (i < a.count) a.to[i] = a.from[i] + a.addend;
    }
};

// The threads do not agree on the barrier.
struct DivergentKernel {
    struct Arguments {
        uint32_t limit;
    };
    static constexpr uint32_t kThreads = 64;
    template <class P>
    struct Shared {};

    template <class P>
    static void run(const Arguments& a, Shared<P>&) {
        if (P::thread() < a.limit) P::sync();
    }
};

#define EXACTVQ_GPU_KERNELS(X) X(AddKernel) X(DivergentKernel)

enum class KernelId : uint32_t { AddKernel, DivergentKernel };

struct KernelInfo {
    const char* name;
    uint32_t threads;
    size_t arguments;
};

inline const KernelInfo& kernel_info(KernelId id) {
    static constexpr KernelInfo kKernels[] = {{"exactvq_AddKernel", AddKernel::kThreads, sizeof(AddKernel::Arguments)},
                                              {"exactvq_DivergentKernel", DivergentKernel::kThreads, sizeof(DivergentKernel::Arguments)}};
    return kKernels[static_cast<uint32_t>(id)];
}

}  // namespace exactvq::gpu

#endif  // EXACTVQ_TESTS_SIMT_TEST_KERNELS_H
