#pragma once

#include <minnow/tensor/in.h>

/// Elementwise functions of two operands, broadcast and promoted by PyTorch's rules.  0-dim CPU tensors may
/// accompany operands of another device.  ShapeError, DTypeError, DeviceError naming both operands.
namespace minnow {

/// a + b.
Tensor add(const In& a, const In& b);
Tensor add(const In& a, Scalar b);
Tensor add(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a - b.
Tensor sub(const In& a, const In& b);
Tensor sub(const In& a, Scalar b);
Tensor sub(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a b.
Tensor mul(const In& a, const In& b);
Tensor mul(const In& a, Scalar b);
Tensor mul(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a / b; integers give float32.
Tensor div(const In& a, const In& b);
Tensor div(const In& a, Scalar b);
Tensor div(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The largest integer not above a / b.  Gradient: none.
Tensor floor_divide(const In& a, const In& b);
Tensor floor_divide(const In& a, Scalar b);
Tensor floor_divide(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a - b trunc(a / b): the sign of a.
Tensor fmod(const In& a, const In& b);
Tensor fmod(const In& a, Scalar b);
Tensor fmod(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a - b floor(a / b): the sign of b.
Tensor remainder(const In& a, const In& b);
Tensor remainder(const In& a, Scalar b);
Tensor remainder(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// a^b.
Tensor pow(const In& a, const In& b);
Tensor pow(const In& a, Scalar b);
Tensor pow(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The larger; NaN wins.  Equal elements share the gradient.
Tensor maximum(const In& a, const In& b);
Tensor maximum(const In& a, Scalar b);
Tensor maximum(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The smaller; NaN wins.  Equal elements share the gradient.
Tensor minimum(const In& a, const In& b);
Tensor minimum(const In& a, Scalar b);
Tensor minimum(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The larger; a number wins over NaN.  Equal elements share the gradient.
Tensor fmax(const In& a, const In& b);
Tensor fmax(const In& a, Scalar b);
Tensor fmax(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The smaller; a number wins over NaN.  Equal elements share the gradient.
Tensor fmin(const In& a, const In& b);
Tensor fmin(const In& a, Scalar b);
Tensor fmin(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// The angle of the point (b, a), in radians.
Tensor atan2(const In& a, const In& b);
Tensor atan2(const In& a, Scalar b);
Tensor atan2(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// sqrt(a² + b²) without overflow.
Tensor hypot(const In& a, const In& b);
Tensor hypot(const In& a, Scalar b);
Tensor hypot(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// |a| with the sign of b.
Tensor copysign(const In& a, const In& b);
Tensor copysign(const In& a, Scalar b);
Tensor copysign(Scalar a, const In& b, SourceLocation where = SourceLocation::current());
/// log(e^a + e^b) without overflow.
Tensor logaddexp(const In& a, const In& b);
Tensor logaddexp(const In& a, Scalar b);
Tensor logaddexp(Scalar a, const In& b, SourceLocation where = SourceLocation::current());

// Comparisons give bool and have no gradient.
Tensor eq(const In& a, const In& b);
Tensor eq(const In& a, Scalar b);
Tensor ne(const In& a, const In& b);
Tensor ne(const In& a, Scalar b);
Tensor lt(const In& a, const In& b);
Tensor lt(const In& a, Scalar b);
Tensor le(const In& a, const In& b);
Tensor le(const In& a, Scalar b);
Tensor gt(const In& a, const In& b);
Tensor gt(const In& a, Scalar b);
Tensor ge(const In& a, const In& b);
Tensor ge(const In& a, Scalar b);

// Logic on any dtype (not zero is true) gives bool.
Tensor logical_and(const In& a, const In& b);
Tensor logical_or(const In& a, const In& b);
Tensor logical_xor(const In& a, const In& b);

// Integers and bool only: DTypeError for floating operands.
Tensor bitwise_and(const In& a, const In& b);
Tensor bitwise_and(const In& a, Scalar b);
Tensor bitwise_or(const In& a, const In& b);
Tensor bitwise_or(const In& a, Scalar b);
Tensor bitwise_xor(const In& a, const In& b);
Tensor bitwise_xor(const In& a, Scalar b);
Tensor left_shift(const In& a, const In& b);
Tensor left_shift(const In& a, Scalar b);
Tensor right_shift(const In& a, const In& b);
Tensor right_shift(const In& a, Scalar b);

/// condition ? a : b, elementwise.  condition: bool.
Tensor where(const In& condition, const In& a, const In& b);
Tensor where(const In& condition, const In& a, Scalar b);
Tensor where(const In& condition, Scalar a, const In& b);
/// a + weight (b - a).
Tensor lerp(const In& a, const In& b, const In& weight);
/// a + value * b * c.
Tensor addcmul(const In& a, const In& b, const In& c, double value = 1);
/// a + value * b / c.
Tensor addcdiv(const In& a, const In& b, const In& c, double value = 1);

inline Tensor operator+(const In& a, const In& b) { return add(a, b); }
inline Tensor operator+(const In& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const In& b) { return add(a, b, b.where); }
inline Tensor operator-(const In& a, const In& b) { return sub(a, b); }
inline Tensor operator-(const In& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const In& b) { return sub(a, b, b.where); }
inline Tensor operator*(const In& a, const In& b) { return mul(a, b); }
inline Tensor operator*(const In& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const In& b) { return mul(a, b, b.where); }
inline Tensor operator/(const In& a, const In& b) { return div(a, b); }
inline Tensor operator/(const In& a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, const In& b) { return div(a, b, b.where); }
inline Tensor operator%(const In& a, const In& b) { return remainder(a, b); }
inline Tensor operator%(const In& a, Scalar b) { return remainder(a, b); }
inline Tensor operator%(Scalar a, const In& b) { return remainder(a, b, b.where); }
inline Tensor operator==(const In& a, const In& b) { return eq(a, b); }
inline Tensor operator==(const In& a, Scalar b) { return eq(a, b); }
inline Tensor operator==(Scalar a, const In& b) { return eq(b, a); }
inline Tensor operator!=(const In& a, const In& b) { return ne(a, b); }
inline Tensor operator!=(const In& a, Scalar b) { return ne(a, b); }
inline Tensor operator!=(Scalar a, const In& b) { return ne(b, a); }
inline Tensor operator<(const In& a, const In& b) { return lt(a, b); }
inline Tensor operator<(const In& a, Scalar b) { return lt(a, b); }
inline Tensor operator<(Scalar a, const In& b) { return gt(b, a); }
inline Tensor operator<=(const In& a, const In& b) { return le(a, b); }
inline Tensor operator<=(const In& a, Scalar b) { return le(a, b); }
inline Tensor operator<=(Scalar a, const In& b) { return ge(b, a); }
inline Tensor operator>(const In& a, const In& b) { return gt(a, b); }
inline Tensor operator>(const In& a, Scalar b) { return gt(a, b); }
inline Tensor operator>(Scalar a, const In& b) { return lt(b, a); }
inline Tensor operator>=(const In& a, const In& b) { return ge(a, b); }
inline Tensor operator>=(const In& a, Scalar b) { return ge(a, b); }
inline Tensor operator>=(Scalar a, const In& b) { return le(b, a); }
inline Tensor operator&(const In& a, const In& b) { return bitwise_and(a, b); }
inline Tensor operator&(const In& a, Scalar b) { return bitwise_and(a, b); }
inline Tensor operator|(const In& a, const In& b) { return bitwise_or(a, b); }
inline Tensor operator|(const In& a, Scalar b) { return bitwise_or(a, b); }
inline Tensor operator^(const In& a, const In& b) { return bitwise_xor(a, b); }
inline Tensor operator^(const In& a, Scalar b) { return bitwise_xor(a, b); }

// In place: the result is written over self, whose shape and dtype stay.  A leaf that requires a gradient is
// refused while recording (update it under NoGradGuard), and so is a tensor whose memory others share.

Tensor add_(const In& self, const In& other);
Tensor add_(const In& self, Scalar other);
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

inline Tensor operator+=(const In& self, const In& other) { return add_(self, other); }
inline Tensor operator+=(const In& self, Scalar other) { return add_(self, other); }
inline Tensor operator-=(const In& self, const In& other) { return sub_(self, other); }
inline Tensor operator-=(const In& self, Scalar other) { return sub_(self, other); }
inline Tensor operator*=(const In& self, const In& other) { return mul_(self, other); }
inline Tensor operator*=(const In& self, Scalar other) { return mul_(self, other); }
inline Tensor operator/=(const In& self, const In& other) { return div_(self, other); }
inline Tensor operator/=(const In& self, Scalar other) { return div_(self, other); }

}  // namespace minnow
