// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXACTVQ_KERNELS_GPU_COPY_ROW_H
#define EXACTVQ_KERNELS_GPU_COPY_ROW_H

#include <cstddef>
#include <cstdint>

namespace exactvq::gpu {

// memcpy() to memory that the GPU reads next, around the caches. `to` is a multiple of 64.
void copy_row(uint8_t* to, const uint8_t* from, size_t bytes);

// What copy_row() wrote on this thread is visible to whoever learns of it after this call.
void finish_copies();

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_COPY_ROW_H
