#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// The gradient before a relu whose result was y; any order.
Tensor relu_gradient(const Tensor& grad, const Tensor& y);

/// scale d^2 / (2 beta) where |d| < beta, else scale (|d| - beta / 2).  Where nothing is recorded, it is written over
/// d.
Tensor smooth_l1(const Tensor& d, double beta, double scale);

/// h * slope'(s): the derivative of an elementwise function's slope with respect to what it is computed from (the
/// operand x or the result y, Saves in tensor/kernels/unary_traits.h).
using UnaryCurve = Tensor (*)(const Tensor& h, const Tensor& s, double p0, double p1);
/// That of an operation of kernels::UnaryOps; null where the slope is constant in pieces.
UnaryCurve unary_curve(int op);
/// c where that is c h s, else 0.
double unary_curve_factor(int op);

}  // namespace minnow::detail
