// SPDX-License-Identifier: BSD-2-Clause
//
// Every launch leaves a mark that the host checks with the results, so that a launch that the driver lost is an error and not a score.
#ifndef EXACTVQ_KERNELS_COMMON_GPU_MARK_H
#define EXACTVQ_KERNELS_COMMON_GPU_MARK_H

#include "kernels/common/gpu.h"

namespace exactvq::gpu {

struct Mark {
    uint64_t* address = nullptr;  // of this launch
    uint64_t value = 0;           // of this pair; another one each time
};

template <class P>
EXACTVQ_DEVICE void leave(const Mark& mark) {
    if (P::thread() == 0 && P::block_x() == 0 && P::block_y() == 0 && P::block_z() == 0) *mark.address = mark.value;
}

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_COMMON_GPU_MARK_H
