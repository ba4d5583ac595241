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

[[noreturn]] void out_of_range(const In& x, int dim, const In& index) {
  const std::int64_t limit = x->dim() ? x->shape()[dim] : 1;
  const std::optional<Stray> stray = find_stray(index, limit);
  const std::string found = stray ? "index " + stray->str() : "an index";
  const std::string which = "dimension " + std::to_string(dim);
  throw IndexError(message(found + " is out of range", {{"x", *x}, {"index", *index}},
                           limit ? "indices of " + which + " go from 0 to " + std::to_string(limit - 1)
                                 : which + " of x has no elements, which an index could name"));
}

/// A call whose `index` names elements of x along dim.
template <class C> void run_indexed(Backend& backend, const C& call, const In& x, int dim, const In& index) {
  run_checked(
      backend, call, [dim](const Tensor& t, const Tensor& i) { out_of_range(t, dim, i); }, *x, *index);
}

/// As the backends see a tensor that is indexed: with at least one dimension.
View lined(const View& t) { return t.dim() ? t : View(t.storage(), t.dtype(), {1}, {1}, t.storage_offset()); }

void require_int64(const In& x, const In& index) {
  if (index->dtype() != DType::int64)
    throw DTypeError(message("the index is not int64", {{"x", *x}, {"index", *index}}, "convert it: .to(int64)"));
}

void check_gather(const In& x, int dim, const In& index) {
  require_int64(x, index);
  bool fits = std::max(index->dim(), 1) == std::max(x->dim(), 1);
  for (int d = 0; fits && d < x->dim() && d < index->dim(); ++d) fits = d == dim || index->shape()[d] <= x->shape()[d];
  if (!fits)
    throw ShapeError(message(
        "index does not fit x", {{"x", *x}, {"index", *index}},
        "index needs x's number of dimensions, and no more than its sizes except in dimension " + std::to_string(dim)));
}

void check_select(const In& x, int dim, const In& index) {
  require_int64(x, index);
  if (index->dim() > 1)
    throw ShapeError(
        message("index has more than one dimension", {{"x", *x}, {"index", *index}}, "flatten it: .flatten()"));
  wrap_dim(x, dim);
  if (x->dim() == 0 && index->numel() != 1)
    throw ShapeError(message("x has no dimensions, so that index must have one element", {{"x", *x}, {"index", *index}},
                             "give x a dimension first: .unsqueeze(0)"));
}

/// The shape of the slices that index names.
Shape selected_shape(const In& x, int dim, const In& index) {
  Shape shape = x->shape();
  if (x->dim()) shape[dim] = index->numel();
  return shape;
}

void require_same_dtype(const In& x, const In& index, const In& source) {
  if (source->dtype() != x->dtype())
    throw DTypeError(message("source and x have different dtypes", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "convert it: .to(" + std::string(name_of(x->dtype())) + ")"));
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
  const Tensor home = to_device(dense, Device());
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
  const CallSite site("gather", x.where);
  Backend& backend = dispatch({{"x", *x}, {"index", *index}});
  dim = wrap_dim(x, dim);
  check_gather(x, dim, index);
  const Tensor out = new_result(index->shape(), x->dtype(), x->device());
  if (!out.numel()) return out;
  const View at = lined(*index);
  run_indexed(backend, calls::Gather{cropped(lined(*x), dim, at), at, lined(out), dim}, x, dim, index);
  return out;
}

Tensor scatter_add(const In& x, int dim, const In& index, const In& source) {
  const CallSite site("scatter_add", x.where);
  Backend& backend = dispatch({{"x", *x}, {"index", *index}, {"source", *source}});
  dim = wrap_dim(x, dim);
  check_gather(x, dim, index);
  if (source->shape() != index->shape())
    throw ShapeError(message("source does not fit index", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "source needs the shape of index"));
  require_same_dtype(x, index, source);
  const Tensor out = contiguous(clone(x));
  if (!index->numel()) return out;
  const View at = lined(*index);
  run_indexed(backend, calls::ScatterAdd{lined(*source), at, cropped(lined(out), dim, at), dim}, x, dim, index);
  return out;
}

Tensor index_select(const In& x, int dim, const In& index) {
  const CallSite site("index_select", x.where);
  Backend& backend = dispatch({{"x", *x}, {"index", *index}});
  check_select(x, dim, index);
  dim = wrap_dim(x, dim);
  const Tensor out = new_result(selected_shape(x, dim, index), x->dtype(), x->device());
  if (out.numel()) run_indexed(backend, calls::IndexSelect{lined(*x), lined(*index), lined(out), dim}, x, dim, index);
  return out;
}

Tensor index_add(const In& x, int dim, const In& index, const In& source) {
  const CallSite site("index_add", x.where);
  Backend& backend = dispatch({{"x", *x}, {"index", *index}, {"source", *source}});
  check_select(x, dim, index);
  dim = wrap_dim(x, dim);
  const Shape shape = selected_shape(x, dim, index);
  if (source->shape() != shape)
    throw ShapeError(message("source does not fit", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "source needs shape " + shape.str()));
  require_same_dtype(x, index, source);
  const Tensor out = contiguous(clone(x));
  if (source->numel())
    run_indexed(backend, calls::IndexAdd{lined(*source), lined(*index), lined(out), dim}, x, dim, index);
  return out;
}

Tensor index_select_backward(const In& grad, int dim, const In& index, const Shape& shape) {
  const CallSite site("index_select_backward", grad.where);
  Backend& backend = dispatch({{"grad", *grad}, {"index", *index}});
  const Tensor out = empty(shape, {grad->dtype(), grad->device()});
  fill_(out, 0);
  dim = wrap_dim(out, dim);
  if (grad->numel()) run_indexed(backend, calls::IndexAdd{*grad, *index, out, dim}, out, dim, index);
  return out;
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const CallSite site("one_hot", index.where);
  Backend& backend = dispatch({{"index", *index}});
  require_room(index);
  require_int64(index, index);
  if (classes == -1 && index->numel()) {
    const Tensor largest = reduce(kReduce<kernels::Max>, index, {}, false);
    classes = largest.item<std::int64_t>();
    if (classes == kToEnd)
      throw ValueError(message("class " + std::to_string(classes) + " makes more classes than can be counted",
                               {{"index", *index}}, "classes are counted from 0"));
    ++classes;
  }
  if (classes < 1)
    throw ValueError(message("there are no classes", {{"index", *index}}, "pass their number, 1 or more"));
  Shape shape = index->shape();
  shape.push_back(classes);
  const Tensor out = zeros(shape, {DType::int64, index->device()});
  if (!index->numel()) return out;
  const Tensor place = unsqueeze(index, -1);
  const Tensor one = ones(place.shape(), {DType::int64, index->device()});
  const int last = index->dim();
  run_checked(
      backend, calls::ScatterAdd{one, place, cropped(out, last, place), last},
      [classes](const Tensor& t) {
        const std::optional<Stray> stray = find_stray(t, classes);
        throw IndexError(message(stray ? "element " + stray->str() + " is no class" : "an element is no class",
                                 {{"index", t}}, "classes go from 0 to " + std::to_string(classes - 1)));
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
std::pair<Shape, DType> joined(std::span<const Tensor> tensors, const Tensor& first, int dim) {
  Shape shape = first.shape();
  DType dtype = first.dtype();
  if (first.dim()) shape[dim] = 0;
  for (const Tensor& t : tensors) {
    dtype = promote_types(dtype, t.dtype());
    if (is_nothing(t)) continue;
    if (t.dim() == 0)
      throw ShapeError(message("a tensor without dimensions has none to join along",
                               {{place_of(first, tensors).c_str(), first}, {place_of(t, tensors).c_str(), t}},
                               "stack joins such tensors; or give it one: unsqueeze(0)"));
    bool fits = t.dim() == first.dim();
    for (int d = 0; fits && d < t.dim(); ++d) fits = d == dim || t.shape()[d] == shape[d];
    if (!fits)
      throw ShapeError(
          message("sizes differ outside dimension " + std::to_string(dim),
                  {{place_of(first, tensors).c_str(), first}, {place_of(t, tensors).c_str(), t}},
                  "tensors are joined along one dimension and equal in all others; stack makes a new one"));
    if (__builtin_add_overflow(shape[dim], t.shape()[dim], &shape[dim]))
      throw ShapeError(message("the sizes of dimension " + std::to_string(dim) + " add up to more than can be counted",
                               {{"first", first}, {"other", t}}, "join fewer or smaller tensors"));
  }
  return {shape, dtype};
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int dim) {
  if (tensors.empty()) throw ValueError(message("there are no tensors to join", {}, "give at least one"));
  for (const Tensor& t : tensors) dispatch({{"tensors[0]", tensors.front()}, {place_of(t, tensors).c_str(), t}});
  const auto some = std::find_if_not(tensors.begin(), tensors.end(), is_nothing);
  if (some == tensors.end()) dim = 0;  // nothing but nothing
  const Tensor& first = some == tensors.end() ? tensors.front() : *some;
  dim = wrap_dim(first, dim);
  const auto [shape, dtype] = joined(tensors, first, dim);
  const Tensor out = new_result(shape, first.strides(), dtype, first.device());
  Backend& backend = backend_of(first.device());
  Shape start = Shape::filled(shape.rank(), 0);
  for (const Tensor& t : tensors) {
    if (is_nothing(t)) continue;
    if (t.numel()) backend.run(calls::Copy{t, slice(out, {start, t.shape(), Shape::filled(shape.rank(), 1)})});
    start[dim] += t.shape()[dim];
  }
  return out;
}

}  // namespace minnow::raw
