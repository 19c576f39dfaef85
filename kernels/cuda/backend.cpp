// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/cuda/runtime.h"
#include "kernels/gpu/backend.h"

namespace exactvq {

std::unique_ptr<Backend> make_cuda_backend(const BackendConfig& config) { return std::make_unique<gpu::GpuBackend<gpu::CudaRuntime>>(config); }

}  // namespace exactvq
