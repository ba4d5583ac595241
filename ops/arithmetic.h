#pragma once

#include <concepts>
#include <minnow/tensor/in.h>

/// Elementwise functions of two operands, broadcast and promoted by PyTorch's rules.  0-dim CPU tensors may
/// accompany operands of another device.  ShapeError, DTypeError, DeviceError naming both operands.
namespace minnow {

/// a + b.
[[nodiscard]] Tensor add(const In& a, const In& b);
[[nodiscard]] Tensor add(const In& a, Scalar b);
[[nodiscard]] Tensor add(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a - b.
[[nodiscard]] Tensor sub(const In& a, const In& b);
[[nodiscard]] Tensor sub(const In& a, Scalar b);
[[nodiscard]] Tensor sub(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a b.
[[nodiscard]] Tensor mul(const In& a, const In& b);
[[nodiscard]] Tensor mul(const In& a, Scalar b);
[[nodiscard]] Tensor mul(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a / b; integers give float32.
[[nodiscard]] Tensor div(const In& a, const In& b);
[[nodiscard]] Tensor div(const In& a, Scalar b);
[[nodiscard]] Tensor div(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The largest integer not above a / b.  Gradient: none.
[[nodiscard]] Tensor floor_divide(const In& a, const In& b);
[[nodiscard]] Tensor floor_divide(const In& a, Scalar b);
[[nodiscard]] Tensor floor_divide(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a - b trunc(a / b): the sign of a.
[[nodiscard]] Tensor fmod(const In& a, const In& b);
[[nodiscard]] Tensor fmod(const In& a, Scalar b);
[[nodiscard]] Tensor fmod(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a - b floor(a / b): the sign of b.
[[nodiscard]] Tensor remainder(const In& a, const In& b);
[[nodiscard]] Tensor remainder(const In& a, Scalar b);
[[nodiscard]] Tensor remainder(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a^b.
[[nodiscard]] Tensor pow(const In& a, const In& b);
[[nodiscard]] Tensor pow(const In& a, Scalar b);
[[nodiscard]] Tensor pow(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The larger; NaN wins.  Equal elements share the gradient.
[[nodiscard]] Tensor maximum(const In& a, const In& b);
[[nodiscard]] Tensor maximum(const In& a, Scalar b);
[[nodiscard]] Tensor maximum(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The smaller; NaN wins.  Equal elements share the gradient.
[[nodiscard]] Tensor minimum(const In& a, const In& b);
[[nodiscard]] Tensor minimum(const In& a, Scalar b);
[[nodiscard]] Tensor minimum(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The larger; a number wins over NaN.  Equal elements share the gradient.
[[nodiscard]] Tensor fmax(const In& a, const In& b);
[[nodiscard]] Tensor fmax(const In& a, Scalar b);
[[nodiscard]] Tensor fmax(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The smaller; a number wins over NaN.  Equal elements share the gradient.
[[nodiscard]] Tensor fmin(const In& a, const In& b);
[[nodiscard]] Tensor fmin(const In& a, Scalar b);
[[nodiscard]] Tensor fmin(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The angle of the point (b, a), in radians.
[[nodiscard]] Tensor atan2(const In& a, const In& b);
[[nodiscard]] Tensor atan2(const In& a, Scalar b);
[[nodiscard]] Tensor atan2(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// sqrt(a² + b²) without overflow.
[[nodiscard]] Tensor hypot(const In& a, const In& b);
[[nodiscard]] Tensor hypot(const In& a, Scalar b);
[[nodiscard]] Tensor hypot(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// |a| with the sign of b.
[[nodiscard]] Tensor copysign(const In& a, const In& b);
[[nodiscard]] Tensor copysign(const In& a, Scalar b);
[[nodiscard]] Tensor copysign(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// log(e^a + e^b) without overflow.
[[nodiscard]] Tensor logaddexp(const In& a, const In& b);
[[nodiscard]] Tensor logaddexp(const In& a, Scalar b);
[[nodiscard]] Tensor logaddexp(Scalar a, const In& b, SourceLocation where = SourceLocation::current());

// Comparisons give bool and have no gradient.
[[nodiscard]] Tensor eq(const In& a, const In& b);
[[nodiscard]] Tensor eq(const In& a, Scalar b);
[[nodiscard]] Tensor ne(const In& a, const In& b);
[[nodiscard]] Tensor ne(const In& a, Scalar b);
[[nodiscard]] Tensor lt(const In& a, const In& b);
[[nodiscard]] Tensor lt(const In& a, Scalar b);
[[nodiscard]] Tensor le(const In& a, const In& b);
[[nodiscard]] Tensor le(const In& a, Scalar b);
[[nodiscard]] Tensor gt(const In& a, const In& b);
[[nodiscard]] Tensor gt(const In& a, Scalar b);
[[nodiscard]] Tensor ge(const In& a, const In& b);
[[nodiscard]] Tensor ge(const In& a, Scalar b);

/// Whether shapes and all elements are equal.  Waits for the device.
[[nodiscard]] bool equal(const In& a, const In& b);
/// Whether |a - b| <= atol + rtol |b| everywhere; NaN is equal to nothing, unless equal_nan.  Waits for the device.
[[nodiscard]] bool allclose(const In& a, const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// Logic on any dtype (not zero is true) gives bool.
[[nodiscard]] Tensor logical_and(const In& a, const In& b);
[[nodiscard]] Tensor logical_or(const In& a, const In& b);
[[nodiscard]] Tensor logical_xor(const In& a, const In& b);

// Integers and bool only: DTypeError for floating-point operands.
[[nodiscard]] Tensor bitwise_and(const In& a, const In& b);
[[nodiscard]] Tensor bitwise_and(const In& a, Scalar b);
[[nodiscard]] Tensor bitwise_or(const In& a, const In& b);
[[nodiscard]] Tensor bitwise_or(const In& a, Scalar b);
[[nodiscard]] Tensor bitwise_xor(const In& a, const In& b);
[[nodiscard]] Tensor bitwise_xor(const In& a, Scalar b);
[[nodiscard]] Tensor left_shift(const In& a, const In& b);
[[nodiscard]] Tensor left_shift(const In& a, Scalar b);
[[nodiscard]] Tensor right_shift(const In& a, const In& b);
[[nodiscard]] Tensor right_shift(const In& a, Scalar b);

/// condition ? a : b, elementwise.  condition: bool.
[[nodiscard]] Tensor where(const In& condition, const In& a, const In& b);
[[nodiscard]] Tensor where(const In& condition, const In& a, Scalar b);
[[nodiscard]] Tensor where(const In& condition, Scalar a, const In& b);
/// a + weight (b - a).
[[nodiscard]] Tensor lerp(const In& a, const In& b, const In& weight);
[[nodiscard]] Tensor lerp(const In& a, const In& b, double weight);
/// a + alpha b, a - alpha b.
[[nodiscard]] Tensor add(const In& a, const In& b, Scalar alpha);
[[nodiscard]] Tensor sub(const In& a, const In& b, Scalar alpha);
/// a + value * b * c.
[[nodiscard]] Tensor addcmul(const In& a, const In& b, const In& c, double value = 1);
/// a + value * b / c.
[[nodiscard]] Tensor addcdiv(const In& a, const In& b, const In& c, double value = 1);

[[nodiscard]] inline Tensor operator+(const In& a, const In& b) { return add(a, b); }
[[nodiscard]] inline Tensor operator+(const In& a, Scalar b) { return add(a, b); }
[[nodiscard]] inline Tensor operator+(Scalar a, const In& b) { return add(a, b, b.where); }
[[nodiscard]] inline Tensor operator-(const In& a, const In& b) { return sub(a, b); }
[[nodiscard]] inline Tensor operator-(const In& a, Scalar b) { return sub(a, b); }
[[nodiscard]] inline Tensor operator-(Scalar a, const In& b) { return sub(a, b, b.where); }
[[nodiscard]] inline Tensor operator*(const In& a, const In& b) { return mul(a, b); }
[[nodiscard]] inline Tensor operator*(const In& a, Scalar b) { return mul(a, b); }
[[nodiscard]] inline Tensor operator*(Scalar a, const In& b) { return mul(a, b, b.where); }
[[nodiscard]] inline Tensor operator/(const In& a, const In& b) { return div(a, b); }
[[nodiscard]] inline Tensor operator/(const In& a, Scalar b) { return div(a, b); }
[[nodiscard]] inline Tensor operator/(Scalar a, const In& b) { return div(a, b, b.where); }
[[nodiscard]] inline Tensor operator%(const In& a, const In& b) { return remainder(a, b); }
[[nodiscard]] inline Tensor operator%(const In& a, Scalar b) { return remainder(a, b); }
[[nodiscard]] inline Tensor operator%(Scalar a, const In& b) { return remainder(a, b, b.where); }
[[nodiscard]] inline Tensor operator==(const In& a, const In& b) { return eq(a, b); }
[[nodiscard]] inline Tensor operator==(const In& a, Scalar b) { return eq(a, b); }
[[nodiscard]] inline Tensor operator==(Scalar a, const In& b) { return eq(b, a); }
[[nodiscard]] inline Tensor operator!=(const In& a, const In& b) { return ne(a, b); }
[[nodiscard]] inline Tensor operator!=(const In& a, Scalar b) { return ne(a, b); }
[[nodiscard]] inline Tensor operator!=(Scalar a, const In& b) { return ne(b, a); }
[[nodiscard]] inline Tensor operator<(const In& a, const In& b) { return lt(a, b); }
[[nodiscard]] inline Tensor operator<(const In& a, Scalar b) { return lt(a, b); }
[[nodiscard]] inline Tensor operator<(Scalar a, const In& b) { return gt(b, a); }
[[nodiscard]] inline Tensor operator<=(const In& a, const In& b) { return le(a, b); }
[[nodiscard]] inline Tensor operator<=(const In& a, Scalar b) { return le(a, b); }
[[nodiscard]] inline Tensor operator<=(Scalar a, const In& b) { return ge(b, a); }
[[nodiscard]] inline Tensor operator>(const In& a, const In& b) { return gt(a, b); }
[[nodiscard]] inline Tensor operator>(const In& a, Scalar b) { return gt(a, b); }
[[nodiscard]] inline Tensor operator>(Scalar a, const In& b) { return lt(b, a); }
[[nodiscard]] inline Tensor operator>=(const In& a, const In& b) { return ge(a, b); }
[[nodiscard]] inline Tensor operator>=(const In& a, Scalar b) { return ge(a, b); }
[[nodiscard]] inline Tensor operator>=(Scalar a, const In& b) { return le(b, a); }
[[nodiscard]] inline Tensor operator&(const In& a, const In& b) { return bitwise_and(a, b); }
[[nodiscard]] inline Tensor operator&(const In& a, Scalar b) { return bitwise_and(a, b); }
[[nodiscard]] inline Tensor operator|(const In& a, const In& b) { return bitwise_or(a, b); }
[[nodiscard]] inline Tensor operator|(const In& a, Scalar b) { return bitwise_or(a, b); }
[[nodiscard]] inline Tensor operator^(const In& a, const In& b) { return bitwise_xor(a, b); }
[[nodiscard]] inline Tensor operator^(const In& a, Scalar b) { return bitwise_xor(a, b); }

// In place: the result is written over self, whose shape and dtype stay.  A leaf that requires a gradient is
// refused while recording (update it under NoGradGuard), and so is a tensor whose memory others share.

Tensor add_(const In& self, const In& other);
Tensor add_(const In& self, Scalar other);
/// self += alpha other, self -= alpha other.
Tensor add_(const In& self, const In& other, Scalar alpha);
Tensor sub_(const In& self, const In& other, Scalar alpha);
Tensor sub_(const In& self, const In& other);
Tensor sub_(const In& self, Scalar other);
Tensor mul_(const In& self, const In& other);
Tensor mul_(const In& self, Scalar other);
Tensor div_(const In& self, const In& other);
Tensor div_(const In& self, Scalar other);
Tensor floor_divide_(const In& self, const In& other);
Tensor floor_divide_(const In& self, Scalar other);
Tensor fmod_(const In& self, const In& other);
Tensor fmod_(const In& self, Scalar other);
Tensor remainder_(const In& self, const In& other);
Tensor remainder_(const In& self, Scalar other);
Tensor pow_(const In& self, const In& other);
Tensor pow_(const In& self, Scalar other);
Tensor maximum_(const In& self, const In& other);
Tensor maximum_(const In& self, Scalar other);
Tensor minimum_(const In& self, const In& other);
Tensor minimum_(const In& self, Scalar other);
/// Writes source, broadcast and converted, from any device.
Tensor copy_(const In& self, const In& source);
Tensor fill_(const In& self, Scalar value);
Tensor zero_(const In& self);

// To a temporary the result would be lost; where it is a view, write x.narrow(0, 0, 2).add_(1), or x(slice(0, 2)) += 1.
template <std::same_as<Tensor> S, class T> void operator+=(S&& self, const T& other) = delete;  // lost: write add_()
template <std::same_as<Tensor> S, class T> void operator-=(S&& self, const T& other) = delete;  // lost: write sub_()
template <std::same_as<Tensor> S, class T> void operator*=(S&& self, const T& other) = delete;  // lost: write mul_()
template <std::same_as<Tensor> S, class T> void operator/=(S&& self, const T& other) = delete;  // lost: write div_()
inline Tensor operator+=(const In& self, const In& other) { return add_(self, other); }
inline Tensor operator+=(const In& self, Scalar other) { return add_(self, other); }
inline Tensor operator-=(const In& self, const In& other) { return sub_(self, other); }
inline Tensor operator-=(const In& self, Scalar other) { return sub_(self, other); }
inline Tensor operator*=(const In& self, const In& other) { return mul_(self, other); }
inline Tensor operator*=(const In& self, Scalar other) { return mul_(self, other); }
inline Tensor operator/=(const In& self, const In& other) { return div_(self, other); }
inline Tensor operator/=(const In& self, Scalar other) { return div_(self, other); }

}  // namespace minnow
