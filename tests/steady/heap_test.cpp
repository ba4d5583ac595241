// Counts malloc and related functions, which operator new, oneDNN and OpenMP call too.

#include "steady/heap.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <memory>

#include "sanitizer.h"

#if defined(__GLIBC__) && !defined(MINNOW_TEST_ASAN) && !defined(MINNOW_TEST_TSAN)
#define MINNOW_TEST_COUNTS_HEAP
#endif

namespace {

std::atomic<std::size_t> calls{0}, largest{0};

[[maybe_unused]] void count(std::size_t bytes) noexcept {
  calls.fetch_add(1, std::memory_order_relaxed);
  std::size_t seen = largest.load(std::memory_order_relaxed);
  while (bytes > seen && !largest.compare_exchange_weak(seen, bytes, std::memory_order_relaxed)) {}
}

}  // namespace

#ifdef MINNOW_TEST_COUNTS_HEAP
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) {
  count(bytes);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  count(n * bytes);
  return __libc_calloc(n, bytes);
}
void* realloc(void* block, std::size_t bytes) {
  count(bytes);
  return __libc_realloc(block, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  count(bytes);
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
}
#endif

bool test::heap_is_counted() {
#ifdef MINNOW_TEST_COUNTS_HEAP
  return true;
#else
  return false;
#endif
}

void test::reset_heap() {
  calls = 0;
  largest = 0;
}

test::HeapUse test::heap_use() { return {calls, largest}; }

TEST(Heap, CountsWhatIsAllocated) {
  if (!test::heap_is_counted()) GTEST_SKIP() << "malloc is not counted in this build";
  test::reset_heap();
  const auto block = std::make_unique<char[]>(12345);
  testing::internal::CaptureStdout();  // the block is used, so that the call is not optimized away
  std::printf("%p", static_cast<const void*>(block.get()));
  testing::internal::GetCapturedStdout();
  EXPECT_GE(test::heap_use().calls, 1u);
  EXPECT_GE(test::heap_use().largest, 12345u);
}
