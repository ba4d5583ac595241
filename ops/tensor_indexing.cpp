#include <algorithm>
#include <cstring>
#include <minnow/autograd/record.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/in_place.h>
#include <minnow/ops/detail/view.h>
#include <minnow/ops/index.h>
#include <minnow/ops/masked.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

/// x(...): reading and writing by integers, slices, tensors of indices and masks.
namespace minnow {

void Index::refuse(std::uint64_t i, SourceLocation where) {
  throw IndexError("index: index " + std::to_string(i) + " is out of range\nno dimension is that long", where);
}

namespace {

using Kind = Index::Kind;

/// What indices with tensors among them mean: a view by the others, in which each of the tensors, all of one shape,
/// holds places of one dimension.
struct Choice {
  Tensor view;
  Slices slices;
  std::vector<Tensor> places;
  std::vector<int> dims;

  Shape places_shape() const { return places.front().shape(); }
  bool adjacent() const { return dims.back() - dims.front() + 1 == static_cast<int>(dims.size()); }
  /// The view's dimensions, those that are indexed first.
  Shape order() const {
    Shape order;
    for (const int d : dims) order.push_back(d);
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

/// Places from 0 on, as int64 on the device of x.  Beyond that, those of a device tensor are checked where they are used.
Tensor wrapped(const Tensor& x, const Tensor& index, std::int64_t size, int dim) {
  if (!index.device().is_cpu()) {
    const Tensor places = index.to(DType::int64);
    return minnow::where(places < 0, places + size, places);
  }
  const Tensor places = index.to(DType::int64, {.copy = true}).contiguous();
  std::int64_t* place = places.data<std::int64_t>();
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    if (place[i] < -size || place[i] >= size)
      throw IndexError(message("index " + std::to_string(place[i]) + " (element " + std::to_string(i) +
                                   " of the indices) is out of range in dimension " + std::to_string(dim) +
                                   " of size " + std::to_string(size),
                               {{"self", x}, {"index", index}},
                               size ? "indices go from " + std::to_string(-size) + " to " + std::to_string(size - 1)
                                    : "the dimension has no elements"));
    if (place[i] < 0) place[i] += size;
  }
  return places.to(x.device());
}

/// The tensors of indices that stand for one index: itself, or the places of a mask.
std::vector<Tensor> expanded(const Tensor& x, const Tensor& index, int dim, bool alone) {
  if (index.dtype() == DType::int64 || index.dtype() == DType::int32) return {index};
  if (index.dtype() != DType::bool_)
    throw DTypeError(message("a tensor that indexes is int64 or int32, or bool for a mask",
                             {{"self", x}, {"index", index}}, "convert it: .to(int64), or compare: index != 0"));
  bool fits = index.dim() > 0 && dim + index.dim() <= x.dim();
  for (int d = 0; fits && d < index.dim(); ++d) fits = index.shape()[d] == x.shape()[dim + d];
  if (!fits)
    throw ShapeError(message("the mask does not have the sizes of the dimensions that it indexes",
                             {{"self", x}, {"mask", index}}, "a mask of x's shape chooses elements of x"));
  if (alone) {  // one index of the dimensions joined
    return {nonzero(index.reshape(-1)).reshape(-1)};
  }
  const Tensor places = nonzero(index);
  std::vector<Tensor> columns;
  for (int d = 0; d < index.dim(); ++d) columns.push_back(places.select(1, d));
  return columns;
}

int dims_of(const Index& i) {
  if (i.kind == Kind::kInteger || i.kind == Kind::kSlice) return 1;
  if (i.kind != Kind::kTensor) return 0;
  const Tensor t(i.tensor);
  return t.defined() && t.dtype() == DType::bool_ ? t.dim() : 1;
}

Choice choose(const Tensor& x, std::span<const Index> indices) {
  int used = 0, at = 0, out = 0;
  for (const Index& i : indices) used += dims_of(i);
  const auto tensors = std::count_if(indices.begin(), indices.end(), [](auto& i) { return i.kind == Kind::kTensor; });
  int join = 0;  // dimensions of a mask that is the only tensor
  Choice choice;
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
      for (const Tensor& places : expanded(x, index, at, tensors == 1)) {
        choice.places.push_back(places);
        choice.dims.push_back(out++);
        source_dims.push_back(at++);
      }
      if (tensors == 1 && index.dtype() == DType::bool_) join = index.dim();
    }
    for (int d = 0; d < dims_of(i); ++d) plain.emplace_back(all);
  }
  const raw::Indexed basic = raw::resolve(x, plain);
  choice.slices = basic.slices;
  choice.view = autograd::sliced(x, basic.slices, basic.shape);
  if (join > 1) choice.view = choice.view.flatten(choice.dims.front(), choice.dims.front() + join - 1);
  Shape common;
  const Tensor one = zeros({});  // stands for shapes
  for (std::size_t k = 0; k < choice.places.size(); ++k) {
    Tensor& places = choice.places[k];
    places = wrapped(x, places, choice.view.shape()[choice.dims[k]], source_dims[k]);
    common = raw::broadcast_shape(one.expand(common), one.expand(places.shape()));
  }
  const bool checked_later = choice.places.size() > 1 && !x.device().is_cpu();
  for (std::size_t k = 0; k < choice.places.size(); ++k) {
    Tensor& places = choice.places[k];
    if (checked_later) {  // as one number they would not show which is out of range
      const Tensor numbers = arange(choice.view.shape()[choice.dims[k]], {DType::int64, x.device()});
      places = index_select(numbers, 0, places.reshape(-1)).reshape(places.shape());
    }
    places = places.expand(common);
  }
  return choice;
}

/// Several places as one, of the indexed dimensions in row-major order.   int64 [n]
Tensor joined_places(const Choice& c) {
  Tensor sum = c.places.front();
  for (std::size_t k = 1; k < c.places.size(); ++k) sum = sum * c.view.shape()[c.dims[k]] + c.places[k];
  return sum.reshape(-1);
}

/// Sizes of the dimensions from `first` on, in c.order().
Shape ordered_sizes(const Choice& c, int first) {
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
Tensor as_rows(const Choice& c) {
  std::int64_t count = 1;
  for (const int d : c.dims) count *= c.view.shape()[d];
  return c.view.permute(c.order()).reshape(joined({{count}, ordered_sizes(c, static_cast<int>(c.dims.size()))}));
}

/// Where in the result the places' dimensions come first: where the indexed ones were, or in front if they were apart.
Shape result_order(const Choice& c) {
  const int places = c.places_shape().rank(), others = c.view.dim() - static_cast<int>(c.dims.size());
  const int before = c.adjacent() ? c.dims.front() : 0;
  Shape order;
  for (int d = 0; d < before; ++d) order.push_back(places + d);
  for (int d = 0; d < places; ++d) order.push_back(d);
  for (int d = before; d < others; ++d) order.push_back(places + d);
  return order;
}

Tensor take(const Choice& c) {
  const Shape others = ordered_sizes(c, static_cast<int>(c.dims.size()));
  if (c.places_shape().rank() + others.rank() > kMaxRank) raw::require_room(c.view, c.places_shape().rank());
  if (c.dims.size() == 1) {
    const int d = c.dims.front();
    Shape shape = c.view.shape();
    shape.erase(d);
    for (int k = 0; k < c.places_shape().rank(); ++k) shape.insert(d + k, c.places_shape()[k]);
    return index_select(c.view, d, c.places.front().reshape(-1)).reshape(shape);
  }
  const Tensor taken = index_select(as_rows(c), 0, joined_places(c));
  return taken.reshape(joined({c.places_shape(), others})).permute(result_order(c));
}

/// What is written, a row for each place.   [n, others...]
Tensor as_values(const Choice& c, const Tensor& value) {
  const Shape others = ordered_sizes(c, static_cast<int>(c.dims.size()));
  const Shape order = result_order(c), shape = joined({c.places_shape(), others});
  Shape wanted = shape;
  for (int d = 0; d < order.rank(); ++d) wanted[d] = shape[static_cast<int>(order[d])];
  return value.to(c.view.device(), c.view.dtype())
      .expand(wanted)
      .permute(inverse(order))
      .reshape(joined({{c.places_shape().numel()}, others}));
}

[[noreturn]] void refuse_place(const Choice& c, std::int64_t place, std::int64_t count) {
  throw IndexError(message("index " + std::to_string(place) + " is out of range", {{"self", c.view}},
                           "indices go from " + std::to_string(-count) + " to " + std::to_string(count - 1)));
}

/// Writes without recording, where the rows are of x's own host memory; false where they are not.
bool write_rows(const Tensor& x, const Choice& c, const Tensor& value) {
  if (!x.device().is_cpu()) return false;
  const Tensor rows = as_rows(c);
  if (rows.storage() != x.storage() || !rows.is_contiguous()) return false;
  Tensor values = as_values(c, value).contiguous();
  if (values.storage() == x.storage()) values = values.clone();
  const std::vector<std::int64_t> places = joined_places(c).to_vector<std::int64_t>();
  const std::int64_t count = rows.size(0), bytes = count ? rows.nbytes() / count : 0;
  x.storage()->wait_ready();
  values.storage()->wait_ready();
  char* to = static_cast<char*>(rows.raw_data());
  const char* from = static_cast<const char*>(values.raw_data());
  for (const std::int64_t place : places) {
    if (place < 0 || place >= count) refuse_place(c, place, count);
    std::memcpy(to + place * bytes, from, static_cast<std::size_t>(bytes));
    from += bytes;
  }
  x.storage()->bump_version();
  return true;
}

/// The view with values at the places; of equal places the last one's.
Tensor with_values(const Choice& c, const Tensor& value) {
  const Tensor rows = as_rows(c), places = joined_places(c), values = as_values(c, value);
  const Device device = c.view.device();
  if (places.numel() == 0)  // nothing is written; the values' gradient is 0
    return minnow::where(full({}, false, {DType::bool_, device}), values.sum().to(c.view.dtype()), c.view);
  const std::vector<std::int64_t> targets = places.to_vector<std::int64_t>();
  std::vector<std::int64_t> from(static_cast<std::size_t>(rows.size(0)), 0);
  std::vector<bool> written(from.size(), false);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = static_cast<std::size_t>(targets[i]);
    if (row >= from.size()) refuse_place(c, targets[i], rows.size(0));
    from[row] = static_cast<std::int64_t>(i);
    written[row] = true;
  }
  Shape column = Shape::filled(rows.dim(), 1);
  column[0] = rows.size(0);
  const Tensor mask = tensor(written, device).reshape(column), chosen = tensor(from, device);
  return minnow::where(mask, index_select(values, 0, chosen), rows)
      .reshape(ordered_sizes(c, 0))
      .permute(inverse(c.order()));
}

/// g with zeros in the slices: the gradient of what was overwritten there.
Tensor cleared(const In& g, const Slices& slices) {
  Tensor y = raw::clone(g);
  const Tensor part = raw::slice(y, slices);
  if (part.numel()) raw::fill_(part, 0);
  return record("index_put_backward", std::move(y), {g}, [slices](const Tensor& gg) { return cleared(gg, slices); });
}

/// Writes a part of x, of the slices' sizes, and records it as x's new value.
void put(const Tensor& x, const Slices& slices, const Tensor& part) {
  autograd::require_recordable(x);
  raw::require_writable(x);
  // Nobody else sees the memory, so the new value may lie in it, unless the graph needs the old one.
  const bool own = x.storage()->graph_references() == 0;
  Tensor out = own ? raw::alias(x, x.shape(), x.strides(), x.storage_offset()) : raw::clone(x);
  out = record("index_put_", std::move(out), {x, part}, [slices](const Tensor& g, Needs needs) -> Gradients {
    return {needs[0] ? cleared(g, slices) : Tensor(), needs[1] ? autograd::sliced(g, slices, slices.size) : Tensor()};
  });
  raw::copy_to(part, raw::slice(out, slices));
  autograd::written(out);
  autograd::replace_value(x, out);
}

void put_choice(const Tensor& x, std::span<const Index> indices, const Tensor& value) {
  const bool recording = records(x, value);
  if (recording) autograd::require_recordable(x);
  Slices slices;
  Tensor part;
  {
    const Choice choice = choose(x, indices);
    slices = choice.slices;
    if (!recording && write_rows(x, choice, value)) return;
    part = with_values(choice, value).reshape(slices.size);
    if (!recording) {
      const Tensor target = raw::slice(x, slices);
      if (part.storage() != target.storage()) raw::copy_to(part, target);
      return;
    }
  }
  put(x, slices, part);
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
    return {take(choose(*this, indices)), *this, indices, where};
  }
  const raw::Indexed indexed = raw::resolve(*this, indices);
  return {autograd::sliced(*this, indexed.slices, indexed.shape), *this, indexed.slices, where};
}

Tensor::Iterator Tensor::begin() const {
  require_defined("begin", {});
  if (dim() == 0)
    throw ShapeError(message("begin", "a tensor without dimensions has no rows to walk over", {{"self", *this}},
                             "item() is its number"));
  return {this, 0};
}

Tensor::Iterator Tensor::end() const { return {this, size(0)}; }

Tensor Tensor::index_put_(std::initializer_list<Index> indices, const Tensor& source, SourceLocation where) const {
  index(indices, where) = source;
  return *this;
}

/// The tensor that is written: unless it is gone, the one that was indexed.
Tensor Selection::target() const {
  const auto source = source_.lock();
  return source ? Tensor(source) : static_cast<const Tensor&>(*this);
}

void Selection::write(const Tensor& value) {
  const CallSite site("index_put_", where_);
  value.require_defined();
  const Tensor x = target();
  if (indices_) return put_choice(x, *indices_, value);
  if (!records(x, value) || x.is_same(*this)) {
    minnow::copy_(*this, value);
    return;
  }
  const Tensor part = value.to(x.device(), x.dtype()).expand(shape()).reshape(slices_.size);
  Tensor::operator=(Tensor());  // this view must not count as another one of the memory
  put(x, slices_, part);
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

/// What an operation in place gives must be of a kind that the tensor can hold.
const Tensor& fitting(const Tensor& value, const Tensor& x) {
  const DType from = value.dtype(), to = x.dtype();
  const bool fits = is_floating(to) || (!is_floating(from) && (to != DType::bool_ || from == DType::bool_));
  if (!fits)
    throw DTypeError(message("the result is " + std::string(name_of(from)) + ", which self cannot hold", {{"self", x}},
                             "convert it first, or write x(...) = (...).to(" + std::string(name_of(to)) + ")"));
  return value;
}

}  // namespace

void Selection::update(Tensor (*in_place)(const In&, const In&), Tensor (*function)(const In&, const In&),
                       const Tensor& other) {
  const CallSite site(where_);
  if (!indices_ && !records(target(), other)) in_place(*this, other);
  else write(fitting(function(*this, other), target()));
}

void Selection::update(Tensor (*in_place)(const In&, Scalar), Tensor (*function)(const In&, Scalar), Scalar other) {
  const CallSite site(where_);
  if (!indices_ && !records(target())) in_place(*this, other);
  else write(fitting(function(*this, other), target()));
}

void Selection::operator+=(const Tensor& other) && { update(minnow::add_, minnow::add, other); }
void Selection::operator+=(Scalar other) && { update(minnow::add_, minnow::add, other); }
void Selection::operator-=(const Tensor& other) && { update(minnow::sub_, minnow::sub, other); }
void Selection::operator-=(Scalar other) && { update(minnow::sub_, minnow::sub, other); }
void Selection::operator*=(const Tensor& other) && { update(minnow::mul_, minnow::mul, other); }
void Selection::operator*=(Scalar other) && { update(minnow::mul_, minnow::mul, other); }
void Selection::operator/=(const Tensor& other) && { update(minnow::div_, minnow::div, other); }
void Selection::operator/=(Scalar other) && { update(minnow::div_, minnow::div, other); }

}  // namespace minnow
