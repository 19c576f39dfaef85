// SPDX-License-Identifier: BSD-2-Clause
//
// Buffers of other drivers (Linux dma-buf) that a runtime has imported. A decoder's surfaces come back again and again, each time under a new descriptor: a buffer
// is known by its inode, and the descriptor that is kept here sees to it that no other buffer gets the same one.
#ifndef EXACTVQ_KERNELS_GPU_IMPORTS_H
#define EXACTVQ_KERNELS_GPU_IMPORTS_H

#include <algorithm>
#include <list>
#include <memory>

#include "host/backend.h"
#include "kernels/gpu/shared_file.h"

namespace exactvq::gpu {

// One thread at a time.
template <class Runtime>
class Imports {
public:
    using Address = typename Runtime::Address;

    static constexpr size_t kKept = 64;  // more than decoders' pools have

    // A buffer as the device sees it, for as long as somebody holds this.
    class Buffer {
    public:
        Buffer(Runtime& runtime, const SharedFrame::Buffer& buffer, const FileIdentity& identity)
            : runtime_(runtime), file_(buffer.fd), identity_(identity), size_(buffer.size), memory_(runtime.import_shared(file_.get(), buffer.size)) {}
        ~Buffer() {
            try {
                const typename Runtime::Scope scope(runtime_);
                runtime_.release_shared(memory_);
            } catch (...) {  // the device failed: it frees what it held
            }
        }
        Buffer(const Buffer&) = delete;
        Buffer& operator=(const Buffer&) = delete;

        Address address() const { return memory_.address; }
        bool is(const FileIdentity& identity, uint64_t size) const { return identity_ == identity && size_ == size; }

    private:
        Runtime& runtime_;
        const SharedFile file_;
        const FileIdentity identity_;
        const uint64_t size_;
        typename Runtime::SharedMemory memory_;
    };

    // Throws Error. Needs the runtime's scope.
    std::shared_ptr<const Buffer> get(Runtime& runtime, const SharedFrame::Buffer& wanted) {
        const FileIdentity identity = identify(wanted.fd);
        if (!identity.unique) return std::make_shared<const Buffer>(runtime, wanted, identity);
        const auto known = std::find_if(kept_.begin(), kept_.end(), [&](const auto& buffer) { return buffer->is(identity, wanted.size); });
        if (known != kept_.end()) {
            kept_.splice(kept_.begin(), kept_, known);
            return kept_.front();
        }
        kept_.push_front(std::make_shared<const Buffer>(runtime, wanted, identity));
        if (kept_.size() > kKept) kept_.pop_back();
        return kept_.front();
    }

private:
    std::list<std::shared_ptr<const Buffer>> kept_;  // the last used first
};

}  // namespace exactvq::gpu

#endif  // EXACTVQ_KERNELS_GPU_IMPORTS_H
