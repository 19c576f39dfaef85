// SPDX-License-Identifier: BSD-2-Clause
//
// Reads libvmaf's JSON model files: single models and collections (a model and its bootstrap ensemble).
#ifndef EXACTVQ_HOST_VMAF_MODEL_READER_H
#define EXACTVQ_HOST_VMAF_MODEL_READER_H

#include <string>
#include <string_view>

#include "host/vmaf_model.h"

namespace exactvq {

struct VmafFlags {
    bool disable_clip = false;       // scores beyond the model's range stay as they are
    bool enable_transform = false;   // the transform counts although the file does not enable it (phone model); without one in the file nothing changes
    bool disable_transform = false;  // overrides the file and enable_transform
};

// Both throw Error, one sentence that names the file. The second takes a file's text.
VmafModel read_vmaf_model(const std::string& path, const VmafFlags& flags = {});
VmafModel parse_vmaf_model(std::string_view text, const std::string& path, const VmafFlags& flags = {});

}  // namespace exactvq

#endif  // EXACTVQ_HOST_VMAF_MODEL_READER_H
