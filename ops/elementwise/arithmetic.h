#pragma once

#include <concepts>
#include <cstdint>
#include <minnow/tensor/in.h>

/// Elementwise functions of two operands, broadcast and promoted by PyTorch's rules.  One operand may be a number, and
/// 0-dim CPU tensors may accompany operands of another device.  ShapeError, DTypeError, DeviceError naming both
/// operands.
///
/// A name that ends with an underscore is the form in place: the result is written over self, whose shape and dtype
/// stay.  A leaf that requires a gradient is refused while recording (update it under NoGradGuard), and so is a tensor
/// whose memory others share.
namespace minnow {

/// a + b.
[[nodiscard]] Tensor add(const TensorLike& a, const TensorLike& b);
Tensor add_(const In& self, const TensorLike& other);
/// a - b.
[[nodiscard]] Tensor sub(const TensorLike& a, const TensorLike& b);
Tensor sub_(const In& self, const TensorLike& other);
/// a b.
[[nodiscard]] Tensor mul(const TensorLike& a, const TensorLike& b);
Tensor mul_(const In& self, const TensorLike& other);
/// a / b; integers give float32.
[[nodiscard]] Tensor div(const TensorLike& a, const TensorLike& b);
Tensor div_(const In& self, const TensorLike& other);
/// How a quotient becomes a whole number: towards 0, or down.
enum class Rounding : std::uint8_t { trunc, floor };
/// a / b as a whole number, in the common dtype; floor as floor_divide.  ValueError for integers over 0.  Gradient:
/// none.
[[nodiscard]] Tensor div(const TensorLike& a, const TensorLike& b, Rounding rounding);
/// The largest integer not above a / b.  Gradient: none.
[[nodiscard]] Tensor floor_divide(const TensorLike& a, const TensorLike& b);
Tensor floor_divide_(const In& self, const TensorLike& other);
/// a - b trunc(a / b): the sign of a.
[[nodiscard]] Tensor fmod(const TensorLike& a, const TensorLike& b);
Tensor fmod_(const In& self, const TensorLike& other);
/// a - b floor(a / b): the sign of b.
[[nodiscard]] Tensor remainder(const TensorLike& a, const TensorLike& b);
Tensor remainder_(const In& self, const TensorLike& other);
/// a^b.
[[nodiscard]] Tensor pow(const TensorLike& a, const TensorLike& b);
Tensor pow_(const In& self, const TensorLike& other);
/// The larger; NaN wins.  Equal elements share the gradient.
[[nodiscard]] Tensor maximum(const TensorLike& a, const TensorLike& b);
Tensor maximum_(const In& self, const TensorLike& other);
/// The smaller; NaN wins.  Equal elements share the gradient.
[[nodiscard]] Tensor minimum(const TensorLike& a, const TensorLike& b);
Tensor minimum_(const In& self, const TensorLike& other);
/// The larger; a number wins over NaN.  Equal elements share the gradient.
[[nodiscard]] Tensor fmax(const TensorLike& a, const TensorLike& b);
/// The smaller; a number wins over NaN.  Equal elements share the gradient.
[[nodiscard]] Tensor fmin(const TensorLike& a, const TensorLike& b);
/// The angle of the point (b, a), in radians.
[[nodiscard]] Tensor atan2(const TensorLike& a, const TensorLike& b);
/// sqrt(a² + b²) without overflow.
[[nodiscard]] Tensor hypot(const TensorLike& a, const TensorLike& b);
/// |a| with the sign of b.
[[nodiscard]] Tensor copysign(const TensorLike& a, const TensorLike& b);
/// log(e^a + e^b) without overflow.
[[nodiscard]] Tensor logaddexp(const TensorLike& a, const TensorLike& b);

// Comparisons give bool and have no gradient.
[[nodiscard]] Tensor eq(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor ne(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor lt(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor le(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor gt(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor ge(const TensorLike& a, const TensorLike& b);

/// Whether shapes and all elements are equal.  Waits for the device.
[[nodiscard]] bool equal(const In& a, const In& b);
/// Whether |a - b| <= atol + rtol |b|, elementwise and broadcast: bool.  NaN is close to nothing, unless equal_nan.
/// ValueError for a negative rtol or atol.
[[nodiscard]] Tensor isclose(const In& a, const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether |a - b| <= atol + rtol |b| everywhere; NaN is equal to nothing, unless equal_nan.  Waits for the device.
[[nodiscard]] bool allclose(const In& a, const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

// Logic on any dtype (not zero is true) gives bool.
[[nodiscard]] Tensor logical_and(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor logical_or(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor logical_xor(const TensorLike& a, const TensorLike& b);

// Integers and bool only: DTypeError for floating-point operands.
[[nodiscard]] Tensor bitwise_and(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor bitwise_or(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor bitwise_xor(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor left_shift(const TensorLike& a, const TensorLike& b);
[[nodiscard]] Tensor right_shift(const TensorLike& a, const TensorLike& b);

/// condition ? a : b, elementwise.  condition: bool.
[[nodiscard]] Tensor where(const In& condition, const TensorLike& a, const TensorLike& b);
/// x limited to [low, high], elementwise and broadcast, in the common dtype; `high` where low is above it; NaN in any
/// of them gives NaN.  An undefined bound is none (ValueError if both are).  Where x is a bound, both get half of the
/// gradient.
[[nodiscard]] Tensor clamp(const In& x, const TensorLike& low, const TensorLike& high);
/// clamp with lower bounds only.
[[nodiscard]] Tensor clamp_min(const In& x, const In& low);
/// clamp with upper bounds only.
[[nodiscard]] Tensor clamp_max(const In& x, const In& high);
/// a + weight (b - a).
[[nodiscard]] Tensor lerp(const In& a, const In& b, const TensorLike& weight);
/// a + alpha b, a - alpha b.
[[nodiscard]] Tensor add(const In& a, const In& b, Scalar alpha);
Tensor add_(const In& self, const In& other, Scalar alpha);
[[nodiscard]] Tensor sub(const In& a, const In& b, Scalar alpha);
Tensor sub_(const In& self, const In& other, Scalar alpha);
/// a + value * b * c.
[[nodiscard]] Tensor addcmul(const In& a, const In& b, const In& c, double value = 1);
/// a + value * b / c.
[[nodiscard]] Tensor addcdiv(const In& a, const In& b, const In& c, double value = 1);

[[nodiscard]] inline Tensor operator+(const TensorLike& a, const TensorLike& b) { return add(a, b); }
[[nodiscard]] inline Tensor operator-(const TensorLike& a, const TensorLike& b) { return sub(a, b); }
[[nodiscard]] inline Tensor operator*(const TensorLike& a, const TensorLike& b) { return mul(a, b); }
[[nodiscard]] inline Tensor operator/(const TensorLike& a, const TensorLike& b) { return div(a, b); }
[[nodiscard]] inline Tensor operator%(const TensorLike& a, const TensorLike& b) { return remainder(a, b); }
[[nodiscard]] inline Tensor operator==(const TensorLike& a, const TensorLike& b) { return eq(a, b); }
[[nodiscard]] inline Tensor operator!=(const TensorLike& a, const TensorLike& b) { return ne(a, b); }
[[nodiscard]] inline Tensor operator<(const TensorLike& a, const TensorLike& b) { return lt(a, b); }
[[nodiscard]] inline Tensor operator<=(const TensorLike& a, const TensorLike& b) { return le(a, b); }
[[nodiscard]] inline Tensor operator>(const TensorLike& a, const TensorLike& b) { return gt(a, b); }
[[nodiscard]] inline Tensor operator>=(const TensorLike& a, const TensorLike& b) { return ge(a, b); }
[[nodiscard]] inline Tensor operator&(const TensorLike& a, const TensorLike& b) { return bitwise_and(a, b); }
[[nodiscard]] inline Tensor operator|(const TensorLike& a, const TensorLike& b) { return bitwise_or(a, b); }
[[nodiscard]] inline Tensor operator^(const TensorLike& a, const TensorLike& b) { return bitwise_xor(a, b); }

/// Writes source, broadcast and converted, from any device.
Tensor copy_(const In& self, const In& source);
/// Writes a number to each element.  Gradient: none.
Tensor fill_(const In& self, Scalar value);
/// fill_(self, 0).
Tensor zero_(const In& self);

// To a temporary the result would be lost; where it is a view, write x.narrow(0, 0, 2).add_(1), or x(slice(0, 2)) += 1.
template <std::same_as<Tensor> S, class T> void operator+=(S&& self, const T& other) = delete;  // lost: write add_()
template <std::same_as<Tensor> S, class T> void operator-=(S&& self, const T& other) = delete;  // lost: write sub_()
template <std::same_as<Tensor> S, class T> void operator*=(S&& self, const T& other) = delete;  // lost: write mul_()
template <std::same_as<Tensor> S, class T> void operator/=(S&& self, const T& other) = delete;  // lost: write div_()
inline Tensor operator+=(const In& self, const TensorLike& other) { return add_(self, other); }
inline Tensor operator-=(const In& self, const TensorLike& other) { return sub_(self, other); }
inline Tensor operator*=(const In& self, const TensorLike& other) { return mul_(self, other); }
inline Tensor operator/=(const In& self, const TensorLike& other) { return div_(self, other); }

}  // namespace minnow
