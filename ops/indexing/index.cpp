#include <minnow/ops/indexing/index.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <minnow/autograd/indexed_node.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/reduce.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::detail::raw {
namespace {

[[noreturn]] void out_of_range(const In& x, int dim, const In& index) {
  const std::int64_t limit = x->dim() ? x->shape()[dim] : 1;
  const std::optional<InvalidIndex> invalid = find_invalid_index(index, limit);
  const std::string found = invalid ? "index " + invalid->str() : "an index";
  const std::string which = "dimension " + std::to_string(dim);
  throw IndexError(message(
      found + " is out of range", {{"x", *x}, {"index", *index}},
      limit ? "indices of " + which + " go from 0 to " + std::to_string(limit - 1) : which + " of x has no elements"));
}

/// Runs a call whose `index` selects elements of x along dim.
template <class C> void run_indexed(Backend& backend, const C& call, const In& x, int dim, const In& index) {
  run_checked(
      backend, call, [dim](const Tensor& t, const Tensor& i) { out_of_range(t, dim, i); }, *x, *index);
}

/// Backends see a 0-dim tensor as one of a single element.
/// A tensor, or the one element of a 0-dim tensor as a vector.  Refers to what it is given.
class AtLeast1d {
 public:
  explicit AtLeast1d(const View& t) : given_(t) {
    if (t.dim() == 0) made_.emplace(t.storage(), t.dtype(), Shape{1}, Strides{1}, t.storage_offset());
  }
  operator const View&() const { return made_ ? *made_ : given_; }

 private:
  const View& given_;
  std::optional<View> made_;
};

void require_int64(const In& x, const In& index, const char* what = "index must be int64 or int32") {
  if (index->dtype() != DType::int64)
    throw DTypeError(message(what, {{"x", *x}, {"index", *index}}, "convert it: .to(int64)"));
}

void check_gather(const In& x, int dim, const In& index) {
  require_int64(x, index);
  bool same_sizes = std::max(index->dim(), 1) == std::max(x->dim(), 1);
  for (int d = 0; same_sizes && d < x->dim() && d < index->dim(); ++d)
    same_sizes = d == dim || index->shape()[d] <= x->shape()[d];
  if (!same_sizes)
    throw ShapeError(message(
        "index does not match x", {{"x", *x}, {"index", *index}},
        "index needs x's number of dimensions, and no more than its sizes except in dimension " + std::to_string(dim)));
}

void check_select(const In& x, int dim, const In& index) {
  require_int64(x, index);
  if (index->dim() > 1)
    throw ShapeError(
        message("index has more than one dimension", {{"x", *x}, {"index", *index}}, "flatten it: .flatten()"));
  wrap_dim(x, dim);
  if (x->dim() == 0 && index->numel() != 1)
    throw ShapeError(message("x is 0-dim, so index must have one element", {{"x", *x}, {"index", *index}},
                             "give x a dimension first: .unsqueeze(0)"));
}

/// The shape of the selected slices.
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

/// The part of x that index can select from: its sizes are index's, except along dim.
View cropped(const View& x, int dim, const View& index) {
  Shape shape = index.shape();
  shape[dim] = x.shape()[dim];
  return View(x.storage(), x.dtype(), shape, x.strides(), x.storage_offset());
}

}  // namespace

std::optional<InvalidIndex> find_invalid_index(const In& index, std::int64_t limit,
                                               std::optional<std::int64_t> except) {
  const CaptureRulesScope none(nullptr);  // for the message of an error
  const Tensor dense = contiguous(index);
  const Tensor home = to_device(dense, Device());
  home.storage()->wait_ready();
  const auto* values = static_cast<const std::int64_t*>(home.raw_data());
  const auto strays = [&](std::int64_t v) { return (v < 0 || v >= limit) && v != except; };
  const auto* at = std::find_if(values, values + home.numel(), strays);
  if (at == values + home.numel()) return {};
  Shape position = home.shape();
  std::int64_t remaining = at - values;
  for (int d = position.rank() - 1; d >= 0; --d) {
    const std::int64_t size = position[d];
    position[d] = remaining % size;
    remaining /= size;
  }
  return InvalidIndex{*at, position.empty() ? "" : position.str()};
}

Tensor gather(const In& x, int dim, const In& index) {
  const Operation op("gather", x.where, {{"x", *x}, {"index", *index}});
  dim = wrap_dim(x, dim);
  check_gather(x, dim, index);
  const Tensor out = op.result(index->shape(), x->dtype());
  if (!out.numel()) return out;
  const View at = AtLeast1d(*index);
  run_indexed(op.backend(), calls::Gather{cropped(AtLeast1d(*x), dim, at), at, AtLeast1d(out), dim}, x, dim, index);
  return out;
}

namespace {

enum class To : std::uint8_t { copy, self };

/// Whether halves are summed in a float32 copy and rounded once, as in CUDA.  Not where most of x stays as it is.
bool sums_in_float(const In& x, const In& source, ScatterOp op) {
  return op == ScatterOp::add && is_half(x->dtype()) && backend_of(x->device()).computes_on_host() &&
         x->numel() / 4 <= source->numel();
}

Tensor scatter(To to, const In& x, int dim, const In& index, const In& source, ScatterOp op) {
  Backend& backend = dispatch({{"x", *x}, {"index", *index}, {"source", *source}});
  dim = wrap_dim(x, dim);
  check_gather(x, dim, index);
  if (source->shape() != index->shape())
    throw ShapeError(message("source does not match index", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "source needs the number of dimensions of index, and no smaller sizes"));
  require_same_dtype(x, index, source);
  const DType wide = sums_in_float(x, source, op) ? DType::float32 : x->dtype();
  const Tensor out = to == To::self ? *x : contiguous(wide == x->dtype() ? clone(x) : cast(x, wide));
  if (index->numel()) {
    const View at = AtLeast1d(*index), from = AtLeast1d(cast(source, out.dtype()));
    run_indexed(backend, calls::ScatterAdd{from, at, cropped(AtLeast1d(out), dim, at), dim, op}, x, dim, index);
  }
  return out;
}

Tensor add_slices(To to, const In& x, int dim, const In& index, const In& source, ScatterOp op) {
  Backend& backend = dispatch({{"x", *x}, {"index", *index}, {"source", *source}});
  check_select(x, dim, index);
  dim = wrap_dim(x, dim);
  const Shape shape = selected_shape(x, dim, index);
  if (source->shape() != shape)
    throw ShapeError(message("source does not match", {{"x", *x}, {"index", *index}, {"source", *source}},
                             "source needs shape " + shape.str()));
  require_same_dtype(x, index, source);
  const DType wide = sums_in_float(x, source, op) ? DType::float32 : x->dtype();
  const Tensor out = to == To::self ? *x : contiguous(wide == x->dtype() ? clone(x) : cast(x, wide));
  if (source->numel())
    run_indexed(backend,
                calls::IndexAdd{AtLeast1d(cast(source, out.dtype())), AtLeast1d(*index), AtLeast1d(out), dim, op}, x,
                dim, index);
  return out;
}

/// Whether x can be written while index and source are read.
bool is_apart(const In& x, const In& index, const In& source) {
  return x->defined() && index->defined() && source->defined() && x->is_contiguous() &&
         x->storage() != index->storage() && x->storage() != source->storage();
}

}  // namespace

Tensor scatter_add(const In& x, int dim, const In& index, const In& source, ScatterOp op) {
  const CallSite site("scatter_add", x.where);
  return cast(scatter(To::copy, x, dim, index, source, op), x->dtype());
}

void scatter_add_(const In& x, int dim, const In& index, const In& source, ScatterOp op) {
  if (!is_apart(x, index, source) || sums_in_float(x, source, op)) {
    copy_to(scatter(To::copy, x, dim, index, source, op), *x);
    return;
  }
  scatter(To::self, x, dim, index, source, op);
  x->storage()->bump_version();
}

Tensor index_select(const In& x, int dim, const In& index) {
  const Operation op("index_select", x.where, {{"x", *x}, {"index", *index}});
  check_select(x, dim, index);
  dim = wrap_dim(x, dim);
  const Tensor out = op.result(selected_shape(x, dim, index), x->dtype());
  if (out.numel())
    run_indexed(op.backend(), calls::IndexSelect{AtLeast1d(*x), AtLeast1d(*index), AtLeast1d(out), dim}, x, dim, index);
  return out;
}

Tensor index_add(const In& x, int dim, const In& index, const In& source, ScatterOp op) {
  const CallSite site("index_add", x.where);
  return cast(add_slices(To::copy, x, dim, index, source, op), x->dtype());
}

void index_add_(const In& x, int dim, const In& index, const In& source, ScatterOp op) {
  if (!is_apart(x, index, source) || sums_in_float(x, source, op)) {
    copy_to(add_slices(To::copy, x, dim, index, source, op), *x);
    return;
  }
  add_slices(To::self, x, dim, index, source, op);
  x->storage()->bump_version();
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const Operation op("one_hot", index.where, {{"index", *index}});
  require_max_rank(index);
  require_int64(index, index, "index must be int64");
  if (classes == -1 && index->numel()) {
    const Tensor largest = reduce(kReduce<kernels::Max>, index, {}, false);
    classes = largest.item<std::int64_t>();
    if (classes == kToEnd)
      throw ValueError(message("class " + std::to_string(classes) + " is too large", op, "classes are counted from 0"));
    ++classes;
  }
  if (classes < 1)
    throw ValueError(message("the number of classes must be at least 1, got " + std::to_string(classes), op,
                             "pass the number of classes; -1 needs an index with elements"));
  Shape shape = index->shape();
  shape.push_back(classes);
  const Tensor out = zeros(shape, {DType::int64, index->device()});
  if (!index->numel()) return out;
  const Tensor position = unsqueeze(index, -1);
  const Tensor one = ones(position.shape(), {DType::int64, index->device()});
  const int last = index->dim();
  run_checked(
      op.backend(), calls::ScatterAdd{one, position, cropped(out, last, position), last},
      [classes](const Tensor& t) {
        const std::optional<InvalidIndex> invalid = find_invalid_index(t, classes);
        throw IndexError(
            message(invalid ? "element " + invalid->str() + " is out of range" : "an element is out of range",
                    {{"index", t}}, "classes go from 0 to " + std::to_string(classes - 1)));
      },
      *index);
  return out;
}

}  // namespace minnow::detail::raw

namespace minnow {
namespace {

/// What an operation reads of a tensor of the shape `whole`.
struct Indexed {
  int dim;
  Saved index;
  Shape whole;
};

class GatherNode final : public autograd::IndexedNode {
 public:
  GatherNode(const char* name, SourceLocation where, Indexed read) : IndexedNode(name, where), read_(std::move(read)) {}

  void add_to(const Tensor& sum, const Tensor& grad) const override {
    raw::scatter_add_(sum, read_.dim, read_.index(), raw::cast(grad, sum.dtype()));
  }

 protected:
  Gradients backward(std::span<const Tensor> grads, Needs) override {
    const Tensor& g = grads[0];
    if (!is_grad_enabled()) return {g};
    return {scatter_add(zeros(read_.whole, {g.dtype(), g.device()}), read_.dim, read_.index(), g)};
  }

 private:
  Indexed read_;
};

/// Of slices, without those at padding_idx.
class SelectNode final : public autograd::IndexedNode {
 public:
  SelectNode(const char* name, SourceLocation where, Indexed read, std::optional<std::int64_t> padding_idx = {})
      : IndexedNode(name, where), read_(std::move(read)), padding_idx_(padding_idx) {}

  void add_to(const Tensor& sum, const Tensor& grad) const override {
    raw::index_add_(sum, read_.dim, read_.index(), raw::cast(grad, sum.dtype()));
  }

 protected:
  Gradients backward(std::span<const Tensor> grads, Needs) override {
    const Tensor index = read_.index();
    Shape shape = read_.whole;
    if (shape.rank() > 0) shape[read_.dim] = index.numel();
    Tensor g = grads[0].reshape(shape);
    if (padding_idx_) g = minnow::where(eq(index, *padding_idx_).unsqueeze(1), 0.0, g);
    if (!is_grad_enabled()) return {g};
    return {index_add(zeros(read_.whole, {g.dtype(), g.device()}), read_.dim, index, g)};
  }

 private:
  Indexed read_;
  std::optional<std::int64_t> padding_idx_;
};

template <class N, class... Arguments>
Tensor record_indexed(const char* name, Tensor y, const In& x, const Arguments&... arguments) {
  if (!records(*x)) return y;
  const autograd::Input input(x);
  autograd::attach(autograd::make_node<N>(name, x.where, arguments...), y, {&input, 1});
  return y;
}

}  // namespace

Tensor gather(const In& x, int dim, const In& index_) {
  const CallSite site("gather", x.where);
  const Tensor index = detail::wide_index(*index_);
  Tensor y = raw::gather(x, dim, index);
  if (is_heard()) [[unlikely]]
    tell("gather", {y}, {{"x", *x}, {"index", *index_}}, {{"dim", dim}});
  return record_indexed<GatherNode>("gather", std::move(y), x, Indexed{dim, Saved(index), x->shape()});
}

Tensor scatter_add(const In& x_, int dim, const In& index_, const In& source_) {
  const Operation op("scatter_add", x_.where, {kKept, kWidest}, {{"x", *x_}, {"index", *index_}, {"source", *source_}});
  const Tensor &x = op[0], &source = op[2], index = detail::wide_index(op[1]);
  const Tensor part = detail::cropped(source, index);
  Tensor y = raw::scatter_add(x, dim, index, part);
  if (is_heard()) [[unlikely]]
    tell("scatter_add", {y}, {{"x", x}, {"index", op[1]}, {"source", part}}, {{"dim", dim}});
  return op.record(std::move(y), {x, part}, [dim, index = Saved(index)](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? gather(g, dim, index()) : Tensor()};
  });
}

Tensor index_select(const In& x, int dim, const In& index_) {
  const CallSite site("index_select", x.where);
  const Tensor index = detail::wide_index(*index_);
  Tensor y = raw::index_select(x, dim, index);
  if (is_heard()) [[unlikely]]
    tell("index_select", {y}, {{"x", *x}, {"index", *index_}}, {{"dim", dim}});
  return record_indexed<SelectNode>("index_select", std::move(y), x, Indexed{dim, Saved(index), x->shape()});
}

Tensor index_add(const In& x, int dim, const In& index_, const In& source) {
  const CallSite site("index_add", x.where);
  const Tensor index = detail::wide_index(*index_);
  Tensor y = raw::index_add(x, dim, index, source);
  return record("index_add", std::move(y), {x, source},
                [dim, index = Saved(index)](const Tensor& g, Needs needs) -> Gradients {
                  return {g, needs[1] ? index_select(g, dim, index()) : Tensor()};
                });
}

Tensor embedding(const In& index, const In& weight, std::optional<std::int64_t> padding_idx) {
  const Operation op("embedding", index.where, {{"index", *index}, {"weight", *weight}});
  if (index->dtype() != DType::int64 && index->dtype() != DType::int32)
    throw DTypeError(message("index must be int64 or int32", op, "convert it first: index.to(int64)"));
  if (weight->dim() != 2)
    throw ShapeError(message("weight must have two dimensions", op, "weight: [rows, size of a row]"));
  const std::int64_t n = weight->shape()[0], d = weight->shape()[1];
  if (padding_idx && (*padding_idx < -n || *padding_idx >= n))
    throw IndexError(message("padding_idx must be in [" + std::to_string(-n) + ", " + std::to_string(n - 1) +
                                 "], got " + std::to_string(*padding_idx),
                             op, "pass the index of a row of weight"));
  if (padding_idx && *padding_idx < 0) *padding_idx += n;
  const Tensor flat = raw::reshape(raw::cast(index, DType::int64), {-1});
  Shape shape = index->shape();
  shape.push_back(d);
  Tensor y = raw::reshape(raw::index_select(weight, 0, flat), shape);
  if (is_heard()) [[unlikely]]
    tell("embedding", {y}, op);
  return record_indexed<SelectNode>("embedding", std::move(y), weight, Indexed{0, Saved(flat), {n, d}}, padding_idx);
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const CallSite site("one_hot", index.where);
  Tensor y = raw::one_hot(index, classes);
  if (is_heard()) [[unlikely]]
    tell("one_hot", {y}, {{"index", *index}}, {{"classes", y.size(-1)}});
  return y;
}

}  // namespace minnow
