// SPDX-License-Identifier: BSD-2-Clause
#if defined(__CUDACC__)  // tests/hip-on-cuda
#include "kernels/cuda/platform.h"
#else
#include "kernels/hip/platform.h"
#endif
#include "kernels/gpu/entry_points.h"
