// SPDX-License-Identifier: BSD-2-Clause
//
// What a backend does: measure pairs of frames into accumulators, several pairs at once. It knows nothing of metrics, scores or order.
#ifndef EXACTVQ_HOST_BACKEND_H
#define EXACTVQ_HOST_BACKEND_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/accumulator.h"
#include "host/error.h"
#include "host/geometry.h"
#include "kernels/common/plane.h"

namespace exactvq {

// A frame in buffers that drivers share (Linux dma-buf): the data of its planes are offsets into them.
struct SharedFrame {
    struct Buffer {
        int fd = -1;
        uint64_t size = 0;
    };
    Buffer buffer[4];
    uint32_t of_plane[3] = {};  // index of a buffer
};

// The reference of an earlier pair, which motion looks back at.
struct EarlierFrame {
    PlaneView luma;  // no data, and not shared: there is none
    void* stream = nullptr;
    std::optional<SharedFrame> shared;
};

struct FramePair {
    PlanePair plane[3];                    // the first Geometry::planes are used
    std::optional<SharedFrame> shared[2];  // ref and main, where they are in shared buffers
    void* stream[2] = {};                  // of frames in device memory: who writes ref and main
    EarlierFrame earlier[2];               // one and two pairs before this one
    bool motion_only = false;  // only accumulators of kind kMotion are wanted, the words of the others are undefined
};

struct BackendConfig {
    Geometry geometry;
    std::vector<AccumulatorSpec> accumulators;  // without duplicates; their words follow each other in this order
    uint32_t slots = 1;                         // pairs that may be measured at once
    bool device_memory = false;                 // GPU: frames lie in device memory
    uint32_t threads = 0;                       // CPU: workers, 0: one for each CPU that the process may use
    uint32_t cpu_mask = 0;                      // CPU: EXACTVQ_CPU_*
    int32_t device = 0;                         // GPU ordinal
    void* device_context = nullptr;
};

class Backend {
public:
    virtual ~Backend() = default;  // waits for everything that was started

    virtual std::string description() const = 0;

    // Starts measuring `pair` in a slot that is idle. The frames' memory and `words` stay valid until the slot is done.
    // Throws Error if nothing was started.
    virtual void start(uint32_t slot, const FramePair& pair, uint64_t* words) = 0;

    // Makes the buffers of a frame known to the device. Throws Error, with EXACTVQ_ERROR_UNSUPPORTED if it cannot read them.
    virtual void import(const SharedFrame& frame);

    // True once every word of the slot's accumulators is written.
    virtual bool done(uint32_t slot) = 0;

    // Waits until done(). Throws Error if the device failed: the words are then worth nothing.
    virtual void wait(uint32_t slot) = 0;
};

inline void Backend::import(const SharedFrame&) { throw Error(EXACTVQ_ERROR_UNSUPPORTED, description() + " cannot read dma-bufs"); }

// Allocates all that measuring needs. Throws Error.
std::unique_ptr<Backend> make_cpu_backend(const BackendConfig& config);
std::unique_ptr<Backend> make_cuda_backend(const BackendConfig& config);  // if the build has it (EXACTVQ_CUDA)
std::unique_ptr<Backend> make_hip_backend(const BackendConfig& config);   // likewise (EXACTVQ_HIP)

}  // namespace exactvq

#endif  // EXACTVQ_HOST_BACKEND_H
