#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <utility>
#include <vector>
#include <minnow/autograd/gradcheck.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/unary.h>
#include "devices.h"

namespace minnow {
namespace {

/// The forms of each function in the list.
struct OpInfo {
  std::string_view name;
  int order;
  kernels::Kind kind;
};

template <class... Ops> std::vector<OpInfo> infos(kernels::List<Ops...>) {
  return {OpInfo{Ops::kName, Ops::kOrder, Ops::kKind}...};
}

// Parameters that put no kink into the intervals below.
constexpr double kP0 = 0.4, kP1 = 1.7;
class UnaryForms : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, UnaryForms, test::all_devices(), test::device_test_name);

TEST_P(UnaryForms, FunctionsWithoutDerivativeDoNotRecord) {
  const auto list = infos(kernels::UnaryOps{});
  Tensor x = ones({2}, {DType::float32, device()}).requires_grad_();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].order > 0 || list[i].kind == kernels::Kind::kIntegral) continue;
    EXPECT_FALSE(unary_functions()[i](x, kP0, kP1).requires_grad()) << list[i].name;
  }
}

TEST_P(UnaryForms, InPlaceFormsKeepTheGraph) {
  Tensor x = tensor({0.3, -0.7, 1.2}, {DType::float64, device()}).requires_grad_();
  EXPECT_TRUE(gradcheck(
      [](const std::vector<Tensor>& in) {
        const Tensor y = in[0] * 2;
        tanh_(y);
        sigmoid_(y);
        clamp_(y, 0.3, 0.6);
        return y;
      },
      {x}));
}

TEST_P(UnaryForms, IntegersArePromoted) {
  const Tensor x = tensor({1, 4, 9}, {DType::int64, device()});
  EXPECT_EQ(sqrt(x).dtype(), DType::float32);
  EXPECT_EQ(sqrt(x).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(neg(x).dtype(), DType::int64);
  EXPECT_EQ(isnan(x).dtype(), DType::bool_);
}

TEST_P(UnaryForms, NanToNumLeavesIntegersAsTheyAre) {
  const std::vector<std::int64_t> values{16777217, -5, INT64_MAX};
  const Tensor x = tensor(values, {.device = device()}), y = nan_to_num(x, 7);
  EXPECT_EQ(y.dtype(), DType::int64);
  EXPECT_EQ(y.to_vector<std::int64_t>(), values);
  EXPECT_FALSE(y.is_same(x));
  EXPECT_EQ(nan_to_num(zeros({2}, {DType::bool_, device()})).dtype(), DType::bool_);
}

TEST_P(UnaryForms, NanToNumGivesNumbersOfTheDtype) {
  const Tensor x = tensor({kInfinity, -kInfinity, std::nan(""), 1.5}, {DType::float64, device()});
  for (const auto& [dtype, largest] : std::vector<std::pair<DType, double>>{
           {DType::float16, 65504}, {DType::bfloat16, 0x1.FEp127}, {DType::float32, 0x1.FFFFFEp127}})
    EXPECT_EQ(nan_to_num(x.to(dtype), 7).to_vector<double>(), (std::vector<double>{largest, -largest, 7, 1.5}));
  EXPECT_EQ(nan_to_num(x, 0, 5).to_vector<double>(),
            (std::vector<double>{5, std::numeric_limits<double>::lowest(), 0, 1.5}));
  const Tensor leaf = x.clone().requires_grad_();
  const Tensor y = nan_to_num(leaf, 0, 5, -6);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{5, -6, 0, 1.5}));
  sum(y).backward();
  EXPECT_EQ(leaf.grad().to_vector<double>(), (std::vector<double>{0, 0, 0, 1}));
}

TEST_P(UnaryForms, ClampOfIntegersByAFractionIsFloatingPoint) {
  const Tensor x = arange(5, {DType::int64, device()});
  EXPECT_EQ(clamp(x, 1, 3).dtype(), DType::int64);
  EXPECT_EQ(clamp(x, 1).dtype(), DType::int64);
  const Tensor y = clamp(x, 1.5, 3);
  EXPECT_EQ(y.dtype(), DType::float32);
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1.5, 1.5, 2, 3, 3}));
  EXPECT_EQ(clamp_max(x, 0.5).to_vector<double>(), (std::vector<double>{0, 0.5, 0.5, 0.5, 0.5}));
  Tensor written = x.clone();
  EXPECT_THROW(clamp_(written, 1.5, 3), DTypeError);
  EXPECT_TRUE(equal(written, x));
}

TEST_P(UnaryForms, ClampBeyondTheDTypeAndWithoutABound) {
  const Tensor x = tensor({-5, 5}, {DType::int8, device()});
  EXPECT_EQ(clamp(x, -300, 300).to_vector<int>(), (std::vector<int>{-5, 5}));
  EXPECT_EQ(clamp(x, 150, 300).to_vector<int>(), (std::vector<int>{127, 127}));
  EXPECT_EQ(clamp(x.to(DType::uint8), -300, -200).to_vector<int>(), (std::vector<int>{0, 0}));
  EXPECT_EQ(clamp_min(x, kInfinity).to_vector<double>(), (std::vector<double>{kInfinity, kInfinity}));
  EXPECT_TRUE(all(isnan(clamp(x, 0, std::nan("")))).item<bool>());
  EXPECT_TRUE(all(isnan(clamp(x.to(DType::float32), std::nan(""), 3))).item<bool>());
  const Tensor ends = tensor({-kInfinity, kInfinity}, {DType::float32, device()}).requires_grad_();
  sum(clamp_min(ends, 0)).backward();
  EXPECT_EQ(ends.grad().to_vector<double>(), (std::vector<double>{0, 1}));
  ends.set_grad(Tensor());
  sum(clamp_max(ends, 0)).backward();
  EXPECT_EQ(ends.grad().to_vector<double>(), (std::vector<double>{1, 0}));
}

TEST_P(UnaryForms, BadInputsAreTypedErrors) {
  const Tensor x = ones({2}, {DType::float32, device()});
  EXPECT_THROW(bitwise_not(x), DTypeError);
  EXPECT_THROW(exp(Tensor()), ValueError);
  Tensor whole = ones({2}, {DType::int64, device()});
  EXPECT_THROW(exp_(whole), DTypeError);
  EXPECT_THROW(exp_(x(0).expand({3})), ShapeError);
  Tensor leaf = ones({2}, {DType::float32, device()}).requires_grad_();
  EXPECT_THROW(exp_(leaf), AutogradError);
}

}  // namespace
}  // namespace minnow
