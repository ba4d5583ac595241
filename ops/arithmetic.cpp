#include <minnow/ops/arithmetic.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/record.h>
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
namespace {

using BinaryFunction = Tensor (*)(const In&, const In&);

template <class Op> Tensor compute(const In& a, const In& b) { return raw::binary(raw::kBinary<Op>, a, b); }

/// An operation without a gradient.
template <class Op> Tensor plain(const In& a, const In& b) {
  const CallSite site(Op::kName.data(), a.where);
  return compute<Op>(a, b);
}

/// An operation beside a number.
Tensor beside(const char* op, BinaryFunction function, const In& a, Scalar b) {
  const CallSite site(op, a.where);
  return function(a, raw::scalar_tensor(b, *a));
}
Tensor beside(const char* op, BinaryFunction function, Scalar a, const In& b, SourceLocation where) {
  const CallSite site(op, where);
  return function(raw::scalar_tensor(a, *b), b);
}

/// Records an operation whose gradients are g * da(a, b) and g * db(a, b).
template <class Op, class Da, class Db> Tensor function(const In& a, const In& b, Da da, Db db) {
  const CallSite site(Op::kName.data(), a.where);
  Tensor y = compute<Op>(a, b);
  if (!records(*a, *b)) return y;
  return record(Op::kName.data(), std::move(y), {a, b},
                [a = Saved(*a), b = Saved(*b), da, db](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor x = a(), w = b();
                  return {needs[0] ? mul(g, da(x, w)) : Tensor(), needs[1] ? mul(g, db(x, w)) : Tensor()};
                });
}

/// 1 where an operand was chosen, 1/2 where both are equal, 0 elsewhere.
Tensor share(const Tensor& chosen, const Tensor& equal, const Tensor& like) {
  const NoGradGuard no_grad;
  return where(equal, 0.5, chosen.to(like.dtype()));
}

}  // namespace

Tensor add(const In& a, const In& b) {
  const CallSite site("add", a.where);
  Tensor y = compute<kernels::Add>(a, b);
  if (!records(*a, *b)) return y;
  return record("add", std::move(y), {a, b}, [](const Tensor& g) -> Gradients { return {g, g}; });
}

Tensor sub(const In& a, const In& b) {
  const CallSite site("sub", a.where);
  Tensor y = compute<kernels::Sub>(a, b);
  if (!records(*a, *b)) return y;
  return record("sub", std::move(y), {a, b}, [](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? neg(g) : Tensor()};
  });
}

Tensor mul(const In& a, const In& b) {
  const CallSite site("mul", a.where);
  Tensor y = compute<kernels::Mul>(a, b);
  if (!records(*a, *b)) return y;
  const bool need_a = needs_grad(*a), need_b = needs_grad(*b);
  return record(
      "mul", std::move(y), {a, b},
      [x = need_b ? Saved(*a) : Saved(), w = need_a ? Saved(*b) : Saved()](const Tensor& g, Needs needs) -> Gradients {
        return {needs[0] ? mul(g, w()) : Tensor(), needs[1] ? mul(g, x()) : Tensor()};
      });
}

Tensor div(const In& a, const In& b) {
  const CallSite site("div", a.where);
  Tensor y = compute<kernels::Div>(a, b);
  if (!records(*a, *b)) return y;
  const bool need_b = needs_grad(*b);
  const Saved quotient = need_b ? Saved::output(y) : Saved();
  return record("div", std::move(y), {a, b}, [b = Saved(*b), quotient](const Tensor& g, Needs needs) -> Gradients {
    const Tensor share_of_a = div(g, b());
    return {needs[0] ? share_of_a : Tensor(), needs[1] ? neg(mul(share_of_a, quotient())) : Tensor()};
  });
}

Tensor floor_divide(const In& a, const In& b) { return plain<kernels::FloorDivide>(a, b); }

Tensor fmod(const In& a, const In& b) {
  return function<kernels::Fmod>(
      a, b, [](const Tensor& x, const Tensor&) { return ones_like(x); },
      [](const Tensor& x, const Tensor& w) { return neg(trunc(div(x, w))); });
}

Tensor remainder(const In& a, const In& b) {
  // floor(div(x, w)) would round first: 1 / 0.1 is 10, and 0.1 goes 9 times into 1.
  return function<kernels::Remainder>(
      a, b, [](const Tensor& x, const Tensor&) { return ones_like(x); },
      [](const Tensor& x, const Tensor& w) { return neg(floor_divide(x, w)); });
}

Tensor pow(const In& a, const In& b) {
  // 0^0 = 1 has slope 0 in both operands, as in PyTorch; elsewhere log(0) = -inf is right.
  return function<kernels::Pow>(
      a, b, [](const Tensor& x, const Tensor& w) { return where(eq(w, 0), 0.0, mul(w, pow(x, sub(w, 1)))); },
      [](const Tensor& x, const Tensor& w) {
        return where(logical_and(eq(x, 0), ge(w, 0)), 0.0, mul(pow(x, w), log(x)));
      });
}

// Where an operand is NaN, so is the result, and both get the gradient: neither is below the other.
Tensor maximum(const In& a, const In& b) {
  return function<kernels::Maximum>(
      a, b, [](const Tensor& x, const Tensor& w) { return share(logical_not(lt(x, w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(gt(x, w)), eq(x, w), w); });
}

Tensor minimum(const In& a, const In& b) {
  return function<kernels::Minimum>(
      a, b, [](const Tensor& x, const Tensor& w) { return share(logical_not(gt(x, w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(lt(x, w)), eq(x, w), w); });
}

Tensor fmax(const In& a, const In& b) {
  return function<kernels::Fmax>(
      a, b, [](const Tensor& x, const Tensor& w) { return share(logical_or(gt(x, w), isnan(w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(logical_or(gt(x, w), isnan(w))), eq(x, w), w); });
}

Tensor fmin(const In& a, const In& b) {
  return function<kernels::Fmin>(
      a, b, [](const Tensor& x, const Tensor& w) { return share(logical_or(lt(x, w), isnan(w)), eq(x, w), x); },
      [](const Tensor& x, const Tensor& w) { return share(logical_not(logical_or(lt(x, w), isnan(w))), eq(x, w), w); });
}

Tensor atan2(const In& a, const In& b) {
  // At the origin the slope is 0, as in PyTorch.
  const auto over_square = [](const Tensor& t, const Tensor& x, const Tensor& w) {
    const Tensor square_sum = add(square(x), square(w));
    return where(eq(square_sum, 0), 0.0, div(t, square_sum));
  };
  return function<kernels::Atan2>(
      a, b, [over_square](const Tensor& x, const Tensor& w) { return over_square(w, x, w); },
      [over_square](const Tensor& x, const Tensor& w) { return neg(over_square(x, x, w)); });
}

Tensor hypot(const In& a, const In& b) {
  return function<kernels::Hypot>(
      a, b, [](const Tensor& x, const Tensor& w) { return div(x, hypot(x, w)); },
      [](const Tensor& x, const Tensor& w) { return div(w, hypot(x, w)); });
}

Tensor copysign(const In& a, const In& b) {
  return function<kernels::Copysign>(
      a, b, [](const Tensor& x, const Tensor& w) { return mul(sign(x), copysign(ones_like(x), w)); },
      [](const Tensor&, const Tensor& w) { return zeros_like(w); });
}

Tensor logaddexp(const In& a, const In& b) {
  return function<kernels::Logaddexp>(
      a, b, [](const Tensor& x, const Tensor& w) { return sigmoid(sub(x, w)); },
      [](const Tensor& x, const Tensor& w) { return sigmoid(sub(w, x)); });
}

Tensor add(const In& a, Scalar b) { return beside("add", add, a, b); }
Tensor add(Scalar a, const In& b, SourceLocation where) { return beside("add", add, a, b, where); }
Tensor sub(const In& a, Scalar b) { return beside("sub", sub, a, b); }
Tensor sub(Scalar a, const In& b, SourceLocation where) { return beside("sub", sub, a, b, where); }
Tensor mul(const In& a, Scalar b) { return beside("mul", mul, a, b); }
Tensor mul(Scalar a, const In& b, SourceLocation where) { return beside("mul", mul, a, b, where); }
Tensor div(const In& a, Scalar b) { return beside("div", div, a, b); }
Tensor div(Scalar a, const In& b, SourceLocation where) { return beside("div", div, a, b, where); }
Tensor floor_divide(const In& a, Scalar b) { return beside("floor_divide", floor_divide, a, b); }
Tensor floor_divide(Scalar a, const In& b, SourceLocation where) {
  return beside("floor_divide", floor_divide, a, b, where);
}
Tensor fmod(const In& a, Scalar b) { return beside("fmod", fmod, a, b); }
Tensor fmod(Scalar a, const In& b, SourceLocation where) { return beside("fmod", fmod, a, b, where); }
Tensor remainder(const In& a, Scalar b) { return beside("remainder", remainder, a, b); }
Tensor remainder(Scalar a, const In& b, SourceLocation where) { return beside("remainder", remainder, a, b, where); }
Tensor pow(const In& a, Scalar b) {
  const CallSite site("pow", a.where);
  a->require_defined("pow", a.where);
  if (a->is_floating_point()) return pow_scalar(a, b.as_double());
  autograd::require_power(*a, b);
  return pow(a, raw::scalar_tensor(b, *a));
}
Tensor pow(Scalar a, const In& b, SourceLocation where) { return beside("pow", pow, a, b, where); }
Tensor maximum(const In& a, Scalar b) { return beside("maximum", maximum, a, b); }
Tensor maximum(Scalar a, const In& b, SourceLocation where) { return beside("maximum", maximum, a, b, where); }
Tensor minimum(const In& a, Scalar b) { return beside("minimum", minimum, a, b); }
Tensor minimum(Scalar a, const In& b, SourceLocation where) { return beside("minimum", minimum, a, b, where); }
Tensor fmax(const In& a, Scalar b) { return beside("fmax", fmax, a, b); }
Tensor fmax(Scalar a, const In& b, SourceLocation where) { return beside("fmax", fmax, a, b, where); }
Tensor fmin(const In& a, Scalar b) { return beside("fmin", fmin, a, b); }
Tensor fmin(Scalar a, const In& b, SourceLocation where) { return beside("fmin", fmin, a, b, where); }
Tensor atan2(const In& a, Scalar b) { return beside("atan2", atan2, a, b); }
Tensor atan2(Scalar a, const In& b, SourceLocation where) { return beside("atan2", atan2, a, b, where); }
Tensor hypot(const In& a, Scalar b) { return beside("hypot", hypot, a, b); }
Tensor hypot(Scalar a, const In& b, SourceLocation where) { return beside("hypot", hypot, a, b, where); }
Tensor copysign(const In& a, Scalar b) { return beside("copysign", copysign, a, b); }
Tensor copysign(Scalar a, const In& b, SourceLocation where) { return beside("copysign", copysign, a, b, where); }
Tensor logaddexp(const In& a, Scalar b) { return beside("logaddexp", logaddexp, a, b); }
Tensor logaddexp(Scalar a, const In& b, SourceLocation where) { return beside("logaddexp", logaddexp, a, b, where); }

Tensor eq(const In& a, const In& b) { return plain<kernels::Eq>(a, b); }
Tensor eq(const In& a, Scalar b) { return beside("eq", eq, a, b); }
Tensor ne(const In& a, const In& b) { return plain<kernels::Ne>(a, b); }
Tensor ne(const In& a, Scalar b) { return beside("ne", ne, a, b); }
Tensor lt(const In& a, const In& b) { return plain<kernels::Lt>(a, b); }
Tensor lt(const In& a, Scalar b) { return beside("lt", lt, a, b); }
Tensor le(const In& a, const In& b) { return plain<kernels::Le>(a, b); }
Tensor le(const In& a, Scalar b) { return beside("le", le, a, b); }
Tensor gt(const In& a, const In& b) { return plain<kernels::Gt>(a, b); }
Tensor gt(const In& a, Scalar b) { return beside("gt", gt, a, b); }
Tensor ge(const In& a, const In& b) { return plain<kernels::Ge>(a, b); }
Tensor ge(const In& a, Scalar b) { return beside("ge", ge, a, b); }
Tensor logical_and(const In& a, const In& b) { return plain<kernels::LogicalAnd>(a, b); }
Tensor logical_or(const In& a, const In& b) { return plain<kernels::LogicalOr>(a, b); }
Tensor logical_xor(const In& a, const In& b) { return plain<kernels::LogicalXor>(a, b); }
Tensor bitwise_and(const In& a, const In& b) { return plain<kernels::BitwiseAnd>(a, b); }
Tensor bitwise_and(const In& a, Scalar b) { return beside("bitwise_and", bitwise_and, a, b); }
Tensor bitwise_or(const In& a, const In& b) { return plain<kernels::BitwiseOr>(a, b); }
Tensor bitwise_or(const In& a, Scalar b) { return beside("bitwise_or", bitwise_or, a, b); }
Tensor bitwise_xor(const In& a, const In& b) { return plain<kernels::BitwiseXor>(a, b); }
Tensor bitwise_xor(const In& a, Scalar b) { return beside("bitwise_xor", bitwise_xor, a, b); }
Tensor left_shift(const In& a, const In& b) { return plain<kernels::LeftShift>(a, b); }
Tensor left_shift(const In& a, Scalar b) { return beside("left_shift", left_shift, a, b); }
Tensor right_shift(const In& a, const In& b) { return plain<kernels::RightShift>(a, b); }
Tensor right_shift(const In& a, Scalar b) { return beside("right_shift", right_shift, a, b); }

Tensor where(const In& condition, const In& a, const In& b) {
  const CallSite site("where", condition.where);
  Tensor y = raw::where(condition, a, b);
  if (!records(*a, *b)) return y;
  return record("where", std::move(y), {a, b}, [c = Saved(*condition)](const Tensor& g, Needs needs) -> Gradients {
    return {needs[0] ? where(c(), g, 0.0) : Tensor(), needs[1] ? where(c(), 0.0, g) : Tensor()};
  });
}

Tensor where(const In& condition, const In& a, Scalar b) {
  const CallSite site("where", condition.where);
  return where(condition, a, raw::scalar_tensor(b, *a));
}
Tensor where(const In& condition, Scalar a, const In& b) {
  const CallSite site("where", condition.where);
  return where(condition, raw::scalar_tensor(a, *b), b);
}

Tensor lerp(const In& a, const In& b, const In& weight) {
  const CallSite site("lerp", a.where);
  Tensor y = raw::ternary(raw::kTernary<kernels::Lerp>, a, b, weight);
  return record("lerp", std::move(y), {a, b, weight},
                [a = Saved(*a), b = Saved(*b), w = Saved(*weight)](const Tensor& g, Needs needs) -> Gradients {
                  return {needs[0] ? mul(g, sub(1, w())) : Tensor(), needs[1] ? mul(g, w()) : Tensor(),
                          needs[2] ? mul(g, sub(b(), a())) : Tensor()};
                });
}

Tensor lerp(const In& a, const In& b, double weight) {
  const CallSite site("lerp", a.where);
  return lerp(a, b, raw::scalar_tensor(weight, *a));
}

Tensor add(const In& a, const In& b, Scalar alpha) {
  const CallSite site("add", a.where);
  return add(a, mul(b, alpha));
}

Tensor sub(const In& a, const In& b, Scalar alpha) {
  const CallSite site("sub", a.where);
  return sub(a, mul(b, alpha));
}

bool equal(const In& a, const In& b) {
  const CallSite site("equal", a.where);
  const NoGradGuard no_grad;
  dispatch({{"a", *a}, {"b", *b}});
  return a->shape() == b->shape() && all(eq(a, b)).item<bool>();
}

bool allclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const CallSite site("allclose", a.where);
  const NoGradGuard no_grad;
  dispatch({{"a", *a}, {"b", *b}});
  const Tensor x = a->to(float64), y = b->to(float64);
  Tensor close = logical_or(x == y, logical_and(abs(x - y) <= abs(y) * rtol + atol, isfinite(y)));
  if (equal_nan) close = logical_or(close, logical_and(isnan(x), isnan(y)));
  return all(close).item<bool>();
}

Tensor addcmul(const In& a, const In& b, const In& c, double value) {
  const CallSite site("addcmul", a.where);
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcmul>, a, b, c, value);
  return record(
      "addcmul", std::move(y), {a, b, c},
      [b = Saved(*b), c = Saved(*c), value](const Tensor& g, Needs needs) -> Gradients {
        return {g, needs[1] ? mul(mul(g, c()), value) : Tensor(), needs[2] ? mul(mul(g, b()), value) : Tensor()};
      });
}

Tensor addcdiv(const In& a, const In& b, const In& c, double value) {
  const CallSite site("addcdiv", a.where);
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcdiv>, a, b, c, value);
  return record("addcdiv", std::move(y), {a, b, c},
                [b = Saved(*b), c = Saved(*c), value](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor over_c = mul(div(g, c()), value);
                  return {g, needs[1] ? over_c : Tensor(), needs[2] ? neg(mul(over_c, div(b(), c()))) : Tensor()};
                });
}

}  // namespace minnow
