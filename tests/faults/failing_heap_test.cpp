// operator new, made to fail.

#include "faults/failing_heap.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <limits>
#include <link.h>
#include <memory>
#include <new>
#include <string>
#include <vector>
#include <minnow/tensor/runtime/threads.h>
#include "sanitizer.h"

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
std::atomic<std::int64_t> left{kNever};  // allocations until the first that fails
std::atomic<bool> lasting{false}, failed{false};

struct Range {
  std::uintptr_t begin, end;
};
constexpr std::size_t kMostRanges = 32;
Range ranges[kMostRanges];
std::size_t range_count = 0;

/// Libraries that may not survive a failed allocation.
const bool ranges_found = [] {
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {
        const std::string name = info->dlpi_name;
        if (name.find("dnnl") == std::string::npos && name.find("omp") == std::string::npos) return 0;
        for (int i = 0; i < info->dlpi_phnum && range_count < kMostRanges; ++i)
          if (const auto& part = info->dlpi_phdr[i]; part.p_type == PT_LOAD)
            ranges[range_count++] = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
        return 0;
      },
      nullptr);
  return true;
}();

bool fails(const void* caller) {
  if (left.load(std::memory_order_relaxed) == kNever || !ranges_found) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < range_count; ++i)
    if (address >= ranges[i].begin && address < ranges[i].end) return false;
  const std::int64_t before = left.fetch_sub(1, std::memory_order_relaxed);
  if (before > 0 || (before < 0 && !lasting.load(std::memory_order_relaxed))) return false;
  failed = true;
  return true;
}

void* take(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* block = nullptr;
  if (!fails(caller)) {
    bytes = std::max<std::size_t>(bytes, 1);
    block = alignment <= alignof(std::max_align_t)
                ? std::malloc(bytes)
                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

// Not inlined: GCC would take the free() in a delete for one of a block from new.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return take(bytes, 1, __builtin_return_address(0)); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return take(bytes, 1, __builtin_return_address(0)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return take(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
// A sanitizer replaces these too; the deletes below could not distinguish its blocks from ours.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
}
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return fails(__builtin_return_address(0)) ? nullptr : std::malloc(std::max<std::size_t>(bytes, 1));
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

#if defined(__GLIBC__) && !defined(MINNOW_TEST_ASAN) && !defined(MINNOW_TEST_TSAN)
extern "C" {
void* __libc_memalign(std::size_t, std::size_t);
void* __libc_calloc(std::size_t, std::size_t);

/// The memory of tensors.
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, bytes);
}
/// The list of a thread's variables that are to be destroyed: glibc ends the program where it cannot grow.
void* calloc(std::size_t count, std::size_t bytes) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, bytes);
}
}
#endif

namespace test {

FailingHeap::FailingHeap(std::size_t nth, Shortage shortage) {
  // LLVM's OpenMP allocates when it is first asked something, partly in the C++ library, and keeps its lock if that
  // throws.
  static_cast<void>(minnow::num_threads());
  lasting = shortage == Shortage::lasting;
  failed = false;
  left = static_cast<std::int64_t>(nth);
}

FailingHeap::~FailingHeap() { left = kNever; }

bool FailingHeap::has_failed() const { return failed; }

TEST(FailingHeap, FailsAtTheGivenAllocation) {
  const auto allocations_until_failure = [](std::size_t nth, Shortage shortage) {
    const FailingHeap heap(nth, shortage);
    std::string outcome;
    outcome.reserve(15);  // in place
    for (int i = 0; i < 4; ++i) {
      try {
        const auto block = std::make_unique<std::vector<int>>(100);
        outcome += block->data() != nullptr ? '.' : '?';
      } catch (const std::bad_alloc&) { outcome += 'x'; }
    }
    EXPECT_TRUE(heap.has_failed());
    return outcome;
  };
  EXPECT_EQ(allocations_until_failure(2, Shortage::once), ".x..");
  EXPECT_EQ(allocations_until_failure(3, Shortage::once), ".x..") << "the second of a pair";
  EXPECT_EQ(allocations_until_failure(2, Shortage::lasting), ".xxx");
}

}  // namespace test
