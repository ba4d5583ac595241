#include <minnow/ops/masked.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>
#include <minnow/autograd/record.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/index.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/backend/captured_calls.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

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

namespace {

void require_int64(const Tensor& x, const Tensor& index) {
  if (index.dtype() != DType::int64)
    throw DTypeError(message("index must be int64", {{"x", x}, {"index", index}}, "convert it: .to(int64)"));
}

}  // namespace

Tensor take_along_dim(const In& x, const In& index, std::optional<int> dim) {
  const CallSite site("take_along_dim", x.where);
  dispatch({{"x", *x}, {"index", *index}});
  require_int64(*x, *index);
  if (!dim) return gather(x->reshape({-1}), 0, index->reshape({-1}));
  const int d = raw::wrap_dim(x, *dim);
  if (x->dim() != index->dim())
    throw ShapeError(message("x and index have different numbers of dimensions", {{"x", *x}, {"index", *index}},
                             "add dimensions of size 1 to one of them: .unsqueeze(dim)"));
  if (x->dim() == 0) return gather(x, 0, index);
  Shape values = x->shape(), positions = index->shape();
  for (int k = 0; k < x->dim(); ++k) {
    if (k == d || values[k] == positions[k]) continue;
    if (values[k] != 1 && positions[k] != 1)
      throw ShapeError(message("dimension " + std::to_string(k) + " cannot be broadcast",
                               {{"x", *x}, {"index", *index}},
                               "the sizes must be equal or 1, except in dimension " + std::to_string(d)));
    (values[k] == 1 ? values : positions)[k] = values[k] == 1 ? positions[k] : values[k];
  }
  return gather(x->expand(values), d, index->expand(positions));
}

namespace {

/// Negative indices count from the end.
Tensor from_zero(const Tensor& index, std::int64_t size) { return where(index < 0, index + size, index); }

/// bool, true at the elements of dimension dim that index has, of a shape that broadcasts to x's.
Tensor chosen(const In& x, int dim, const In& index) {
  Backend& backend = dispatch({{"x", *x}, {"index", *index}});
  require_int64(*x, *index);
  if (index->dim() > 1)
    throw ShapeError(
        message("index has more than one dimension", {{"x", *x}, {"index", *index}}, "flatten it: .flatten()"));
  dim = raw::wrap_dim(x, dim);
  const std::int64_t size = x->dim() ? x->shape()[dim] : 1;
  const TensorOptions options{DType::int64, x->device()};
  const Tensor counts = zeros({size}, options), positions = from_zero(*index, size).reshape({-1});
  if (positions.numel())
    run_checked(
        backend, calls::IndexAdd{ones({1}, options).expand(positions.shape()), positions, counts, 0},
        [size, dim](const Tensor& t, const Tensor& i) {
          auto invalid = raw::find_invalid_index(from_zero(i, size), size);
          if (invalid && invalid->value < 0) invalid->value -= size;
          throw IndexError(message((invalid ? "index " + invalid->str() : "an index") + " is out of range",
                                   {{"x", t}, {"index", i}},
                                   "indices of dimension " + std::to_string(dim) + " go from " + std::to_string(-size) +
                                       " to " + std::to_string(size - 1)));
        },
        *x, *index);
  Shape shape = Shape::filled(x->dim(), 1);
  if (x->dim()) shape[dim] = size;
  return ne(counts, 0).reshape(shape);
}

}  // namespace

Tensor index_fill(const In& x, int dim, const In& index, const TensorLike& value) {
  const CallSite site("index_fill", x.where);
  const Tensor mask = chosen(x, dim, index);
  if (!value.is_number()) {
    value.tensor->require_defined();
    if (value.tensor->dim() != 0)
      throw ShapeError(message("value must be a number or a 0-dim tensor", {{"x", *x}, {"value", *value.tensor}},
                               "index_add and x(...) = values write several"));
  }
  return masked_fill(x, mask, value);
}

Tensor index_fill_(const In& x, int dim, const In& index, const TensorLike& value) {
  const CallSite site("index_fill_", x.where);
  return copy_(x, index_fill(x, dim, index, value));
}

namespace {

/// The elements of source at `positions`, which follow from the mask.
Tensor picked(const Tensor& source, const Tensor& mask, const Tensor& positions) {
  const Tensor flat = raw::reshape(source, {-1});
  const Tensor out = raw::new_result(positions.shape(), source.dtype(), source.device());
  if (positions.numel())
    run_checked(
        dispatch({{"source", source}, {"mask", mask}}), calls::IndexSelect{flat, positions, out, 0},
        [](const Tensor& s, const Tensor& m) {
          throw IndexError(message("the mask has more true elements than source has elements",
                                   {{"source", s}, {"mask", m}}, "give an element for each true one"));
        },
        source, mask);
  return out;
}

}  // namespace

Tensor masked_scatter(const In& x, const In& mask, const In& source) {
  const CallSite site("masked_scatter", x.where);
  dispatch({{"x", *x}, {"mask", *mask}, {"source", *source}});
  const Operands operands{{"x", *x}, {"mask", *mask}, {"source", *source}};
  if (mask->dtype() != DType::bool_) throw DTypeError(message("the mask is not bool", operands, "compare: mask != 0"));
  if (source->dtype() != x->dtype())
    throw DTypeError(message("source and x have different dtypes", operands,
                             "convert it: .to(" + std::string(name_of(x->dtype())) + ")"));
  const Shape shape = raw::broadcast_shape(x, mask, "x", "mask");
  const Tensor kept = x->expand(shape), where_true = mask->expand(shape);
  if (source->numel() == 0) {
    if (any(where_true).item<bool>())
      throw IndexError(
          message("the mask has true elements, and source has none", operands, "give an element for each true one"));
    return kept.clone();
  }
  // The i-th true element takes element i of source; a false one any, which is not used.
  const Tensor positions = clamp_min(cumsum(where_true.reshape({-1}), 0) - 1, 0);
  Tensor y = raw::where(where_true, raw::reshape(picked(*source, *mask, positions), shape), kept);
  return record(
      "masked_scatter", std::move(y), {x, source},
      [mask = Saved(where_true), positions = Saved(positions), from = source->shape()](const Tensor& g, Needs needs) {
        Gradients out(2);
        if (needs[0]) out[0] = masked_fill(g, mask(), 0);
        if (needs[1])
          out[1] = index_add(zeros({from.numel()}, {g.dtype(), g.device()}), 0, positions(),
                             where(mask(), g, 0.0).reshape({-1}))
                       .reshape(from);
        return out;
      });
}

Tensor masked_scatter_(const In& x, const In& mask, const In& source) {
  const CallSite site("masked_scatter_", x.where);
  return copy_(x, masked_scatter(x, mask, source));
}

}  // namespace minnow
