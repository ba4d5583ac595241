#pragma once

#include <cstddef>

namespace test {

/// Which allocations fail: the nth alone, or all from the nth on.
enum class Shortage { once, lasting };

/// Makes operator new and the allocation of tensors fail, in all threads, until it is destroyed.  Allocations of oneDNN
/// and OpenMP are not counted.
class FailingHeap {
 public:
  [[nodiscard]] FailingHeap(std::size_t nth, Shortage shortage);
  ~FailingHeap();
  FailingHeap(const FailingHeap&) = delete;
  FailingHeap& operator=(const FailingHeap&) = delete;

  /// Whether an allocation has failed.
  bool has_failed() const;
};

}  // namespace test
