#pragma once

#include <string_view>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/ternary.h>
#include <minnow/tensor/kernels/unary.h>

/// The elementwise families, by the number of an operation in its list; named functions are in ops, and open the
/// CallSite that names them here.
namespace minnow::detail::raw {

template <class Op> inline constexpr int kUnary = kernels::kIndexOf<kernels::UnaryOps, Op>;
template <class Op> inline constexpr int kBinary = kernels::kIndexOf<kernels::BinaryOps, Op>;
template <class Op> inline constexpr int kTernary = kernels::kIndexOf<kernels::TernaryOps, Op>;

/// PyTorch's promotion: dimensioned operands first, then 0-dim ones where their category (bool, integer,
/// floating) is higher.
DType result_type(const Tensor& a, const Tensor& b);
/// The dtype that a number takes beside x: x's, unless the number's category is higher.
DType scalar_type(const Tensor& x, Scalar value);
/// A number as a tensor of that dtype; beside an undefined x, which the operation then refuses, of its own.  ValueError
/// for an unsigned number that int64 does not hold.
Tensor scalar_tensor(Scalar value, const Tensor& x);
/// Common shape of the operands.  ShapeError.
Shape broadcast_shape(const In& a, const In& b);

/// Floating-only functions promote integers to float32; predicates give bool.
Tensor unary(int op, const In& x, double p0 = 0, double p1 = 0);
/// Writes the result over x.  DTypeError where the result's dtype does not fit into x's.
void unary_(int op, const In& x, double p0 = 0, double p1 = 0);
/// grad * slope(saved), or with `curve` grad * curve(saved).
Tensor unary_slope(int op, const In& grad, const In& saved, double p0, double p1, bool curve = false);

Tensor binary(int op, const In& a, const In& b);
/// Writes the result over a; b is broadcast to a.
void binary_(int op, const In& a, const In& b);

Tensor ternary(int op, const In& a, const In& b, const In& c, double p = 0);
/// condition (bool) ? a : b, broadcast.
Tensor where(const In& condition, const In& a, const In& b);

}  // namespace minnow::detail::raw
