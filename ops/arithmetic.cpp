#include <minnow/ops/arithmetic.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {

// recorded(functor, y, a, b): y = functor(a, b) with its gradients.
namespace {

/// Gradients g * da(a, b) and g * db(a, b).
template <class Op, class Da, class Db> Tensor by_slopes(Op, Tensor y, const Tensor& a, const Tensor& b, Da da, Db db) {
  return record(Op::kName.data(), std::move(y), {a, b},
                [a = Saved(a), b = Saved(b), da, db](const Tensor& g, Needs needs) -> Gradients {
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

/// 1 where an operand was chosen, 1/2 where both are equal, 0 elsewhere.
Tensor share(const Tensor& chosen, const Tensor& equal, const Tensor& like) {
  const NoGradGuard no_grad;
  return where(equal, 0.5, chosen.to(like.dtype()));
}

Tensor recorded(kernels::Add, Tensor y, const Tensor& a, const Tensor& b) {
  return record("add", std::move(y), {a, b}, [](const Tensor& g) -> Gradients { return {g, g}; });
}

Tensor recorded(kernels::Sub, Tensor y, const Tensor& a, const Tensor& b) {
  return record("sub", std::move(y), {a, b}, [](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? neg(g) : Tensor()};
  });
}

Tensor recorded(kernels::Mul, Tensor y, const Tensor& a, const Tensor& b) {
  const bool need_a = needs_grad(a), need_b = needs_grad(b);
  return record(
      "mul", std::move(y), {a, b},
      [x = need_b ? Saved(a) : Saved(), w = need_a ? Saved(b) : Saved()](const Tensor& g, Needs needs) -> Gradients {
        return {needs[0] ? mul(g, w()) : Tensor(), needs[1] ? mul(g, x()) : Tensor()};
      });
}

Tensor recorded(kernels::Div, Tensor y, const Tensor& a, const Tensor& b) {
  const bool need_b = needs_grad(b);
  const Saved quotient = need_b ? Saved::output(y) : Saved();
  return record("div", std::move(y), {a, b}, [b = Saved(b), quotient](const Tensor& g, Needs needs) -> Gradients {
    const Tensor share_of_a = div(g, b());
    return {needs[0] ? share_of_a : Tensor(), needs[1] ? neg(mul(share_of_a, quotient())) : Tensor()};
  });
}

Tensor recorded(kernels::Fmod op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b, [](const Tensor& x, const Tensor&) { return ones_like(x); },
      [](const Tensor& x, const Tensor& w) { return step("fmod", x, w, [&] { return neg(trunc(div(x, w))); }); });
}

Tensor recorded(kernels::Remainder op, Tensor y, const Tensor& a, const Tensor& b) {
  // floor(div(x, w)) would round first: 1 / 0.1 is 10, and 0.1 goes 9 times into 1.
  return by_slopes(
      op, std::move(y), a, b, [](const Tensor& x, const Tensor&) { return ones_like(x); },
      [](const Tensor& x, const Tensor& w) {
        return step("remainder", x, w, [&] { return neg(floor_divide(x, w)); });
      });
}

Tensor recorded(kernels::Pow op, Tensor y, const Tensor& a, const Tensor& b) {
  // 0^0 = 1 has slope 0 in both operands, as in PyTorch; elsewhere log(0) = -inf is right.
  return by_slopes(
      op, std::move(y), a, b,
      [](const Tensor& x, const Tensor& w) { return where(eq(w, 0), 0.0, mul(w, pow(x, sub(w, 1)))); },
      [](const Tensor& x, const Tensor& w) {
        return where(logical_and(eq(x, 0), ge(w, 0)), 0.0, mul(pow(x, w), log(x)));
      });
}

// Where an operand is NaN, so is the result, and both get the gradient: neither is below the other.
Tensor recorded(kernels::Maximum op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b,
      [](const Tensor& x, const Tensor& w) { return share(logical_not(lt(x, w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(gt(x, w)), eq(x, w), w); });
}

Tensor recorded(kernels::Minimum op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b,
      [](const Tensor& x, const Tensor& w) { return share(logical_not(gt(x, w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(lt(x, w)), eq(x, w), w); });
}

Tensor recorded(kernels::Fmax op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b,
      [](const Tensor& x, const Tensor& w) { return share(logical_or(gt(x, w), isnan(w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(logical_or(gt(x, w), isnan(w))), eq(x, w), w); });
}

Tensor recorded(kernels::Fmin op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b,
      [](const Tensor& x, const Tensor& w) { return share(logical_or(lt(x, w), isnan(w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(logical_or(lt(x, w), isnan(w))), eq(x, w), w); });
}

Tensor recorded(kernels::Atan2 op, Tensor y, const Tensor& a, const Tensor& b) {
  // At the origin the slope is 0, as in PyTorch.
  const auto over_square = [](const Tensor& t, const Tensor& x, const Tensor& w) {
    const Tensor square_sum = add(square(x), square(w));
    return where(eq(square_sum, 0), 0.0, div(t, square_sum));
  };
  return by_slopes(
      op, std::move(y), a, b, [over_square](const Tensor& x, const Tensor& w) { return over_square(w, x, w); },
      [over_square](const Tensor& x, const Tensor& w) { return neg(over_square(x, x, w)); });
}

Tensor recorded(kernels::Hypot op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b, [](const Tensor& x, const Tensor& w) { return div(x, hypot(x, w)); },
      [](const Tensor& x, const Tensor& w) { return div(w, hypot(x, w)); });
}

Tensor recorded(kernels::Copysign op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b, [](const Tensor& x, const Tensor& w) { return mul(sign(x), copysign(ones_like(x), w)); },
      [](const Tensor&, const Tensor& w) { return zeros_like(w); });
}

Tensor recorded(kernels::Logaddexp op, Tensor y, const Tensor& a, const Tensor& b) {
  return by_slopes(
      op, std::move(y), a, b, [](const Tensor& x, const Tensor& w) { return sigmoid(sub(x, w)); },
      [](const Tensor& x, const Tensor& w) { return sigmoid(sub(w, x)); });
}

/// Two operands as tensors: a number becomes a 0-dim one, of the dtype that it takes beside the other.
struct Tensors {
  Tensors(const TensorLike& x, const TensorLike& y)
      : number(x.is_number() || y.is_number() ? beside(x, y) : Tensor()),
        a(x.is_number() ? number : *x.tensor),
        b(y.is_number() ? number : *y.tensor) {}

  const Tensor number;
  const Tensor &a, &b;

 private:
  static Tensor beside(const TensorLike& x, const TensorLike& y) {
    if (x.is_number() && y.is_number())
      throw ValueError(message("both operands are numbers", {}, "one of them must be a tensor"));
    return x.is_number() ? raw::scalar_tensor(x.number, *y.tensor) : raw::scalar_tensor(y.number, *x.tensor);
  }
};

template <class Op> constexpr bool has_gradient() {
  using enum kernels::Kind;
  return Op::kKind != kPredicate && Op::kKind != kIntegral && !std::is_same_v<Op, kernels::FloorDivide>;
}

/// The operands under an Autocast guard, of which one may be a number.
AutocastOperands autocast_pair(const CallSite& site, const TensorLike& a, const TensorLike& b) {
  const Tensor none;
  return autocast(site, a.is_number() ? none : *a.tensor, b.is_number() ? none : *b.tensor);
}
TensorLike in_pair(const AutocastOperands& cast, std::size_t i, const TensorLike& given) {
  return given.is_number() ? TensorLike(given.number, given.where) : TensorLike(cast[i], given.where);
}

template <class Op> Tensor call(const TensorLike& a, const TensorLike& b) {
  const CallSite site(Op::kName.data(), a.where);
  if constexpr (std::is_same_v<Op, kernels::Atan2>)
    if (const auto cast = autocast_pair(site, a, b)) return call<Op>(in_pair(cast, 0, a), in_pair(cast, 1, b));
  const Tensors x(a, b);
  Tensor y = raw::binary(raw::kBinary<Op>, x.a, x.b);
  if constexpr (has_gradient<Op>())
    if (records(x.a, x.b)) return recorded(Op(), std::move(y), x.a, x.b);
  return y;
}

template <class Op> Tensor call_(const In& self, const TensorLike& other) {
  constexpr const char* kName = detail::kInPlaceName<Op>.data();
  const CallSite site(kName, self.where);
  const Tensors x(self, other);
  return detail::in_place(
      kName, self, records(x.a, x.b), [&] { return call<Op>(self, x.b); },
      [&] { raw::binary_(raw::kBinary<Op>, self, x.b); });
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
Tensor floor_divide(const TensorLike& a, const TensorLike& b) { return call<kernels::FloorDivide>(a, b); }
Tensor floor_divide_(const In& self, const TensorLike& other) { return call_<kernels::FloorDivide>(self, other); }
Tensor fmod(const TensorLike& a, const TensorLike& b) { return call<kernels::Fmod>(a, b); }
Tensor fmod_(const In& self, const TensorLike& other) { return call_<kernels::Fmod>(self, other); }
Tensor remainder(const TensorLike& a, const TensorLike& b) { return call<kernels::Remainder>(a, b); }
Tensor remainder_(const In& self, const TensorLike& other) { return call_<kernels::Remainder>(self, other); }
Tensor pow(const TensorLike& a, const TensorLike& b) {
  const CallSite site("pow", a.where);
  if (const auto cast = autocast_pair(site, a, b)) return pow(in_pair(cast, 0, a), in_pair(cast, 1, b));
  if (!a.is_number() && b.is_number()) {
    dispatch({{"a", *a.tensor}});
    if (a.tensor->is_floating_point()) return pow_scalar(*a.tensor, b.number.as_double());
    detail::require_power("a", *a.tensor, b.number);
  }
  return call<kernels::Pow>(a, b);
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
Tensor atan2(const TensorLike& a, const TensorLike& b) { return call<kernels::Atan2>(a, b); }
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
  Tensor y = raw::where(condition, x, w);
  if (!records(x, w)) return y;
  return record("where", std::move(y), {x, w}, [c = Saved(*condition)](const Tensor& g, Needs needs) -> Gradients {
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
  const Tensors x(a, weight);
  Tensor y = raw::ternary(raw::kTernary<kernels::Lerp>, a, b, x.b, 0, "weight");
  return record("lerp", std::move(y), {a, b, x.b},
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
  return record(name, std::move(y), {a, b}, [p](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? mul(g, p) : Tensor()};
  });
}

}  // namespace

Tensor add(const In& a, const In& b, Scalar alpha) {
  const CallSite site("add", a.where);
  const Tensor y = add_scaled("add", a, b, alpha.as_double());
  return y.defined() ? y : add(a, mul(b, alpha));
}
Tensor add_(const In& self, const In& other, Scalar alpha) {
  const CallSite site("add_", self.where);
  return add_(self, mul(other, alpha));
}

Tensor sub(const In& a, const In& b, Scalar alpha) {
  const CallSite site("sub", a.where);
  const Tensor y = add_scaled("sub", a, b, -alpha.as_double());
  return y.defined() ? y : sub(a, mul(b, alpha));
}
Tensor sub_(const In& self, const In& other, Scalar alpha) {
  const CallSite site("sub_", self.where);
  return sub_(self, mul(other, alpha));
}

bool equal(const In& a, const In& b) {
  const CallSite site("equal", a.where);
  const NoGradGuard no_grad;
  dispatch({{"a", *a}, {"b", *b}});
  return a->shape() == b->shape() && all(eq(a, b)).item<bool>();
}

Tensor isclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const CallSite site("isclose", a.where);
  const NoGradGuard no_grad;
  dispatch({{"a", *a}, {"b", *b}});
  const Tensor x = a->to(float64), y = b->to(float64);
  const Tensor close = logical_or(x == y, logical_and(abs(x - y) <= abs(y) * rtol + atol, isfinite(y)));
  return equal_nan ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
}

bool allclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const CallSite site("allclose", a.where);
  return all(isclose(a, b, rtol, atol, equal_nan)).item<bool>();
}

Tensor addcmul(const In& a, const In& b, const In& c, double value) {
  const CallSite site("addcmul", a.where);
  if (const auto cast = autocast(site, *a, *b, *c))
    return addcmul({cast[0], a.where}, {cast[1], b.where}, {cast[2], c.where}, value);
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcmul>, a, b, c, value);
  return record(
      "addcmul", std::move(y), {a, b, c},
      [b = Saved(*b), c = Saved(*c), value](const Tensor& g, Needs needs) -> Gradients {
        return {g, needs[1] ? mul(mul(g, c()), value) : Tensor(), needs[2] ? mul(mul(g, b()), value) : Tensor()};
      });
}

Tensor addcdiv(const In& a, const In& b, const In& c, double value) {
  const CallSite site("addcdiv", a.where);
  if (const auto cast = autocast(site, *a, *b, *c))
    return addcdiv({cast[0], a.where}, {cast[1], b.where}, {cast[2], c.where}, value);
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcdiv>, a, b, c, value);
  return record("addcdiv", std::move(y), {a, b, c},
                [b = Saved(*b), c = Saved(*c), value](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor over_c = mul(div(g, c()), value);
                  return {g, needs[1] ? over_c : Tensor(), needs[2] ? neg(mul(over_c, div(b(), c()))) : Tensor()};
                });
}

}  // namespace minnow
