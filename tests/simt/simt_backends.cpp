// SPDX-License-Identifier: BSD-2-Clause
#include "tests/simt/simt_backends.h"

#include "kernels/gpu/backend.h"
#include "tests/simt/simt_runtime.h"

namespace exactvq::test {
namespace {

template <uint32_t kWave>
BackendUnderTest simt_backend(const gpu::SimtOptions& options) {
    return {"simt wave " + std::to_string(kWave) + " seed " + std::to_string(options.seed), [options](BackendConfig config) -> std::unique_ptr<Backend> {
                gpu::simt_default_options() = options;
                return std::make_unique<gpu::GpuBackend<gpu::SimtRuntime<kWave>>>(config);
            }};
}

}  // namespace

std::vector<BackendUnderTest> simt_backends(const gpu::SimtOptions& options) { return {simt_backend<32>(options), simt_backend<64>(options)}; }

}  // namespace exactvq::test
