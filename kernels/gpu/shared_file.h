// SPDX-License-Identifier: BSD-2-Clause
//
// Descriptors of buffers that drivers share.
#ifndef EXACTVQ_KERNELS_GPU_SHARED_FILE_H
#define EXACTVQ_KERNELS_GPU_SHARED_FILE_H

#include <cstdint>
#include <utility>

namespace exactvq::gpu {

// What two descriptors of one file have in common.
struct FileIdentity {
    uint64_t device = 0, inode = 0;
    bool unique = false;  // no other file has it. (Before Linux 5.3 all dma-bufs have one inode.)

    bool operator==(const FileIdentity&) const = default;
};

// Throws Error, EXACTVQ_ERROR_UNSUPPORTED, if it is not a descriptor.
FileIdentity identify(int fd);

// A descriptor of one's own for the same file.
class SharedFile {
public:
    explicit SharedFile(int fd);  // throws Error, EXACTVQ_ERROR_UNSUPPORTED: there are no more descriptors
    ~SharedFile();
    SharedFile(const SharedFile&) = delete;
    SharedFile& operator=(const SharedFile&) = delete;

    int get() const { return fd_; }

private:
    const int fd_;
};

// A descriptor that is handed to a driver of which it is not known whether, and when, it closes it: HIP does not say. Closed at the end if it is still ours.
class LentFile {
public:
    LentFile() = default;
    explicit LentFile(int fd);  // lends a duplicate; throws as SharedFile
    ~LentFile();
    LentFile(LentFile&& other) noexcept { swap(other); }
    LentFile& operator=(LentFile&& other) noexcept {
        swap(other);
        return *this;
    }

    int get() const { return fd_; }
    // Call after whatever may have closed it, before anything else opens files: asks whether it is still ours.
    void look();

private:
    void swap(LentFile& other) noexcept {
        std::swap(identity_, other.identity_);
        std::swap(fd_, other.fd_);
    }
    FileIdentity identity_;
    int fd_ = -1;
};

// Waits until the fences of the buffer's producer say that it is written. Throws Error if that takes longer than a decoder ever does.
void wait_until_written(int fd, int milliseconds = 5000);

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_SHARED_FILE_H
