// SPDX-License-Identifier: BSD-2-Clause
#include "host/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "host/error.h"

namespace exactvq {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
    throw Error(EXACTVQ_ERROR_IO, "cannot write the log '" + path + "': " + reason);
}

[[noreturn]] void fail(const std::string& path, int error) { fail(path, std::strerror(error)); }

// What this process does and did with a path.
struct Written {
    bool open = false;
    struct stat file {};  // that was finished last; inode 0: none
};

struct Registry {
    std::mutex mutex;
    std::map<std::string, Written> paths;
};

Registry& registry() {
    static Registry* const all = new Registry;  // never destroyed: sessions may be closed at exit
    return *all;
}

// The path without links, also of a file that is not there yet. A folder that is not there is left for open() to report.
std::string canonical(const std::string& path) {
    std::error_code error;
    std::filesystem::path file(path);
    for (int links = 0; links < 40 && std::filesystem::is_symlink(file, error); ++links)  // also one that leads to no file
        file = file.parent_path() / std::filesystem::read_symlink(file, error);
    if (std::filesystem::is_symlink(file, error)) fail(path, ELOOP);
    const std::filesystem::path folder = std::filesystem::canonical(file.has_parent_path() ? file.parent_path() : ".", error);
    return error ? path : (folder / file.filename()).string();
}

std::string part_name(const std::string& path, unsigned part) {
    const std::filesystem::path whole(path);
    return (whole.parent_path() / whole.stem()).string() + ".part" + std::to_string(part) + whole.extension().string();
}

// Ends a claim. Nothing is known of what was not finished.
void let_go(const std::string& path) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const auto found = all.paths.find(path);
    found->second.open = false;
    if (found->second.file.st_ino == 0) all.paths.erase(found);
}

// Whether what lies under the path is what this process wrote there. A file that was removed may have left its inode to another; times are not compared, as not every file system keeps them as they were.
bool is_ours(const std::string& path, const Written& written) {
    const struct stat& ours = written.file;
    struct stat info;
    return ours.st_ino != 0 && stat(path.c_str(), &info) == 0 && info.st_dev == ours.st_dev && info.st_ino == ours.st_ino && info.st_size == ours.st_size;
}

}  // namespace

LogFile::LogFile(const std::string& path, bool keep_parts) : path_(path) {
    if (path == "-") {
        fd_ = dup(STDOUT_FILENO);
        if (fd_ < 0) fail(path, errno);
        return;
    }
    struct stat info;
    const auto starts_with = [&path](const char* folder) { return path.rfind(folder, 0) == 0; };
    const bool open_file = starts_with("/dev/fd/") || starts_with("/dev/std") || starts_with("/proc/");
    if (stat(path.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode)) fail(path, EISDIR);
        if (!S_ISREG(info.st_mode) || open_file) {  // written directly: pipes, devices, open files
            fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
            if (fd_ < 0) fail(path, errno);
            return;
        }
    }
    {
        Registry& all = registry();
        const std::lock_guard lock(all.mutex);
        const std::string first = canonical(path);
        std::string name = first;
        for (unsigned part = 2; keep_parts && is_ours(name, all.paths[name]); ++part) name = part_name(first, part);
        Written& written = all.paths[name];
        if (written.open) fail(path, "it is being written already, by another filter or session of this process: give each a name of its own");
        is_part_ = name != first;
        path_ = std::move(name);
        written.open = claimed_ = true;
    }
    try {
        const bool exists = stat(path_.c_str(), &info) == 0;
        if (exists && S_ISDIR(info.st_mode)) fail(path_, EISDIR);  // a further part's name may be one
        if (exists && access(path_.c_str(), W_OK) != 0) fail(path_, errno);
        open_beside();
        if (exists && fchmod(fd_, info.st_mode & 07777) != 0) {
            // The old file's permissions are kept where the file system has any.
        }
    } catch (...) {
        let_go(path_);
        throw;
    }
}

LogFile::LogFile(LogFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      claimed_(std::exchange(other.claimed_, false)),
      is_part_(other.is_part_),
      fd_(std::exchange(other.fd_, -1)) {}

void LogFile::open_beside() {
    const size_t slash = path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path_.substr(0, slash + 1);
    for (int n = 0; fd_ < 0; ++n) {
        temporary_ = folder + ".exactvq" + std::to_string(getpid()) + "." + std::to_string(n);
        fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd_ < 0 && errno != EEXIST) {
            const int error = errno;
            temporary_.clear();
            fail(path_, error);
        }
    }
}

LogFile::~LogFile() {
    if (fd_ >= 0) close(fd_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
    if (claimed_) let_go(path_);
}

void LogFile::write(std::string_view text) {
    for (size_t written = 0; written < text.size();) {
        const ssize_t n = ::write(fd_, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(path_, errno);
        written += static_cast<size_t>(n);
    }
}

void LogFile::finish() {
    struct stat info {};
    if (fstat(fd_, &info) != 0) info = {};
    const int result = close(fd_);
    fd_ = -1;
    if (result != 0) fail(path_, errno);
    if (temporary_.empty()) return;
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
    temporary_.clear();
    const std::lock_guard lock(registry().mutex);
    registry().paths.find(path_)->second.file = info;
}

}  // namespace exactvq
