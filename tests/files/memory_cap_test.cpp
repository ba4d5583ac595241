// The limit of memory under which files are refused.

#include <gtest/gtest.h>
#include <new>

#include "hostile.h"

#ifdef MINNOW_TEST_ASAN
// The sanitizer asks for it: a larger allocation fails as it does in other programs.
extern "C" const char* __asan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "max_allocation_size_mb=64:allocator_may_return_null=1";
}
#endif

namespace minnow {
namespace {

#ifndef MINNOW_TEST_TSAN
/// Not a new-expression: compilers leave out those whose result is not used.
void allocate(std::size_t bytes) {
  void* (*volatile take)(std::size_t) = [](std::size_t n) { return ::operator new(n); };
  ::operator delete(take(bytes));
}

TEST(MemoryCap, AnAllocationAboveItFails) {
  const test::MemoryCap cap;
  EXPECT_THROW(allocate(2 * test::kMostMemory), std::bad_alloc);
  EXPECT_NO_THROW(allocate(test::kMostMemory / 4));
}
#endif

}  // namespace
}  // namespace minnow
