#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <thread>
#include <minnow/autograd/engine.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/profile.h>

namespace minnow {
namespace {

std::int64_t calls(const profile::OperationCounts& counts, std::string_view name, bool backward = false) {
  for (const auto& row : counts.rows())
    if (row.name == name && row.backward == backward) return row.calls;
  return 0;
}

TEST(OperationCounts, CountsWhatTheUserCalls) {
  const Tensor x = randn({4, 5}).requires_grad_();
  const Tensor before = x + 1;
  const profile::OperationCounts counts;
  const Tensor y = softmax(x, 1) + softmax(x, 0);
  sum(y * 2).backward();
  EXPECT_EQ(calls(counts, "softmax"), 2);
  EXPECT_EQ(calls(counts, "softmax", true), 2);
  EXPECT_EQ(calls(counts, "add"), 1);
  EXPECT_EQ(calls(counts, "sum", true), 1);
  EXPECT_EQ(calls(counts, "backward"), 1);
  EXPECT_EQ(calls(counts, "sub"), 0);
}

TEST(OperationCounts, TimeIsOfOneOperationAlone) {
  double inside = 0;
  const auto began = std::chrono::steady_clock::now();
  const profile::OperationCounts counts;
  const Tensor x = randn({64, 1000}).requires_grad_();
  for (int i = 0; i < 20; ++i) sum(softmax(x, 1)).backward();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  for (const auto& row : counts.rows()) {
    EXPECT_GE(row.seconds, 0) << row.name;
    inside += row.seconds;
  }
  EXPECT_LE(inside, all.count());
  EXPECT_GT(inside, all.count() / 10);
}

TEST(OperationCounts, NestedAndByThread) {
  const profile::OperationCounts outer;
  const Tensor x = ones({3});
  {
    const profile::OperationCounts inner;
    const Tensor y = x + x;
    EXPECT_EQ(calls(inner, "add"), 1);
    EXPECT_THROW(x + ones({4}), ShapeError);
    EXPECT_EQ(calls(inner, "add"), 2) << "one that throws ends too";
  }
  const Tensor z = x * x;
  std::thread([&] { const Tensor other = x * x; }).join();
  EXPECT_EQ(calls(outer, "add"), 2);
  EXPECT_EQ(calls(outer, "mul"), 1);
}

TEST(OperationCounts, Table) {
  const profile::OperationCounts counts;
  const Tensor x = ones({3}).requires_grad_();
  sum(x * x).backward();
  const std::string table = counts.str();
  EXPECT_NE(table.find("mul, backward"), std::string::npos) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), static_cast<std::int64_t>(counts.rows().size()) + 2) << table;
}

}  // namespace
}  // namespace minnow
