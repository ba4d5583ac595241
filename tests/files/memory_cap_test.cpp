// The limit of memory under which files are refused.

#include <cstdlib>
#include <gtest/gtest.h>

#include "hostile.h"

#ifdef MINNOW_TEST_ASAN
// The sanitizer asks for it: malloc() of more returns nullptr; operator new, which may not, ends the program.
extern "C" const char* __asan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "max_allocation_size_mb=64:allocator_may_return_null=1";
}
#endif

namespace minnow {
namespace {

#if !defined(MINNOW_TEST_TSAN) && !defined(_WIN32)
TEST(MemoryCap, AnAllocationAboveItFails) {
  void* (*volatile allocate)(std::size_t) = std::malloc;  // volatile: compilers leave out what is not used
  const test::MemoryCap cap;
  EXPECT_EQ(allocate(2 * test::kMostMemory), nullptr);
  void* less = allocate(test::kMostMemory / 4);
  EXPECT_NE(less, nullptr);
  std::free(less);
}
#endif

}  // namespace
}  // namespace minnow
