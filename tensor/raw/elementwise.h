#pragma once

#include <string_view>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/ternary.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::detail {
class Backend;
}

namespace minnow::detail {
class Backend;
}

/// The elementwise families, by the number of an operation in its list; named functions are in ops, and open the
/// CallSite that names them here.
namespace minnow::detail::raw {

template <class Op> inline constexpr int kUnary = kernels::kIndexOf<kernels::UnaryOps, Op>;
template <class Op> inline constexpr int kBinary = kernels::kIndexOf<kernels::BinaryOps, Op>;
template <class Op> inline constexpr int kTernary = kernels::kIndexOf<kernels::TernaryOps, Op>;

/// The promoted dtype by PyTorch's rule: that of the operands with dimensions, unless a 0-dim operand has a higher
/// category (bool < integer < floating-point).
DType result_type(const Tensor& a, const Tensor& b);
/// The dtype of a number that is an operand beside x: x's, unless the number's category is higher.
DType scalar_type(const Tensor& x, Scalar value);
/// A number as a tensor of that dtype; of its own dtype if x is undefined, which the operation then refuses.
/// ValueError for an unsigned number that int64 cannot hold.
Tensor scalar_tensor(Scalar value, const Tensor& x);
/// The shape that both operands broadcast to.  ShapeError if there is none.
Shape broadcast_shape(const In& a, const In& b, const char* name_a = "a", const char* name_b = "b");

/// Functions of floating-point numbers convert integers to float32; predicates give bool.
Tensor unary(int op, const In& x, double p0 = 0, double p1 = 0);
/// Writes the result to x.  DTypeError if x's dtype cannot hold it.
void unary_(int op, const In& x, double p0 = 0, double p1 = 0);
/// grad * slope(saved).
Tensor unary_slope(int op, const In& grad, const In& saved, double p0, double p1);

Tensor binary(int op, const In& a, const In& b);
/// Writes the result to a; b is broadcast to a.
void binary_(int op, const In& a, const In& b);

Tensor ternary(int op, const In& a, const In& b, const In& c, double p = 0, const char* name_c = "c");
/// condition (bool) ? a : b, broadcast.
Tensor where(const In& condition, const In& a, const In& b);

// The same on the backend that was looked up for the operands.
Tensor unary(Backend& backend, int op, const In& x, double p0 = 0, double p1 = 0);
Tensor binary(Backend& backend, int op, const In& a, const In& b);
Tensor ternary(Backend& backend, int op, const In& a, const In& b, const In& c, double p = 0, const char* name_c = "c");
Tensor where(Backend& backend, const In& condition, const In& a, const In& b);

}  // namespace minnow::detail::raw
