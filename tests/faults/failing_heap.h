#pragma once

#include <cstddef>
#include <new>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/memory.h>

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

/// Makes the nth allocation of the work fail; returns whether it threw, and sets whether it came so far.
template <class Work> bool throws(std::size_t n, Shortage shortage, bool& failed, const Work& work) {
  minnow::empty_cache(minnow::Device());
  const FailingHeap heap(n, shortage);
  bool threw = false;
  try {
    work();
  } catch (const std::bad_alloc&) { threw = true; } catch (const minnow::OutOfMemoryError&) {
    threw = true;
  }
  failed = heap.has_failed();
  return threw;
}

}  // namespace test
