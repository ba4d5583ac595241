#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "thrown.h"

/// Derivatives of functions: vjp, jvp, jacobian, hessian, hvp.
namespace minnow {
namespace {

using test::error_of;
using test::has;
using Tensors = std::vector<Tensor>;

class Functional : public test::DeviceTest {
 protected:
  Tensor numbers(const std::vector<double>& values) const { return tensor(values, {DType::float64, device()}); }
};

void expect_close(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(got.shape(), want.shape());
  EXPECT_TRUE(allclose(got.detach(), want, 1e-10, 1e-12)) << got << "\nnot\n" << want;
}

TEST_P(Functional, JacobianOfAFunctionOfOneTensor) {
  const Tensor x = numbers({0.5, -1, 2});
  const auto f = [](const Tensor& t) { return stack({t[0] * t[1], exp(t[2])}); };
  const Tensor j = jacobian(f, x);
  expect_close(j, stack({numbers({-1, 0.5, 0}), numbers({0, 0, std::exp(2)})}));
  EXPECT_FALSE(j.requires_grad());
  const Tensor v = numbers({1, -2});
  const auto [y, back] = vjp(f, x, v);
  expect_close(y, numbers({-0.5, std::exp(2)}));
  expect_close(back, mv(j.t(), v));
  const Tensor u = numbers({0.1, 0.2, 0.3});
  expect_close(jvp(f, x, u).second, mv(j, u));
}

TEST_P(Functional, JacobiansHaveTheShapesOfResultAndInput) {
  const Tensor a = randn({2, 3}, {DType::float64, device()}), b = randn({3, 4}, {DType::float64, device()});
  const Tensors j = jacobian([](const Tensors& in) { return matmul(in[0], in[1]); }, {a, b});
  ASSERT_EQ(j.size(), 2U);
  EXPECT_EQ(j[0].shape(), (Shape{2, 4, 2, 3}));
  EXPECT_EQ(j[1].shape(), (Shape{2, 4, 3, 4}));
  // d (a b)_ik / d a_lm = [i = l] b_mk
  const Tensor eye2 = eye(2, {DType::float64, device()});
  expect_close(j[0], einsum("il,mk->iklm", {eye2, b}));
  expect_close(jacobian([](const Tensor& x) { return sum(x * x); }, a), a * 2);
  EXPECT_EQ(jacobian([](const Tensor& x) { return x.narrow(0, 0, 0); }, a).shape(), (Shape{0, 3, 2, 3}));
}

TEST_P(Functional, HessianAndItsProduct) {
  const Tensor x = numbers({0.3, -0.7, 1.1});
  const auto f = [](const Tensor& t) { return sum(tanh(t)) * t[0]; };
  const Tensor h = hessian(f, x), v = numbers({1, 2, -3});
  expect_close(h, h.t());
  const auto [y, product] = hvp(f, x, v);
  expect_close(y, f(x));
  expect_close(product, mv(h, v));
  const auto blocks = hessian([](const Tensors& in) { return sum(in[0] * square(in[1])); }, {x, v});
  expect_close(blocks[0][0], zeros_like(h));
  expect_close(blocks[0][1], diag(v * 2));
  expect_close(blocks[1][0], diag(v * 2));
  expect_close(blocks[1][1], diag(x * 2));
}

TEST_P(Functional, ResultsCanBeDifferentiatedFurther) {
  const Tensor x = numbers({0.3, -0.7}).requires_grad_();
  const auto f = [](const Tensor& t) { return sin(t) * t; };
  const Tensor j = jacobian(f, x, {.create_graph = true});
  const Tensor g = grad(sum(j), x);  // 2 cos x - x sin x
  expect_close(g, (cos(x) * 2 - x * sin(x)).detach());
  const Tensor h = hessian([&](const Tensor& t) { return sum(f(t)); }, x, {.create_graph = true});
  expect_close(grad(sum(h), x), (sin(x) * -3 - x * cos(x)).detach());
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(Functional, RecordsWithoutARecordingCaller) {
  const NoGradGuard guard;
  const Tensor x = numbers({2});
  expect_close(jacobian([](const Tensor& t) { return t * t; }, x), numbers({4}).view({1, 1}));
  EXPECT_FALSE(is_grad_enabled());
}

TEST_P(Functional, OfWhatDoesNotDependOnAnInputIsZero) {
  const Tensor x = numbers({1, 2});
  expect_close(jacobian([&](const Tensor&) { return numbers({5}); }, x), zeros({1, 2}, {DType::float64, device()}));
  expect_close(hessian([](const Tensor& t) { return sum(t); }, x), zeros({2, 2}, {DType::float64, device()}));
  expect_close(jvp([&](const Tensor&) { return numbers({5}); }, x, x).second, numbers({0}));
}

TEST_P(Functional, ErrorsNameTheCall) {
  const Tensor x = numbers({1, 2});
  const auto f = [](const Tensor& t) { return t * t; };
  EXPECT_TRUE(has(error_of<ShapeError>([&] { hessian(f, x); }), "hessian: the function's result has more than one"));
  EXPECT_TRUE(has(error_of<ShapeError>([&] { vjp(f, x); }), "vjp: "));
  EXPECT_TRUE(has(error_of<ShapeError>([&] { jvp(f, x, numbers({1})); }), "jvp: v[0] has another shape"));
  EXPECT_TRUE(has(error_of<ValueError>([&] { hvp([](const Tensors& in) { return sum(in[0]); }, {x}, {}); }), "hvp: "));
  EXPECT_TRUE(has(error_of<AutogradError>([&] { jacobian(f, arange(3).to(device())); }), "jacobian: an input is not"));
}

INSTANTIATE_TEST_SUITE_P(Devices, Functional, test::all_devices(), test::device_test_name);

}  // namespace
}  // namespace minnow
