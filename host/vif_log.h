// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXACTVQ_HOST_VIF_LOG_H
#define EXACTVQ_HOST_VIF_LOG_H

#include <cstdint>

#include "kernels/common/vif.h"

namespace exactvq {

// The table for vif_log(): kVifLogEntries entries, and kVifLogPadding bytes behind them that may be read (vectors load 32 bits an entry). Always there.
inline constexpr uint32_t kVifLogPadding = 3;
const uint8_t* vif_log_table();

}  // namespace exactvq

#endif  // EXACTVQ_HOST_VIF_LOG_H
