#pragma once

#include <cstddef>

namespace test {

/// Statistics of malloc, over all threads.
struct HeapUse {
  std::size_t calls = 0;
  std::size_t largest = 0;  ///< bytes of the largest block
};

/// Whether calls are counted here: with glibc, and without a sanitizer that has replaced malloc already.
bool heap_is_counted();
/// Resets the statistics.
void reset_heap();
HeapUse heap_use();

}  // namespace test
