#pragma once

#include <cstddef>
#include <utility>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow::cpu {

/// Host memory for a scope, from the allocator of tensors.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes), data_(bytes ? cpu_allocator().allocate(bytes) : nullptr) {}
  ~Buffer() {
    if (data_) cpu_allocator().deallocate(data_, bytes_);
  }
  Buffer(Buffer&& other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace minnow::cpu
