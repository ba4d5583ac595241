#pragma once

#include <string_view>
#include <vector>
#include <minnow/tensor/in.h>

namespace minnow {

/// Einstein's sum: einsum("bij,bjk->bik", {a, b}).  A letter names a dimension; products are summed over the letters
/// that are not after "->".  Without "->" the result has the letters that occur once, in alphabetical order.  "..."
/// stands for further dimensions, which are broadcast; a letter twice in one operand takes the diagonal.  Operands are
/// multiplied from left to right, two at a time, as batches of matrices.  ValueError for an equation that cannot be
/// read, ShapeError where it does not match the operands, DTypeError unless they have one dtype.  Sums of
/// integers are int64, as those of sum(), but of products in their dtype.  The result of a single operand may be a
/// view.
[[nodiscard]] Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands,
                            SourceLocation where = SourceLocation::current());
/// y_k = aᵀ W_k b + bias_k.   a: [..., M]  b: [..., N], with the same leading sizes  weight: [K, M, N]  bias: [K], or
/// undefined ->  [..., K].  ShapeError for other sizes.
[[nodiscard]] Tensor bilinear(const In& a, const In& b, const In& weight, const Tensor& bias = {});

}  // namespace minnow
