// SPDX-License-Identifier: BSD-2-Clause
#include "host/vmaf_model_path.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "host/error.h"
#include "host/text.h"

namespace exactvq {

std::vector<std::string> vmaf_model_folders() {
    std::vector<std::string> folders;
    if (const char* list = std::getenv("EXACTVQ_MODEL_PATH"))
        for (std::string_view folder : split(list, ':'))
            if (!folder.empty()) folders.emplace_back(folder);
    Dl_info library;  // of a program without '/' in its name nobody knows the folder
    if (dladdr(reinterpret_cast<const void*>(&vmaf_model_folders), &library) && library.dli_fname && std::strchr(library.dli_fname, '/')) {
        std::error_code error;
        const std::filesystem::path folder = std::filesystem::absolute(library.dli_fname, error).parent_path();
        if (!error)
            for (const auto& place : {folder, folder / "model", folder / "../share/model"}) folders.push_back(place.lexically_normal().string());
    }
    for (const char* folder : {"/usr/local/share/model", "/usr/local/share/libvmaf/model", "/usr/share/model", "/usr/share/libvmaf/model"}) folders.emplace_back(folder);
    return folders;
}

std::string find_vmaf_model(const std::string& model) {
    constexpr std::string_view kExtension = ".json";
    const bool extension = model.size() >= kExtension.size() && model.compare(model.size() - kExtension.size(), model.npos, kExtension) == 0;
    if (extension || model.find('/') != model.npos) return model;
    if (model.empty()) throw Error(EXACTVQ_ERROR_ARGUMENT, "the name of the VMAF model is empty: it is a name such as vmaf_v0.6.1, or the path of a file");
    const std::string name = model + ".json";
    std::string looked;
    for (const std::string& folder : vmaf_model_folders()) {
        const std::filesystem::path path = std::filesystem::path(folder) / name;
        std::error_code error;
        if (std::filesystem::is_regular_file(path, error)) return path.string();
        looked += (looked.empty() ? "" : ", ") + folder;
    }
    throw Error(EXACTVQ_ERROR_ARGUMENT, "there is no VMAF model " + quote(model) + ": no " + quote(name) + " in " + looked +
                                            "; get it with scripts/fetch-models FOLDER and set EXACTVQ_MODEL_PATH=FOLDER, or give the path of a file");
}

}  // namespace exactvq
