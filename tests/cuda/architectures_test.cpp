#include <gtest/gtest.h>
#include <minnow/tensor/cuda/runtime/architectures.h>

namespace minnow::cuda {
namespace {

CodeFor code(const char* built, int major, int minor) { return Architectures(built).code_for({major, minor}); }

TEST(Architectures, BinaryCodeRunsInItsGenerationFromItsVersionOn) {
  EXPECT_EQ(code("80-real 90-real", 8, 0), CodeFor::binary);
  EXPECT_EQ(code("80-real 90-real", 8, 9), CodeFor::binary);
  EXPECT_EQ(code("86-real", 8, 0), CodeFor::none);
  EXPECT_EQ(code("80-real 90-real", 10, 0), CodeFor::none);
  EXPECT_EQ(code("100-real", 12, 0), CodeFor::none);
  EXPECT_EQ(code("120-real", 12, 1), CodeFor::binary);
}

TEST(Architectures, PtxServesAllLaterGpus) {
  EXPECT_EQ(code("90-virtual", 9, 0), CodeFor::ptx);
  EXPECT_EQ(code("80-real 90-virtual", 12, 0), CodeFor::ptx);
  EXPECT_EQ(code("90-virtual", 8, 9), CodeFor::none);
  EXPECT_EQ(code("90", 9, 0), CodeFor::binary);  // both
  EXPECT_EQ(code("90", 10, 3), CodeFor::ptx);
}

TEST(Architectures, VariantsAreBoundToOneGpuOrOneFamily) {
  EXPECT_EQ(code("90a-real", 9, 0), CodeFor::binary);
  EXPECT_EQ(code("100a", 10, 3), CodeFor::none);
  EXPECT_EQ(code("100a", 12, 0), CodeFor::none);
  EXPECT_EQ(code("100f-real", 10, 3), CodeFor::binary);
  EXPECT_EQ(code("100f", 11, 0), CodeFor::none);
}

TEST(Architectures, WordsWithoutANumberAreTrusted) {
  EXPECT_EQ(code("native", 9, 0), CodeFor::binary);
  EXPECT_EQ(code("", 9, 0), CodeFor::none);
}

TEST(Architectures, AreListed) {
  EXPECT_EQ(Architectures("80-real 90a-real 90-virtual").str(), "8.0, 9.0a, as PTX those from 9.0 on");
  EXPECT_EQ(Architectures("120").str(), "12.0, as PTX those from 12.0 on");
}

}  // namespace
}  // namespace minnow::cuda
