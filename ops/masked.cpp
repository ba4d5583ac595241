#include <minnow/ops/masked.h>

#include <algorithm>
#include <vector>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

/// The shape that x and the mask are broadcast to.
Shape require_mask(const Tensor& x, const Tensor& mask) {
  dispatch({{"x", x}, {"mask", mask}}, HostScalars::allowed);
  if (mask.dtype() != DType::bool_)
    throw DTypeError(message("the mask is not bool", {{"x", x}, {"mask", mask}}, "compare: mask != 0"));
  return raw::broadcast_shape(x, mask, "x", "mask");
}

/// x where keep(row, column of the last two dimensions).
template <class Keep> Tensor triangle(const char* op, const In& x, Keep keep) {
  const CallSite site(op, x.where);
  x->require_defined();
  if (x->dim() < 2) throw ShapeError(message("needs at least two dimensions", {{"self", *x}}, "e.g. x.unsqueeze(0)"));
  const Tensor row = arange(x->size(-2), {DType::int64, x->device()}).unsqueeze(1);
  const Tensor column = arange(x->size(-1), {DType::int64, x->device()});
  return where(keep(row, column), x, raw::scalar_tensor(0, x->dtype()));
}

}  // namespace

Tensor nonzero(const In& x) {
  const CallSite site("nonzero", x.where);
  x->require_defined();
  const Tensor flags = ne(x->detach(), 0).cpu().contiguous();
  const bool* flag = flags.data<bool>();
  const std::int64_t count = std::count(flag, flag + flags.numel(), true), rank = x->dim();
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count * rank));
  std::int64_t position[kMaxRank] = {};
  std::int64_t* out = indices.data();
  for (std::int64_t i = 0; i < flags.numel() && rank > 0; ++i) {
    if (flag[i]) out = std::copy(position, position + rank, out);
    for (std::int64_t d = rank - 1; ++position[d] == x->shape()[static_cast<int>(d)] && d > 0; --d) position[d] = 0;
  }
  return tensor(indices, {DType::int64, x->device()}).reshape({count, rank});
}

Tensor masked_fill(const In& x, const In& mask, const TensorLike& value) {
  const CallSite site("masked_fill", x.where);
  require_mask(*x, *mask);
  if (!value.is_number()) {
    value.tensor->require_defined();
    return where(mask, value.tensor->to(x->dtype()), x);
  }
  require_representable(value.number, x->dtype());
  return where(mask, raw::scalar_tensor(value.number, x->dtype()), x);
}

Tensor masked_fill_(const In& x, const In& mask, const TensorLike& value) {
  const CallSite site("masked_fill_", x.where);
  return copy_(x, masked_fill(x, mask, value));
}

Tensor masked_select(const In& x, const In& mask) {
  const CallSite site("masked_select", x.where);
  const Shape shape = require_mask(*x, *mask);
  if (shape.rank() == 0) return masked_select(x->unsqueeze(0), mask);  // one element or none
  return x->expand(shape).index({mask->expand(shape)});
}

Tensor tril(const In& x, std::int64_t diagonal) {
  return triangle("tril", x, [&](const Tensor& row, const Tensor& column) { return column <= row + diagonal; });
}

Tensor triu(const In& x, std::int64_t diagonal) {
  return triangle("triu", x, [&](const Tensor& row, const Tensor& column) { return column >= row + diagonal; });
}

}  // namespace minnow
