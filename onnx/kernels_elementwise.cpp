#include <minnow/onnx/detail/kernels.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/prelu.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::onnx::detail {
namespace {

using Results = std::vector<Tensor>;

template <Tensor (*kF)(const In&)> Results one(const Step& s) { return {kF(s.x(0))}; }

template <Tensor (*kF)(const TensorLike&, const TensorLike&)> Results two(const Step& s) {
  (void)s.x(0), (void)s.x(1);
  const std::vector<Tensor> in = s.together();
  return {kF(in[0], in[1])};
}

/// Of any number of operands.
template <Tensor (*kF)(const TensorLike&, const TensorLike&)> Results several(const Step& s) {
  const std::vector<Tensor> in = s.together();
  Tensor y = s.x(0);
  for (std::size_t i = 1; i < in.size(); ++i) y = kF(i == 1 ? in[0] : y, in[i]);
  return {y};
}

Tensor quotient(const TensorLike& a, const TensorLike& b) {
  const bool floating = a.tensor->is_floating_point() || b.tensor->is_floating_point();
  return floating ? div(a, b) : div(a, b, Rounding::trunc);
}
Tensor power(const TensorLike& a, const TensorLike& b) {
  const Tensor& exponent = *b.tensor;
  const DType dtype = a.tensor->dtype();
  if (exponent.dim() == 0 && exponent.device().is_cpu() && !exponent.requires_grad())
    return pow(a, exponent.item()).to(dtype);
  return pow(a, exponent.to(is_floating_point(dtype) ? dtype : exponent.dtype())).to(dtype);
}

Results clip(const Step& s) {
  const std::vector<Tensor> in = s.together();
  Tensor y = s.x(0);
  if (s.has(1)) y = maximum(y, in[1]);
  if (s.has(2)) y = minimum(y, in[2]);
  return {y};
}

Results where_of(const Step& s) {
  (void)s.x(0), (void)s.x(1), (void)s.x(2);
  const std::vector<Tensor> in = s.together();
  return {where(in[0], in[1], in[2])};
}

Results shrink(const Step& s) {
  const double limit = s.number("lambd", 0.5), bias = s.number("bias", 0);
  const Tensor& x = s.x(0);
  return {where(lt(x, -limit), add(x, bias), where(gt(x, limit), sub(x, bias), 0.0))};
}

Results is_infinite(const Step& s) {
  const Tensor& x = s.x(0);
  const bool above = s.integer("detect_positive", 1) != 0, below = s.integer("detect_negative", 1) != 0;
  if (above && below) return {isinf(x)};
  if (!above && !below) return {zeros(x.shape(), {DType::bool_, x.device()})};
  return {eq(x, above ? kInfinity : -kInfinity)};
}

constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

constexpr Kernel kKernels[] = {
    {"Abs", one<abs>},
    {"Acos", one<acos>},
    {"Acosh", one<acosh>},
    {"Asin", one<asin>},
    {"Asinh", one<asinh>},
    {"Atan", one<atan>},
    {"Atanh", one<atanh>},
    {"BitwiseNot", one<bitwise_not>},
    {"Ceil", one<ceil>},
    {"Cos", one<cos>},
    {"Cosh", one<cosh>},
    {"Erf", one<erf>},
    {"Exp", one<exp>},
    {"Floor", one<floor>},
    {"HardSwish", one<hardswish>},
    {"IsInf", is_infinite},
    {"IsNaN", one<isnan>},
    {"Log", one<log>},
    {"Mish", one<mish>},
    {"Neg", one<neg>},
    {"Not", one<logical_not>},
    {"Reciprocal", one<reciprocal>},
    {"Relu", one<relu>},
    {"Round", one<round>},
    {"Sigmoid", one<sigmoid>},
    {"Sign", one<sign>},
    {"Sin", one<sin>},
    {"Sinh", one<sinh>},
    {"Softsign", one<softsign>},
    {"Sqrt", one<sqrt>},
    {"Tan", one<tan>},
    {"Tanh", one<tanh>},
    {"Softplus", [](const Step& s) -> Results { return {softplus(s.x(0))}; }},
    {"Celu", [](const Step& s) -> Results { return {celu(s.x(0), s.number("alpha", 1))}; }},
    {"Elu", [](const Step& s) -> Results { return {elu(s.x(0), s.number("alpha", 1))}; }},
    {"LeakyRelu", [](const Step& s) -> Results { return {leaky_relu(s.x(0), s.number("alpha", 0.01))}; }},
    {"Selu",
     [](const Step& s) -> Results {
       const double alpha = s.number("alpha", kSeluAlpha), gamma = s.number("gamma", kSeluGamma);
       return {mul(elu(s.x(0), alpha), gamma)};
     }},
    {"HardSigmoid",
     [](const Step& s) -> Results {
       return {clamp(add(mul(s.x(0), s.number("alpha", 0.2)), s.number("beta", 0.5)), 0.0, 1.0)};
     }},
    {"Gelu",
     [](const Step& s) -> Results {
       return {s.text("approximate", "none") == "tanh" ? gelu_tanh(s.x(0)) : gelu(s.x(0))};
     }},
    {"Shrink", shrink},
    {"Clip", clip},
    {"PRelu",
     [](const Step& s) -> Results {
       const Tensor &x = s.x(0), &slope = s.x(1);
       return {where(lt(x, 0), mul(x, slope), x)};
     }},
    {"Dropout",
     [](const Step& s) -> Results {
       const double p = s.has(1) ? s.x(1).item() : 0.5;
       return {s.training && p > 0 ? dropout(s.x(0), {.p = p}) : s.x(0)};
     }},
    {"Identity", [](const Step& s) -> Results { return {s.x(0)}; }},
    {"Add", two<add>},
    {"Sub", two<sub>},
    {"Mul", two<mul>},
    {"Div", two<quotient>},
    {"Pow", two<power>},
    {"Max", several<maximum>},
    {"Min", several<minimum>},
    {"Sum", several<add>},
    {"Mod", [](const Step& s) -> Results { return s.integer("fmod", 0) == 0 ? two<remainder>(s) : two<fmod>(s); }},
    {"Equal", two<eq>},
    {"Less", two<lt>},
    {"LessOrEqual", two<le>},
    {"Greater", two<gt>},
    {"GreaterOrEqual", two<ge>},
    {"And", two<logical_and>},
    {"Or", two<logical_or>},
    {"Xor", two<logical_xor>},
    {"BitwiseAnd", two<bitwise_and>},
    {"BitwiseOr", two<bitwise_or>},
    {"BitwiseXor", two<bitwise_xor>},
    {"Where", where_of},
};

}  // namespace

std::span<const Kernel> elementwise_kernels() { return kKernels; }

}  // namespace minnow::onnx::detail
