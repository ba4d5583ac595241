#pragma once

#include <cstdint>
#include <memory>
#include <vector>
#include <minnow/tensor/storage.h>

namespace minnow::detail {

/// The memory of an operand, and its version when an operation used it.
struct UsedMemory {
  std::weak_ptr<Storage> storage;
  std::uint32_t version;
};

/// If it is not null, dispatch() adds the operands of this thread's operations.
extern constinit thread_local std::vector<UsedMemory>* used_memory;

}  // namespace minnow::detail
