#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace minnow::cpu {

/// Working memory of one operation: this thread's, kept from call to call, so that a steady state allocates
/// nothing. Operations do not nest, so one block a thread is enough.
inline void* scratch(std::size_t bytes) {
  thread_local std::unique_ptr<std::byte[]> block;
  thread_local std::size_t size = 0;
  if (size < bytes) {
    block.reset();
    block = std::make_unique_for_overwrite<std::byte[]>(bytes);
    size = bytes;
  }
  return block.get();
}

}  // namespace minnow::cpu
