#include <minnow/ops/elementwise/unary.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/unary.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

using kernels::Saves;

/// What the gradient of a function needs to know about it.
struct FunctionInfo {
  const char* name;
  int op;
  int order;
  double p0, p1;
};

/// p a b c, recorded: a pass in each direction.
Tensor product(const char* name, const Tensor& a, const Tensor& b, const Tensor& c, double p) {
  Tensor y = raw::ternary(raw::kTernary<kernels::Product>, a, b, c, p);
  return record(name, std::move(y), {a, b, c},
                [name, a = Saved(a), b = Saved(b), c = Saved(c), p](const Tensor& g, Needs needs) -> Gradients {
                  return {needs[0] ? product(name, g, b(), c(), p) : Tensor(),
                          needs[1] ? product(name, g, a(), c(), p) : Tensor(),
                          needs[2] ? product(name, g, a(), b(), p) : Tensor()};
                });
}

/// grad * slope(saved), recorded, so that it has a gradient.
Tensor first_derivative(const FunctionInfo& f, const Tensor& grad, const Tensor& saved) {
  Tensor out = raw::unary_slope(f.op, grad, saved, f.p0, f.p1);
  if (!records(grad, saved)) return out;
  return record(
      f.name, std::move(out), {grad, saved},
      [f, g = f.order > 1 ? Saved(grad) : Saved(), s = Saved(saved)](const Tensor& gg, Needs needs) -> Gradients {
        Tensor bend;
        const double factor = detail::unary_curve_factor(f.op);
        if (needs[1] && factor != 0) bend = product(f.name, gg, g(), s(), factor);
        else if (needs[1] && f.order > 1) bend = detail::unary_curve(f.op)(mul(gg, g()), s(), f.p0, f.p1);
        else if (needs[1]) bend = zeros_like(s());  // 0 * gg * g is NaN where those are infinite
        return {needs[0] ? first_derivative(f, gg, s()) : Tensor(), std::move(bend)};
      });
}

/// The derivative of a function whose slope is the same everywhere: it depends on grad alone.
Tensor constant_derivative(const FunctionInfo& f, const Tensor& grad) {
  return record(f.name, raw::unary_slope(f.op, grad, grad, f.p0, f.p1), {grad},
                [f](const Tensor& gg) { return constant_derivative(f, gg); });
}

template <class F, class... Of> inline constexpr bool kIsOneOf = (std::is_same_v<F, Of> || ...);
/// Under an Autocast guard on CUDA in float32: those that are steep.
template <class F>
inline constexpr Precision kPrecision{
    kKept, kIsOneOf<F, kernels::Acos, kernels::Asin, kernels::Cosh, kernels::Erfinv, kernels::Exp, kernels::Expm1,
                    kernels::Log, kernels::Log10, kernels::Log1p, kernels::Log2, kernels::PowScalar,
                    kernels::Reciprocal, kernels::Rsqrt, kernels::Sinh, kernels::Softplus, kernels::Tan>
               ? kWide
               : kKept};

/// A function of the list, as data: what follows is compiled once for each precision.
struct Entry {
  const char *name, *in_place_name;
  int op, order;
  Saves saves;
};
template <class F>
inline constexpr Entry kEntry{F::kName.data(), detail::kInPlaceName<F>.data(), raw::kUnary<F>, F::kOrder, F::kSaves};

Tensor recorded(const Entry& e, Tensor y, const BoundOperands<1>& op, double p0, double p1) {
  const FunctionInfo f{e.name, e.op, e.order, p0, p1};
  if (e.saves == Saves::kNothing)
    return op.record(std::move(y), [f](const Tensor& g) {
      return f.op == raw::kUnary<kernels::Frac> ? g : constant_derivative(f, g);  // 1 for frac
    });
  Saved saved = e.saves == Saves::kOutput ? Saved::output(y) : Saved(op[0]);
  return op.record(std::move(y), [f, s = std::move(saved)](const Tensor& g) { return first_derivative(f, g, s()); });
}

template <Precision P> Tensor compute(const Entry& e, const In& x, double p0, double p1) {
  const Operation op(e.name, x.where, P, {{"self", *x}});
  Tensor y = raw::unary(op.backend(), e.op, op[0], p0, p1);
  if (is_heard()) [[unlikely]]
    tell(e.name, {y}, op, {{"p0", p0}, {"p1", p1}});
  if (e.order > 0 && op.records()) y = recorded(e, std::move(y), op, p0, p1);
  return y;
}

template <Precision P> Tensor compute_in_place(const Entry& e, const In& x, double p0, double p1) {
  return detail::in_place(
      e.in_place_name, x, records(*x), [&] { return compute<P>(e, x, p0, p1); },
      [&] {
        raw::unary_(e.op, x, p0, p1);
        if (is_heard()) [[unlikely]]
          tell(e.in_place_name, {*x}, {{"self", *x}}, {{"p0", p0}, {"p1", p1}});
      });
}

template <class F> Tensor function(const In& x, double p0 = 0, double p1 = 0) {
  return compute<kPrecision<F>>(kEntry<F>, x, p0, p1);
}
template <class F> Tensor in_place(const In& x, double p0 = 0, double p1 = 0) {
  return compute_in_place<kPrecision<F>>(kEntry<F>, x, p0, p1);
}

template <class... Ops> constexpr auto table(kernels::List<Ops...>) {
  return std::array<UnaryFunction, sizeof...(Ops)>{function<Ops>...};
}
constexpr auto kFunctions = table(kernels::UnaryOps{});

}  // namespace

std::span<const UnaryFunction> unary_functions() { return kFunctions; }

Tensor neg(const In& x) { return function<kernels::Neg>(x); }
Tensor neg_(const In& x) { return in_place<kernels::Neg>(x); }
Tensor abs(const In& x) { return function<kernels::Abs>(x); }
Tensor abs_(const In& x) { return in_place<kernels::Abs>(x); }
Tensor sign(const In& x) { return function<kernels::Sign>(x); }
Tensor exp(const In& x) { return function<kernels::Exp>(x); }
Tensor exp_(const In& x) { return in_place<kernels::Exp>(x); }
Tensor exp2(const In& x) { return function<kernels::Exp2>(x); }
Tensor expm1(const In& x) { return function<kernels::Expm1>(x); }
Tensor log(const In& x) { return function<kernels::Log>(x); }
Tensor log_(const In& x) { return in_place<kernels::Log>(x); }
Tensor log2(const In& x) { return function<kernels::Log2>(x); }
Tensor log10(const In& x) { return function<kernels::Log10>(x); }
Tensor log1p(const In& x) { return function<kernels::Log1p>(x); }
Tensor sqrt(const In& x) { return function<kernels::Sqrt>(x); }
Tensor sqrt_(const In& x) { return in_place<kernels::Sqrt>(x); }
Tensor rsqrt(const In& x) { return function<kernels::Rsqrt>(x); }
Tensor rsqrt_(const In& x) { return in_place<kernels::Rsqrt>(x); }
Tensor square(const In& x) {
  const CallSite site("square", x.where);
  return function<kernels::Square>(x->defined() && x->dtype() == DType::bool_ ? x->to(int64) : *x);
}
Tensor square_(const In& x) { return in_place<kernels::Square>(x); }
Tensor reciprocal(const In& x) { return function<kernels::Reciprocal>(x); }
Tensor reciprocal_(const In& x) { return in_place<kernels::Reciprocal>(x); }
Tensor sin(const In& x) { return function<kernels::Sin>(x); }
Tensor sin_(const In& x) { return in_place<kernels::Sin>(x); }
Tensor cos(const In& x) { return function<kernels::Cos>(x); }
Tensor cos_(const In& x) { return in_place<kernels::Cos>(x); }
Tensor tan(const In& x) { return function<kernels::Tan>(x); }
Tensor asin(const In& x) { return function<kernels::Asin>(x); }
Tensor acos(const In& x) { return function<kernels::Acos>(x); }
Tensor atan(const In& x) { return function<kernels::Atan>(x); }
Tensor sinh(const In& x) { return function<kernels::Sinh>(x); }
Tensor cosh(const In& x) { return function<kernels::Cosh>(x); }
Tensor tanh(const In& x) { return function<kernels::Tanh>(x); }
Tensor tanh_(const In& x) { return in_place<kernels::Tanh>(x); }
Tensor asinh(const In& x) { return function<kernels::Asinh>(x); }
Tensor acosh(const In& x) { return function<kernels::Acosh>(x); }
Tensor atanh(const In& x) { return function<kernels::Atanh>(x); }
Tensor erf(const In& x) { return function<kernels::Erf>(x); }
Tensor erfc(const In& x) { return function<kernels::Erfc>(x); }
Tensor erfinv(const In& x) { return function<kernels::Erfinv>(x); }
Tensor erfinv_(const In& x) { return in_place<kernels::Erfinv>(x); }
Tensor lgamma(const In& x) { return function<kernels::Lgamma>(x); }
Tensor digamma(const In& x) { return function<kernels::Digamma>(x); }
Tensor polygamma(std::int64_t n, const In& x) {
  const CallSite site("polygamma", x.where);
  if (n < 0 || n > 170)
    throw ValueError(message("n is not in [0, 170]", {}, "n is the number of derivatives of digamma"));
  return function<kernels::Polygamma>(x, static_cast<double>(n));
}
Tensor logit(const In& x) { return function<kernels::Logit>(x); }
Tensor floor(const In& x) { return function<kernels::Floor>(x); }
Tensor floor_(const In& x) { return in_place<kernels::Floor>(x); }
Tensor ceil(const In& x) { return function<kernels::Ceil>(x); }
Tensor ceil_(const In& x) { return in_place<kernels::Ceil>(x); }
Tensor round(const In& x) { return function<kernels::Round>(x); }
Tensor round_(const In& x) { return in_place<kernels::Round>(x); }
Tensor trunc(const In& x) { return function<kernels::Trunc>(x); }
Tensor trunc_(const In& x) { return in_place<kernels::Trunc>(x); }
Tensor frac(const In& x) { return function<kernels::Frac>(x); }
Tensor isnan(const In& x) { return function<kernels::IsNan>(x); }
Tensor isinf(const In& x) { return function<kernels::IsInf>(x); }
Tensor isfinite(const In& x) { return function<kernels::IsFinite>(x); }
Tensor logical_not(const In& x) { return function<kernels::LogicalNot>(x); }
Tensor bitwise_not(const In& x) { return function<kernels::BitwiseNot>(x); }
Tensor sigmoid(const In& x) { return function<kernels::Sigmoid>(x); }
Tensor sigmoid_(const In& x) { return in_place<kernels::Sigmoid>(x); }
Tensor log_sigmoid(const In& x) { return function<kernels::LogSigmoid>(x); }
Tensor relu(const In& x) { return function<kernels::Relu>(x); }
Tensor relu_(const In& x) { return in_place<kernels::Relu>(x); }
Tensor relu6(const In& x) { return function<kernels::Relu6>(x); }
Tensor selu(const In& x) { return function<kernels::Selu>(x); }
Tensor gelu(const In& x) { return function<kernels::Gelu>(x); }
Tensor gelu_(const In& x) { return in_place<kernels::Gelu>(x); }
Tensor gelu_tanh(const In& x) { return function<kernels::GeluTanh>(x); }
Tensor silu(const In& x) { return function<kernels::Silu>(x); }
Tensor silu_(const In& x) { return in_place<kernels::Silu>(x); }
Tensor mish(const In& x) { return function<kernels::Mish>(x); }
Tensor hardswish(const In& x) { return function<kernels::Hardswish>(x); }
Tensor hardsigmoid(const In& x) { return function<kernels::Hardsigmoid>(x); }
Tensor softsign(const In& x) { return function<kernels::Softsign>(x); }
Tensor tanhshrink(const In& x) { return function<kernels::Tanhshrink>(x); }
Tensor softplus(const In& x, double beta, double threshold) { return function<kernels::Softplus>(x, beta, threshold); }
Tensor leaky_relu(const In& x, double slope) { return function<kernels::LeakyRelu>(x, slope); }
Tensor elu(const In& x, double alpha) { return function<kernels::Elu>(x, alpha); }
Tensor celu(const In& x, double alpha) { return function<kernels::Celu>(x, alpha); }
Tensor hardtanh(const In& x, double low, double high) {
  const CallSite site("hardtanh", x.where);
  if (low > high) throw ValueError(message("low is above high", {{"x", *x}}, "give the smaller bound first"));
  return function<kernels::Hardtanh>(x, low, high);
}
Tensor softshrink(const In& x, double lambda) {
  const CallSite site("softshrink", x.where);
  if (!(lambda >= 0)) throw ValueError(message("lambda is negative", {{"x", *x}}, "it is a distance from 0"));
  return function<kernels::Softshrink>(x, lambda);
}
Tensor hardshrink(const In& x, double lambda) { return function<kernels::Hardshrink>(x, lambda); }
Tensor threshold(const In& x, double limit, double value) { return function<kernels::Threshold>(x, limit, value); }

namespace {

/// Whether a bound makes x, integers, floating-point, as in PyTorch: a fractional one.  An infinite one that limits
/// nothing is none.
bool is_widened(const Tensor& x, double low, double high) {
  const auto is_fraction = [](double bound) { return bound != std::trunc(bound); };
  return !x.is_floating_point() && x.dtype() != DType::bool_ &&
         (is_fraction(low) || is_fraction(high) || low == kInfinity || high == -kInfinity);
}

/// The number next to a bound that x's dtype can hold: integers are limited as int64.
double held(double bound, const Tensor& x) {
  return dtype_switch(x.dtype(), [&]<class T>() -> double {
    if constexpr (!std::is_integral_v<T>) return bound;
    else
      return std::clamp(bound, static_cast<double>(std::numeric_limits<T>::min()),
                        static_cast<double>(std::numeric_limits<T>::max()));
  });
}

}  // namespace

Tensor clamp(const In& x, double low, double high) {
  const CallSite site("clamp", x.where);
  x->require_defined();
  if (is_widened(*x, low, high)) return clamp({x->to(DType::float32), x.where}, low, high);
  if (std::isnan(low) || std::isnan(high)) return clamp(x, TensorLike(low), TensorLike(high));  // NaN
  return function<kernels::Clamp>(x, held(low, *x), held(high, *x));
}
Tensor clamp_(const In& x, double low, double high) {
  const CallSite site("clamp_", x.where);
  x->require_defined();
  if (is_widened(*x, low, high))
    throw DTypeError(message("a fractional bound makes the result float32, which self cannot hold", {{"self", *x}},
                             "use clamp, or whole numbers"));
  if (std::isnan(low) || std::isnan(high)) return copy_(x, clamp(x, low, high));
  return in_place<kernels::Clamp>(x, held(low, *x), held(high, *x));
}
Tensor pow_scalar(const In& x, double exponent) { return function<kernels::PowScalar>(x, exponent); }

namespace {

/// The largest finite number of a floating-point dtype.
double largest_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return 65504;
    case DType::bfloat16: return 0x1.FEp127;
    case DType::float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

}  // namespace

Tensor nan_to_num(const In& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  const CallSite site("nan_to_num", x.where);
  x->require_defined("nan_to_num", x.where);
  if (!x->is_floating_point()) return x->clone();
  Tensor y = function<kernels::NanToNum>(x, nan, largest_of(x->dtype()));
  if (posinf) y = where(eq(*x, kInfinity), *posinf, y);
  if (neginf) y = where(eq(*x, -kInfinity), *neginf, y);
  return y;
}

namespace detail {

Tensor relu_gradient(const Tensor& grad, const Tensor& y) {
  constexpr int op = raw::kUnary<kernels::Relu>;
  if (!is_grad_enabled()) return raw::unary_slope(op, grad, y, 0, 0);
  return where(le(y, 0), 0.0, grad);
}

Tensor smooth_l1(const Tensor& d, double beta, double scale) {
  if (records(d)) return function<kernels::SmoothL1>(d, beta, scale);
  raw::unary_(raw::kUnary<kernels::SmoothL1>, d, beta, scale);
  return d;
}

}  // namespace detail

}  // namespace minnow
