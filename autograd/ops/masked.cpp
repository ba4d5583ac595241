#include <minnow/autograd/ops/masked.h>

#include <algorithm>
#include <vector>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>

namespace minnow {
namespace {

void require_mask(const char* op, const In& x, const In& mask) {
  x->require_defined(op, x.where);
  mask->require_defined(op, mask.where);
  if (mask->dtype() != DType::bool_)
    throw DTypeError(message(op, "the mask is not bool", {{"x", *x}, {"mask", *mask}}, "compare: mask != 0"), x.where);
}

/// x where keep(row, column of the last two dimensions).
template <class Keep> Tensor triangle(const char* op, const In& x, Keep keep) {
  const Composed scope(op);
  x->require_defined(op, x.where);
  if (x->dim() < 2)
    throw ShapeError(message(op, "needs at least two dimensions", {{"x", *x}}, "e.g. x.unsqueeze(0)"), x.where);
  const std::int64_t rows = x->size(-2), columns = x->size(-1);
  const Tensor row = arange(rows, {DType::int64, x->device()}, x.where).unsqueeze(1, x.where);
  const Tensor column = arange(columns, {DType::int64, x->device()}, x.where);
  return where({keep(row, column), x.where}, x, 0);
}

}  // namespace

Tensor nonzero(const In& x) {
  const Composed scope("nonzero");
  x->require_defined("nonzero", x.where);
  const Tensor plain = x->detach(x.where);
  const Tensor flags = ne({plain, x.where}, 0).cpu(x.where).contiguous(MemoryFormat::contiguous, x.where);
  const bool* flag = flags.data<bool>(x.where);
  const std::int64_t count = std::count(flag, flag + flags.numel(), true), rank = x->dim();
  std::vector<std::int64_t> places(static_cast<std::size_t>(count * rank));
  std::int64_t at[kMaxRank] = {};
  std::int64_t* out = places.data();
  for (std::int64_t i = 0; i < flags.numel() && rank > 0; ++i) {
    if (flag[i]) out = std::copy(at, at + rank, out);
    for (std::int64_t d = rank - 1; ++at[d] == x->shape()[static_cast<int>(d)] && d > 0; --d) at[d] = 0;
  }
  return tensor(places, {DType::int64, x->device()}, x.where).reshape({count, rank}, x.where);
}

Tensor masked_fill(const In& x, const In& mask, Scalar value) {
  const Composed scope("masked_fill");
  require_mask("masked_fill", x, mask);
  raw::require_representable("masked_fill", value, x->dtype(), x.where);
  return where(mask, {raw::scalar_tensor(value, x->dtype()), x.where}, x);
}

Tensor masked_fill(const In& x, const In& mask, const In& value) {
  const Composed scope("masked_fill");
  require_mask("masked_fill", x, mask);
  value->require_defined("masked_fill", value.where);
  const Tensor own = value->to(x->dtype(), {}, value.where);
  return where(mask, {own, value.where}, x);
}

Tensor masked_fill_(const In& x, const In& mask, Scalar value) {
  const Composed scope("masked_fill_");
  const Tensor filled = masked_fill(x, mask, value);
  return copy_(x, {filled, x.where});
}

Tensor masked_select(const In& x, const In& mask) {
  const Composed scope("masked_select");
  require_mask("masked_select", x, mask);
  const Shape both = raw::broadcast_shape("masked_select", x, mask);
  if (both.rank() == 0) return masked_select({x->unsqueeze(0, x.where), x.where}, mask);  // one element or none
  const Tensor wide = x->expand(both, x.where), chosen = mask->expand(both, mask.where);
  return wide.index({Index(chosen, x.where)}, x.where);
}

Tensor tril(const In& x, std::int64_t diagonal) {
  return triangle("tril", x, [&](const Tensor& row, const Tensor& column) { return column <= row + diagonal; });
}

Tensor triu(const In& x, std::int64_t diagonal) {
  return triangle("triu", x, [&](const Tensor& row, const Tensor& column) { return column >= row + diagonal; });
}

}  // namespace minnow
