#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/transfer_report.h>

#include "support/devices.h"
#include "support/thrown.h"

/// Exact results, as PyTorch's, where a simpler computation would lose digits.
namespace minnow {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

class ExactTest : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, ExactTest, test::all_devices(), test::device_test_name);

TEST_P(ExactTest, RangesOfIntegersBeyondDouble) {
  const TensorOptions options{.device = GetParam()};
  const auto range = [&](std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
    return arange(start, stop, step, options).to_vector<std::int64_t>();
  };
  EXPECT_EQ(range(9007199254740993, 9007199254740995), (Numbers{9007199254740993, 9007199254740994}));
  EXPECT_EQ(range(kMost - 2, kMost), (Numbers{kMost - 2, kMost - 1}));
  EXPECT_EQ(range(kMost, kMost - 3, -2), (Numbers{kMost, kMost - 2}));
  EXPECT_EQ(range(kLeast, kMost, kMost), (Numbers{kLeast, -1, kMost - 1}));
  EXPECT_EQ(range(kMost, kLeast, kLeast), (Numbers{kMost, -1}));
  EXPECT_EQ(range(kMost, kMost), Numbers{});
  EXPECT_EQ(range(3, 3), Numbers{});
  EXPECT_EQ(range(5, -2, -3), (Numbers{5, 2, -1}));
  EXPECT_EQ(arange(0, 10, 4, {.dtype = DType::int32, .device = GetParam()}).to_vector<int>(), (std::vector{0, 4, 8}));
  EXPECT_EQ(arange(kMost - 2, kMost, 1, {.dtype = float32, .device = GetParam()}).numel(), 0);  // equal in double
}

/// A 0-dim tensor is indexed as one of a single element.
TEST_P(ExactTest, IndexingWithoutDimensions) {
  const Device device = GetParam();
  const Tensor x = full({}, 5.0, {.device = device}).requires_grad_();
  const Tensor zero = zeros({}, {int64, device}), twice = zeros({2}, {int64, device}),
               one = zeros({1}, {int64, device});
  EXPECT_EQ(gather(x, 0, zero).shape(), Shape{});
  EXPECT_EQ(gather(x, 0, twice).to_vector<float>(), (std::vector{5.F, 5.F}));
  sum(gather(x, 0, twice)).backward();
  EXPECT_EQ(x.grad().shape(), Shape{});
  EXPECT_EQ(x.grad().item(), 2.0);
  const Tensor row = arange(3, {float32, device});
  EXPECT_EQ(gather(row, 0, one.reshape({})).shape(), Shape{});

  x.set_grad({});
  for (const Tensor& index : {zero, one}) {
    EXPECT_EQ(index_select(x, 0, index).shape(), Shape{});
    EXPECT_EQ(index_add(x, 0, index, x).item(), 10.0);
    EXPECT_EQ(scatter_add(x, 0, index, full(index.shape(), 2.0, {.device = device})).item(), 7.0);
    index_select(x, 0, index).backward();
  }
  EXPECT_EQ(x.grad().item(), 2.0);
  EXPECT_EQ(index_select(row, 0, zero).shape(), (Shape{1}));
  EXPECT_EQ(scatter_add(x, 0, twice, ones({2}, {.device = device})).item(), 7.0);
  index_add(x, 0, one, x).backward();
  EXPECT_EQ(x.grad().item(), 4.0);
  EXPECT_THROW(index_select(x, 0, twice), ShapeError);
}

TEST_P(ExactTest, SquaresOfBool) {
  const Tensor y = square(tensor({true, false}, {.device = GetParam()}));
  EXPECT_EQ(y.dtype(), int64);
  EXPECT_EQ(y.to_vector<int>(), (std::vector{1, 0}));
  EXPECT_THROW(square_(tensor({true}, {.device = GetParam()})), DTypeError);
  const Tensor image = ones({1, 1, 4, 4}, {int64, GetParam()});
  EXPECT_THROW(max_pool2d(image.to(bool_), 2), DTypeError);
  EXPECT_THROW(avg_pool2d(image, 2), DTypeError);
}

TEST(TransferReport, ListsTheLineThatReadsAValue) {
  const Tensor there = arange(4, {.device = "sim:0"}), other = full({}, 2, {.device = "sim:0"});
  std::ostringstream out;
  const auto line_of = [](auto&& f) {
    reset_transfer_report();
    f();
    const TransferReport report = transfer_report();
    EXPECT_EQ(report.lines.size(), 1U);
    if (report.lines.size() != 1) return 0U;
    EXPECT_TRUE(test::has(report.lines[0].file, "exact_test.cpp")) << report.lines[0].file;
    return report.lines[0].line;
  };
  EXPECT_EQ(line_of([&] { out << there; }), __LINE__);
  EXPECT_EQ(line_of([&] { to_string(there); }), __LINE__);
  EXPECT_EQ(line_of([&] { there.to_vector<int>(); }), __LINE__);
  EXPECT_EQ(line_of([&] { other.item<int>(); }), __LINE__);
  EXPECT_EQ(line_of([&] { one_hot(there); }), __LINE__);
  EXPECT_EQ(out.str(), "tensor([0, 1, 2, 3], device='sim:0')");
}

}  // namespace
}  // namespace minnow
