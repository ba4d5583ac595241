#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/nn/loss.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/softmax.h>
#include "devices.h"
#include "thrown.h"

namespace minnow {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

class Edge : public test::DeviceTest {
 protected:
  static Tensor empty_of(const Shape& shape) { return zeros(shape, {.device = device()}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Edge, test::all_devices(), test::device_test_name);

TEST_P(Edge, LogsumexpOfNothingIsMinusInfinity) {
  Tensor x = empty_of({2, 0}).requires_grad_();
  const Tensor y = logsumexp(x, {1});
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{kNone, kNone}));
  EXPECT_EQ(logsumexp(x, {1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ(logsumexp(x).item(), kNone);
  EXPECT_EQ(logsumexp(x, {0}).shape(), Shape{0});
  sum(y).backward();
  EXPECT_EQ(x.grad().shape(), (Shape{2, 0}));
}

TEST_P(Edge, CatPassesOverNothing) {
  Tensor nothing = empty_of({0}).requires_grad_(), x = empty_of({2, 3}).requires_grad_();
  for (const int dim : {0, 1, -1}) {
    const Tensor y = cat({nothing, x, nothing}, dim);
    EXPECT_EQ(y.shape(), (Shape{2, 3}));
    x.set_grad(Tensor());
    sum(y * 2).backward();
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(6, 2));
  }
  EXPECT_EQ(cat({nothing, nothing}).shape(), Shape{0});
  EXPECT_EQ(cat({nothing, nothing}, 1).shape(), Shape{0});
  EXPECT_EQ(cat({empty_of({0}).to(DType::float64), x}).dtype(), DType::float64);  // its dtype counts
  EXPECT_EQ(cat({nothing, empty_of({4})}).shape(), Shape{4});
  EXPECT_THROW(cat({x, empty_of({0, 4})}), ShapeError);
  EXPECT_THROW(cat({x, empty_of({0, 3})}, 1), ShapeError);
}

TEST_P(Edge, CrossEntropyOfHalvesKeepsItsSumsInFloat32) {
  const Tensor target = tensor({0}, {.device = device()});
  for (const DType half : {DType::float16, DType::bfloat16}) {
    // Logits this large are 16 apart in float16 and 128 in bfloat16: a rounded sum would lose log 2.
    const Tensor logits = full({1, 2}, 16384, {half, device()}).requires_grad_();
    const auto [losses, sums] = raw::cross_entropy(logits, target, {});
    EXPECT_EQ(sums.dtype(), DType::float32);
    EXPECT_NEAR(sums.item(), 16384 + std::log(2), 1e-3);
    nn::cross_entropy(logits, target).backward();
    EXPECT_EQ(logits.grad().to_vector<float>(), (std::vector<float>{-0.5F, 0.5F}));
  }
  const Tensor wide = zeros({1, 2}, {DType::float64, device()});
  EXPECT_EQ(raw::cross_entropy(wide, target, {}).log_sum_exp.dtype(), DType::float64);
}

TEST_P(Edge, CrossEntropyWithoutClassesSaysSo) {
  const Tensor target = tensor({0, 0}, {.device = device()});
  const std::string text = test::error_of<IndexError>([&] {
    finish([&] { raw::cross_entropy(empty_of({2, 0}), target, {}); });
  });
  // A GPU finds it while it computes, and says no more than that.
  const std::string want =
      device().is_cuda() ? "a target is no class" : "logits have no classes: targets can only be ignore_index -100";
  EXPECT_NE(text.find(want), std::string::npos) << text;
}

TEST(ShapeText, IsPrintedByStreams) {
  std::ostringstream out;
  out << Shape{2, -1, 3} << Shape{};
  EXPECT_EQ(out.str(), "[2, -1, 3][]");
  EXPECT_EQ(::testing::PrintToString(Shape{4, 5}), "[4, 5]");
}

}  // namespace
}  // namespace minnow
