// What a memory report says, to the letter, and which tensors are in it.

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::has;

class MemoryReportOf : public test::DeviceTest {
 protected:
  void SetUp() override {
    synchronize(device());
    empty_cache(device());
    record_memory();
  }
  void TearDown() override {
    set_memory_limit(device(), 0);
    record_memory(false);
  }
  static Tensor block(std::int64_t bytes, SourceLocation where, Device on = device()) {
    return empty({bytes}, {DType::uint8, on}, where);
  }
  /// "empty one.cpp:5 2 3000 ", of the lines of these tests.
  static std::string text_of(const std::vector<MemoryUse>& uses) {
    std::string text;
    for (const MemoryUse& use : uses)
      if (has(use.file, "/report/"))
        text += use.operation + " " + use.file.substr(use.file.rfind('/') + 1) + ":" + std::to_string(use.line) + " " +
                std::to_string(use.tensors) + " " + std::to_string(use.bytes) + " " + use.what + "| ";
    return text;
  }
  static std::string lines() { return text_of(memory_report().lines); }
};
INSTANTIATE_TEST_SUITE_P(Devices, MemoryReportOf, test::all_devices(), test::device_test_name);

constexpr SourceLocation kOne{"/report/one.cpp", 5}, kOther{"/report/other.cpp", 5}, kLater{"/report/one.cpp", 6};

TEST(MemoryReportText, IsExact) {
  const MemoryUse linear{Device(), "linear", "/a/b/train.cpp", 42, 8, 800'000'000, ""};
  const MemoryUse nothing{"sim:1", "", "", 0, 1, 999, ""};
  const MemoryUse plain{Device(), "scaled_dot_product_attention", "main.cpp", 7, 12, 1500, ""};
  MemoryUse first = nothing;
  first.device = Device("sim:0");
  first.bytes = 998;
  MemoryReport report{true, {linear, plain, nothing, first}, {}};
  const std::string head =
      "memory           bytes  tensors\n"
      "cpu           800.0 MB       20\n"
      "sim:1            999 B        1\n"
      "sim:0            998 B        1\n";
  const std::string rest =
      "    800.0 MB       8x  cpu  linear                   train.cpp:42\n"
      "      1.5 kB      12x  cpu  scaled_dot_product_attention  main.cpp:7\n"
      "       999 B       1x  sim:1  ?                      (unknown line)\n"
      "       998 B       1x  sim:0  ?                      (unknown line)\n";
  EXPECT_EQ(to_string(report), head + rest);
  report.largest = {{Device(), "empty", "x.cpp", 3, 1, 2000, "float32[500]"}};
  EXPECT_EQ(to_string(report),
            head + rest + "largest\n      2.0 kB       1x  cpu  empty                    x.cpp:3  float32[500]\n");
  EXPECT_EQ(to_string(MemoryReport()),
            "memory           bytes  tensors\nmemory is not recorded: call record_memory() first\n");
}

TEST_P(MemoryReportOf, LinesAreOneForEachFileLineOperationAndDevice) {
  const Tensor a = block(1000, kOne), b = block(500, kOne), c = block(100, kOther), d = block(200, kLater);
  EXPECT_EQ(lines(), "empty one.cpp:5 2 1500 | empty one.cpp:6 1 200 | empty other.cpp:5 1 100 | ");
  const Tensor e = zeros({50}, {DType::uint8, device()}, kOne);
  EXPECT_EQ(lines(),
            "empty one.cpp:5 2 1500 | empty one.cpp:6 1 200 | empty other.cpp:5 1 100 | zeros one.cpp:5 1 50 | ");
  const Device second = device().is_cpu() ? Device("sim") : Device();
  const Tensor f = block(700, kOne, second);
  std::string other;
  for (const MemoryUse& use : memory_report().lines)
    if (use.device == second) other += text_of({use});
  EXPECT_EQ(other, "empty one.cpp:5 1 700 | ");
  EXPECT_TRUE(has(lines(), "empty one.cpp:5 2 1500 | "));
}

TEST_P(MemoryReportOf, TensorsWithoutMemoryAndOfTheCallerAreNotInIt) {
  const Tensor none = block(0, kOne), view = block(10, kOther)(slice(2, 5));
  std::vector<float> own(4);
  const Tensor blob = from_blob(own.data(), {4});
  EXPECT_EQ(lines(), "empty other.cpp:5 1 10 | ");
  record_memory(false);
  const Tensor later = block(20, kOne);
  record_memory();
  EXPECT_EQ(lines(), "empty other.cpp:5 1 10 | ");
}

// The list loses its first, its last and entries in between.
TEST_P(MemoryReportOf, WhatIsFreedLeavesInAnyOrder) {
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 0, 3}, {2, 0, 3, 1}, {1, 3, 2, 0}}) {
    std::vector<Tensor> all(4);
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = block(std::int64_t{100} << i, kOne);
      bytes += 100 << i;
    }
    for (std::size_t left = all.size(); left-- > 0;) {
      const std::size_t i = order[all.size() - 1 - left];
      all[i] = Tensor();
      bytes -= 100 << i;
      EXPECT_EQ(lines(),
                left ? "empty one.cpp:5 " + std::to_string(left) + " " + std::to_string(bytes) + " | " : std::string());
    }
  }
}

TEST_P(MemoryReportOf, TheLargestAreTen) {
  std::vector<Tensor> all;
  constexpr std::int64_t kBase = 4 << 20;  // larger than what the other tests of the program keep
  for (const int i : {3, 11, 1, 7, 5, 2, 12, 4, 10, 6, 9, 8}) all.push_back(block(kBase + i, kOne));
  const MemoryReport report = memory_report();
  std::string want;
  for (std::int64_t i = 12; i > 2; --i)
    want += "empty one.cpp:5 1 " + std::to_string(kBase + i) + " uint8[" + std::to_string(kBase + i) + "]| ";
  EXPECT_EQ(report.largest.size(), 10U);
  EXPECT_EQ(text_of(report.largest), want);
}

TEST_P(MemoryReportOf, AnOperationInsideOfAnotherIsTheOuterOne) {
  const Tensor x = ones({100, 100}, {.device = device()});
  Tensor y;
  {
    const detail::CallSite site("whole", kOther);
    y = matmul(x, x);
  }
  EXPECT_EQ(lines(), "whole other.cpp:5 1 40000 | ");
  bool found = false;
  for (const MemoryUse& use : memory_report().largest) found = found || use.what == "float32[100, 100]";
  EXPECT_TRUE(found);
}

TEST_P(MemoryReportOf, OutOfMemoryNamesThreeLinesOfThatDevice) {
  constexpr std::int64_t kMiB = 1 << 20;
  const Device second = device().is_cpu() ? Device("sim") : Device();
  const auto at = [](unsigned line) { return SourceLocation{"/report/lines.cpp", line}; };
  const Tensor a = block(40 * kMiB, at(1)), b = block(60 * kMiB, at(2)), c = block(30 * kMiB, at(3)),
               d = block(50 * kMiB, at(4)), other = block(90 * kMiB, at(5), second);
  set_memory_limit(device(), memory_stats(device()).allocated);
  const std::string text = test::error_of<OutOfMemoryError>([&] { block(500 * kMiB, kOne); });
  const auto second_line = text.find("lines.cpp:2"), fourth = text.find("lines.cpp:4"),
             first = text.find("lines.cpp:1");
  ASSERT_TRUE(second_line != text.npos && fourth != text.npos && first != text.npos) << text;
  EXPECT_TRUE(second_line < fourth && fourth < first) << text;
  EXPECT_FALSE(has(text, "lines.cpp:3") || has(text, "lines.cpp:5")) << text;
  record_memory(false);
  EXPECT_FALSE(has(test::error_of<OutOfMemoryError>([&] { block(500 * kMiB, kOne); }), "lines.cpp"));
}

TEST(MemoryReport, IsOnFromTheStartIfTheEnvironmentSaysSo) {
  if (const char* child = std::getenv("MINNOW_TEST_REPORT_CHILD")) {
    EXPECT_EQ(memory_report().recording, *child == '1');
    return;
  }
  for (const auto& [value, on] : {std::pair("1", "1"), {"0", "0"}, {"10", "0"}, {"", "0"}}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("MINNOW_RECORD_MEMORY", value, 1);
      setenv("MINNOW_TEST_REPORT_CHILD", on, 1);
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execl("/proc/self/exe", "tests", "--gtest_brief=1",
            "--gtest_filter=MemoryReport.IsOnFromTheStartIfTheEnvironmentSaysSo", static_cast<char*>(nullptr));
      _exit(2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "MINNOW_RECORD_MEMORY=" << value;
  }
}

}  // namespace
}  // namespace minnow
