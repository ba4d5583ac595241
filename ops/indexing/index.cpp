#include <minnow/ops/indexing/index.h>

#include <algorithm>
#include <utility>
#include <minnow/autograd/indexed_node.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
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
View at_least_1d(const View& t) { return t.dim() ? t : View(t.storage(), t.dtype(), {1}, {1}, t.storage_offset()); }

void require_int64(const In& x, const In& index) {
  if (index->dtype() != DType::int64)
    throw DTypeError(message("index must be int64 or int32", {{"x", *x}, {"index", *index}}, "convert it: .to(int64)"));
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
  const View at = at_least_1d(*index);
  run_indexed(op.backend(), calls::Gather{cropped(at_least_1d(*x), dim, at), at, at_least_1d(out), dim}, x, dim, index);
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
    const View at = at_least_1d(*index), from = at_least_1d(cast(source, out.dtype()));
    run_indexed(backend, calls::ScatterAdd{from, at, cropped(at_least_1d(out), dim, at), dim, op}, x, dim, index);
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
                calls::IndexAdd{at_least_1d(cast(source, out.dtype())), at_least_1d(*index), at_least_1d(out), dim, op},
                x, dim, index);
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
    run_indexed(op.backend(), calls::IndexSelect{at_least_1d(*x), at_least_1d(*index), at_least_1d(out), dim}, x, dim,
                index);
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
  require_int64(index, index);
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

bool is_skipped_by_cat(const Tensor& t) { return t.dim() == 1 && t.numel() == 0; }

namespace {

/// "tensors[2]"
std::string operand_name(const Tensor& t, std::span<const Tensor> tensors) {
  return "tensors[" + std::to_string(&t - tensors.data()) + "]";
}

/// The joined shape and dtype; the others must match `first`.
std::pair<Shape, DType> joined(std::span<const Tensor> tensors, const Tensor& first, int dim) {
  Shape shape = first.shape();
  DType dtype = first.dtype();
  if (first.dim()) shape[dim] = 0;
  for (const Tensor& t : tensors) {
    dtype = promote_types(dtype, t.dtype());
    if (is_skipped_by_cat(t)) continue;
    if (t.dim() == 0)
      throw ShapeError(message("a 0-dim tensor cannot be joined",
                               {{operand_name(first, tensors).c_str(), first}, {operand_name(t, tensors).c_str(), t}},
                               "use stack, or add a dimension: unsqueeze(0)"));
    bool same_sizes = t.dim() == first.dim();
    for (int d = 0; same_sizes && d < t.dim(); ++d) same_sizes = d == dim || t.shape()[d] == shape[d];
    if (!same_sizes)
      throw ShapeError(
          message("sizes differ outside dimension " + std::to_string(dim),
                  {{operand_name(first, tensors).c_str(), first}, {operand_name(t, tensors).c_str(), t}},
                  "tensors are joined along one dimension and equal in all others; stack makes a new one"));
    if (__builtin_add_overflow(shape[dim], t.shape()[dim], &shape[dim]))
      throw ShapeError(message("the sizes of dimension " + std::to_string(dim) + " overflow when they are added",
                               {{"first", first}, {"other", t}}, "join fewer or smaller tensors"));
  }
  return {shape, dtype};
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int dim) {
  if (tensors.empty()) throw ValueError(message("there are no tensors to join", {}, "give at least one"));
  for (const Tensor& t : tensors) dispatch({{"tensors[0]", tensors.front()}, {operand_name(t, tensors).c_str(), t}});
  const auto some = std::find_if_not(tensors.begin(), tensors.end(), is_skipped_by_cat);
  if (some == tensors.end()) dim = 0;  // all are skipped
  const Tensor& first = some == tensors.end() ? tensors.front() : *some;
  dim = wrap_dim(first, dim);
  const auto [shape, dtype] = joined(tensors, first, dim);
  const Tensor out = new_result(shape, first.strides(), dtype, first.device());
  Backend& backend = backend_of(first.device());
  Shape start = Shape::filled(shape.rank(), 0);
  for (const Tensor& t : tensors) {
    if (is_skipped_by_cat(t)) continue;
    if (t.numel()) backend.run(calls::Copy{t, slice(out, {start, t.shape(), Shape::filled(shape.rank(), 1)})});
    start[dim] += t.shape()[dim];
  }
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
  return record_indexed<GatherNode>("gather", std::move(y), x, Indexed{dim, Saved(index), x->shape()});
}

Tensor scatter_add(const In& x_, int dim, const In& index_, const In& source_) {
  const Operation op("scatter_add", x_.where, {kKept, kWidest}, {{"x", *x_}, {"index", *index_}, {"source", *source_}});
  const Tensor &x = op[0], &source = op[2], index = detail::wide_index(op[1]);
  const Tensor part = detail::cropped(source, index);
  Tensor y = raw::scatter_add(x, dim, index, part);
  return op.record(std::move(y), {x, part}, [dim, index = Saved(index)](const Tensor& g, Needs needs) -> Gradients {
    return {g, needs[1] ? gather(g, dim, index()) : Tensor()};
  });
}

Tensor index_select(const In& x, int dim, const In& index_) {
  const CallSite site("index_select", x.where);
  const Tensor index = detail::wide_index(*index_);
  Tensor y = raw::index_select(x, dim, index);
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
  return record_indexed<SelectNode>("embedding", std::move(y), weight, Indexed{0, Saved(flat), {n, d}}, padding_idx);
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const CallSite site("one_hot", index.where);
  return raw::one_hot(index, classes);
}

namespace {

/// The dimension along which x is split, counted from the front.
int split_dim(const In& x, int dim) {
  if (x->dim() == 0)
    throw IndexError(
        message("a 0-dim tensor cannot be split", {{"self", *x}}, "add a dimension first, e.g. .reshape({1})"));
  return raw::wrap_dim(x, dim);
}

/// Room for that many parts: a tensor without elements may have a dimension that no memory has room to list.
std::vector<Tensor> room_for(const In& x, std::int64_t count) {
  std::vector<Tensor> parts;
  try {
    parts.reserve(static_cast<std::size_t>(count));
  } catch (const std::exception&) {  // std::bad_alloc, std::length_error
    throw OutOfMemoryError(
        message("no memory for " + std::to_string(count) + " tensors", {{"self", *x}}, "make fewer parts"));
  }
  return parts;
}

std::vector<Tensor> equal_parts(const In& x, std::int64_t size, int dim) {
  const std::int64_t total = x->shape()[dim], count = size ? total / size + (total % size != 0) : 1;
  std::vector<Tensor> parts = room_for(x, std::max<std::int64_t>(count, 1));
  for (std::int64_t i = 0; i < std::max<std::int64_t>(count, 1); ++i)
    parts.push_back(x->narrow(dim, i * size, std::min(size, total - i * size)));
  return parts;
}

}  // namespace

std::vector<Tensor> split(const In& x, std::int64_t size, int dim) {
  const CallSite site("split", x.where);
  dim = split_dim(x, dim);
  if (size < 0 || (size == 0 && x->shape()[dim] != 0))
    throw ValueError(
        message("size must be at least 1, got " + std::to_string(size), {{"self", *x}}, "pass the size of a part"));
  return equal_parts(x, size, dim);
}

std::vector<Tensor> split(const In& x, const std::vector<std::int64_t>& sizes, int dim) {
  const CallSite site("split", x.where);
  dim = split_dim(x, dim);
  std::int64_t remaining = x->shape()[dim];
  bool valid = true;
  for (const std::int64_t size : sizes) {
    valid = valid && size >= 0 && size <= remaining;
    if (valid) remaining -= size;
  }
  if (!valid || remaining != 0) {
    std::string listed;
    for (const std::int64_t size : sizes) listed.append(listed.empty() ? "" : ", ").append(std::to_string(size));
    throw ShapeError(message("sizes {" + listed + "} do not add up to the size of dimension " + std::to_string(dim),
                             {{"self", *x}},
                             "give sizes of 0 or more whose sum is " + std::to_string(x->shape()[dim])));
  }
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(x->narrow(dim, start, size));
    start += size;
  }
  return parts;
}

std::vector<Tensor> split(const In& x, std::initializer_list<std::int64_t> sizes, int dim) {
  return split(x, std::vector<std::int64_t>(sizes), dim);
}

std::vector<Tensor> chunk(const In& x, std::int64_t chunks, int dim) {
  const CallSite site("chunk", x.where);
  dim = split_dim(x, dim);
  if (chunks < 1)
    throw ValueError(message("chunks must be at least 1, got " + std::to_string(chunks), {{"self", *x}},
                             "pass the number of parts"));
  const std::int64_t total = x->shape()[dim];
  if (total != 0) return equal_parts(x, total / chunks + (total % chunks != 0), dim);
  std::vector<Tensor> parts = room_for(x, chunks);
  for (std::int64_t i = 0; i < chunks; ++i) parts.push_back(x->narrow(dim, 0, 0));
  return parts;
}

std::vector<Tensor> unbind(const In& x, int dim) {
  const CallSite site("unbind", x.where);
  dim = split_dim(x, dim);
  std::vector<Tensor> parts = room_for(x, x->shape()[dim]);
  for (std::int64_t i = 0; i < x->shape()[dim]; ++i) parts.push_back(x->select(dim, i));
  return parts;
}

namespace {
/// Instead of a size: a tensor that cat skipped.
constexpr std::int64_t kSkipped = -1;
}  // namespace

Tensor concat(const std::vector<Tensor>& tensors, int dim, SourceLocation where) {
  const CallSite site("concat", where);
  return cat(tensors, dim, where);
}

Tensor cat(const std::vector<Tensor>& given, int dim, SourceLocation where) {
  const CallSite site("cat", where);
  const AutocastList cast(site, {kWidest, kKept}, given);
  const std::vector<Tensor>& tensors = cast.operands();
  Tensor y = raw::cat(tensors, dim);
  if (!records(tensors)) return y;
  dim = y.dim() == 1 ? 0 : raw::wrap_dim(y, dim);
  std::vector<std::int64_t> sizes;
  sizes.reserve(tensors.size());
  for (const Tensor& t : tensors) sizes.push_back(raw::is_skipped_by_cat(t) ? kSkipped : t.shape()[dim]);
  return record("cat", std::move(y), tensors, [dim, sizes](const Tensor& g, Needs needs) {
    Gradients gradients(sizes.size());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool nothing = sizes[i] == kSkipped;
      if (needs[i]) gradients[i] = nothing ? zeros({0}, {g.dtype(), g.device()}) : g.narrow(dim, start, sizes[i]);
      if (!nothing) start += sizes[i];
    }
    return gradients;
  });
}

Tensor stack(const std::vector<Tensor>& given, int dim, SourceLocation where) {
  const CallSite site("stack", where);
  const AutocastList cast(site, {kWidest, kKept}, given);
  const std::vector<Tensor>& tensors = cast.operands();
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) {
    t.require_defined("stack", where);
    if (t.shape() != tensors[0].shape())
      throw ShapeError(message("the shapes differ", {{"first", tensors[0]}, {"other", t}},
                               "all tensors must have one shape; cat joins along an existing dimension"));
    rows.push_back(t.unsqueeze(dim));
  }
  return cat(rows, dim);
}

Tensor repeat(const In& x, const Shape& times) {
  const CallSite site("repeat", x.where);
  x->require_defined("repeat", x.where);
  const int lead = times.rank() - x->dim();
  bool valid = lead >= 0;
  for (const std::int64_t n : times) valid &= n >= 0;
  if (!valid)
    throw ShapeError(message(times.str() + " cannot repeat the tensor", {{"self", *x}},
                             "give a number, 0 or more, for each dimension; more of them add dimensions in front"));
  raw::require_max_rank(x, times.rank());
  Shape separated, repeated, joined;  // each dimension as [times, size], then joined
  for (int d = 0; d < times.rank(); ++d) {
    const std::int64_t size = d < lead ? 1 : x->shape()[d - lead];
    for (Shape* s : {&separated, &repeated}) s->push_back(s == &repeated ? times[d] : 1), s->push_back(size);
    joined.push_back(times[d] * size);
  }
  return x->reshape(separated).expand(repeated).reshape(joined);
}

Tensor flip(const In& x, const Dims& dims) {
  const CallSite site("flip", x.where);
  x->require_defined("flip", x.where);
  Tensor from = raw::detach(x);
  unsigned seen = 0;
  for (const std::int64_t d : static_cast<const Shape&>(dims)) {
    const int dim = raw::wrap_dim(x, static_cast<int>(d));
    if (std::exchange(seen, seen | 1u << dim) & 1u << dim)
      throw ValueError(
          message("dimension " + std::to_string(d) + " is given twice", {{"self", *x}}, "give each dimension once"));
    if (x->numel() && x->dim()) from = raw::reversed(from, dim);
  }
  Tensor y = raw::new_result(x->shape(), x->strides(), x->dtype(), x->device());
  raw::overwrite(from, y);
  return record("flip", std::move(y), {x}, [dims](const Tensor& g) { return flip(g, dims); });
}

}  // namespace minnow
