// oneDNN with little address space.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>
#include <minnow/tensor/internal.h>
#include "cpu_support.h"
#include "sanitizer.h"

namespace minnow::test {
namespace {

/// Runs convolutions of new shapes with a limit of `megabytes` above the memory in use.  Returns 0 if they ran or threw
/// OutOfMemoryError.
int convolve_within(std::size_t megabytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit = {};
  limit.rlim_cur = limit.rlim_max = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (megabytes << 20);
  ::setrlimit(RLIMIT_AS, &limit);
  set_num_threads(1);
  try {
    for (std::int64_t k = 0; k < 60; ++k) {
      const Tensor x = reals({2, 3, 16 + k, 16}), w = reals({8, 3, 3, 3}), y = blank({2, 8, 14 + k, 14});
      backend().run(calls::Conv2d{x, w, View(), y});
    }
  } catch (const OutOfMemoryError&) { return 0; }
  return 0;
}

TEST(MemoryLimitDeathTest, IsAnErrorAndNoCrash) {
#if defined(MINNOW_TEST_ASAN) || defined(MINNOW_TEST_TSAN)
  GTEST_SKIP() << "a sanitizer reserves the address space";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const auto megabytes : {std::size_t{12}, std::size_t{24}, std::size_t{48}})
    EXPECT_EXIT(std::exit(convolve_within(megabytes)), ::testing::ExitedWithCode(0), "") << megabytes;
}

}  // namespace
}  // namespace minnow::test
