#include <minnow/tensor/ops/index.h>

#include <algorithm>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/reduce.h>
#include <minnow/tensor/ops/view.h>

namespace minnow::raw {
namespace {

[[noreturn]] void out_of_range(const char* op, const In& x, int dim, const In& index) {
  throw IndexError(
      message(op, "an index is out of range", {{"x", *x}, {"index", *index}},
              "indices of dimension " + std::to_string(dim) + " go from 0 to " + std::to_string(x->shape()[dim] - 1)),
      index.where);
}

void require_int64(const char* op, const In& x, const In& index) {
  if (index->dtype() != DType::int64)
    throw DTypeError(
        message(op, "the index is not int64", {{"x", *x}, {"index", *index}}, "convert it: .to(DType::int64)"),
        index.where);
}

void check_gather(const char* op, const In& x, int dim, const In& index) {
  require_int64(op, x, index);
  bool fits = index->dim() == x->dim();
  for (int d = 0; fits && d < x->dim(); ++d) fits = d == dim || index->shape()[d] <= x->shape()[d];
  if (!fits)
    throw ShapeError(message(op, "index does not fit x", {{"x", *x}, {"index", *index}},
                             "index needs x's number of dimensions, and no more than its sizes except in dimension " +
                                 std::to_string(dim)),
                     index.where);
}

void check_select(const char* op, const In& x, int dim, const In& index) {
  require_int64(op, x, index);
  if (index->dim() != 1 || x->dim() == 0)
    throw ShapeError(message(op, "index must have one dimension, x at least one", {{"x", *x}, {"index", *index}},
                             "flatten it: .flatten(), or .unsqueeze(0) for a single one"),
                     index.where);
  wrap_dim(op, x, dim);
}

void require_same_dtype(const char* op, const In& x, const In& index, const In& source) {
  if (source->dtype() != x->dtype())
    throw DTypeError(
        message(op, "source and x have different dtypes", {{"x", *x}, {"index", *index}, {"source", *source}},
                "convert it: .to(DType::" + std::string(name_of(x->dtype())) + ")"),
        x.where);
}

/// x over the sizes of index in the dimensions that are not gathered.
Tensor cropped(const In& x, int dim, const In& index) {
  Shape shape = index->shape();
  shape[dim] = x->shape()[dim];
  return alias(x, shape, x->strides(), x->storage_offset());
}

}  // namespace

Tensor gather(const In& x, int dim, const In& index) {
  Backend& backend = dispatch("gather", {{"x", *x}, {"index", *index}}, x.where);
  dim = wrap_dim("gather", x, dim);
  check_gather("gather", x, dim, index);
  const Tensor out = empty(index->shape(), {x->dtype(), x->device()}, x.where);
  if (!out.numel()) return out;
  if (x->dim() == 0) return clone(x);
  if (!backend.gather(cropped(x, dim, index), dim, *index, out)) out_of_range("gather", x, dim, index);
  return out;
}

Tensor scatter_add(const In& x, int dim, const In& index, const In& source) {
  Backend& backend = dispatch("scatter_add", {{"x", *x}, {"index", *index}, {"source", *source}}, x.where);
  dim = wrap_dim("scatter_add", x, dim);
  check_gather("scatter_add", x, dim, index);
  if (source->shape() != index->shape())
    throw ShapeError(message("scatter_add", "source does not fit index",
                             {{"x", *x}, {"index", *index}, {"source", *source}}, "source needs the shape of index"),
                     x.where);
  require_same_dtype("scatter_add", x, index, source);
  const Tensor out = contiguous({clone(x), x.where});
  if (index->numel() && !backend.scatter_add(*source, dim, *index, cropped({out, x.where}, dim, index)))
    out_of_range("scatter_add", x, dim, index);
  return out;
}

Tensor index_select(const In& x, int dim, const In& index) {
  Backend& backend = dispatch("index_select", {{"x", *x}, {"index", *index}}, x.where);
  check_select("index_select", x, dim, index);
  dim = wrap_dim("index_select", x, dim);
  Shape shape = x->shape();
  shape[dim] = index->numel();
  const Tensor out = empty(shape, {x->dtype(), x->device()}, x.where);
  if (out.numel() && !backend.index_select(*x, dim, *index, out)) out_of_range("index_select", x, dim, index);
  return out;
}

Tensor index_add(const In& x, int dim, const In& index, const In& source) {
  Backend& backend = dispatch("index_add", {{"x", *x}, {"index", *index}, {"source", *source}}, x.where);
  check_select("index_add", x, dim, index);
  dim = wrap_dim("index_add", x, dim);
  Shape shape = x->shape();
  shape[dim] = index->numel();
  if (source->shape() != shape)
    throw ShapeError(message("index_add", "source does not fit", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "source needs shape " + shape.str()),
                     x.where);
  require_same_dtype("index_add", x, index, source);
  const Tensor out = contiguous({clone(x), x.where});
  if (source->numel() && !backend.index_add(*source, dim, *index, out)) out_of_range("index_add", x, dim, index);
  return out;
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const Composed scope("one_hot");
  Backend& backend = dispatch("one_hot", {{"index", *index}}, index.where);
  require_room("one_hot", index);
  require_int64("one_hot", index, index);
  if (classes == -1 && index->numel())
    classes = reduce(kReduce<kernels::Max>, index, {}, false).cpu().item<std::int64_t>() + 1;
  if (classes < 1)
    throw ValueError(message("one_hot", "there are no classes", {{"index", *index}}, "pass their number, 1 or more"),
                     index.where);
  Shape shape = index->shape();
  shape.push_back(classes);
  const Tensor out = zeros(shape, {DType::int64, index->device()}, index.where);
  if (!index->numel()) return out;
  const Tensor place = unsqueeze(index, -1);
  const Tensor one = ones(place.shape(), {DType::int64, index->device()}, index.where);
  if (!backend.scatter_add(one, index->dim(), place, cropped({out, index.where}, index->dim(), {place, index.where})))
    throw IndexError(message("one_hot", "an element is no class", {{"index", *index}},
                             "classes go from 0 to " + std::to_string(classes - 1)),
                     index.where);
  return out;
}

bool is_nothing(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

namespace {

/// The joined shape and dtype; `first` is the tensor that says what the others must be.
std::pair<Shape, DType> joined(std::span<const Tensor> tensors, const Tensor& first, int dim, SourceLocation where) {
  Shape shape = first.shape();
  DType dtype = first.dtype();
  if (first.dim()) shape[dim] = 0;
  for (const Tensor& t : tensors) {
    dtype = promote_types(dtype, t.dtype());
    if (is_nothing(t)) continue;
    if (t.dim() == 0)
      throw ShapeError(
          message("cat", "a tensor without dimensions has none to join along", {{"first", first}, {"other", t}},
                  "stack joins such tensors; or give it one: unsqueeze(0)"),
          where);
    bool fits = t.dim() == first.dim();
    for (int d = 0; fits && d < t.dim(); ++d) fits = d == dim || t.shape()[d] == shape[d];
    if (!fits)
      throw ShapeError(
          message("cat", "sizes differ outside dimension " + std::to_string(dim), {{"first", first}, {"other", t}},
                  "tensors are joined along one dimension and equal in all others; stack makes a new one"),
          where);
    shape[dim] += t.shape()[dim];
  }
  return {shape, dtype};
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int dim, SourceLocation where) {
  if (tensors.empty()) throw ValueError(message("cat", "there are no tensors to join", {}, "give at least one"), where);
  for (const Tensor& t : tensors) dispatch("cat", {{"first", tensors.front()}, {"other", t}}, where);
  const auto some = std::find_if_not(tensors.begin(), tensors.end(), is_nothing);
  if (some == tensors.end()) dim = 0;  // nothing but nothing
  const Tensor& first = some == tensors.end() ? tensors.front() : *some;
  dim = wrap_dim("cat", {first, where}, dim);
  const auto [shape, dtype] = joined(tensors, first, dim, where);
  const Tensor out = empty_strided_like(shape, first.strides(), dtype, first.device(), where);
  Backend& backend = backend_of(first.device(), where);
  Shape start = Shape::filled(shape.rank(), 0);
  for (const Tensor& t : tensors) {
    if (is_nothing(t)) continue;
    if (t.numel()) backend.copy(t, slice({out, where}, {start, t.shape(), Shape::filled(shape.rank(), 1)}));
    start[dim] += t.shape()[dim];
  }
  return out;
}

}  // namespace minnow::raw
