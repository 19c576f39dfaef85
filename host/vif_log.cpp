// SPDX-License-Identifier: BSD-2-Clause
#include "host/vif_log.h"

#include <array>

#include "host/libm.h"

namespace exactvq {

const uint8_t* vif_log_table() {
    static const auto table = [] {
        std::array<uint8_t, kVifLogEntries + kVifLogPadding> excess{};
        for (uint32_t m = 0; m < kVifLogEntries; ++m) {
            // Spec 1.3: rounded to binary32 first (38 entries depend on it), then to whole units, halves away from zero.
            const float log = static_cast<float>(libm::log2(static_cast<double>(kVifLogEntries + m)));
            const uint32_t units = static_cast<uint32_t>(static_cast<double>(log) * 2048.0 + 0.5);
            excess[m] = static_cast<uint8_t>(units - (15 << 11) - (m >> 4));
        }
        return excess;
    }();
    return table.data();
}

}  // namespace exactvq
