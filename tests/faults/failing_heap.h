#pragma once

#include <cstddef>

namespace test {

/// Which allocations fail: the nth alone, or all from the nth on.
enum class Shortage { once, lasting };

/// Makes operator new of this process fail, and the memory of tensors, in all threads, until it is destroyed.  What
/// oneDNN and OpenMP take for themselves is not counted.
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
