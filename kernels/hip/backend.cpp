// SPDX-License-Identifier: BSD-2-Clause
#include <mutex>
#include <set>

#include "kernels/gpu/backend.h"
#include "kernels/gpu/self_check.h"
#include "kernels/hip/runtime.h"

namespace exactvq {

// The project's tests have not seen every GPU: the first session of a process on one compares a test picture of its depth with the reference loops.
std::unique_ptr<Backend> make_hip_backend(const BackendConfig& config) {
    static std::mutex mutex;
    static std::set<std::pair<int32_t, uint32_t>> checked;  // device, depth
    using HipBackend = gpu::GpuBackend<gpu::HipRuntime>;
    auto backend = std::make_unique<HipBackend>(config);
    const std::lock_guard lock(mutex);
    if (const std::pair key(config.device, config.geometry.depth); !checked.contains(key)) {
        const gpu::SelfCheck check(config);
        HipBackend small(check.config());
        check.run(small);
        checked.insert(key);
    }
    return backend;
}

}  // namespace exactvq
