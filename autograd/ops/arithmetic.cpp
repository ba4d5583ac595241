#include <minnow/autograd/ops/arithmetic.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/ops/in_place.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>

namespace minnow {
namespace {

template <class Op> Tensor compute(const In& a, const In& b) { return raw::binary(raw::kBinary<Op>, a, b); }

/// Records an operation whose gradients are g * da(a, b) and g * db(a, b).
template <class Op, class Da, class Db> Tensor function(const In& a, const In& b, Da da, Db db) {
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
  Tensor y = compute<kernels::Add>(a, b);
  if (!records(*a, *b)) return y;
  return record("add", std::move(y), {a, b}, [](const Tensor& g) -> Gradients { return {g, g}; });
}

Tensor sub(const In& a, const In& b) {
  Tensor y = compute<kernels::Sub>(a, b);
  if (!records(*a, *b)) return y;
  return record("sub", std::move(y), {a, b}, [](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? neg(g) : Tensor()};
  });
}

Tensor mul(const In& a, const In& b) {
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
  Tensor y = compute<kernels::Div>(a, b);
  if (!records(*a, *b)) return y;
  const bool need_b = needs_grad(*b);
  const Saved quotient = need_b ? Saved::output(y) : Saved();
  return record("div", std::move(y), {a, b}, [b = Saved(*b), quotient](const Tensor& g, Needs needs) -> Gradients {
    const Tensor share_of_a = div(g, b());
    return {needs[0] ? share_of_a : Tensor(), needs[1] ? neg(mul(share_of_a, quotient())) : Tensor()};
  });
}

Tensor floor_divide(const In& a, const In& b) { return compute<kernels::FloorDivide>(a, b); }

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

Tensor add(const In& a, Scalar b) { return add(a, {raw::scalar_tensor("add", b, a), a.where}); }
Tensor add(Scalar a, const In& b, SourceLocation where) { return add({raw::scalar_tensor("add", a, b), where}, b); }
Tensor sub(const In& a, Scalar b) { return sub(a, {raw::scalar_tensor("sub", b, a), a.where}); }
Tensor sub(Scalar a, const In& b, SourceLocation where) { return sub({raw::scalar_tensor("sub", a, b), where}, b); }
Tensor mul(const In& a, Scalar b) { return mul(a, {raw::scalar_tensor("mul", b, a), a.where}); }
Tensor mul(Scalar a, const In& b, SourceLocation where) { return mul({raw::scalar_tensor("mul", a, b), where}, b); }
Tensor div(const In& a, Scalar b) { return div(a, {raw::scalar_tensor("div", b, a), a.where}); }
Tensor div(Scalar a, const In& b, SourceLocation where) { return div({raw::scalar_tensor("div", a, b), where}, b); }
Tensor floor_divide(const In& a, Scalar b) {
  return floor_divide(a, {raw::scalar_tensor("floor_divide", b, a), a.where});
}
Tensor floor_divide(Scalar a, const In& b, SourceLocation where) {
  return floor_divide({raw::scalar_tensor("floor_divide", a, b), where}, b);
}
Tensor fmod(const In& a, Scalar b) { return fmod(a, {raw::scalar_tensor("fmod", b, a), a.where}); }
Tensor fmod(Scalar a, const In& b, SourceLocation where) { return fmod({raw::scalar_tensor("fmod", a, b), where}, b); }
Tensor remainder(const In& a, Scalar b) { return remainder(a, {raw::scalar_tensor("remainder", b, a), a.where}); }
Tensor remainder(Scalar a, const In& b, SourceLocation where) {
  return remainder({raw::scalar_tensor("remainder", a, b), where}, b);
}
Tensor pow(const In& a, Scalar b) {
  const Composed scope("pow");
  a->require_defined("pow", a.where);
  if (a->is_floating_point()) return pow_scalar(a, b.as_double());
  autograd::require_power("pow", a, b);
  return pow(a, {raw::scalar_tensor("pow", b, a), a.where});
}
Tensor pow(Scalar a, const In& b, SourceLocation where) { return pow({raw::scalar_tensor("pow", a, b), where}, b); }
Tensor maximum(const In& a, Scalar b) { return maximum(a, {raw::scalar_tensor("maximum", b, a), a.where}); }
Tensor maximum(Scalar a, const In& b, SourceLocation where) {
  return maximum({raw::scalar_tensor("maximum", a, b), where}, b);
}
Tensor minimum(const In& a, Scalar b) { return minimum(a, {raw::scalar_tensor("minimum", b, a), a.where}); }
Tensor minimum(Scalar a, const In& b, SourceLocation where) {
  return minimum({raw::scalar_tensor("minimum", a, b), where}, b);
}
Tensor fmax(const In& a, Scalar b) { return fmax(a, {raw::scalar_tensor("fmax", b, a), a.where}); }
Tensor fmax(Scalar a, const In& b, SourceLocation where) { return fmax({raw::scalar_tensor("fmax", a, b), where}, b); }
Tensor fmin(const In& a, Scalar b) { return fmin(a, {raw::scalar_tensor("fmin", b, a), a.where}); }
Tensor fmin(Scalar a, const In& b, SourceLocation where) { return fmin({raw::scalar_tensor("fmin", a, b), where}, b); }
Tensor atan2(const In& a, Scalar b) { return atan2(a, {raw::scalar_tensor("atan2", b, a), a.where}); }
Tensor atan2(Scalar a, const In& b, SourceLocation where) {
  return atan2({raw::scalar_tensor("atan2", a, b), where}, b);
}
Tensor hypot(const In& a, Scalar b) { return hypot(a, {raw::scalar_tensor("hypot", b, a), a.where}); }
Tensor hypot(Scalar a, const In& b, SourceLocation where) {
  return hypot({raw::scalar_tensor("hypot", a, b), where}, b);
}
Tensor copysign(const In& a, Scalar b) { return copysign(a, {raw::scalar_tensor("copysign", b, a), a.where}); }
Tensor copysign(Scalar a, const In& b, SourceLocation where) {
  return copysign({raw::scalar_tensor("copysign", a, b), where}, b);
}
Tensor logaddexp(const In& a, Scalar b) { return logaddexp(a, {raw::scalar_tensor("logaddexp", b, a), a.where}); }
Tensor logaddexp(Scalar a, const In& b, SourceLocation where) {
  return logaddexp({raw::scalar_tensor("logaddexp", a, b), where}, b);
}

Tensor eq(const In& a, const In& b) { return compute<kernels::Eq>(a, b); }
Tensor eq(const In& a, Scalar b) { return eq(a, {raw::scalar_tensor("eq", b, a), a.where}); }
Tensor ne(const In& a, const In& b) { return compute<kernels::Ne>(a, b); }
Tensor ne(const In& a, Scalar b) { return ne(a, {raw::scalar_tensor("ne", b, a), a.where}); }
Tensor lt(const In& a, const In& b) { return compute<kernels::Lt>(a, b); }
Tensor lt(const In& a, Scalar b) { return lt(a, {raw::scalar_tensor("lt", b, a), a.where}); }
Tensor le(const In& a, const In& b) { return compute<kernels::Le>(a, b); }
Tensor le(const In& a, Scalar b) { return le(a, {raw::scalar_tensor("le", b, a), a.where}); }
Tensor gt(const In& a, const In& b) { return compute<kernels::Gt>(a, b); }
Tensor gt(const In& a, Scalar b) { return gt(a, {raw::scalar_tensor("gt", b, a), a.where}); }
Tensor ge(const In& a, const In& b) { return compute<kernels::Ge>(a, b); }
Tensor ge(const In& a, Scalar b) { return ge(a, {raw::scalar_tensor("ge", b, a), a.where}); }
Tensor logical_and(const In& a, const In& b) { return compute<kernels::LogicalAnd>(a, b); }
Tensor logical_or(const In& a, const In& b) { return compute<kernels::LogicalOr>(a, b); }
Tensor logical_xor(const In& a, const In& b) { return compute<kernels::LogicalXor>(a, b); }
Tensor bitwise_and(const In& a, const In& b) { return compute<kernels::BitwiseAnd>(a, b); }
Tensor bitwise_and(const In& a, Scalar b) { return bitwise_and(a, {raw::scalar_tensor("bitwise_and", b, a), a.where}); }
Tensor bitwise_or(const In& a, const In& b) { return compute<kernels::BitwiseOr>(a, b); }
Tensor bitwise_or(const In& a, Scalar b) { return bitwise_or(a, {raw::scalar_tensor("bitwise_or", b, a), a.where}); }
Tensor bitwise_xor(const In& a, const In& b) { return compute<kernels::BitwiseXor>(a, b); }
Tensor bitwise_xor(const In& a, Scalar b) { return bitwise_xor(a, {raw::scalar_tensor("bitwise_xor", b, a), a.where}); }
Tensor left_shift(const In& a, const In& b) { return compute<kernels::LeftShift>(a, b); }
Tensor left_shift(const In& a, Scalar b) { return left_shift(a, {raw::scalar_tensor("left_shift", b, a), a.where}); }
Tensor right_shift(const In& a, const In& b) { return compute<kernels::RightShift>(a, b); }
Tensor right_shift(const In& a, Scalar b) { return right_shift(a, {raw::scalar_tensor("right_shift", b, a), a.where}); }

Tensor where(const In& condition, const In& a, const In& b) {
  Tensor y = raw::where(condition, a, b);
  if (!records(*a, *b)) return y;
  return record("where", std::move(y), {a, b}, [c = Saved(*condition)](const Tensor& g, Needs needs) -> Gradients {
    return {needs[0] ? where(c(), g, 0.0) : Tensor(), needs[1] ? where(c(), 0.0, g) : Tensor()};
  });
}

Tensor where(const In& condition, const In& a, Scalar b) {
  return where(condition, a, {raw::scalar_tensor("where", b, a), a.where});
}
Tensor where(const In& condition, Scalar a, const In& b) {
  return where(condition, {raw::scalar_tensor("where", a, b), b.where}, b);
}

Tensor lerp(const In& a, const In& b, const In& weight) {
  Tensor y = raw::ternary(raw::kTernary<kernels::Lerp>, a, b, weight);
  return record("lerp", std::move(y), {a, b, weight},
                [a = Saved(*a), b = Saved(*b), w = Saved(*weight)](const Tensor& g, Needs needs) -> Gradients {
                  return {needs[0] ? mul(g, sub(1, w())) : Tensor(), needs[1] ? mul(g, w()) : Tensor(),
                          needs[2] ? mul(g, sub(b(), a())) : Tensor()};
                });
}

Tensor lerp(const In& a, const In& b, double weight) {
  return lerp(a, b, {raw::scalar_tensor("lerp", weight, a), a.where});
}

Tensor add(const In& a, const In& b, Scalar alpha) {
  const Composed scope("add");
  const Tensor scaled = mul(b, alpha);
  return add(a, {scaled, b.where});
}

Tensor sub(const In& a, const In& b, Scalar alpha) {
  const Composed scope("sub");
  const Tensor scaled = mul(b, alpha);
  return sub(a, {scaled, b.where});
}

bool equal(const In& a, const In& b) {
  const Composed scope("equal");
  const NoGradGuard no_grad;
  dispatch("equal", {{"a", *a}, {"b", *b}}, a.where);
  if (a->shape() != b->shape()) return false;
  const Tensor same = eq(a, b);
  return all({same, a.where}).item<bool>(a.where);
}

bool allclose(const In& a, const In& b, double rtol, double atol, bool equal_nan) {
  const Composed scope("allclose");
  const NoGradGuard no_grad;
  dispatch("allclose", {{"a", *a}, {"b", *b}}, a.where);
  const Tensor x = a->to(DType::float64, {}, a.where), y = b->to(DType::float64, {}, b.where);
  const Tensor near = abs(sub({x, a.where}, {y, b.where})) <= abs({y, b.where}) * rtol + atol;
  Tensor close = logical_or(eq({x, a.where}, {y, b.where}), logical_and(near, isfinite({y, b.where})));
  if (equal_nan) close = logical_or(close, logical_and(isnan(x), isnan(y)));
  return all({close, a.where}).item<bool>(a.where);
}

Tensor addcmul(const In& a, const In& b, const In& c, double value) {
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcmul>, a, b, c, value);
  return record(
      "addcmul", std::move(y), {a, b, c},
      [b = Saved(*b), c = Saved(*c), value](const Tensor& g, Needs needs) -> Gradients {
        return {g, needs[1] ? mul(mul(g, c()), value) : Tensor(), needs[2] ? mul(mul(g, b()), value) : Tensor()};
      });
}

Tensor addcdiv(const In& a, const In& b, const In& c, double value) {
  Tensor y = raw::ternary(raw::kTernary<kernels::Addcdiv>, a, b, c, value);
  return record("addcdiv", std::move(y), {a, b, c},
                [b = Saved(*b), c = Saved(*c), value](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor over_c = mul(div(g, c()), value);
                  return {g, needs[1] ? over_c : Tensor(), needs[2] ? neg(mul(over_c, div(b(), c()))) : Tensor()};
                });
}

}  // namespace minnow
