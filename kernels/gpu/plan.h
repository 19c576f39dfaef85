// SPDX-License-Identifier: BSD-2-Clause
//
// The launches that turn a pair of frames into a list of accumulators, prepared once for each slot.
#ifndef EXACTVQ_KERNELS_GPU_PLAN_H
#define EXACTVQ_KERNELS_GPU_PLAN_H

#include <cstddef>
#include <cstring>
#include <functional>
#include <vector>

#include "host/backend.h"
#include "kernels/gpu/kernel_list.h"

namespace exactvq::gpu {

// One launch with its arguments; the planes and the value of the mark are set for each pair.
struct GpuLaunch {
    KernelId kernel;
    uint32_t grid[3];
    std::vector<std::byte> arguments;
    size_t mark;                 // offset of the Mark
    struct Pair {
        size_t offset;   // of a PlanePair
        uint32_t plane;  // of the frame
    };
    std::vector<Pair> pairs;

    void set(const FramePair& frames, uint64_t value) {
        std::memcpy(arguments.data() + mark + offsetof(Mark, value), &value, sizeof value);
        for (const Pair& pair : pairs) std::memcpy(arguments.data() + pair.offset, &frames.plane[pair.plane], sizeof(PlanePair));
    }
};

struct GpuPlan {
    std::vector<GpuLaunch> launches;  // in order, on one stream
    bool planes[3] = {};              // that are read
    uint64_t results = 0;             // device address: the words of all accumulators, then one mark for each launch, then sums of blocks
    size_t result_words = 0;

    // Words that the host adds up from sums of blocks, which are integers.
    struct Sum {
        size_t word, first, count;  // of the results
    };
    std::vector<Sum> sums;
};

// `allocate` gives device memory, whose contents are undefined.
GpuPlan make_gpu_plan(const BackendConfig& config, const std::function<uint64_t(size_t bytes)>& allocate);

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_PLAN_H
