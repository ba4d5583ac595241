#include <gtest/gtest.h>
#include <minnow/tensor/cuda/memory/faults.h>
#include <minnow/tensor/error.h>

#include "fake_driver.h"
#include "support/thrown.h"

namespace minnow::cuda {
namespace {

using test::error_of;
using test::has;

class FaultsTest : public ::testing::Test {
 protected:
  std::uint32_t* flag(Fault fault, const char* name, unsigned line) {
    return faults.flag(fault, name, {"a.cpp", line});
  }

  FakeDriver driver;
  Faults faults{driver, "cuda:0"};
};

TEST_F(FaultsTest, NoFaultThrowsNothing) {
  faults.check();
  EXPECT_EQ(driver.allocations, 0);
  for (std::size_t i = 0; i < 3 * Faults::kWords; ++i) *flag(Fault::index_out_of_range, "gather", 1) = 0;
  faults.check();
  EXPECT_EQ(driver.allocations, 1);
}

TEST_F(FaultsTest, ErrorNamesTheOperationAndItsLine) {
  flag(Fault::index_out_of_range, "before", 1);
  *flag(Fault::index_out_of_range, "gather", 12) = 1;
  const std::string index = error_of<IndexError>([&] { faults.check(); });
  for (const char* part : {"gather: an index is out of range", "(a.cpp:12)", "cuda:0"})
    EXPECT_TRUE(has(index, part)) << index;
  faults.check();  // reported once
  *flag(Fault::target_out_of_range, "cross_entropy", 13) = 1;
  EXPECT_TRUE(
      has(error_of<IndexError>([&] { faults.check(); }), "cross_entropy: a target is out of range  (a.cpp:13)"));
  *flag(Fault::division_by_zero, "div", 14) = 1;
  EXPECT_TRUE(has(error_of<ValueError>([&] { faults.check(); }), "div: an integer was divided by zero  (a.cpp:14)"));
}

TEST_F(FaultsTest, OnlyTheOldestIsReported) {
  for (unsigned i = 0; i < Faults::kWords - 10; ++i) flag(Fault::index_out_of_range, "none", i);
  std::uint32_t* first = flag(Fault::index_out_of_range, "first", 1);
  for (int i = 0; i < 100; ++i) *flag(Fault::division_by_zero, "later", 2) = 1;  // past the end of the ring
  *first = 1;
  EXPECT_TRUE(has(error_of<IndexError>([&] { faults.check(); }), "first"));
  faults.check();
}

TEST_F(FaultsTest, ReusedFlagsWithoutSynchronizationLoseNoFault) {
  *flag(Fault::division_by_zero, "lost", 1) = 1;
  const std::string message = error_of<ValueError>([&] {
    for (std::size_t i = 0; i < Faults::kWords; ++i) flag(Fault::index_out_of_range, "gather", 2);
  });
  EXPECT_TRUE(has(message, "lost")) << message;
}

TEST_F(FaultsTest, FlagsOfCapturedWorkAreKept) {
  std::uint32_t* held = faults.flag(Fault::index_out_of_range, "captured", {"a.cpp", 3}, true);
  for (std::size_t i = 0; i < 2 * Faults::kWords; ++i) EXPECT_NE(flag(Fault::index_out_of_range, "gather", 2), held);
  for (int replay = 0; replay < 2; ++replay) {
    *held = 1;
    EXPECT_TRUE(has(error_of<IndexError>([&] { faults.check(); }), "captured"));
  }
  faults.give_back(held);
  EXPECT_EQ(faults.flag(Fault::division_by_zero, "next", {"a.cpp", 4}, true), held);
}

}  // namespace
}  // namespace minnow::cuda
