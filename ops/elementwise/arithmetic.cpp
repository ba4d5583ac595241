#include <minnow/ops/elementwise/arithmetic.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {

// recorded(functor, y, op): y = functor(op[0], op[1]) with its gradients.
namespace {

using Two = BoundOperands<2>;
using Test = Tensor (*)(const Tensor& x, const Tensor& w);

/// Gradients g * da(a, b) and g * db(a, b).
template <class Da, class Db> Tensor by_slopes(Tensor y, const Two& op, Da da, Db db) {
  return op.record(std::move(y),
                   [a = Saved(op[0]), b = Saved(op[1]), da, db](const Tensor& g, Needs needs) -> Gradients {
                     const Tensor x = a(), w = b();
                     return {needs[0] ? mul(g, da(x, w)) : Tensor(), needs[1] ? mul(g, db(x, w)) : Tensor()};
                   });
}

/// A slope that is constant in pieces: its gradient is 0 everywhere, also where it is infinite.
template <class F> Tensor step(const char* name, const Tensor& x, const Tensor& w, F slope) {
  Tensor y;
  {
    const NoGradGuard no_grad;
    y = slope();
  }
  return record(name, std::move(y), {x, w}, [](const Tensor& g) -> Gradients {
    const Tensor none = zeros_like(g);
    return {none, none};
  });
}

/// Of a maximum or minimum, where an operand that is not the result gets nothing, and equal ones half of the gradient.
Tensor one_of(Tensor y, const Two& op, Test a_is_not, Test b_is_not) {
  return op.record(std::move(y),
                   [a = Saved(op[0]), b = Saved(op[1]), a_is_not, b_is_not](const Tensor& g, Needs needs) {
                     const Tensor x = a(), w = b(), shared = where(eq(x, w), mul(g, 0.5), g);
                     return Gradients{needs[0] ? where(a_is_not(x, w), 0.0, shared) : Tensor(),
                                      needs[1] ? where(b_is_not(x, w), 0.0, shared) : Tensor()};
                   });
}

Tensor recorded(kernels::Add, Tensor y, const Two& op) {
  return op.record(std::move(y), [](const Tensor& g) -> Gradients { return {g, g}; });
}

Tensor recorded(kernels::Sub, Tensor y, const Two& op) {
  return op.record(std::move(y), [](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? neg(g) : Tensor()};
  });
}

Tensor recorded(kernels::Mul, Tensor y, const Two& op) {
  const Tensor &a = op[0], &b = op[1];
  const bool need_a = needs_grad(a), need_b = needs_grad(b);
  return op.record(
      std::move(y),
      [x = need_b ? Saved(a) : Saved(), w = need_a ? Saved(b) : Saved()](const Tensor& g, Needs needs) -> Gradients {
        return {needs[0] ? mul(g, w()) : Tensor(), needs[1] ? mul(g, x()) : Tensor()};
      });
}

Tensor recorded(kernels::Div, Tensor y, const Two& op) {
  const Tensor& b = op[1];
  const bool need_b = needs_grad(b);
  const Saved quotient = need_b ? Saved::output(y) : Saved();
  return op.record(std::move(y), [b = Saved(b), quotient](const Tensor& g, Needs needs) -> Gradients {
    const Tensor share_of_a = div(g, b());
    return {needs[0] ? share_of_a : Tensor(), needs[1] ? neg(mul(share_of_a, quotient())) : Tensor()};
  });
}

Tensor recorded(kernels::Fmod, Tensor y, const Two& op) {
  return by_slopes(
      std::move(y), op, [](const Tensor& x, const Tensor&) { return ones_like(x); },
      [](const Tensor& x, const Tensor& w) { return step("fmod", x, w, [&] { return neg(trunc(div(x, w))); }); });
}

Tensor recorded(kernels::Remainder, Tensor y, const Two& op) {
  // floor(div(x, w)) would round first: 1 / 0.1 is 10, and 0.1 goes 9 times into 1.
  return by_slopes(
      std::move(y), op, [](const Tensor& x, const Tensor&) { return ones_like(x); },
      [](const Tensor& x, const Tensor& w) {
        return step("remainder", x, w, [&] { return neg(floor_divide(x, w)); });
      });
}

Tensor recorded(kernels::Pow, Tensor y, const Two& op) {
  // 0^0 = 1 has slope 0 in both operands, as in PyTorch; elsewhere log(0) = -inf is right.
  return by_slopes(
      std::move(y), op,
      [](const Tensor& x, const Tensor& w) { return where(eq(w, 0), 0.0, mul(w, pow(x, sub(w, 1)))); },
      [](const Tensor& x, const Tensor& w) {
        return where(logical_and(eq(x, 0), ge(w, 0)), 0.0, mul(pow(x, w), log(x)));
      });
}

// Where an operand is NaN, so is the result, and both get the gradient: neither is below the other.
constexpr Test kBelow = [](const Tensor& x, const Tensor& w) { return lt(x, w); };
constexpr Test kAbove = [](const Tensor& x, const Tensor& w) { return gt(x, w); };
Tensor recorded(kernels::Maximum, Tensor y, const Two& op) { return one_of(std::move(y), op, kBelow, kAbove); }
Tensor recorded(kernels::Minimum, Tensor y, const Two& op) { return one_of(std::move(y), op, kAbove, kBelow); }

// Of a number and NaN the number is the result.
Tensor recorded(kernels::Fmax, Tensor y, const Two& op) {
  constexpr Test first = [](const Tensor& x, const Tensor& w) { return logical_not(logical_or(ge(x, w), isnan(w))); };
  constexpr Test second = [](const Tensor& x, const Tensor& w) { return logical_or(gt(x, w), isnan(w)); };
  return one_of(std::move(y), op, first, second);
}
Tensor recorded(kernels::Fmin, Tensor y, const Two& op) {
  constexpr Test first = [](const Tensor& x, const Tensor& w) { return logical_not(logical_or(le(x, w), isnan(w))); };
  constexpr Test second = [](const Tensor& x, const Tensor& w) { return logical_or(lt(x, w), isnan(w)); };
  return one_of(std::move(y), op, first, second);
}

Tensor recorded(kernels::Atan2, Tensor y, const Two& op) {
  // At the origin the slope is 0, as in PyTorch.
  const auto over_square = [](const Tensor& t, const Tensor& x, const Tensor& w) {
    const Tensor square_sum = add(square(x), square(w));
    return where(eq(square_sum, 0), 0.0, div(t, square_sum));
  };
  return by_slopes(
      std::move(y), op, [over_square](const Tensor& x, const Tensor& w) { return over_square(w, x, w); },
      [over_square](const Tensor& x, const Tensor& w) { return neg(over_square(x, x, w)); });
}

Tensor recorded(kernels::Hypot, Tensor y, const Two& op) {
  return by_slopes(
      std::move(y), op, [](const Tensor& x, const Tensor& w) { return div(x, hypot(x, w)); },
      [](const Tensor& x, const Tensor& w) { return div(w, hypot(x, w)); });
}

Tensor recorded(kernels::Copysign, Tensor y, const Two& op) {
  return by_slopes(
      std::move(y), op, [](const Tensor& x, const Tensor& w) { return mul(sign(x), copysign(ones_like(x), w)); },
      [](const Tensor&, const Tensor& w) { return zeros_like(w); });
}

Tensor recorded(kernels::Logaddexp, Tensor y, const Two& op) {
  return by_slopes(
      std::move(y), op, [](const Tensor& x, const Tensor& w) { return sigmoid(sub(x, w)); },
      [](const Tensor& x, const Tensor& w) { return sigmoid(sub(w, x)); });
}

constinit const Tensor kNone;

/// Two operands as tensors: a number becomes a 0-dim one, of the dtype that it takes beside the other.
template <Precision P> struct Tensors {
  /// is_floating: the result is, also of integers, and so the number is not made one of their dtype.
  Tensors(const CallSite& site, const TensorLike& x, const TensorLike& y, bool is_floating)
      : cast(autocast(site, P, {{"a", given(x)}, {"b", given(y)}})),
        number(x.is_number() || y.is_number() ? beside(x, y, is_floating) : Tensor()),
        a(x.is_number() ? number : chosen(0, x)),
        b(y.is_number() ? number : chosen(1, y)) {}

  const AutocastOperands cast;
  const Tensor number;
  const Tensor &a, &b;

 private:
  static const Tensor& given(const TensorLike& x) { return x.is_number() ? kNone : *x.tensor; }
  const Tensor& chosen(std::size_t i, const TensorLike& x) const { return cast ? cast[i] : *x.tensor; }
  Tensor beside(const TensorLike& x, const TensorLike& y, bool is_floating) const {
    if (x.is_number() && y.is_number())
      throw ValueError(message("both operands are numbers", {}, "one of them must be a tensor"));
    const Tensor& other = x.is_number() ? chosen(1, y) : chosen(0, x);
    const Scalar value = x.is_number() ? x.number : y.number;
    if (is_floating && other.defined() && !other.is_floating_point())
      return raw::scalar_tensor(value.as_double(), DType::float32);
    return raw::scalar_tensor(value, other);
  }
};

template <class F> constexpr bool has_gradient() {
  using enum kernels::Kind;
  return F::kKind != kPredicate && F::kKind != kIntegral && !std::is_same_v<F, kernels::FloorDivide>;
}

/// One for all functions, which are compiled many times.
[[gnu::cold, gnu::noinline]] void tell_of(const char* name, const Tensor& y, Operands operands) {
  tell(name, {y}, operands);
}

template <class F, Precision P = kKept> Tensor call(const TensorLike& a, const TensorLike& b) {
  const CallSite site(F::kName.data(), a.where);
  const Tensors<P> x(site, a, b, F::kKind == kernels::Kind::kFloating);
  const Two op(site, {{"a", x.a}, {"b", x.b}}, HostScalars::allowed);
  Tensor y = raw::binary(op.backend(), raw::kBinary<F>, x.a, x.b);
  if (is_heard()) [[unlikely]]
    tell_of(F::kName.data(), y, op);
  if constexpr (has_gradient<F>())
    if (op.records()) return recorded(F(), std::move(y), op);
  return y;
}

template <class F> Tensor call_(const In& self, const TensorLike& other) {
  constexpr const char* kName = detail::kInPlaceName<F>.data();
  const CallSite site(kName, self.where);
  const Tensors<kKept> x(site, self, other, F::kKind == kernels::Kind::kFloating);
  return detail::in_place(
      kName, self, records(x.a, x.b), [&] { return call<F>(self, x.b); },
      [&] {
        raw::binary_(raw::kBinary<F>, self, x.b);
        if (is_heard()) [[unlikely]]
          tell_of(kName, *self, {{"self", *self}, {"other", x.b}});
      });
}

}  // namespace

Tensor add(const TensorLike& a, const TensorLike& b) { return call<kernels::Add>(a, b); }
Tensor add_(const In& self, const TensorLike& other) { return call_<kernels::Add>(self, other); }
Tensor sub(const TensorLike& a, const TensorLike& b) { return call<kernels::Sub>(a, b); }
Tensor sub_(const In& self, const TensorLike& other) { return call_<kernels::Sub>(self, other); }
Tensor mul(const TensorLike& a, const TensorLike& b) { return call<kernels::Mul>(a, b); }
Tensor mul_(const In& self, const TensorLike& other) { return call_<kernels::Mul>(self, other); }
Tensor div(const TensorLike& a, const TensorLike& b) { return call<kernels::Div>(a, b); }
Tensor div_(const In& self, const TensorLike& other) { return call_<kernels::Div>(self, other); }
Tensor div(const TensorLike& a, const TensorLike& b, Rounding rounding) {
  const CallSite site("div", (a.is_number() ? b : a).where);
  if (rounding == Rounding::floor) return floor_divide(a, b);
  const NoGradGuard no_grad;
  const auto floating = [](const TensorLike& x) {
    if (x.is_number()) return is_floating_point(x.number.dtype());
    return !x.tensor->defined() || x.tensor->is_floating_point();  // the division refuses an undefined one
  };
  return floating(a) || floating(b) ? trunc_(div(a, b)) : floor_divide(sub(a, fmod(a, b)), b);
}
Tensor floor_divide(const TensorLike& a, const TensorLike& b) { return call<kernels::FloorDivide>(a, b); }
Tensor floor_divide_(const In& self, const TensorLike& other) { return call_<kernels::FloorDivide>(self, other); }
Tensor fmod(const TensorLike& a, const TensorLike& b) { return call<kernels::Fmod>(a, b); }
Tensor fmod_(const In& self, const TensorLike& other) { return call_<kernels::Fmod>(self, other); }
Tensor remainder(const TensorLike& a, const TensorLike& b) { return call<kernels::Remainder>(a, b); }
Tensor remainder_(const In& self, const TensorLike& other) { return call_<kernels::Remainder>(self, other); }
Tensor pow(const TensorLike& a, const TensorLike& b) {
  constexpr Precision precision(kKept, kWide);
  if (!a.is_number() && b.is_number()) {
    const Operation op("pow", a.where, precision, {{"a", *a.tensor}});
    if (op[0].is_floating_point()) return pow_scalar(op[0], b.number.as_double());
    detail::require_power("a", op[0], b.number);
  }
  return call<kernels::Pow, precision>(a, b);
}
Tensor pow_(const In& self, const TensorLike& other) {
  const CallSite site("pow_", self.where);
  self->require_defined();
  if (other.is_number()) detail::require_power("self", *self, other.number);
  return call_<kernels::Pow>(self, other);
}
Tensor maximum(const TensorLike& a, const TensorLike& b) { return call<kernels::Maximum>(a, b); }
Tensor maximum_(const In& self, const TensorLike& other) { return call_<kernels::Maximum>(self, other); }
Tensor minimum(const TensorLike& a, const TensorLike& b) { return call<kernels::Minimum>(a, b); }
Tensor minimum_(const In& self, const TensorLike& other) { return call_<kernels::Minimum>(self, other); }
Tensor fmax(const TensorLike& a, const TensorLike& b) { return call<kernels::Fmax>(a, b); }
Tensor fmin(const TensorLike& a, const TensorLike& b) { return call<kernels::Fmin>(a, b); }
Tensor atan2(const TensorLike& a, const TensorLike& b) { return call<kernels::Atan2, Precision(kKept, kWidest)>(a, b); }
Tensor hypot(const TensorLike& a, const TensorLike& b) { return call<kernels::Hypot>(a, b); }
Tensor copysign(const TensorLike& a, const TensorLike& b) { return call<kernels::Copysign>(a, b); }
Tensor logaddexp(const TensorLike& a, const TensorLike& b) { return call<kernels::Logaddexp>(a, b); }

Tensor eq(const TensorLike& a, const TensorLike& b) { return call<kernels::Eq>(a, b); }
Tensor ne(const TensorLike& a, const TensorLike& b) { return call<kernels::Ne>(a, b); }
Tensor lt(const TensorLike& a, const TensorLike& b) { return call<kernels::Lt>(a, b); }
Tensor le(const TensorLike& a, const TensorLike& b) { return call<kernels::Le>(a, b); }
Tensor gt(const TensorLike& a, const TensorLike& b) { return call<kernels::Gt>(a, b); }
Tensor ge(const TensorLike& a, const TensorLike& b) { return call<kernels::Ge>(a, b); }
Tensor logical_and(const TensorLike& a, const TensorLike& b) { return call<kernels::LogicalAnd>(a, b); }
Tensor logical_or(const TensorLike& a, const TensorLike& b) { return call<kernels::LogicalOr>(a, b); }
Tensor logical_xor(const TensorLike& a, const TensorLike& b) { return call<kernels::LogicalXor>(a, b); }
Tensor bitwise_and(const TensorLike& a, const TensorLike& b) { return call<kernels::BitwiseAnd>(a, b); }
Tensor bitwise_or(const TensorLike& a, const TensorLike& b) { return call<kernels::BitwiseOr>(a, b); }
Tensor bitwise_xor(const TensorLike& a, const TensorLike& b) { return call<kernels::BitwiseXor>(a, b); }
Tensor left_shift(const TensorLike& a, const TensorLike& b) { return call<kernels::LeftShift>(a, b); }
Tensor right_shift(const TensorLike& a, const TensorLike& b) { return call<kernels::RightShift>(a, b); }

Tensor where(const In& condition, const TensorLike& a, const TensorLike& b) {
  const CallSite site("where", condition.where);
  const Tensor none;
  const Tensor x = a.is_number() ? raw::scalar_tensor(a.number, b.is_number() ? none : *b.tensor) : *a.tensor;
  const Tensor w = b.is_number() ? raw::scalar_tensor(b.number, x) : *b.tensor;
  const BoundOperands op(site, {{"condition", *condition}, {"a", x}, {"b", w}}, HostScalars::allowed);
  Tensor y = raw::where(op.backend(), condition, x, w);
  if (is_heard()) [[unlikely]]
    tell("where", {y}, op);
  if (!records(x, w)) return y;
  return op.record(std::move(y), {x, w}, [c = Saved(*condition)](const Tensor& g, Needs needs) -> Gradients {
    return {needs[0] ? where(c(), g, 0.0) : Tensor(), needs[1] ? where(c(), 0.0, g) : Tensor()};
  });
}

namespace {

/// A bound of clamp: a number as a 0-dim tensor.
Tensor bound_of(const In& x, const TensorLike& bound) {
  return bound.is_number() ? raw::scalar_tensor(bound.number, *x) : *bound.tensor;
}

/// PyTorch's gradients: those of x where it is within the bounds, else of the bound; halves where both are equal.
Gradients clamp_gradients(const Tensor& g, const Tensor& x, const Tensor& low, const Tensor& high, Needs needs) {
  const Tensor below = lt(x, low), above = gt(x, high), apart = lt(low, high), ordered = le(low, high);
  const Tensor half = mul(g, 0.5);
  const Tensor at_low = logical_and(eq(x, low), apart), at_high = logical_and(eq(x, high), apart);
  const auto part = [&](const Tensor& equal, const Tensor& chosen) {
    return where(equal, half, where(chosen, g, 0.0));
  };
  return {needs[0] ? part(logical_or(at_low, at_high), logical_not(logical_or(below, above))) : Tensor(),
          needs[1] ? part(at_low, logical_and(below, ordered)) : Tensor(),
          needs[2] ? part(at_high, logical_or(logical_and(above, ordered), gt(low, high))) : Tensor()};
}

}  // namespace

Tensor clamp(const In& x, const TensorLike& low, const TensorLike& high) {
  const CallSite site("clamp", x.where);
  x->require_defined();
  const Tensor a = bound_of(x, low), b = bound_of(x, high);
  if (!a.defined() && !b.defined())
    throw ValueError(message("both bounds are undefined", {{"x", *x}}, "pass a tensor or a number for one of them"));
  if (!b.defined()) return maximum(*x, a);
  if (!a.defined()) return minimum(*x, b);
  Tensor y = raw::ternary(raw::kTernary<kernels::ClampBetween>, *x, a, b);
  if (is_heard()) [[unlikely]]
    tell("clamp_between", {y}, {{"x", *x}, {"low", a}, {"high", b}});
  return record("clamp", std::move(y), {*x, a, b},
                [x = Saved(*x), a = Saved(a), b = Saved(b)](const Tensor& g, Needs needs) {
                  return clamp_gradients(g, x(), a(), b(), needs);
                });
}
Tensor clamp_min(const In& x, const In& low) {
  const CallSite site("clamp_min", x.where);
  return maximum(x, low);
}
Tensor clamp_max(const In& x, const In& high) {
  const CallSite site("clamp_max", x.where);
  return minimum(x, high);
}

Tensor lerp(const In& a, const In& b, const TensorLike& weight) {
  const CallSite site("lerp", a.where);
  const Tensors<kKept> x(site, a, weight, true);
  const BoundOperands op(site, {{"a", *a}, {"b", *b}, {"weight", x.b}}, HostScalars::allowed);
  Tensor y = raw::ternary(op.backend(), raw::kTernary<kernels::Lerp>, a, b, x.b, 0, "weight");
  if (is_heard()) [[unlikely]]
    tell("lerp", {y}, op);
  return op.record(std::move(y),
                   [a = Saved(*a), b = Saved(*b), w = Saved(x.b)](const Tensor& g, Needs needs) -> Gradients {
                     return {needs[0] ? mul(g, sub(1, w())) : Tensor(), needs[1] ? mul(g, w()) : Tensor(),
                             needs[2] ? mul(g, sub(b(), a())) : Tensor()};
                   });
}

namespace {

/// a + p b of floating-point tensors of one dtype and shape in one call; undefined for others.
Tensor add_scaled(const char* name, const In& a, const In& b, double p) {
  if (!a->defined() || !b->defined() || a->dtype() != b->dtype() || a->shape() != b->shape() || !a->is_floating_point())
    return {};
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcmul>, a, b, raw::scalar_tensor(1, *a), p);
  if (is_heard()) [[unlikely]]
    tell("add_scaled", {y}, {{"a", *a}, {"b", *b}}, {{"alpha", p}});
  return record(name, std::move(y), {a, b}, [p](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? mul(g, p) : Tensor()};
  });
}

/// alpha b in the dtype of a + b.
Tensor scaled(const In& a, const In& b, Scalar alpha) {
  return mul(a->defined() && b->defined() ? b->to(raw::result_type(*a, *b)) : *b, alpha);
}

}  // namespace

Tensor add(const In& a, const In& b, Scalar alpha) {
  const CallSite site("add", a.where);
  const Tensor y = add_scaled("add", a, b, alpha.as_double());
  return y.defined() ? y : add(a, scaled(a, b, alpha));
}
Tensor add_(const In& self, const In& other, Scalar alpha) {
  const CallSite site("add_", self.where);
  return add_(self, scaled(self, other, alpha));
}

Tensor sub(const In& a, const In& b, Scalar alpha) {
  const CallSite site("sub", a.where);
  const Tensor y = add_scaled("sub", a, b, -alpha.as_double());
  return y.defined() ? y : sub(a, scaled(a, b, alpha));
}
Tensor sub_(const In& self, const In& other, Scalar alpha) {
  const CallSite site("sub_", self.where);
  return sub_(self, scaled(self, other, alpha));
}

bool equal(const In& a, const In& b) {
  const Operation op("equal", a.where, {{"a", *a}, {"b", *b}});
  const NoGradGuard no_grad;
  return a->shape() == b->shape() && all(eq(a, b)).item<bool>();
}

Tensor isclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const Operation op("isclose", a.where, {{"a", *a}, {"b", *b}});
  if (!(rtol >= 0 && atol >= 0))
    throw ValueError(message("rtol and atol may not be negative", op, "nothing is closer than a negative distance"));
  const NoGradGuard no_grad;
  const Tensor x = a->to(float64), y = b->to(float64);
  const Tensor close = logical_or(x == y, logical_and(abs(x - y) <= abs(y) * rtol + atol, isfinite(y)));
  return equal_nan ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
}

bool allclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const CallSite site("allclose", a.where);
  return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}

Tensor addcmul(const In& a, const In& b, const In& c, double value) {
  const Operation op("addcmul", a.where, {kKept, kWidest}, {{"a", *a}, {"b", *b}, {"c", *c}}, HostScalars::allowed);
  Tensor y = raw::ternary(op.backend(), raw::kTernary<kernels::Addcmul>, op[0], op[1], op[2], value);
  if (is_heard()) [[unlikely]]
    tell("addcmul", {y}, op, {{"value", value}});
  return op.record(
      std::move(y), [b = Saved(op[1]), c = Saved(op[2]), value](const Tensor& g, Needs needs) -> Gradients {
        return {g, needs[1] ? mul(mul(g, c()), value) : Tensor(), needs[2] ? mul(mul(g, b()), value) : Tensor()};
      });
}

Tensor addcdiv(const In& a, const In& b, const In& c, double value) {
  const Operation op("addcdiv", a.where, {kKept, kWidest}, {{"a", *a}, {"b", *b}, {"c", *c}}, HostScalars::allowed);
  Tensor y = raw::ternary(op.backend(), raw::kTernary<kernels::Addcdiv>, op[0], op[1], op[2], value);
  if (is_heard()) [[unlikely]]
    tell("addcdiv", {y}, op, {{"value", value}});
  return op.record(std::move(y),
                   [b = Saved(op[1]), c = Saved(op[2]), value](const Tensor& g, Needs needs) -> Gradients {
                     const Tensor over_c = div(mul(g, value), c());
                     return {g, needs[1] ? over_c : Tensor(), needs[2] ? neg(mul(over_c, div(b(), c()))) : Tensor()};
                   });
}

}  // namespace minnow
