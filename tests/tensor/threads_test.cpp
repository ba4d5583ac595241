#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/threads.h>

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

TEST(ThreadsDeathTest, DefaultIsOpenMpsNumber) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has used no thread yet
  const char* before = std::getenv("OMP_NUM_THREADS");
  const std::string kept = before ? before : "";
  ::setenv("OMP_NUM_THREADS", "5", 1);
  EXPECT_EXIT(std::exit(num_threads()), ::testing::ExitedWithCode(5), "");
  before ? ::setenv("OMP_NUM_THREADS", kept.c_str(), 1) : ::unsetenv("OMP_NUM_THREADS");
}

#ifdef _OPENMP
TEST(ThreadsDeathTest, DefaultIsWithinOpenMpsLimit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::setenv("OMP_THREAD_LIMIT", "1", 1);
  EXPECT_EXIT(std::exit(num_threads()), ::testing::ExitedWithCode(1), "");
  ::unsetenv("OMP_THREAD_LIMIT");
}
#endif

TEST(Threads, RefusesLessThanOneAndMoreThanTheMachineCanUse) {
  const int before = num_threads();
  EXPECT_THROW(set_num_threads(0), ValueError);
  EXPECT_THROW(set_num_threads(-2), ValueError);
  EXPECT_GE(max_threads(), 64);
  EXPECT_THROW(set_num_threads(max_threads() + 1), ValueError);
  EXPECT_THROW(set_num_threads(INT_MAX), ValueError);
  EXPECT_EQ(num_threads(), before);
}

TEST(Threads, DefaultNumber) {
  // OMP_NUM_THREADS, OpenMP's number, its limit, its levels, processors, quota.
  constexpr int kNone = INT_MAX;
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, kNone, 1, 8, 0}), 8);
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, kNone, 1, 8, 2.5}), 3);
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, kNone, 1, 8, 0.1}), 1);
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, kNone, 1, 8, 100}), 8);
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, kNone, 1, 2, 0}), 2);  // bound to fewer processors since
  EXPECT_EQ(detail::first_num_threads({nullptr, 4, kNone, 1, 8, 2}), 4);  // omp_set_num_threads(4)
  EXPECT_EQ(detail::first_num_threads({"6", 6, kNone, 1, 8, 2}), 6);
  EXPECT_EQ(detail::first_num_threads({"12,2", 12, kNone, 1, 8, 0}), 12);
  EXPECT_EQ(detail::first_num_threads({"abc", 8, kNone, 1, 8, 2}), 2);
  EXPECT_EQ(detail::first_num_threads({"", 8, kNone, 1, 8, 2}), 2);
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, 3, 1, 8, 0}), 3);
  EXPECT_EQ(detail::first_num_threads({"6", 6, 4, 1, 8, 0}), 4);
  EXPECT_EQ(detail::first_num_threads({nullptr, 8, kNone, 0, 8, 0}), 1);
  EXPECT_EQ(detail::first_num_threads({"1000000", 1000000, kNone, 1, 8, 0}), max_threads());
}

/// Files in a temporary folder.
class CpuQuota : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "minnow-quota-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  double quota() const { return detail::cpu_quota(root_); }

 private:
  std::string root_;
};

TEST_F(CpuQuota, NoneWhereNothingCanBeRead) {
  EXPECT_EQ(quota(), 0);
  write("/proc/self/cgroup", "nonsense\n::\n0::/\n0:\n");
  EXPECT_EQ(quota(), 0);
  for (const char* text : {"", "max 100000\n", "max", "abc 100000", "100000", "100000 0", "-1 100000", "0 100000"}) {
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota(), 0) << text;
  }
}

TEST_F(CpuQuota, UnifiedTakesTheSmallestOfTheGroupsAround) {
  write("/proc/self/cgroup", "0::/user.slice/job\n");
  write("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("/sys/fs/cgroup/user.slice/cpu.max", "350000 100000\n");
  EXPECT_EQ(quota(), 3.5);
  write("/sys/fs/cgroup/user.slice/job/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
}

TEST_F(CpuQuota, UnifiedInAContainer) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST_F(CpuQuota, FirstVersion) {
  write("/proc/self/cgroup", "12:cpuset:/a\n4:cpu,cpuacct:/docker/1234\n1:name=systemd:/docker/1234\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");  // the container's own group is mounted here
  EXPECT_EQ(quota(), 2);
  write("/sys/fs/cgroup/cpu/docker/1234/cpu.cfs_quota_us", "120000\n");
  write("/sys/fs/cgroup/cpu/docker/1234/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1.2);
}

}  // namespace
}  // namespace minnow
