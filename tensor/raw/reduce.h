#pragma once

#include <span>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/reduce.h>

namespace minnow::detail {
class Backend;
}

/// Reductions over any dimensions; named functions are in ops.
namespace minnow::detail::raw {

template <class Op> inline constexpr int kReduce = kernels::kIndexOf<kernels::ReduceOps, Op>;

/// Dimension numbers; empty: all dimensions.
using Dims = Shape;

/// Sums and products of integers and bool give int64, any and all give bool.
Tensor reduce(int op, const In& x, const Dims& dims, bool keepdim, double p = 0);
/// The same of an open operation, on the backend that was looked up for x.
Tensor reduce(Backend& backend, int op, const In& x, const Dims& dims, bool keepdim, double p = 0);

struct ValuesIndices {
  Tensor values, indices;
};
/// The largest (or smallest) elements along a dimension and their indices (int64): the first of equal elements, or of a
/// NaN.
ValuesIndices arg_reduce(bool largest, const In& x, int dim, bool keepdim);

/// The shape of a reduction's result.
Shape reduced_shape(const In& x, const Dims& dims, bool keepdim);
/// The number of elements that are reduced to one.
std::int64_t reduced_count(const In& x, const Dims& dims);

}  // namespace minnow::detail::raw
