// SPDX-License-Identifier: BSD-2-Clause
//
// Where the file of a VMAF model is.
#ifndef EXACTVQ_HOST_VMAF_MODEL_PATH_H
#define EXACTVQ_HOST_VMAF_MODEL_PATH_H

#include <string>
#include <vector>

namespace exactvq {

// Folders with model files, the first to look into first: those of $EXACTVQ_MODEL_PATH, those beside the library, those of the system.
std::vector<std::string> vmaf_model_folders();

// `model` is a path (it has a '/' or ends in ".json") or a name such as vmaf_v0.6.1, the file NAME.json in one of the folders. Throws Error if there is none.
std::string find_vmaf_model(const std::string& model);

}  // namespace exactvq

#endif  // EXACTVQ_HOST_VMAF_MODEL_PATH_H
