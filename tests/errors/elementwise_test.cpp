#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/unary.h>
#include "binary_functions.h"
#include "errors.h"

/// Bad inputs of the elementwise functions.
namespace minnow {
namespace {

using test::expect_errors;
using test::kShown;
using test::kUndefined;
using test::Misuse;
using test::NamedBinaryInPlace;

const Tensor& x() {
  static const auto* t = new Tensor(zeros({2, 3}));
  return *t;
}
const Tensor& far() {
  static const auto* t = new Tensor(zeros({2, 3}, {.device = "sim:0"}));
  return *t;
}

TEST(Errors, EveryBinaryFunction) {
  for (const auto& [name, f] : test::binary_functions())
    expect_errors({
        Misuse{"ShapeError", name, "float32[4] on cpu", [f = f] { f(x(), zeros({4})); }},
        Misuse{"DeviceError", name, "float32[2, 3] on sim:0", [f = f] { f(x(), far()); }},
        Misuse{"ValueError", name, kUndefined, [f = f] { f(x(), Tensor()); }},
        Misuse{"ValueError", name, kUndefined, [f = f] { f(Tensor(), x()); }},
    });
}

TEST(Errors, EveryBinaryFunctionInPlace) {
  const NamedBinaryInPlace all[] = {
      {"add_", add_},
      {"sub_", sub_},
      {"mul_", mul_},
      {"div_", div_},
      {"fmod_", fmod_},
      {"floor_divide_", floor_divide_},
      {"pow_", pow_},
      {"maximum_", maximum_},
      {"remainder_", remainder_},
      {"minimum_", minimum_},
      {"copy_", [](const In& self, const TensorLike& source) { return copy_(self, *source.tensor); }}};
  const Tensor leaf = zeros({2, 3}).requires_grad_(), base = leaf * 2, shared = base.view({6});
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"ShapeError", name, name == std::string("copy_") ? "float32[2, 2, 3]" : kShown,
               [f = f] {
                 f(x(), zeros({2, 2, 3}));
               }},
        Misuse{"ShapeError", name, "float32[2, 3] on cpu",
               [f = f] {
                 f(zeros({3}).expand({2, 3}), x());
               }},
        Misuse{"AutogradError", name, kShown, [=, f = f] { f(leaf, x()); }},
        Misuse{"AutogradError", name, "float32[6] on cpu", [=, f = f] { f(shared, zeros({6})); }},
        Misuse{"ValueError", name, kUndefined, [f = f] { f(Tensor(), x()); }},
        Misuse{"ValueError", name, kUndefined,
               [f = f] {
                 f(zeros({2, 3}), Tensor());
               }},
    });
  expect_errors({
      Misuse{"DeviceError", "add_", "float32[2, 3] on sim:0", [] { add_(x(), far()); }},
      Misuse{"DTypeError", "add_", "int64[3] on cpu", [] { add_(arange(3), 0.5); }},
      Misuse{"DTypeError", "mul_", "int64[3] on cpu", [] { mul_(arange(3), zeros({3})); }},
      Misuse{"DTypeError", "div_", "int64[3] on cpu", [] { div_(arange(3), 2); }},
      Misuse{"ValueError", "add_", kUndefined, [] { add_(Tensor(), 2); }},
      Misuse{"AutogradError", "fill_", kShown, [=] { fill_(leaf, 1); }},
      Misuse{"ShapeError", "fill_", kShown,
             [] {
               fill_(zeros({3}).expand({2, 3}), 1);
             }},
      Misuse{"ValueError", "fill_", kUndefined, [] { fill_(Tensor(), 1); }},
      Misuse{"AutogradError", "zero_", kShown, [=] { zero_(leaf); }},
      Misuse{"ShapeError", "zero_", kShown,
             [] {
               zero_(zeros({3}).expand({2, 3}));
             }},
      Misuse{"ValueError", "zero_", kUndefined, [] { zero_(Tensor()); }},
  });
}

/// A division by 0 is reported, and the other elements are computed: in one loop, in several, for other strides and
/// dtypes.
TEST(Errors, IntegerDivisionByZeroInPlaceChangesNothing) {
  const NamedBinaryInPlace all[] = {{"floor_divide_", floor_divide_}, {"fmod_", fmod_}, {"remainder_", remainder_}};
  for (const Device device : {Device(), Device(DeviceType::sim)})
    for (const DType dtype : {DType::int64, DType::int32, DType::uint8})
      for (const std::int64_t n : {3, 45000})
        for (const auto& [name, f] : all) {
          const TensorOptions options{.dtype = dtype, .device = device};
          const Tensor dense = full({2, n}, 7, options), turned = full({n, 2}, 7, options).t();
          const Tensor zero = zeros({}, {DType::int64}), bad = full({2, n}, 2, options);
          fill_(bad(1, n - 1), 0);
          for (const Tensor& self : {dense, turned}) {
            expect_errors({
                Misuse{"ValueError", name, "an integer was divided by zero", [=, f = f] { f(self, bad); }},
                Misuse{"ValueError", name, "an integer was divided by zero", [=, f = f] { f(self, zero); }},
                Misuse{"ValueError", name, "check the divisor", [=, f = f] { f(self, bad(1).unsqueeze(0)); }},
            });
            EXPECT_TRUE(self.to_vector<int>() == std::vector<int>(static_cast<std::size_t>(2 * n), 7)) << name;
            fill_(bad(1, n - 1), 2);
            f(self, bad);  // and the quotients are computed
            EXPECT_EQ(self(1, n - 1).item<int>(), name[0] == 'f' && name[1] == 'l' ? 3 : 1) << name;
            fill_(bad(1, n - 1), 0);
          }
        }
  const Tensor x = tensor({4, 0, 2});
  expect_errors({Misuse{"ValueError", "floor_divide_", "int64[3] on cpu", [=] { floor_divide_(x, x); }}});
  EXPECT_EQ(x.to_vector<int>(), (std::vector<int>{4, 0, 2}));
}

TEST(Errors, OperatorsAndNumbers) {
  const Tensor none, truth = x() > 0;
  expect_errors({
      Misuse{"ShapeError", "add", "float32[4] on cpu", [] { (void)(x() + zeros({4})); }},
      Misuse{"DeviceError", "mul", "on sim:0", [] { (void)(x() * far()); }},
      Misuse{"DTypeError", "sub", "bool[2, 3] on cpu", [=] { (void)(truth - truth); }},
      Misuse{"DTypeError", "neg", "bool[2, 3] on cpu", [=] { (void)-truth; }},
      Misuse{"DTypeError", "bitwise_not", kShown, [] { (void)~x(); }},
      Misuse{"ValueError", "add", kUndefined, [=] { (void)(none + 1); }},
      Misuse{"ValueError", "div", kUndefined, [=] { (void)(1 / none); }},
      Misuse{"ValueError", "pow", kUndefined, [=] { (void)pow(none, 2); }},
      Misuse{"ValueError", "pow", kUndefined, [=] { (void)pow(2, none); }},
      Misuse{"ValueError", "lt", kUndefined, [=] { (void)(none < 2); }},
      Misuse{"ValueError", "lt", kUndefined, [=] { (void)(2 < none); }},
      Misuse{"ValueError", "floor_divide", "int64[3] on cpu", [] { (void)floor_divide(arange(3), 0); }},
      Misuse{"ValueError", "remainder", "int64[3] on cpu", [] { (void)(arange(3) % 0); }},
      Misuse{"ValueError", "fmod", "int64[3] on cpu", [] { (void)fmod(arange(3), 0); }},
      Misuse{"ValueError", "maximum", kUndefined, [=] { (void)maximum(none, 0.5); }},
  });
}

TEST(Errors, BitwiseFunctions) {
  for (const auto& [name, f] : test::bit_functions())
    expect_errors({
        Misuse{"DTypeError", name, kShown, [f = f] { f(x(), x()); }},
        Misuse{"ShapeError", name, "int64[4] on cpu", [f = f] { f(arange(3), arange(4)); }},
        Misuse{"DeviceError", name, "int64[3] on sim:0", [f = f] { f(arange(3), arange(3).to("sim:0")); }},
        Misuse{"ValueError", name, kUndefined, [f = f] { f(arange(3), Tensor()); }},
    });
}

TEST(Errors, ThreeOperands) {
  const Tensor none, truth = x() > 0;
  expect_errors({
      Misuse{"DTypeError", "where", kShown, [] { where(x(), x(), x()); }},
      Misuse{"ShapeError", "where", "float32[4] on cpu", [=] { where(truth, x(), zeros({4})); }},
      Misuse{"DeviceError", "where", "on sim:0", [=] { where(truth, x(), far()); }},
      Misuse{"ValueError", "where", kUndefined, [=] { where(none, x(), x()); }},
      Misuse{"ValueError", "where", kUndefined, [=] { where(truth, none, 0.0); }},
      Misuse{"ValueError", "where", kUndefined, [=] { where(truth, 0.0, none); }},
      Misuse{"ShapeError", "lerp", "float32[4] on cpu", [] { lerp(x(), x(), zeros({4})); }},
      Misuse{"DeviceError", "masked_fill", "mask  bool[2, 3] on sim:0", [] { masked_fill(x(), far() > 0, 1); }},
      Misuse{"ShapeError", "masked_fill", "mask  bool[4] on cpu", [] { masked_fill(x(), zeros({4}) > 0, 1); }},
      Misuse{"DTypeError", "masked_fill", "the mask is not bool", [] { masked_fill(x(), x(), 1); }},
      Misuse{"DeviceError", "masked_select", "mask  bool[2, 3] on sim:0", [] { masked_select(x(), far() > 0); }},
      Misuse{"DeviceError", "lerp", "on sim:0", [] { lerp(x(), far(), x()); }},
      Misuse{"ValueError", "lerp", kUndefined, [=] { lerp(x(), none, x()); }},
      Misuse{"ShapeError", "addcmul", "float32[4] on cpu", [] { addcmul(x(), x(), zeros({4})); }},
      Misuse{"DeviceError", "addcmul", "on sim:0", [] { addcmul(x(), x(), far()); }},
      Misuse{"ValueError", "addcmul", kUndefined, [=] { addcmul(x(), x(), none); }},
      Misuse{"ShapeError", "addcdiv", "float32[4] on cpu", [] { addcdiv(x(), zeros({4}), x()); }},
      Misuse{"DeviceError", "addcdiv", "on sim:0", [] { addcdiv(far(), x(), x()); }},
      Misuse{"ValueError", "addcdiv", kUndefined, [=] { addcdiv(none, x(), x()); }},
  });
}

template <class... Ops> std::vector<std::pair<const char*, kernels::Kind>> names(kernels::List<Ops...>) {
  return {{Ops::kName.data(), Ops::kKind}...};
}

TEST(Errors, EveryUnaryFunction) {
  const auto list = names(kernels::UnaryOps{});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto [name, kind] = list[i];
    const UnaryFunction f = unary_functions()[i];
    expect_errors({Misuse{"ValueError", name, kUndefined, [f] { f(Tensor(), 1, 2); }}});
    // The other possible error of one operand is its dtype.
    if (kind == kernels::Kind::kIntegral) expect_errors({Misuse{"DTypeError", name, kShown, [f] { f(x(), 1, 2); }}});
  }
  expect_errors({
      Misuse{"DTypeError", "neg", "bool[2, 3] on cpu", [] { neg(x() > 0); }},
      Misuse{"DTypeError", "abs", "bool[2, 3] on sim:0", [] { abs(far() > 0); }},
      Misuse{"ValueError", "clamp", kUndefined, [] { clamp_min(Tensor(), 0); }},
      Misuse{"ValueError", "clamp", kUndefined, [] { clamp_max(Tensor(), 0); }},
      Misuse{"ValueError", "pow_scalar", kUndefined, [] { pow_scalar(Tensor(), 2); }},
  });
}

TEST(Errors, EveryUnaryFunctionInPlace) {
  const Tensor leaf = zeros({2, 3}).requires_grad_();
  const auto clamped = [](const In& t) { return clamp_(t, 0, 1); };
  const std::pair<const char*, std::function<Tensor(const In&)>> all[] = {
      {"neg_", neg_},         {"abs_", abs_},     {"exp_", exp_},       {"log_", log_},
      {"sqrt_", sqrt_},       {"rsqrt_", rsqrt_}, {"square_", square_}, {"reciprocal_", reciprocal_},
      {"sin_", sin_},         {"cos_", cos_},     {"tanh_", tanh_},     {"erfinv_", erfinv_},
      {"floor_", floor_},     {"ceil_", ceil_},   {"round_", round_},   {"trunc_", trunc_},
      {"sigmoid_", sigmoid_}, {"relu_", relu_},   {"gelu_", gelu_},     {"silu_", silu_},
      {"clamp_", clamped}};
  for (const auto& [name, f] : all)
    expect_errors({
        Misuse{"ValueError", name, kUndefined, [f = f] { f(Tensor()); }},
        Misuse{"AutogradError", name, kShown, [=, f = f] { f(leaf); }},
        Misuse{"ShapeError", name, kShown,
               [f = f] {
                 f(zeros({3}).expand({2, 3}));
               }},
    });
  expect_errors({
      Misuse{"DTypeError", "exp_", "int64[3] on cpu", [] { exp_(arange(3)); }},
      Misuse{"DTypeError", "sigmoid_", "int64[3] on cpu", [] { sigmoid_(arange(3)); }},
      Misuse{"DTypeError", "sqrt_", "bool[2, 3] on cpu", [] { sqrt_(x() > 0); }},
  });
}

}  // namespace
}  // namespace minnow
