// SPDX-License-Identifier: BSD-2-Clause
//
// A small pair that a GPU measures before it measures anything else: one that computes other bits than the reference loops is refused.
#ifndef EXACTVQ_KERNELS_GPU_SELF_CHECK_H
#define EXACTVQ_KERNELS_GPU_SELF_CHECK_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/backend.h"

namespace exactvq::gpu {

class SelfCheck {
public:
    // With frames in system memory, of the session's depth, and with all kernels.
    explicit SelfCheck(const BackendConfig& session);

    const BackendConfig& config() const { return config_; }
    // Measures the pair. Throws Error.
    void run(Backend& backend) const;

private:
    BackendConfig config_;
    std::vector<uint16_t> samples_[3][2];
    FramePair pair_;
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_SELF_CHECK_H
