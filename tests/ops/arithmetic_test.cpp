#include <gtest/gtest.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"

namespace minnow {
namespace {

Tensor positive(const Shape& shape, std::uint64_t seed, Device device) {
  RandomGenerator generator(seed);
  return (rand(shape, {DType::float64, {}, &generator}) + 0.5).to(device).requires_grad_();
}

class Arithmetic : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Arithmetic, test::all_devices(), test::device_test_name);

TEST_P(Arithmetic, ScalarFormsAndOperators) {
  const Tensor x = positive({3}, 14, device());
  EXPECT_TRUE(gradgradcheck(
      [](const std::vector<Tensor>& in) {
        const Tensor& v = in[0];
        return 2.0 - v * 3 + 1 / (v + 1) - (-v) % 0.7 + pow(v, 3) + pow(2.0, v) + pow(v, 0.5) + maximum(v, 0.9);
      },
      {x}));
}

TEST_P(Arithmetic, InPlaceFormsMatchCentralDifferences) {
  const Tensor x = positive({2, 3}, 15, device()), w = positive({3}, 16, device());
  EXPECT_TRUE(gradcheck(
      [](const std::vector<Tensor>& in) {
        Tensor y = in[0] * 1.5;
        y += in[1];
        y *= in[1];
        y -= 0.25;
        y /= in[1];
        pow_(y, 2);
        minimum_(y, 4.0);
        return y;
      },
      {x, w}));
}

TEST_P(Arithmetic, EqualElementsShareTheGradient) {
  Tensor a = tensor({1.0, 2.0}, {DType::float64, device()}).requires_grad_();
  Tensor b = tensor({1.0, 1.0}, {DType::float64, device()}).requires_grad_();
  sum(maximum(a, b)).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{0.5, 0}));
}

TEST_P(Arithmetic, GradientsHaveTheDtypesOfTheOperands) {
  Tensor a = ones({2}, {DType::float32, device()}).requires_grad_();
  Tensor b = full({2}, 3.0, {DType::float64, device()}).requires_grad_();
  const Tensor y = a * b;
  EXPECT_EQ(y.dtype(), DType::float64);
  sum(y).backward();
  EXPECT_EQ(a.grad().dtype(), DType::float32);
  EXPECT_EQ(a.grad().to_vector<float>(), (std::vector<float>{3, 3}));
  EXPECT_EQ(b.grad().dtype(), DType::float64);
}

TEST_P(Arithmetic, HostScalarsCombineWithDeviceTensors) {
  const Tensor x = ones({2}, {DType::float32, device()});
  Tensor s = tensor(3.0f).requires_grad_();
  const Tensor y = x * s;
  EXPECT_EQ(y.device(), device());
  sum(y).backward();
  EXPECT_TRUE(s.grad().device().is_cpu());
  EXPECT_EQ(s.grad().item<float>(), 2);
}

TEST_P(Arithmetic, ComparisonsAndLogic) {
  const Tensor a = tensor({1, 2, 3}, {{}, device()}), b = tensor({3, 2, 1}, {{}, device()});
  using Bools = std::vector<bool>;
  EXPECT_EQ((a < b).to_vector<bool>(), (Bools{true, false, false}));
  EXPECT_EQ((a <= 2).to_vector<bool>(), (Bools{true, true, false}));
  EXPECT_EQ((2 < a).to_vector<bool>(), (Bools{false, false, true}));
  EXPECT_EQ((a == b).to_vector<bool>(), (Bools{false, true, false}));
  EXPECT_EQ((a != 1).to_vector<bool>(), (Bools{false, true, true}));
  EXPECT_EQ(logical_xor(a > 1, b > 1).to_vector<bool>(), (Bools{true, false, true}));
  EXPECT_EQ((a & b).to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 2, 1}));
}

TEST_P(Arithmetic, BadInputsAreTypedErrors) {
  const Tensor a = ones({2, 3}, {{}, device()}), b = ones({4}, {{}, device()});
  EXPECT_THROW(a + b, ShapeError);
  EXPECT_THROW(a & a, DTypeError);
  EXPECT_THROW(a + Tensor(), ValueError);
  EXPECT_THROW(where(a, a, a), DTypeError);
  const Tensor n = ones({2}, {DType::int64, device()}), zero = zeros({2}, {DType::int64, device()});
  EXPECT_THROW(finish([&] { floor_divide(n, zero); }), ValueError);
  EXPECT_THROW(finish([&] { remainder(n, 0); }), ValueError);
  Tensor whole = n.clone();
  EXPECT_THROW(whole += 0.5, DTypeError);
  Tensor small = ones({1, 3}, {{}, device()});
  EXPECT_THROW(small += a, ShapeError);
}

TEST(ArithmeticErrors, NameTheOperandsAndTheLine) {
  const Tensor a = ones({2, 3}), b = ones({4});
  const unsigned line = __LINE__ + 2;
  try {
    a* b;
    FAIL() << "shapes that do not fit were accepted";
  } catch (const ShapeError& e) {
    const std::string text = e.what();
    EXPECT_EQ(e.where().line, line);
    EXPECT_NE(text.find("arithmetic_test.cpp:" + std::to_string(line)), std::string::npos) << text;
    EXPECT_NE(text.find("mul"), std::string::npos) << text;
    EXPECT_NE(text.find("float32[2, 3] on cpu"), std::string::npos) << text;
    EXPECT_NE(text.find("float32[4] on cpu"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace minnow
