#pragma once

#include <minnow/tensor/in.h>

/// Elementwise functions of two operands, broadcast and promoted by PyTorch's rules.  0-dim CPU tensors may
/// accompany operands of another device.  ShapeError, DTypeError, DeviceError naming both operands.
namespace minnow {

/// a + b.
Tensor add(In a, In b);
Tensor add(In a, Scalar b);
Tensor add(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// a - b.
Tensor sub(In a, In b);
Tensor sub(In a, Scalar b);
Tensor sub(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// a b.
Tensor mul(In a, In b);
Tensor mul(In a, Scalar b);
Tensor mul(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// a / b; integers give float32.
Tensor div(In a, In b);
Tensor div(In a, Scalar b);
Tensor div(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// The largest integer not above a / b.  Gradient: none.
Tensor floor_divide(In a, In b);
Tensor floor_divide(In a, Scalar b);
Tensor floor_divide(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// a - b trunc(a / b): the sign of a.
Tensor fmod(In a, In b);
Tensor fmod(In a, Scalar b);
Tensor fmod(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// a - b floor(a / b): the sign of b.
Tensor remainder(In a, In b);
Tensor remainder(In a, Scalar b);
Tensor remainder(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// a^b.
Tensor pow(In a, In b);
Tensor pow(In a, Scalar b);
Tensor pow(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// The larger; NaN wins.  Equal elements share the gradient.
Tensor maximum(In a, In b);
Tensor maximum(In a, Scalar b);
Tensor maximum(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// The smaller; NaN wins.  Equal elements share the gradient.
Tensor minimum(In a, In b);
Tensor minimum(In a, Scalar b);
Tensor minimum(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// The larger; a number wins over NaN.  Equal elements share the gradient.
Tensor fmax(In a, In b);
Tensor fmax(In a, Scalar b);
Tensor fmax(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// The smaller; a number wins over NaN.  Equal elements share the gradient.
Tensor fmin(In a, In b);
Tensor fmin(In a, Scalar b);
Tensor fmin(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// The angle of the point (b, a), in radians.
Tensor atan2(In a, In b);
Tensor atan2(In a, Scalar b);
Tensor atan2(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// sqrt(a² + b²) without overflow.
Tensor hypot(In a, In b);
Tensor hypot(In a, Scalar b);
Tensor hypot(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// |a| with the sign of b.
Tensor copysign(In a, In b);
Tensor copysign(In a, Scalar b);
Tensor copysign(Scalar a, In b, SourceLocation where = SourceLocation::current());
/// log(e^a + e^b) without overflow.
Tensor logaddexp(In a, In b);
Tensor logaddexp(In a, Scalar b);
Tensor logaddexp(Scalar a, In b, SourceLocation where = SourceLocation::current());

// Comparisons give bool and have no gradient.
Tensor eq(In a, In b);
Tensor eq(In a, Scalar b);
Tensor ne(In a, In b);
Tensor ne(In a, Scalar b);
Tensor lt(In a, In b);
Tensor lt(In a, Scalar b);
Tensor le(In a, In b);
Tensor le(In a, Scalar b);
Tensor gt(In a, In b);
Tensor gt(In a, Scalar b);
Tensor ge(In a, In b);
Tensor ge(In a, Scalar b);

// Logic on any dtype (not zero is true) gives bool.
Tensor logical_and(In a, In b);
Tensor logical_or(In a, In b);
Tensor logical_xor(In a, In b);

// Integers and bool only: DTypeError for floating operands.
Tensor bitwise_and(In a, In b);
Tensor bitwise_and(In a, Scalar b);
Tensor bitwise_or(In a, In b);
Tensor bitwise_or(In a, Scalar b);
Tensor bitwise_xor(In a, In b);
Tensor bitwise_xor(In a, Scalar b);
Tensor left_shift(In a, In b);
Tensor left_shift(In a, Scalar b);
Tensor right_shift(In a, In b);
Tensor right_shift(In a, Scalar b);

/// condition ? a : b, elementwise.  condition: bool.
Tensor where(In condition, In a, In b);
Tensor where(In condition, In a, Scalar b);
Tensor where(In condition, Scalar a, In b);
/// a + weight (b - a).
Tensor lerp(In a, In b, In weight);
/// a + value * b * c.
Tensor addcmul(In a, In b, In c, double value = 1);
/// a + value * b / c.
Tensor addcdiv(In a, In b, In c, double value = 1);

inline Tensor operator+(In a, In b) { return add(a, b); }
inline Tensor operator+(In a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, In b) { return add(a, b, b.where); }
inline Tensor operator-(In a, In b) { return sub(a, b); }
inline Tensor operator-(In a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, In b) { return sub(a, b, b.where); }
inline Tensor operator*(In a, In b) { return mul(a, b); }
inline Tensor operator*(In a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, In b) { return mul(a, b, b.where); }
inline Tensor operator/(In a, In b) { return div(a, b); }
inline Tensor operator/(In a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, In b) { return div(a, b, b.where); }
inline Tensor operator%(In a, In b) { return remainder(a, b); }
inline Tensor operator%(In a, Scalar b) { return remainder(a, b); }
inline Tensor operator%(Scalar a, In b) { return remainder(a, b, b.where); }
inline Tensor operator==(In a, In b) { return eq(a, b); }
inline Tensor operator==(In a, Scalar b) { return eq(a, b); }
inline Tensor operator==(Scalar a, In b) { return eq(b, a); }
inline Tensor operator!=(In a, In b) { return ne(a, b); }
inline Tensor operator!=(In a, Scalar b) { return ne(a, b); }
inline Tensor operator!=(Scalar a, In b) { return ne(b, a); }
inline Tensor operator<(In a, In b) { return lt(a, b); }
inline Tensor operator<(In a, Scalar b) { return lt(a, b); }
inline Tensor operator<(Scalar a, In b) { return gt(b, a); }
inline Tensor operator<=(In a, In b) { return le(a, b); }
inline Tensor operator<=(In a, Scalar b) { return le(a, b); }
inline Tensor operator<=(Scalar a, In b) { return ge(b, a); }
inline Tensor operator>(In a, In b) { return gt(a, b); }
inline Tensor operator>(In a, Scalar b) { return gt(a, b); }
inline Tensor operator>(Scalar a, In b) { return lt(b, a); }
inline Tensor operator>=(In a, In b) { return ge(a, b); }
inline Tensor operator>=(In a, Scalar b) { return ge(a, b); }
inline Tensor operator>=(Scalar a, In b) { return le(b, a); }
inline Tensor operator&(In a, In b) { return bitwise_and(a, b); }
inline Tensor operator|(In a, In b) { return bitwise_or(a, b); }
inline Tensor operator^(In a, In b) { return bitwise_xor(a, b); }

// In place: the result is written over self, whose shape and dtype stay.  A leaf that requires a gradient is
// refused while recording (update it under NoGradGuard), and so is a tensor whose memory others share.

Tensor add_(In self, In other);
Tensor add_(In self, Scalar other);
Tensor sub_(In self, In other);
Tensor sub_(In self, Scalar other);
Tensor mul_(In self, In other);
Tensor mul_(In self, Scalar other);
Tensor div_(In self, In other);
Tensor div_(In self, Scalar other);
Tensor floor_divide_(In self, In other);
Tensor floor_divide_(In self, Scalar other);
Tensor fmod_(In self, In other);
Tensor fmod_(In self, Scalar other);
Tensor remainder_(In self, In other);
Tensor remainder_(In self, Scalar other);
Tensor pow_(In self, In other);
Tensor pow_(In self, Scalar other);
Tensor maximum_(In self, In other);
Tensor maximum_(In self, Scalar other);
Tensor minimum_(In self, In other);
Tensor minimum_(In self, Scalar other);
/// Writes source, broadcast and converted, from any device.
Tensor copy_(In self, In source);
Tensor fill_(In self, Scalar value);
Tensor zero_(In self);

inline Tensor operator+=(In self, In other) { return add_(self, other); }
inline Tensor operator+=(In self, Scalar other) { return add_(self, other); }
inline Tensor operator-=(In self, In other) { return sub_(self, other); }
inline Tensor operator-=(In self, Scalar other) { return sub_(self, other); }
inline Tensor operator*=(In self, In other) { return mul_(self, other); }
inline Tensor operator*=(In self, Scalar other) { return mul_(self, other); }
inline Tensor operator/=(In self, In other) { return div_(self, other); }
inline Tensor operator/=(In self, Scalar other) { return div_(self, other); }

}  // namespace minnow
