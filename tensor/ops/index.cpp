#include <minnow/tensor/ops/index.h>

#include <algorithm>
#include <utility>
#include <minnow/tensor/backend/captured_calls.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/reduce.h>
#include <minnow/tensor/ops/transfer.h>
#include <minnow/tensor/ops/view.h>

namespace minnow::raw {
namespace {

[[noreturn]] void out_of_range(const char* op, const In& x, int dim, const In& index) {
  const std::int64_t limit = x->dim() ? x->shape()[dim] : 1;
  const std::optional<Stray> stray = find_stray(index, limit);
  const std::string found = stray ? "index " + stray->str() : "an index";
  const std::string which = "dimension " + std::to_string(dim);
  throw IndexError(message(op, found + " is out of range", {{"x", *x}, {"index", *index}},
                           limit ? "indices of " + which + " go from 0 to " + std::to_string(limit - 1)
                                 : which + " of x has no elements, which an index could name"),
                   index.where);
}

/// A call whose `index` names elements of x along dim.
template <class C>
void run_indexed(const char* op, Backend& backend, const C& call, const In& x, int dim, const In& index) {
  run_checked(
      backend, call,
      [op, dim, line = index.where](const Tensor& t, const Tensor& i) {
        out_of_range(op, {t, line}, dim, {i, line});
      },
      *x, *index);
}

/// As the backends see a tensor that is indexed: with at least one dimension.
View lined(const View& t) { return t.dim() ? t : View(t.storage(), t.dtype(), {1}, {1}, t.storage_offset()); }

void require_int64(const char* op, const In& x, const In& index) {
  if (index->dtype() != DType::int64)
    throw DTypeError(message(op, "the index is not int64", {{"x", *x}, {"index", *index}}, "convert it: .to(int64)"),
                     index.where);
}

void check_gather(const char* op, const In& x, int dim, const In& index) {
  require_int64(op, x, index);
  bool fits = std::max(index->dim(), 1) == std::max(x->dim(), 1);
  for (int d = 0; fits && d < x->dim() && d < index->dim(); ++d) fits = d == dim || index->shape()[d] <= x->shape()[d];
  if (!fits)
    throw ShapeError(message(op, "index does not fit x", {{"x", *x}, {"index", *index}},
                             "index needs x's number of dimensions, and no more than its sizes except in dimension " +
                                 std::to_string(dim)),
                     index.where);
}

void check_select(const char* op, const In& x, int dim, const In& index) {
  require_int64(op, x, index);
  if (index->dim() > 1)
    throw ShapeError(
        message(op, "index has more than one dimension", {{"x", *x}, {"index", *index}}, "flatten it: .flatten()"),
        index.where);
  wrap_dim(op, x, dim);
  if (x->dim() == 0 && index->numel() != 1)
    throw ShapeError(message(op, "x has no dimensions, so that index must have one element",
                             {{"x", *x}, {"index", *index}}, "give x a dimension first: .unsqueeze(0)"),
                     index.where);
}

/// The shape of the slices that index names.
Shape selected_shape(const In& x, int dim, const In& index) {
  Shape shape = x->shape();
  if (x->dim()) shape[dim] = index->numel();
  return shape;
}

void require_same_dtype(const char* op, const In& x, const In& index, const In& source) {
  if (source->dtype() != x->dtype())
    throw DTypeError(
        message(op, "source and x have different dtypes", {{"x", *x}, {"index", *index}, {"source", *source}},
                "convert it: .to(" + std::string(name_of(x->dtype())) + ")"),
        x.where);
}

/// x over the sizes of index in the dimensions that are not gathered.
View cropped(const View& x, int dim, const View& index) {
  Shape shape = index.shape();
  shape[dim] = x.shape()[dim];
  return View(x.storage(), x.dtype(), shape, x.strides(), x.storage_offset());
}

}  // namespace

std::optional<Stray> find_stray(const In& index, std::int64_t limit, std::optional<std::int64_t> except) {
  const Tensor dense = contiguous(index);
  const Tensor home = to_device({dense, index.where}, Device());
  home.storage()->wait_ready();
  const auto* values = static_cast<const std::int64_t*>(home.raw_data());
  const auto strays = [&](std::int64_t v) { return (v < 0 || v >= limit) && v != except; };
  const auto* at = std::find_if(values, values + home.numel(), strays);
  if (at == values + home.numel()) return {};
  Shape place = home.shape();
  std::int64_t left = at - values;
  for (int d = place.rank() - 1; d >= 0; --d) {
    const std::int64_t size = place[d];
    place[d] = left % size;
    left /= size;
  }
  return Stray{*at, place.empty() ? "" : place.str()};
}

Tensor gather(const In& x, int dim, const In& index) {
  Backend& backend = dispatch("gather", {{"x", *x}, {"index", *index}}, x.where);
  dim = wrap_dim("gather", x, dim);
  check_gather("gather", x, dim, index);
  const Tensor out = new_result(index->shape(), x->dtype(), x->device(), x.where);
  if (!out.numel()) return out;
  const View at = lined(*index);
  run_indexed("gather", backend, calls::Gather{cropped(lined(*x), dim, at), at, lined(out), dim}, x, dim, index);
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
  if (!index->numel()) return out;
  const View at = lined(*index);
  run_indexed("scatter_add", backend, calls::ScatterAdd{lined(*source), at, cropped(lined(out), dim, at), dim}, x, dim,
              index);
  return out;
}

Tensor index_select(const In& x, int dim, const In& index) {
  Backend& backend = dispatch("index_select", {{"x", *x}, {"index", *index}}, x.where);
  check_select("index_select", x, dim, index);
  dim = wrap_dim("index_select", x, dim);
  const Tensor out = new_result(selected_shape(x, dim, index), x->dtype(), x->device(), x.where);
  if (out.numel())
    run_indexed("index_select", backend, calls::IndexSelect{lined(*x), lined(*index), lined(out), dim}, x, dim, index);
  return out;
}

Tensor index_add(const In& x, int dim, const In& index, const In& source) {
  Backend& backend = dispatch("index_add", {{"x", *x}, {"index", *index}, {"source", *source}}, x.where);
  check_select("index_add", x, dim, index);
  dim = wrap_dim("index_add", x, dim);
  const Shape shape = selected_shape(x, dim, index);
  if (source->shape() != shape)
    throw ShapeError(message("index_add", "source does not fit", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "source needs shape " + shape.str()),
                     x.where);
  require_same_dtype("index_add", x, index, source);
  const Tensor out = contiguous({clone(x), x.where});
  if (source->numel())
    run_indexed("index_add", backend, calls::IndexAdd{lined(*source), lined(*index), lined(out), dim}, x, dim, index);
  return out;
}

Tensor index_select_backward(const In& grad, int dim, const In& index, const Shape& shape) {
  Backend& backend = dispatch("index_select_backward", {{"grad", *grad}, {"index", *index}}, grad.where);
  const Tensor out = empty(shape, {grad->dtype(), grad->device()}, grad.where);
  fill_({out, grad.where}, 0);
  dim = wrap_dim("index_select_backward", {out, grad.where}, dim);
  if (grad->numel())
    run_indexed("index_select_backward", backend, calls::IndexAdd{*grad, *index, out, dim}, {out, grad.where}, dim,
                index);
  return out;
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const CallSite site("one_hot", index.where);
  Backend& backend = dispatch("one_hot", {{"index", *index}}, index.where);
  require_room("one_hot", index);
  require_int64("one_hot", index, index);
  if (classes == -1 && index->numel()) {
    const Tensor largest = reduce(kReduce<kernels::Max>, index, {}, false);
    classes = largest.item<std::int64_t>(index.where);
    if (classes == kToEnd)
      throw ValueError(
          message("one_hot", "class " + std::to_string(classes) + " makes more classes than can be counted",
                  {{"index", *index}}, "classes are counted from 0"),
          index.where);
    ++classes;
  }
  if (classes < 1)
    throw ValueError(message("one_hot", "there are no classes", {{"index", *index}}, "pass their number, 1 or more"),
                     index.where);
  Shape shape = index->shape();
  shape.push_back(classes);
  const Tensor out = zeros(shape, {DType::int64, index->device()}, index.where);
  if (!index->numel()) return out;
  const Tensor place = unsqueeze(index, -1);
  const Tensor one = ones(place.shape(), {DType::int64, index->device()}, index.where);
  const int last = index->dim();
  run_checked(
      backend, calls::ScatterAdd{one, place, cropped(out, last, place), last},
      [classes, line = index.where](const Tensor& t) {
        const std::optional<Stray> stray = find_stray({t, line}, classes);
        throw IndexError(
            message("one_hot", stray ? "element " + stray->str() + " is no class" : "an element is no class",
                    {{"index", t}}, "classes go from 0 to " + std::to_string(classes - 1)),
            line);
      },
      *index);
  return out;
}

bool is_nothing(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

namespace {

/// "tensors[2]"
std::string place_of(const Tensor& t, std::span<const Tensor> tensors) {
  return "tensors[" + std::to_string(&t - tensors.data()) + "]";
}

/// The joined shape and dtype; `first` is the tensor that says what the others must be.
std::pair<Shape, DType> joined(std::span<const Tensor> tensors, const Tensor& first, int dim, SourceLocation where) {
  Shape shape = first.shape();
  DType dtype = first.dtype();
  if (first.dim()) shape[dim] = 0;
  for (const Tensor& t : tensors) {
    dtype = promote_types(dtype, t.dtype());
    if (is_nothing(t)) continue;
    if (t.dim() == 0)
      throw ShapeError(message("cat", "a tensor without dimensions has none to join along",
                               {{place_of(first, tensors).c_str(), first}, {place_of(t, tensors).c_str(), t}},
                               "stack joins such tensors; or give it one: unsqueeze(0)"),
                       where);
    bool fits = t.dim() == first.dim();
    for (int d = 0; fits && d < t.dim(); ++d) fits = d == dim || t.shape()[d] == shape[d];
    if (!fits)
      throw ShapeError(message("cat", "sizes differ outside dimension " + std::to_string(dim),
                               {{place_of(first, tensors).c_str(), first}, {place_of(t, tensors).c_str(), t}},
                               "tensors are joined along one dimension and equal in all others; stack makes a new one"),
                       where);
    if (__builtin_add_overflow(shape[dim], t.shape()[dim], &shape[dim]))
      throw ShapeError(
          message("cat", "the sizes of dimension " + std::to_string(dim) + " add up to more than can be counted",
                  {{"first", first}, {"other", t}}, "join fewer or smaller tensors"),
          where);
  }
  return {shape, dtype};
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int dim, SourceLocation where) {
  if (tensors.empty()) throw ValueError(message("cat", "there are no tensors to join", {}, "give at least one"), where);
  for (const Tensor& t : tensors)
    dispatch("cat", {{"tensors[0]", tensors.front()}, {place_of(t, tensors).c_str(), t}}, where);
  const auto some = std::find_if_not(tensors.begin(), tensors.end(), is_nothing);
  if (some == tensors.end()) dim = 0;  // nothing but nothing
  const Tensor& first = some == tensors.end() ? tensors.front() : *some;
  dim = wrap_dim("cat", {first, where}, dim);
  const auto [shape, dtype] = joined(tensors, first, dim, where);
  const Tensor out = new_result(shape, first.strides(), dtype, first.device(), where);
  Backend& backend = backend_of(first.device(), where);
  Shape start = Shape::filled(shape.rank(), 0);
  for (const Tensor& t : tensors) {
    if (is_nothing(t)) continue;
    if (t.numel()) backend.run(calls::Copy{t, slice({out, where}, {start, t.shape(), Shape::filled(shape.rank(), 1)})});
    start[dim] += t.shape()[dim];
  }
  return out;
}

}  // namespace minnow::raw
