#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/unary.h>

#include "devices.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

using Unary = Tensor (*)(const In&);
using Ranges = std::vector<std::pair<double, double>>;

// Between them are the kinks of the functions.
const Ranges kReal{{-2.6, -1.1}, {-0.9, -0.55}, {-0.45, -0.1}, {0.1, 0.45}, {0.55, 0.95}, {1.1, 1.6}};
const Ranges kPositive{{0.1, 0.45}, {0.55, 0.95}, {1.1, 1.6}, {2.2, 9}};
const Ranges kAboveMinusOne{{-0.9, -0.55}, {-0.45, -0.1}, {0.1, 0.45}, {1.1, 1.6}};
const Ranges kInsideOne{{-0.9, -0.55}, {-0.45, -0.1}, {0.1, 0.45}, {0.55, 0.95}};
const Ranges kUnit{{0.1, 0.45}, {0.55, 0.95}};
const Ranges kAboveOne{{1.1, 1.6}, {2.2, 9}};

std::vector<Inputs> inputs_of(const Ranges& ranges) {
  std::vector<Inputs> inputs;
  for (const auto& [low, high] : ranges) inputs.push_back({values({2, 3}, low, high)});
  inputs.push_back({values({0, 3}, ranges[0].first, ranges[0].second)});
  inputs.push_back({values({}, ranges[0].first, ranges[0].second)});
  return inputs;
}

/// With the parameters bound, and their golden values: `parameters` is what follows the name.
OpCase with(const char* name, const char* parameters, Unary function, const Ranges& ranges = kReal) {
  return {.function = name,
          .variant = parameters,
          .call = one([function](const Tensors& x) { return function(x[0]); }),
          .inputs = inputs_of(ranges),
          .dtypes = all_dtypes(),
          .golden = {"unary: " + std::string(name) + parameters}};
}

OpCase unary(const char* name, Unary function, const Ranges& ranges = kReal) {
  return with(name, "", function, ranges);
}

OpCase without_gradient(OpCase c) { return c.gradient = Gradient::kNone, c; }
OpCase with_dtypes(OpCase c, std::vector<DType> dtypes) { return c.dtypes = std::move(dtypes), c; }
OpCase with_tolerance(OpCase c, Tolerance tolerance) { return c.tolerance = tolerance, c; }

OpCases smooth() {
  return {
      unary("exp", exp), unary("exp2", exp2), unary("expm1", expm1), unary("log", log, kPositive),
      unary("log2", log2, kPositive), unary("log10", log10, kPositive), unary("log1p", log1p, kAboveMinusOne),
      unary("sqrt", sqrt, kPositive), unary("rsqrt", rsqrt, kPositive), unary("square", square),
      unary("reciprocal", reciprocal), unary("sin", sin), unary("cos", cos), unary("tan", tan, kInsideOne),
      unary("asin", asin, kInsideOne), unary("acos", acos, kInsideOne), unary("atan", atan), unary("sinh", sinh),
      unary("cosh", cosh), unary("tanh", tanh), unary("asinh", asinh),
      // Near 1 PyTorch is off by 1.2e-5.
      with_tolerance(unary("acosh", acosh, kAboveOne), {3e-5, 0}), unary("atanh", atanh, kInsideOne), unary("erf", erf),
      unary("erfc", erfc), unary("erfinv", erfinv, kInsideOne), unary("lgamma", lgamma), unary("digamma", digamma),
      with("polygamma", "/1", [](const In& x) { return polygamma(1, x); }, {{0.55, 0.95}, {2.2, 9}}),
      with("polygamma", "/2", [](const In& x) { return polygamma(2, x); }, {{0.55, 0.95}, {2.2, 9}}),
      with("polygamma", "/5", [](const In& x) { return polygamma(5, x); }, {{2.2, 9}}), unary("logit", logit, kUnit),
      with_dtypes(unary("neg", neg), numbers()), with_dtypes(unary("abs", abs), numbers())};
}

OpCases steps() {
  OpCases cases;
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Unary>>{
           {"sign", sign}, {"floor", floor}, {"ceil", ceil}, {"round", round}, {"trunc", trunc}, {"frac", frac}}) {
    cases.push_back(unary(name, function));
    const std::string is = name;
    if (is != "sign" && is != "frac") cases.back().dtypes = numbers();
  }
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Unary>>{
           {"isnan", isnan}, {"isinf", isinf}, {"isfinite", isfinite}, {"logical_not", logical_not}})
    cases.push_back(without_gradient(unary(name, function)));
  OpCase bits = without_gradient(unary("bitwise_not", bitwise_not));
  bits.dtypes = integral();
  bits.dtypes.push_back(DType::bool_);
  cases.push_back(bits);
  return cases;
}

OpCases activations() {
  return {unary("sigmoid", sigmoid),
          unary("log_sigmoid", log_sigmoid),
          with_dtypes(unary("relu", relu), numbers()),
          with_dtypes(unary("relu6", relu6), numbers()),
          unary("selu", selu),
          unary("gelu", gelu),
          unary("gelu_tanh", gelu_tanh),
          unary("silu", silu),
          unary("mish", mish),
          unary("hardswish", hardswish),
          unary("hardsigmoid", hardsigmoid),
          unary("softsign", softsign),
          unary("tanhshrink", tanhshrink)};
}

/// Functions with parameters.
OpCases parameters() {
  return {with("softplus", "", [](const In& x) { return softplus(x, 1, 20); }),
          with("softplus", "/2,3", [](const In& x) { return softplus(x, 2, 3); }),
          with("leaky_relu", "", [](const In& x) { return leaky_relu(x, 0.1); }),
          with("elu", "", [](const In& x) { return elu(x, 1.5); }),
          with("celu", "", [](const In& x) { return celu(x, 1.5); }),
          with_dtypes(with("hardtanh", "", [](const In& x) { return hardtanh(x, -1, 2); }), numbers()),
          with("softshrink", "", [](const In& x) { return softshrink(x, 0.5); }),
          with("hardshrink", "", [](const In& x) { return hardshrink(x, 0.5); }),
          with("threshold", "", [](const In& x) { return threshold(x, 0.5, 7); }),
          with_dtypes(with("clamp", "", [](const In& x) { return clamp(x, -1, 2); }), numbers()),
          with("nan_to_num", "", [](const In& x) { return nan_to_num(x, 7); }),
          with_dtypes(with("pow_scalar", "/2", [](const In& x) { return pow_scalar(x, 2); }), numbers()),
          with_dtypes(with("pow_scalar", "/3", [](const In& x) { return pow_scalar(x, 3); }), numbers()),
          with_dtypes(with("pow_scalar", "/0", [](const In& x) { return pow_scalar(x, 0); }), numbers()),
          with_dtypes(with(
                          "pow_scalar", "/0.5", [](const In& x) { return pow_scalar(x, 0.5); }, kPositive),
                      numbers()),
          with_dtypes(with("pow_scalar", "/-1", [](const In& x) { return pow_scalar(x, -1); }), numbers()),
          with_dtypes(with(
                          "pow_scalar", "/2.5", [](const In& x) { return pow_scalar(x, 2.5); }, kPositive),
                      numbers())};
}

/// The in-place form, on a copy of its input.
OpCase in_place(const char* name, Unary form, Unary function, const Ranges& ranges = kReal) {
  return {.function = name,
          .call = written([form](const Tensor& y, const Tensors&) { form(y); }),
          .inputs = inputs_of(ranges),
          .same_as = one([function](const Tensors& x) { return function(x[0]); })};
}

OpCases unary_in_place_forms() {
  OpCases cases{in_place("exp_", exp_, exp),
                in_place("log_", log_, log, kPositive),
                in_place("sqrt_", sqrt_, sqrt, kPositive),
                in_place("rsqrt_", rsqrt_, rsqrt, kPositive),
                in_place("reciprocal_", reciprocal_, reciprocal),
                in_place("sin_", sin_, sin),
                in_place("cos_", cos_, cos),
                in_place("tanh_", tanh_, tanh),
                in_place("erfinv_", erfinv_, erfinv, kInsideOne),
                in_place("sigmoid_", sigmoid_, sigmoid),
                in_place("gelu_", gelu_, gelu),
                in_place("silu_", silu_, silu)};
  for (const auto& [name, form, function] :
       std::initializer_list<std::tuple<const char*, Unary, Unary>>{{"neg_", neg_, neg},
                                                                    {"abs_", abs_, abs},
                                                                    {"square_", square_, square},
                                                                    {"floor_", floor_, floor},
                                                                    {"ceil_", ceil_, ceil},
                                                                    {"round_", round_, round},
                                                                    {"trunc_", trunc_, trunc},
                                                                    {"relu_", relu_, relu}})
    cases.push_back(with_dtypes(in_place(name, form, function), numbers()));
  const auto low = in_place(
      "clamp_", [](const In& x) { return clamp_(x, -1, 2); }, [](const In& x) { return clamp(x, -1, 2); });
  cases.push_back(with_dtypes(low, numbers()));
  for (const auto& [name, function, same] : std::initializer_list<std::tuple<const char*, Unary, Unary>>{
           {"clamp_min", [](const In& x) { return clamp_min(x, -0.5); }, [](const In& x) { return clamp(x, -0.5); }},
           {"clamp_max", [](const In& x) { return clamp_max(x, 0.5); },
            [](const In& x) { return clamp(x, -kInfinity, 0.5); }}}) {
    OpCase c = with_dtypes(unary(name, function), numbers());
    c.golden = {};
    c.same_as = one([f = same](const Tensors& x) { return f(x[0]); });
    cases.push_back(c);
  }
  return cases;
}

const Register kUnaryTables[] = {Register(smooth), Register(steps), Register(activations), Register(parameters),
                                 Register(unary_in_place_forms)};

}  // namespace
}  // namespace minnow::test
