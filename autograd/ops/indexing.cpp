#include <algorithm>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/in_place.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/ops/masked.h>
#include <minnow/autograd/ops/view.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/view.h>

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
Tensor wrapped(const In& x, const Tensor& index, std::int64_t size, int dim, SourceLocation where) {
  if (!index.device().is_cpu()) {
    const Tensor places = index.to(DType::int64, {}, where);
    return minnow::where({places < 0, where}, {places + size, where}, {places, where});
  }
  const Tensor places = index.to(DType::int64, {.copy = true}, where).contiguous(MemoryFormat::contiguous, where);
  std::int64_t* place = places.data<std::int64_t>(where);
  for (std::int64_t i = 0; i < places.numel(); ++i) {
    if (place[i] < -size || place[i] >= size)
      throw IndexError(message("index",
                               "index " + std::to_string(place[i]) + " (element " + std::to_string(i) +
                                   " of the indices) is out of range in dimension " + std::to_string(dim) +
                                   " of size " + std::to_string(size),
                               {{"self", *x}, {"index", index}},
                               size ? "indices go from " + std::to_string(-size) + " to " + std::to_string(size - 1)
                                    : "the dimension has no elements"),
                       where);
    if (place[i] < 0) place[i] += size;
  }
  return places.to(x->device(), ToOptions{}, where);
}

/// The tensors of indices that stand for one index: itself, or the places of a mask.
std::vector<Tensor> expanded(const In& x, const Tensor& index, int dim) {
  if (index.dtype() == DType::int64 || index.dtype() == DType::int32) return {index};
  if (index.dtype() != DType::bool_)
    throw DTypeError(message("index", "a tensor that indexes is int64 or int32, or bool for a mask",
                             {{"self", *x}, {"index", index}}, "convert it: .to(int64), or compare: index != 0"),
                     x.where);
  bool fits = index.dim() > 0 && dim + index.dim() <= x->dim();
  for (int d = 0; fits && d < index.dim(); ++d) fits = index.shape()[d] == x->shape()[dim + d];
  if (!fits)
    throw ShapeError(message("index", "the mask does not have the sizes of the dimensions that it indexes",
                             {{"self", *x}, {"mask", index}}, "a mask of x's shape chooses elements of x"),
                     x.where);
  const Tensor places = nonzero({index, x.where});
  std::vector<Tensor> columns;
  for (int d = 0; d < index.dim(); ++d) columns.push_back(places.select(1, d, x.where));
  return columns;
}

int dims_of(const Index& i) {
  if (i.kind == Kind::kInteger || i.kind == Kind::kSlice) return 1;
  if (i.kind != Kind::kTensor) return 0;
  const Tensor t(i.tensor);
  return t.defined() && t.dtype() == DType::bool_ ? t.dim() : 1;
}

Choice choose(const In& x, std::span<const Index> indices) {
  int used = 0, at = 0, out = 0;
  for (const Index& i : indices) used += dims_of(i);
  Choice choice;
  std::vector<Index> plain;
  std::vector<int> source_dims;
  for (const Index& i : indices) {
    if (i.kind != Kind::kTensor) {
      plain.push_back(i);
      const int left = i.kind == Kind::kEllipsis ? std::max(x->dim() - used, 0) : dims_of(i);
      out += i.kind == Kind::kInteger ? 0 : i.kind == Kind::kNewAxis ? 1 : left;
      at += left;
      continue;
    }
    const Tensor index(i.tensor);
    index.require_defined("index", x.where);
    if (!index.device().is_cpu()) dispatch("index", {{"self", *x}, {"index", index}}, x.where);
    if (at + dims_of(i) <= x->dim())
      for (const Tensor& places : expanded(x, index, at)) {
        choice.places.push_back(places);
        choice.dims.push_back(out++);
        source_dims.push_back(at++);
      }
    for (int d = 0; d < dims_of(i); ++d) plain.emplace_back(all, x.where);
  }
  const raw::Indexed basic = raw::resolve(x, plain);
  choice.slices = basic.slices;
  choice.view = autograd::sliced(x, basic.slices, basic.shape);
  Shape common;
  for (std::size_t k = 0; k < choice.places.size(); ++k) {
    Tensor& places = choice.places[k];
    places = wrapped(x, places, choice.view.shape()[choice.dims[k]], source_dims[k], x.where);
    common = raw::broadcast_shape("index", {zeros(common), x.where}, {zeros(places.shape()), x.where});
  }
  const bool checked_later = choice.places.size() > 1 && !x->device().is_cpu();
  for (std::size_t k = 0; k < choice.places.size(); ++k) {
    Tensor& places = choice.places[k];
    if (checked_later) {  // as one number they would not show which is out of range
      const Tensor numbers = arange(choice.view.shape()[choice.dims[k]], {DType::int64, x->device()}, x.where);
      const Tensor flat = places.reshape(-1, x.where);
      places = index_select({numbers, x.where}, 0, {flat, x.where}).reshape(places.shape(), x.where);
    }
    places = places.expand(common, x.where);
  }
  return choice;
}

/// Several places as one, of the indexed dimensions in row-major order.   int64 [n]
Tensor joined_places(const Choice& c, SourceLocation where) {
  Tensor sum = c.places.front();
  for (std::size_t k = 1; k < c.places.size(); ++k) sum = sum * c.view.shape()[c.dims[k]] + c.places[k];
  return sum.reshape(-1, where);
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
Tensor as_rows(const Choice& c, SourceLocation where) {
  std::int64_t count = 1;
  for (const int d : c.dims) count *= c.view.shape()[d];
  return c.view.permute(c.order(), where)
      .reshape(joined({{count}, ordered_sizes(c, static_cast<int>(c.dims.size()))}), where);
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

Tensor take(const In& x, const Choice& c) {
  const SourceLocation where = x.where;
  const Shape others = ordered_sizes(c, static_cast<int>(c.dims.size()));
  if (c.places_shape().rank() + others.rank() > kMaxRank)
    raw::require_room("index", {c.view, where}, c.places_shape().rank());
  if (c.dims.size() == 1) {
    const int d = c.dims.front();
    const Tensor flat = c.places.front().reshape(-1, where);
    Shape shape = c.view.shape();
    shape.erase(d);
    for (int k = 0; k < c.places_shape().rank(); ++k) shape.insert(d + k, c.places_shape()[k]);
    return index_select({c.view, where}, d, {flat, where}).reshape(shape, where);
  }
  const Tensor rows = as_rows(c, where), places = joined_places(c, where);
  const Tensor taken = index_select({rows, where}, 0, {places, where});
  return taken.reshape(joined({c.places_shape(), others}), where).permute(result_order(c), where);
}

/// The view with values at the places; of equal places the last one's.
Tensor with_values(const Choice& c, const Tensor& value, SourceLocation where) {
  const Shape others = ordered_sizes(c, static_cast<int>(c.dims.size()));
  const Shape order = result_order(c), back = inverse(order), shape = joined({c.places_shape(), others});
  Shape wanted = shape;
  for (int d = 0; d < order.rank(); ++d) wanted[d] = shape[static_cast<int>(order[d])];
  const Tensor rows = as_rows(c, where), places = joined_places(c, where);
  const Tensor values = value.to(c.view.device(), c.view.dtype(), {}, where)
                            .expand(wanted, where)
                            .permute(back, where)
                            .reshape(joined({{places.numel()}, others}), where);
  if (places.numel() == 0) return c.view;
  const std::vector<std::int64_t> targets = places.to_vector<std::int64_t>(where);
  std::vector<std::int64_t> from(static_cast<std::size_t>(rows.size(0)), 0);
  std::vector<bool> written(from.size(), false);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto row = static_cast<std::size_t>(targets[i]);
    if (row >= from.size())
      throw IndexError(
          message("index_put_", "an index is out of range", {{"self", c.view}, {"index", places}},
                  "indices go from " + std::to_string(-rows.size(0)) + " to " + std::to_string(rows.size(0) - 1)),
          where);
    from[row] = static_cast<std::int64_t>(i);
    written[row] = true;
  }
  Shape column = Shape::filled(rows.dim(), 1);
  column[0] = rows.size(0);
  const TensorOptions there{.dtype = {}, .device = c.view.device()};
  const Tensor mask = tensor(written, there, where).reshape(column, where), chosen = tensor(from, there, where);
  const Tensor spread = index_select({values, where}, 0, {chosen, where});
  return minnow::where({mask, where}, {spread, where}, {rows, where})
      .reshape(ordered_sizes(c, 0), where)
      .permute(inverse(c.order()), where);
}

/// g with zeros in the slices: the gradient of what was overwritten there.
Tensor cleared(const In& g, const Slices& slices) {
  Tensor y = raw::clone(g);
  const Tensor part = raw::slice({y, g.where}, slices);
  if (part.numel()) raw::fill_({part, g.where}, 0);
  return record("index_put_backward", std::move(y), {g}, [slices](const Tensor& gg) { return cleared(gg, slices); });
}

/// Writes a part of x, of the slices' sizes, and records it as x's new value.
void put(const Tensor& x, const Slices& slices, const Tensor& part, SourceLocation where) {
  const In self(x, where);
  autograd::require_recordable("index_put_", self);
  // Nobody else sees the memory, so the new value may lie in it, unless the graph needs the old one.
  const bool own = x.storage()->graph_references() == 0;
  Tensor out = own ? raw::alias(self, x.shape(), x.strides(), x.storage_offset()) : raw::clone(self);
  out =
      record("index_put_", std::move(out), {self, {part, where}}, [slices](const Tensor& g, Needs needs) -> Gradients {
        return {needs[0] ? cleared(g, slices) : Tensor(),
                needs[1] ? autograd::sliced(g, slices, slices.size) : Tensor()};
      });
  raw::copy_to(part, raw::slice({out, where}, slices), where);
  autograd::written({out, where});
  autograd::replace_value("index_put_", self, out);
}

void put_choice(const Tensor& x, std::span<const Index> indices, const Tensor& value, SourceLocation where) {
  const bool recording = records(x, value);
  if (recording) autograd::require_recordable("index_put_", {x, where});
  Slices slices;
  Tensor part;
  {
    const Choice choice = choose({x, where}, indices);
    slices = choice.slices;
    part = with_values(choice, value, where).reshape(slices.size, where);
    if (!recording) {
      const Tensor target = raw::slice({x, where}, slices);
      if (part.storage() != target.storage()) raw::copy_to(part, target, where);
      return;
    }
  }
  if (part.storage() == x.storage()) return;  // no places
  put(x, slices, part, where);
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

Selection Tensor::index(std::span<const Index> indices, SourceLocation where) const {
  const In self(*this, where);
  require_defined("index", where);
  if (std::any_of(indices.begin(), indices.end(), [](const Index& i) { return i.kind == Kind::kTensor; })) {
    const Composed scope("index");
    return {take(self, choose(self, indices)), *this, indices, where};
  }
  const raw::Indexed indexed = raw::resolve(self, indices);
  return {autograd::sliced(self, indexed.slices, indexed.shape), *this, indexed.slices, where};
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
  const Composed scope("index_put_");
  value.require_defined("index_put_", where_);
  const Tensor x = target();
  if (indices_) return put_choice(x, *indices_, value, where_);
  if (!records(x, value) || x.is_same(*this)) {
    minnow::copy_({*this, where_}, {value, where_});
    return;
  }
  const Tensor fitted = value.to(x.device(), x.dtype(), {}, where_).expand(shape(), where_);
  const Tensor part = fitted.reshape(slices_.size, where_);
  Tensor::operator=(Tensor());  // this view must not count as another one of the memory
  put(x, slices_, part, where_);
}

void Selection::write(Scalar value) {
  const Composed scope("index_put_");
  const Tensor x = target();
  raw::require_representable("index_put_", value, x.dtype(), where_);
  if (indices_ && is_mask(*indices_)) {
    Tensor mask(indices_->front().tensor);
    while (mask.dim() < x.dim()) mask = mask.unsqueeze(-1, where_);
    mask = mask.to(x.device(), ToOptions{}, where_);
    minnow::masked_fill_({x, where_}, {mask, where_}, value);
    return;
  }
  if (!indices_ && !records(x)) {
    minnow::fill_({*this, where_}, value);
    return;
  }
  write(full({}, value, {x.dtype(), x.device()}, where_));
}

void Selection::update(Tensor (*in_place)(const In&, const In&), Tensor (*function)(const In&, const In&),
                       const Tensor& other) {
  if (!indices_ && !records(target(), other)) in_place({*this, where_}, {other, where_});
  else write(function({*this, where_}, {other, where_}));
}

void Selection::update(Tensor (*in_place)(const In&, Scalar), Tensor (*function)(const In&, Scalar), Scalar other) {
  if (!indices_ && !records(target())) in_place({*this, where_}, other);
  else write(function({*this, where_}, other));
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
