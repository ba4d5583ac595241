#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <minnow/tensor/cpu/runtime/per_thread.h>
#include <minnow/tensor/cpu/runtime/team.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::cpu {

/// Scratch memory for one operation.  Each thread keeps one block, so that a steady state does not allocate; operations
/// are not nested.
inline void* scratch(std::size_t bytes) {
  struct Block {
    std::unique_ptr<std::byte[]> data;
    std::size_t size = 0;
  };
  Block& block = per_thread<Block>();
  if (block.size < bytes) {
    block = Block();
    block.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
    block.size = bytes;
  }
  return block.data.get();
}

/// A part of scratch() for each thread of a parallel loop, and a part that they share.  They are allocated before the
/// loop, so that one that has begun does not run out of memory.
class ThreadScratch {
 public:
  explicit ThreadScratch(std::size_t bytes, std::size_t shared_bytes = 0)
      : bytes_(round_up(bytes)), nested_(in_parallel()), parts_(nested_ ? 1 : num_threads()), limit_(parts_) {
    const std::size_t own = bytes_ * static_cast<std::size_t>(parts_);
    if (own + shared_bytes == 0) return;
    auto* data = static_cast<std::byte*>(scratch(own + shared_bytes + kApart));
    data += round_up(reinterpret_cast<std::uintptr_t>(data)) - reinterpret_cast<std::uintptr_t>(data);
    if (bytes != 0) data_ = data;
    if (shared_bytes != 0) shared_ = data + own;
  }

  /// This thread's part; nullptr if 0 bytes were requested.
  void* mine() const {
    if (data_ == nullptr) return nullptr;
    return data_ + bytes_ * static_cast<std::size_t>(nested_ ? 0 : thread_number());
  }
  /// The part that all threads share; nullptr if 0 bytes were requested.
  void* shared() const { return shared_; }

 private:
  /// Processors fetch cache lines in pairs: what two threads write must not be in one.
  static constexpr std::size_t kApart = 128;
  static std::size_t round_up(std::size_t bytes) { return (bytes + kApart - 1) / kApart * kApart; }

  std::size_t bytes_;
  bool nested_;  // the loop then runs on this thread only
  int parts_;
  ThreadLimit limit_;
  std::byte* data_ = nullptr;
  std::byte* shared_ = nullptr;
};

}  // namespace minnow::cpu
