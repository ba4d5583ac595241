#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <minnow/minnow.h>

namespace {

using namespace minnow;

/// The gradient reversal of domain adaptation: the value of x, and minus its gradient.
Tensor reversed(const In& x) {
  return record("reversed", *x, {x}, [](const Tensor& g) { return -g; });
}

TEST(Record, FunctionMayReturnItsInput) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_();
  const Tensor y = reversed(x);
  EXPECT_TRUE(x.is_leaf());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_FALSE(y.is_same(x));
  EXPECT_EQ(y.storage(), x.storage());
  sum(y * 3).backward();
  ASSERT_TRUE(x.grad().defined());
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{-3, -3}));
}

TEST(Record, TheHistoryOfANonLeafInputStays) {
  Tensor x = tensor({1.0, 2.0}).requires_grad_();
  const Tensor h = x * 2;
  const Tensor r = reversed(h);
  (sum(r) + sum(h * 5)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{8, 8}));
}

TEST(InferenceMode, RecordsNothingAndItsResultsCanBeTrainedLater) {
  Tensor x = ones({2}).requires_grad_(), y;
  {
    const InferenceMode inference;
    y = x * 2;
    EXPECT_FALSE(is_grad_enabled());
  }
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_FALSE(y.requires_grad());
  (x * y).sum().backward();
  EXPECT_TRUE(x.grad().equal(y));
}

TEST(Backward, MovedLeafErrorHasTheLineOfTheCall) {
  nn::Linear layer(2, 2);
  const Tensor loss = sum(layer(ones({1, 2})));
  layer.to("sim:0");
  try {
    loss.backward();
    FAIL() << "no exception";
  } catch (const DeviceError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("leaf_test.cpp"), std::string::npos) << text;
    EXPECT_NE(text.find("sim:0   parameter '"), std::string::npos) << text;
    EXPECT_NE(text.find("after the forward pass"), std::string::npos) << text;
  }
}

TEST(Backward, ALeafOfAnotherShapeIsRefusedWithAndWithoutAGradient) {
  for (const bool has_gradient : {false, true}) {
    Tensor w = ones({3}).requires_grad_();
    if (has_gradient) sum(w).backward();
    const Tensor loss = sum(w * 2);
    w.set_data(zeros({4}));
    EXPECT_THROW(loss.backward(), AutogradError);
  }
}

TEST(Backward, LeavesWithoutElementsAccumulate) {
  Tensor x = zeros({2, 0}).requires_grad_();
  for (int i = 0; i < 2; ++i) sum(x).backward();
  EXPECT_EQ(x.grad().shape(), Shape({2, 0}));
}

TEST(Stddev, EqualElementsHaveAGradientOfZero) {
  Tensor x = tensor({{2.0, 2.0, 2.0}, {1.0, 2.0, 3.0}}).requires_grad_();
  const Tensor y = stddev(x, {1});
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 1}));
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0, 0, -0.5, 0, 0.5}));
}

TEST(Pow, IntegersRefuseANegativePower) {
  EXPECT_THROW((void)pow(tensor({7, 2}), -1), ValueError);
  Tensor x = tensor({7, 2});
  EXPECT_THROW((void)pow_(x, -1), ValueError);
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{7, 2}));
  EXPECT_EQ(pow(tensor({2.0}), -1).item(), 0.5);
  EXPECT_EQ(pow(tensor({2}), -1.0).item(), 0.5);
}

TEST(Bitwise, OperatorsTakeNumbers) {
  const Tensor x = tensor({6, 3});
  EXPECT_EQ((x & 2).to_vector<int>(), (std::vector<int>{2, 2}));
  EXPECT_EQ((x | 1).to_vector<int>(), (std::vector<int>{7, 3}));
  EXPECT_EQ((x ^ 1).to_vector<int>(), (std::vector<int>{7, 2}));
}

}  // namespace
