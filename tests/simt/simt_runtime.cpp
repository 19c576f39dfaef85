// SPDX-License-Identifier: BSD-2-Clause
#include "tests/simt/simt_runtime.h"

#include <cstring>
#include <memory>

#include "host/error.h"
#include "tests/simt/simt_platform.h"

namespace exactvq::gpu {
namespace {

using RunKernel = void (*)(simt::Launch launch, const void* arguments);

template <class Kernel, uint32_t kWave>
void run(simt::Launch launch, const void* arguments) {
    run_kernel<Kernel, kWave>(launch, *static_cast<const typename Kernel::Arguments*>(arguments));
}

template <uint32_t kWave>
constexpr RunKernel kRun[] = {
#define EXACTVQ_SIMT_RUN(K) run<K, kWave>,
    EXACTVQ_GPU_KERNELS(EXACTVQ_SIMT_RUN)
#undef EXACTVQ_SIMT_RUN
};

struct alignas(16) ArgumentBytes {
    uint8_t bytes[4096];
};

}  // namespace

template <uint32_t kWave>
void SimtRuntime<kWave>::launch(Stream stream, KernelId kernel, uint32_t x, uint32_t y, uint32_t z, const void* arguments, size_t size) {
    const KernelInfo& info = kernel_info(kernel);
    const auto copy = std::make_shared<ArgumentBytes>();  // now: the caller's may change before the kernel runs
    if (size != info.arguments)
        throw Error(EXACTVQ_ERROR_DEVICE,
                    description() + ": " + info.name + " takes " + std::to_string(info.arguments) + " bytes of arguments, not " + std::to_string(size));
    std::memcpy(copy->bytes, arguments, size);
    simt::Launch launch;
    launch.kernel = info.name;
    launch.blocks = {x, y, z};
    SimtDevice::launch(stream, info.name, [launch, copy, body = kRun<kWave>[static_cast<uint32_t>(kernel)]](uint64_t seed, uint32_t workers) mutable {
        launch.seed = seed;
        launch.workers = workers;
        body(launch, copy->bytes);
    });
}

template class SimtRuntime<32>;
template class SimtRuntime<64>;

}  // namespace exactvq::gpu
