// The threads of parallel loops.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/cpu/runtime/spin_wait.h>
#include "sanitizer.h"

#ifndef _WIN32
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace minnow::cpu {
namespace {

/// Whether a loop over [0, n) on `threads` threads calls each index once.
bool complete(std::int64_t n, int threads) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
  parallel_loop(n, threads, [&](std::int64_t i) { calls[static_cast<std::size_t>(i)].fetch_add(1); });
  for (const auto& c : calls)
    if (c.load() != 1) return false;
  return true;
}

TEST(Team, EachIndexIsCalledOnce) {
  for (const int threads : {1, 2, 3, 17, 2, 5})
    for (const std::int64_t n : {0, 1, 2, 3, 7, 16, 17, 1000, 100003})
      EXPECT_TRUE(complete(n, threads)) << n << " calls, " << threads << " threads";
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(complete(9, 4)) << i;
}

TEST(Team, NumbersAreBelowTheThreadsAndOneThreadsAlone) {
  for (const int threads : {4, 2, 3}) {
    std::vector<std::atomic<int>> users(static_cast<std::size_t>(threads));
    std::atomic<bool> wrong = false;
    for (int repeat = 0; repeat < 200; ++repeat)
      parallel_loop(40, threads, [&](std::int64_t) {
        const int number = thread_number();
        if (number < 0 || number >= threads) {
          wrong = true;
          return;
        }
        if (users[static_cast<std::size_t>(number)].fetch_add(1) != 0) wrong = true;
        users[static_cast<std::size_t>(number)].fetch_sub(1);
      });
    EXPECT_FALSE(wrong) << threads;
    EXPECT_EQ(thread_number(), 0);
  }
}

TEST(Team, LoopsWithinLoopsRunOnTheirThread) {
  std::atomic<int> calls = 0;
  std::atomic<bool> elsewhere = false;
  EXPECT_FALSE(in_parallel());
  parallel_loop(8, 4, [&](std::int64_t) {
    const auto here = std::this_thread::get_id();
    if (!in_parallel()) elsewhere = true;
    parallel_loop(100, 4, [&](std::int64_t) {
      if (std::this_thread::get_id() != here) elsewhere = true;
      ++calls;
    });
  });
  EXPECT_EQ(calls, 800);
  EXPECT_FALSE(elsewhere);
  EXPECT_FALSE(in_parallel());
}

TEST(Team, RethrowsAndStaysUsable) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    EXPECT_THROW(parallel_loop(64, 4,
                               [](std::int64_t i) {
                                 if (i % 16 == 3) throw std::runtime_error("three");
                               }),
                 std::runtime_error);
    ASSERT_TRUE(complete(50, 4));
  }
}

TEST(Team, EachCallingThreadHasItsOwn) {
  std::atomic<bool> right = true;
  {
    std::vector<std::jthread> callers;
    for (int k = 0; k < 6; ++k)
      callers.emplace_back([&] {
        for (int i = 0; i < 100; ++i)
          if (!complete(33, 3)) right = false;
      });
  }
  EXPECT_TRUE(right);
}

TEST(Team, ScratchKeepsItsNumberOfThreads) {
  const int before = num_threads();
  set_num_threads(2);
  {
    const ThreadScratch scratch(64);
    set_num_threads(9);
    std::atomic<int> most = 0;
    parallel_for(1000, kParallelBytes, [&](std::int64_t) {
      int seen = most.load();
      while (seen < thread_number() && !most.compare_exchange_weak(seen, thread_number())) {}
    });
    EXPECT_LT(most, 2);
  }
  set_num_threads(before);
}

// Processors fetch cache lines in pairs: threads that write one pair wait for each other.
TEST(Team, ScratchOfTwoThreadsIsInNoPairOfLines) {
  const int before = num_threads();
  set_num_threads(2);
  {
    const ThreadScratch scratch(24);
    std::array<std::atomic<void*>, 2> parts{};
    while (!parts[0] || !parts[1])
      parallel_for(1000, kParallelBytes,
                   [&](std::int64_t) { parts[static_cast<std::size_t>(thread_number())] = scratch.mine(); });
    for (const auto& part : parts) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.load()) % 128, 0u);
    EXPECT_NE(parts[0], parts[1]);
  }
  set_num_threads(before);
}

#ifndef _WIN32
TEST(TeamDeathTest, WorksWithFewerThreadsThanRequested) {
#if defined(MINNOW_TEST_ASAN) || defined(MINNOW_TEST_TSAN)
  GTEST_SKIP() << "a sanitizer reserves the address space";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t bytes = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (std::size_t{60} << 20);
        rlimit limit = {};  // stacks for a few of them
        limit.rlim_cur = limit.rlim_max = bytes;
        ::setrlimit(RLIMIT_AS, &limit);
        std::exit(complete(1000, 60) && complete(1000, 60) ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(TeamDeathTest, ForkedChildHasItsOwnThreads) {
#if defined(MINNOW_TEST_ASAN) || defined(MINNOW_TEST_TSAN)
  GTEST_SKIP() << "a sanitizer waits for the threads that the child does not have";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!complete(100, num_threads() + 3)) std::exit(1);
        const pid_t child = ::fork();
        if (child == 0) {
          ::alarm(60);
          if (num_threads() != 1) std::exit(2);
          std::exit(complete(100, 4) ? 0 : 3);
        }
        int status = 1;
        ::waitpid(child, &status, 0);
        std::exit(complete(100, 4) && WIFEXITED(status) ? WEXITSTATUS(status) : 4);
      },
      ::testing::ExitedWithCode(0), "");
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(Team, SleepsWhenThereIsNothingToDo) {
  if (spin_time() > std::chrono::milliseconds(1)) GTEST_SKIP() << "the environment asks for threads that stay awake";
  ASSERT_TRUE(complete(100, 8));
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.05);
}
#endif

TEST(Waiting, TheUsersSettingsAreKept) {
  using std::chrono::nanoseconds;
  const auto usual = spin_time(nullptr, nullptr);
  EXPECT_GT(usual, nanoseconds(0));
  EXPECT_LT(usual, std::chrono::milliseconds(1));
  EXPECT_EQ(spin_time(nullptr, "passive"), nanoseconds(0));
  EXPECT_EQ(spin_time(nullptr, " PASSIVE "), nanoseconds(0));
  EXPECT_GT(spin_time(nullptr, "active"), std::chrono::hours(1));
  EXPECT_EQ(spin_time(nullptr, "nonsense"), usual);
  EXPECT_EQ(spin_time("0", "active"), nanoseconds(0));
  EXPECT_EQ(spin_time("1000", nullptr), std::chrono::microseconds(10));
  EXPECT_EQ(spin_time("2k", nullptr), nanoseconds(20480));
  EXPECT_GT(spin_time("infinite", nullptr), std::chrono::hours(1));
  EXPECT_GT(spin_time("99999999999999999999999", nullptr), std::chrono::hours(1));
  EXPECT_EQ(spin_time("-1", nullptr), usual);
  EXPECT_EQ(spin_time("1x", nullptr), usual);
  EXPECT_EQ(spin_time("", nullptr), usual);
}

}  // namespace
}  // namespace minnow::cpu
