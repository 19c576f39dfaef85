// SPDX-License-Identifier: BSD-2-Clause
//
// The work for one accumulator on one plane, cut into stripes that threads run in any order and that are folded into the accumulator in order.
#ifndef EXACTVQ_KERNELS_CPU_PLANE_JOB_H
#define EXACTVQ_KERNELS_CPU_PLANE_JOB_H

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "host/accumulator.h"
#include "host/geometry.h"
#include "kernels/common/plane.h"
#include "kernels/cpu/kernels.h"

namespace exactvq::cpu {

// Stripes of one pair after another. Threads claim stripes in ascending order and call run() for each; a stripe's results stay in one of
// `window` places until all earlier stripes are folded, so memory does not grow with the frame.
class PlaneJob {
public:
    virtual ~PlaneJob() = default;
    PlaneJob(const PlaneJob&) = delete;
    PlaneJob& operator=(const PlaneJob&) = delete;

    uint32_t stripes() const { return stripes_; }

    // Begins a new pair. No stripe of the last one may be running.
    void begin(const PlanePair& pair);

    // Computes the stripe, then folds whatever is next in order. Waits if the stripe is `window` or more ahead of the fold: whoever claimed the
    // stripe at the fold never waits, so there is always progress.
    void run(uint32_t stripe) noexcept;

    // Writes the accumulator's words, once every stripe has run.
    virtual void result(uint64_t* words) const = 0;

protected:
    PlaneJob(uint32_t stripes, uint32_t window);

    virtual void reset() = 0;
    virtual void compute(uint32_t stripe, uint32_t place) noexcept = 0;  // concurrently, for different places
    virtual void fold(uint32_t stripe, uint32_t place) noexcept = 0;     // in order, never concurrently

    PlanePair pair_;

private:
    const uint32_t stripes_, window_;
    std::mutex mutex_;
    std::condition_variable moved_;
    std::vector<char> ready_;  // by place
    uint32_t folded_ = 0;
    bool folding_ = false;
};

// `workers` threads will run stripes of this job and of those of the other `slots` - 1 pairs in flight.
std::unique_ptr<PlaneJob> make_plane_job(const AccumulatorSpec& spec, const Geometry& geometry, const Kernels& kernels, uint32_t workers, uint32_t slots);

}  // namespace exactvq::cpu

#endif  // EXACTVQ_KERNELS_CPU_PLANE_JOB_H
