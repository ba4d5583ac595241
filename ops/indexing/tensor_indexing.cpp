#include <algorithm>
#include <cstring>
#include <numeric>
#include <minnow/autograd/record.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/detail/view.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

// x(...): reading and writing by integers, slices, index tensors and masks.
namespace minnow {

void Index::refuse(std::uint64_t i, SourceLocation where) {
  throw IndexError("index: index " + std::to_string(i) + " is out of range\nit does not fit into 64 bits with sign",
                   where);
}

namespace {

using Kind = Index::Kind;

/// Indices that contain tensors (NumPy calls this advanced indexing): a view by the other indices, and for each indexed
/// dimension of the view a tensor of positions, all of one shape.
struct AdvancedIndex {
  Tensor view;
  Slices slices;
  std::vector<Tensor> positions;
  std::vector<int> dims;

  Shape positions_shape() const { return positions.front().shape(); }
  /// The indexed dimensions, those with the largest strides first: so the rows of a transposed tensor are a view too.
  std::vector<std::size_t> by_stride() const {
    std::vector<std::size_t> all(dims.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::stable_sort(all.begin(), all.end(),
                     [&](std::size_t a, std::size_t b) { return view.strides()[dims[a]] > view.strides()[dims[b]]; });
    return all;
  }
  bool adjacent() const { return dims.back() - dims.front() + 1 == static_cast<int>(dims.size()); }
  /// The view's dimensions, first those that are indexed by tensors.
  Shape order() const {
    Shape order;
    for (const std::size_t k : by_stride()) order.push_back(dims[k]);
    for (int d = 0; d < view.dim(); ++d)
      if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
    return order;
  }
};

Shape inverse(const Shape& order) {
  Shape back = order;
  for (int d = 0; d < order.rank(); ++d) back[static_cast<int>(order[d])] = d;
  return back;
}

/// Negative positions counted from 0, as int64 on the device of x.  Positions on the host are checked here, those on
/// another device when they are used.
Tensor nonnegative(const Tensor& x, const Tensor& index, std::int64_t size, int dim) {
  if (!index.device().is_cpu()) {
    const Tensor positions = index.to(DType::int64);
    return minnow::where(positions < 0, positions + size, positions);
  }
  const Tensor positions = index.to(DType::int64, {.copy = true}).contiguous();
  std::int64_t* position = positions.data<std::int64_t>();
  for (std::int64_t i = 0, n = positions.numel(); i < n; ++i) {
    if (position[i] < -size || position[i] >= size)
      throw IndexError(message("index " + std::to_string(position[i]) + " (element " + std::to_string(i) +
                                   " of the indices) is out of range in dimension " + std::to_string(dim) +
                                   " of size " + std::to_string(size),
                               {{"self", x}, {"index", index}},
                               size ? "indices go from " + std::to_string(-size) + " to " + std::to_string(size - 1)
                                    : "the dimension has no elements"));
    if (position[i] < 0) position[i] += size;
  }
  return positions.to(x.device());
}

/// The positions that an index tensor means: itself, or for a mask the positions of its true elements, a tensor for
/// each dimension.
std::vector<Tensor> index_tensors(const Tensor& x, const Tensor& index, int dim, bool only_tensor) {
  if (index.dtype() == DType::int64 || index.dtype() == DType::int32) return {index};
  if (index.dtype() != DType::bool_)
    throw DTypeError(message("an index tensor must be int64, int32, or bool (a mask)", {{"self", x}, {"index", index}},
                             "convert it: .to(int64), or compare: index != 0"));
  if (index.dim() == 0) return {nonzero(index.reshape(1)).reshape(-1)};  // of a new dimension of size 1
  bool valid = dim + index.dim() <= x.dim();
  for (int d = 0; valid && d < index.dim(); ++d) valid = index.shape()[d] == x.shape()[dim + d];
  if (!valid)
    throw ShapeError(message("the mask does not have the sizes of the dimensions that it indexes",
                             {{"self", x}, {"mask", index}}, "a mask of x's shape selects elements of x"));
  if (only_tensor) {  // one position in the joined dimensions
    return {nonzero(index.reshape(-1)).reshape(-1)};
  }
  const Tensor positions = nonzero(index);
  std::vector<Tensor> columns;
  columns.reserve(static_cast<std::size_t>(index.dim()));
  for (int d = 0; d < index.dim(); ++d) columns.push_back(positions.select(1, d));
  return columns;
}

int dims_of(const Index& i) {
  if (i.kind == Kind::kInteger || i.kind == Kind::kSlice) return 1;
  if (i.kind != Kind::kTensor) return 0;
  const Tensor t(i.tensor);
  return t.defined() && t.dtype() == DType::bool_ ? t.dim() : 1;
}

AdvancedIndex resolve_advanced(const Tensor& x, std::span<const Index> indices) {
  int used = 0, at = 0, out = 0;
  for (const Index& i : indices) used += dims_of(i);
  const auto tensors = std::count_if(indices.begin(), indices.end(), [](auto& i) { return i.kind == Kind::kTensor; });
  int joined_dims = 0;  // dimensions of a mask that is the only tensor
  AdvancedIndex advanced;
  std::vector<Index> plain;
  std::vector<int> source_dims;
  for (const Index& i : indices) {
    if (i.kind != Kind::kTensor) {
      plain.push_back(i);
      const int left = i.kind == Kind::kEllipsis ? std::max(x.dim() - used, 0) : dims_of(i);
      out += i.kind == Kind::kInteger ? 0 : i.kind == Kind::kNewAxis ? 1 : left;
      at += left;
      continue;
    }
    const Tensor index(i.tensor);
    index.require_defined();
    if (!index.device().is_cpu()) dispatch({{"self", x}, {"index", index}});
    if (at + dims_of(i) <= x.dim()) {
      for (const Tensor& positions : index_tensors(x, index, at, tensors == 1)) {
        advanced.positions.push_back(positions);
        advanced.dims.push_back(out++);
        source_dims.push_back(at);
        at += dims_of(i) > 0;
      }
      if (tensors == 1 && index.dtype() == DType::bool_) joined_dims = index.dim();
    }
    if (dims_of(i) == 0) plain.emplace_back(newaxis);
    for (int d = 0; d < dims_of(i); ++d) plain.emplace_back(all);
  }
  const raw::Indexed basic = raw::resolve(x, plain);
  advanced.slices = basic.slices;
  advanced.view = detail::sliced(x, basic.slices, basic.shape);
  if (joined_dims > 1)
    advanced.view = advanced.view.flatten(advanced.dims.front(), advanced.dims.front() + joined_dims - 1);
  Shape common;
  for (std::size_t k = 0; k < advanced.positions.size(); ++k) {
    Tensor& positions = advanced.positions[k];
    positions = nonnegative(x, positions, advanced.view.shape()[advanced.dims[k]], source_dims[k]);
    common = k == 0 ? positions.shape() : raw::broadcast_shape(advanced.positions.front().expand(common), positions);
  }
  const bool checked_later = advanced.positions.size() > 1 && !x.device().is_cpu();
  for (std::size_t k = 0; k < advanced.positions.size(); ++k) {
    Tensor& positions = advanced.positions[k];
    if (checked_later) {  // joined to one number they would not show which one is out of range
      const Tensor numbers = arange(advanced.view.shape()[advanced.dims[k]], {DType::int64, x.device()});
      positions = index_select(numbers, 0, positions.reshape(-1)).reshape(positions.shape());
    }
    positions = positions.expand(common);
  }
  return advanced;
}

/// The positions of all indexed dimensions as one, in the order of by_stride().   int64 [n]
Tensor flat_positions(const AdvancedIndex& c) {
  Tensor sum;
  for (const std::size_t k : c.by_stride())
    sum = sum.defined() ? sum * c.view.shape()[c.dims[k]] + c.positions[k] : c.positions[k];
  return sum.reshape(-1);
}

/// Sizes of the dimensions from `first` on, in c.order().
Shape ordered_sizes(const AdvancedIndex& c, int first) {
  Shape sizes;
  const Shape order = c.order();
  for (int k = first; k < order.rank(); ++k) sizes.push_back(c.view.shape()[static_cast<int>(order[k])]);
  return sizes;
}

Shape joined(std::initializer_list<Shape> parts) {
  Shape all_sizes;
  for (const Shape& part : parts)
    for (const std::int64_t size : part) all_sizes.push_back(size);
  return all_sizes;
}

/// The view as [elements of the indexed dimensions, others...].
Tensor as_rows(const AdvancedIndex& c) {
  std::int64_t count = 1;
  for (const int d : c.dims) count *= c.view.shape()[d];
  return c.view.permute(c.order()).reshape(joined({{count}, ordered_sizes(c, static_cast<int>(c.dims.size()))}));
}

/// The order of the result's dimensions.  Those of the positions replace the indexed ones if these are adjacent, and
/// are in front otherwise.
Shape result_order(const AdvancedIndex& c) {
  const int positions = c.positions_shape().rank(), others = c.view.dim() - static_cast<int>(c.dims.size());
  const int before = c.adjacent() ? c.dims.front() : 0;
  Shape order;
  for (int d = 0; d < before; ++d) order.push_back(positions + d);
  for (int d = 0; d < positions; ++d) order.push_back(d);
  for (int d = before; d < others; ++d) order.push_back(positions + d);
  return order;
}

Tensor read_positions(const AdvancedIndex& c) {
  const Shape others = ordered_sizes(c, static_cast<int>(c.dims.size()));
  if (c.positions_shape().rank() + others.rank() > kMaxRank) raw::require_max_rank(c.view, c.positions_shape().rank());
  if (c.dims.size() == 1) {
    const int d = c.dims.front();
    Shape shape = c.view.shape();
    shape.erase(d);
    for (int k = 0; k < c.positions_shape().rank(); ++k) shape.insert(d + k, c.positions_shape()[k]);
    return index_select(c.view, d, c.positions.front().reshape(-1)).reshape(shape);
  }
  const Tensor taken = index_select(as_rows(c), 0, flat_positions(c));
  return taken.reshape(joined({c.positions_shape(), others})).permute(result_order(c));
}

/// The values to write, a row for each position.   [n, others...]
Tensor value_rows(const AdvancedIndex& c, const Tensor& value) {
  const Shape others = ordered_sizes(c, static_cast<int>(c.dims.size()));
  const Shape order = result_order(c), shape = joined({c.positions_shape(), others});
  Shape wanted = shape;
  for (int d = 0; d < order.rank(); ++d) wanted[d] = shape[static_cast<int>(order[d])];
  return value.to(c.view.device(), c.view.dtype())
      .expand(wanted)
      .permute(inverse(order))
      .reshape(joined({{c.positions_shape().numel()}, others}));
}

[[noreturn]] void refuse_position(const AdvancedIndex& c, std::int64_t position, std::int64_t count) {
  throw IndexError(message("index " + std::to_string(position) + " is out of range", {{"self", c.view}},
                           "indices go from " + std::to_string(-count) + " to " + std::to_string(count - 1)));
}

/// Writes without recording, if the rows are a view of x in host memory; otherwise returns false.
bool write_rows(const Tensor& x, const AdvancedIndex& c, const Tensor& value) {
  if (!x.device().is_cpu()) return false;
  const Tensor rows = as_rows(c);
  if (rows.storage() != x.storage()) return false;
  raw::require_writable(raw::slice(x, c.slices));
  Tensor values = value_rows(c, value).contiguous();
  if (values.storage() == x.storage()) values = values.clone();
  const Tensor positions = flat_positions(c).contiguous();
  for (const std::int64_t position : positions.to_vector<std::int64_t>())
    if (position < 0 || position >= rows.size(0)) refuse_position(c, position, rows.size(0));
  x.storage()->wait_ready();
  values.storage()->wait_ready();
  if (values.numel())  // no position is out of range
    (void)detail::backend_of(x.device()).run(calls::IndexAdd{values, positions, rows, 0, ScatterOp::assign});
  x.storage()->bump_version();
  return true;
}

/// The view with the values at the positions; of equal positions the last one counts.
Tensor with_values(const AdvancedIndex& c, const Tensor& value) {
  const Tensor rows = as_rows(c), positions = flat_positions(c), values = value_rows(c, value);
  const Device device = c.view.device();
  if (positions.numel() == 0)  // nothing is written, and the gradient of the values is 0
    return minnow::where(full({}, false, {DType::bool_, device}), values.sum().to(c.view.dtype()), c.view);
  const std::vector<std::int64_t> targets = positions.to_vector<std::int64_t>();
  std::vector<std::int64_t> from(static_cast<std::size_t>(rows.size(0)), 0);
  std::vector<bool> is_target(from.size(), false);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = static_cast<std::size_t>(targets[i]);
    if (row >= from.size()) refuse_position(c, targets[i], rows.size(0));
    from[row] = static_cast<std::int64_t>(i);
    is_target[row] = true;
  }
  Shape column = Shape::filled(rows.dim(), 1);
  column[0] = rows.size(0);
  const Tensor mask = tensor(is_target, device).reshape(column), source_rows = tensor(from, device);
  return minnow::where(mask, index_select(values, 0, source_rows), rows)
      .reshape(ordered_sizes(c, 0))
      .permute(inverse(c.order()));
}

/// The view with the values added at the positions.
Tensor with_sums(const AdvancedIndex& c, const Tensor& value) {
  const Tensor sums = index_add(as_rows(c), 0, flat_positions(c), value_rows(c, value));
  return sums.reshape(ordered_sizes(c, 0)).permute(inverse(c.order()));
}

/// g with zeros in the slices: the gradient of the tensor that was overwritten there.
Tensor zeroed(const In& g, const Slices& slices) {
  Tensor y = raw::clone(g);
  const Tensor part = raw::slice(y, slices);
  if (part.numel()) raw::fill_(part, 0);
  return record("index_put_backward", std::move(y), {g}, [slices](const Tensor& gg) { return zeroed(gg, slices); });
}

/// Writes `part` to the slices of x and records the result as the new value of x.
void record_write(const Tensor& x, const Slices& slices, const Tensor& part) {
  detail::require_recordable(x);
  raw::require_writable(x);
  // No other tensor has this memory (require_recordable): the new value may be written to it, unless the graph needs
  // the old.
  const bool sole_owner = x.storage()->graph_references() == 0;
  Tensor out = sole_owner ? raw::alias(x, x.shape(), x.strides(), x.storage_offset()) : raw::clone(x);
  out = record("index_put_", std::move(out), {x, part}, [slices](const Tensor& g, Needs needs) -> Gradients {
    return {needs[0] ? zeroed(g, slices) : Tensor(), needs[1] ? detail::sliced(g, slices, slices.size) : Tensor()};
  });
  raw::copy_to(part, raw::slice(out, slices));
  detail::mark_written(out);
  detail::replace_value(x, out);
}

void write_positions(const Tensor& x, std::span<const Index> indices, const Tensor& value, bool accumulate = false) {
  const bool recording = records(x, value);
  if (recording) detail::require_recordable(x);
  Slices slices;
  Tensor part;
  {
    const AdvancedIndex advanced = resolve_advanced(x, indices);
    slices = advanced.slices;
    if (!recording && !accumulate && write_rows(x, advanced, value)) return;
    part = (accumulate ? with_sums(advanced, value) : with_values(advanced, value)).reshape(slices.size);
    if (!recording) {
      const Tensor target = raw::slice(x, slices);
      if (part.storage() != target.storage()) raw::copy_to(part, target);
      return;
    }
  }
  record_write(x, slices, part);
}

bool is_mask(std::span<const Index> indices) {
  return indices.size() == 1 && indices[0].kind == Kind::kTensor && Tensor(indices[0].tensor).dtype() == DType::bool_;
}

}  // namespace

Selection::Selection(Tensor view, const Tensor& source, const Slices& slices, SourceLocation where)
    : Tensor(std::move(view)), source_(source.weak()), slices_(slices), where_(where) {}
Selection::Selection(Tensor values, const Tensor& source, std::span<const Index> indices, SourceLocation where)
    : Tensor(std::move(values)),
      source_(source.weak()),
      indices_(std::make_shared<const std::vector<Index>>(indices.begin(), indices.end())),
      where_(where) {}

Selection& Selection::operator=(const Tensor& other) & {
  Tensor::operator=(other);
  source_.reset();
  indices_.reset();
  return *this;
}

Selection Tensor::index(std::span<const Index> given, SourceLocation where) const {
  const CallSite site("index", where);
  require_defined();
  const auto is_scalar = [](const Index& i) {
    const Tensor t(i.kind == Kind::kTensor ? i.tensor : nullptr);
    return t.defined() && t.dim() == 0 && (t.dtype() == DType::int64 || t.dtype() == DType::int32);
  };
  std::span<const Index> indices = given;
  std::vector<Index> integers;
  if (std::any_of(given.begin(), given.end(), is_scalar)) {  // an integer, as in PyTorch
    for (const Index& i : given) integers.push_back(is_scalar(i) ? Index(Tensor(i.tensor).item<std::int64_t>()) : i);
    indices = integers;
  }
  if (std::any_of(indices.begin(), indices.end(), [](const Index& i) { return i.kind == Kind::kTensor; })) {
    return {read_positions(resolve_advanced(*this, indices)), *this, indices, where};
  }
  const raw::Indexed indexed = raw::resolve(*this, indices);
  return {detail::sliced(*this, indexed.slices, indexed.shape), *this, indexed.slices, where};
}

Tensor::Iterator Tensor::begin() const {
  require_defined("begin", {});
  if (dim() == 0)
    throw ShapeError(
        message("begin", "cannot iterate over a 0-dim tensor", {{"self", *this}}, "item() gives its value"));
  return {this, 0};
}

Tensor::Iterator Tensor::end() const { return {this, size(0)}; }

Tensor Tensor::index_put_(std::initializer_list<Index> indices, const Tensor& source, bool accumulate,
                          SourceLocation where) const {
  const CallSite site("index_put_", where);
  require_defined();
  source.require_defined();
  const bool positions = std::any_of(indices.begin(), indices.end(), [](auto& i) { return i.kind == Kind::kTensor; });
  if (accumulate && positions) write_positions(*this, indices, source, true);
  else if (accumulate) index(indices, where) += source.to(dtype());
  else index(indices, where) = source;
  return *this;
}

Tensor Tensor::index_put(std::initializer_list<Index> indices, const Tensor& source, bool accumulate,
                         SourceLocation where) const {
  const CallSite site("index_put", where);
  require_defined();
  const auto cast = autocast(site, {kKept, kWidest}, {{"self", *this}, {"source", source}});
  return (cast ? cast[0] : *this).clone().index_put_(indices, cast ? cast[1] : source, accumulate, where);
}

/// The tensor to write to: the one that was indexed, or this view if that is gone.
Tensor Selection::target() const {
  const auto source = source_.lock();
  return source ? Tensor(source) : static_cast<const Tensor&>(*this);
}

void Selection::write(const Tensor& value) {
  const CallSite site("index_put_", where_);
  value.require_defined();
  const Tensor x = target();
  if (indices_) return write_positions(x, *indices_, value);
  if (!records(x, value) || x.is_same(*this)) {
    minnow::copy_(*this, value);
    return;
  }
  const Tensor part = value.to(x.device(), x.dtype()).expand(shape()).reshape(slices_.size);
  Tensor::operator=(Tensor());  // this view must not count as another tensor of the memory
  record_write(x, slices_, part);
}

void Selection::write(Scalar value) {
  const CallSite site("index_put_", where_);
  const Tensor x = target();
  require_representable(value, x.dtype());
  if (indices_ && is_mask(*indices_)) {
    Tensor mask(indices_->front().tensor);
    while (mask.dim() < x.dim()) mask = mask.unsqueeze(-1);
    minnow::masked_fill_(x, mask.to(x.device()), value);
    return;
  }
  if (!indices_ && !records(x)) {
    minnow::fill_(*this, value);
    return;
  }
  write(full({}, value, {x.dtype(), x.device()}));
}

namespace {

/// x must be able to hold the result of an operation in place.
const Tensor& require_holdable(const Tensor& value, const Tensor& x) {
  const DType from = value.dtype(), to = x.dtype();
  const bool valid =
      is_floating_point(to) || (!is_floating_point(from) && (to != DType::bool_ || from == DType::bool_));
  if (!valid)
    throw DTypeError(message("the result is " + std::string(name_of(from)) + ", which self cannot hold", {{"self", x}},
                             "convert it first, or write x(...) = (...).to(" + std::string(name_of(to)) + ")"));
  return value;
}

}  // namespace

void Selection::update(Tensor (*in_place)(const In&, const TensorLike&),
                       Tensor (*function)(const TensorLike&, const TensorLike&), const TensorLike& other) {
  const CallSite site(where_);
  const bool recording = records(target()) || (!other.is_number() && records(*other.tensor));
  if (!indices_ && !recording) in_place(*this, other);
  else write(require_holdable(function(*this, other), target()));
}

void Selection::operator+=(const TensorLike& other) && { update(minnow::add_, minnow::add, other); }
void Selection::operator-=(const TensorLike& other) && { update(minnow::sub_, minnow::sub, other); }
void Selection::operator*=(const TensorLike& other) && { update(minnow::mul_, minnow::mul, other); }
void Selection::operator/=(const TensorLike& other) && { update(minnow::div_, minnow::div, other); }

}  // namespace minnow
