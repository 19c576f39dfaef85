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
    uint32_t motion_distance = 0;  // of motion, whose main is the reference so many pairs earlier; else 0

    // Whether it is queued for these frames.
    bool wanted(const FramePair& frames) const { return motion_distance ? frames.earlier[motion_distance - 1].luma.data != nullptr : !frames.motion_only; }

    void set(const FramePair& frames, uint64_t value) {
        std::memcpy(arguments.data() + mark + offsetof(Mark, value), &value, sizeof value);
        for (const Pair& pair : pairs) {
            PlanePair planes = frames.plane[pair.plane];
            if (motion_distance) planes.main = frames.earlier[motion_distance - 1].luma;
            std::memcpy(arguments.data() + pair.offset, &planes, sizeof planes);
        }
    }
};

// Planes of a pair that launches read.
struct PlanesRead {
    bool pair[3] = {};     // of reference and main
    bool earlier[2] = {};  // of the reference so many pairs earlier, less one; with them the reference's luma
};

struct GpuPlan {
    std::vector<GpuLaunch> launches;  // in order, on one stream
    PlanesRead read;
    uint64_t results = 0;             // device address: the words of all accumulators, then one mark for each launch, then sums of blocks
    size_t result_words = 0;

    // Words that the host adds up from sums of blocks, which are integers; 0 if their launch was not wanted.
    struct Sum {
        size_t word, first, count;  // of the results
        size_t launch;
    };
    std::vector<Sum> sums;
};

// `allocate` gives device memory, whose contents are undefined.
GpuPlan make_gpu_plan(const BackendConfig& config, const std::function<uint64_t(size_t bytes)>& allocate);

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_PLAN_H
