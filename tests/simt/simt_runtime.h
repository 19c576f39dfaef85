// SPDX-License-Identifier: BSD-2-Clause
//
// The runtime of kernels/gpu/runtime.h on the CPU: all kernels, on fibers, in waves of 32 or 64.
#ifndef EXACTVQ_TESTS_SIMT_SIMT_RUNTIME_H
#define EXACTVQ_TESTS_SIMT_SIMT_RUNTIME_H

#ifndef EXACTVQ_SIMT_KERNEL_LIST
#define EXACTVQ_SIMT_KERNEL_LIST "kernels/gpu/kernel_list.h"
#endif
#include EXACTVQ_SIMT_KERNEL_LIST
#include "tests/simt/simt_device.h"

namespace exactvq::gpu {

template <uint32_t kWave>
class SimtRuntime : public SimtDevice {
public:
    explicit SimtRuntime(const BackendConfig& config, const SimtOptions& options = simt_default_options()) : SimtDevice(config, options, kWave) {}

    void launch(Stream stream, KernelId kernel, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size);
};

extern template class SimtRuntime<32>;
extern template class SimtRuntime<64>;

}  // namespace exactvq::gpu

#endif  // EXACTVQ_TESTS_SIMT_SIMT_RUNTIME_H
