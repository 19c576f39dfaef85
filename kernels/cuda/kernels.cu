// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cuda/platform.h"
#include "kernels/gpu/entry_points.h"
