// SPDX-License-Identifier: BSD-2-Clause
#include "kernels/gpu/shared_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "host/error.h"

namespace exactvq::gpu {
namespace {

constexpr auto kAnonymousInodes = 0x09041934;  // ANON_INODE_FS_MAGIC

[[noreturn]] void fail(const char* what) { throw Error(EXACTVQ_ERROR_UNSUPPORTED, std::string(what) + ": " + strerror(errno)); }

int duplicate(int fd) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) fail("a dma-buf's descriptor cannot be duplicated");
    return copy;
}

}  // namespace

FileIdentity identify(int fd) {
    struct stat file;
    struct statfs system;
    if (fstat(fd, &file) < 0 || fstatfs(fd, &system) < 0) fail("a dma-buf cannot be looked at");
    return {file.st_dev, file.st_ino, system.f_type != kAnonymousInodes};
}

SharedFile::SharedFile(int fd) : fd_(duplicate(fd)) {}
SharedFile::~SharedFile() { close(fd_); }

LentFile::LentFile(int fd) : identity_(identify(fd)), fd_(duplicate(fd)) {}

void LentFile::look() {
    struct stat file;
    if (fd_ < 0 || (fstat(fd_, &file) == 0 && file.st_dev == identity_.device && file.st_ino == identity_.inode)) return;
    fd_ = -1;
}

LentFile::~LentFile() {
    look();
    if (fd_ >= 0) close(fd_);
}

void wait_until_written(int fd, int milliseconds) {
    pollfd file{fd, POLLIN, 0};
    int ready;
    do ready = poll(&file, 1, milliseconds);
    while (ready < 0 && errno == EINTR);
    if (ready == 0) throw Error(EXACTVQ_ERROR_DEVICE, "a dma-buf is still being written after " + std::to_string(milliseconds) + " ms: its driver has failed");
}

}  // namespace exactvq::gpu
