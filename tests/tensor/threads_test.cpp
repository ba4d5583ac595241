#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <minnow/tensor/error.h>
#include <minnow/tensor/threads.h>

namespace minnow {
namespace {

TEST(Threads, SettingIsSeenByAllThreadsAndSerialRegionsByOne) {
  const int before = num_threads();
  EXPECT_GE(before, 1);
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  {
    const SerialRegion outer;
    {
      const SerialRegion inner;
      EXPECT_EQ(num_threads(), 1);
    }
    EXPECT_EQ(num_threads(), 1);
    int other = 0;
    std::thread([&] { other = num_threads(); }).join();
    EXPECT_EQ(other, 3);
  }
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(before);
}

TEST(ThreadsDeathTest, BeginWithTheNumberOfOpenMp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has used no thread yet
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  ::setenv("OMP_NUM_THREADS", "5", 1);
  EXPECT_EXIT(std::exit(num_threads()), ::testing::ExitedWithCode(5), "");
  before ? ::setenv("OMP_NUM_THREADS", kept.c_str(), 1) : ::unsetenv("OMP_NUM_THREADS");
}

TEST(Threads, RefusesLessThanOne) {
  const int before = num_threads();
  EXPECT_THROW(set_num_threads(0), ValueError);
  EXPECT_THROW(set_num_threads(-2), ValueError);
  EXPECT_EQ(num_threads(), before);
}

}  // namespace
}  // namespace minnow
