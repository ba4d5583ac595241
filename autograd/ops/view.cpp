#include <minnow/autograd/ops/view.h>

#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/view.h>

/// The members of Tensor that give views: raw views, recorded.
namespace minnow {
namespace {

/// A view with the same elements in the same row-major order: its gradient is reshaped back.
Tensor reshaped(const char* name, const In& x, Tensor y) {
  if (!records(*x)) return y;
  return record(name, std::move(y), {x}, [shape = x->shape()](const Tensor& g) { return g.reshape(shape); });
}

using autograd::sliced;

/// Zeros with g at the places of the slices; the gradient of sliced().
Tensor placed(const In& g, const Shape& whole, const Slices& slices) {
  Tensor y = zeros(whole, {g->dtype(), g->device()}, g.where);
  raw::copy_to(raw::reshape(g, slices.size), raw::slice({y, g.where}, slices), g.where);
  return record("slice_backward", std::move(y), {g},
                [slices, shape = g->shape()](const Tensor& gg) { return sliced(gg, slices, shape); });
}

/// The gradient of one slice is added to those of the others, in its place: a loop over all slices of a tensor takes
/// the time of the tensor.
struct SliceGradient {
  Slices slices;
  Shape whole;

  Tensor operator()(const Tensor& g) const {
    return is_grad_enabled() ? placed(g, whole, slices) : g.reshape(slices.size);
  }
  Tensor part_of(const Tensor& sum) const { return raw::slice(sum, slices); }
};

}  // namespace

Tensor autograd::sliced(const In& x, const Slices& slices, const Shape& shape) {
  Tensor y = raw::slice(x, slices);
  if (shape != slices.size) y = raw::view({y, x.where}, shape);
  if (!records(*x)) return y;
  return record("slice", std::move(y), {x}, SliceGradient{slices, x->shape()});
}

Tensor Tensor::reshape(const Shape& shape, SourceLocation where) const {
  require_defined("reshape", where);
  return reshaped("reshape", {*this, where}, raw::reshape({*this, where}, shape));
}

Tensor Tensor::view(const Shape& shape, SourceLocation where) const {
  require_defined("view", where);
  return reshaped("view", {*this, where}, raw::view({*this, where}, shape));
}

Tensor Tensor::squeeze(SourceLocation where) const {
  require_defined("squeeze", where);
  const In self(*this, where);
  return reshaped("squeeze", self, raw::view(self, raw::squeezed_shape(self)));
}

Tensor Tensor::squeeze(int dim, SourceLocation where) const {
  require_defined("squeeze", where);
  return reshaped("squeeze", {*this, where}, raw::squeeze({*this, where}, dim));
}

Tensor Tensor::unsqueeze(int dim, SourceLocation where) const {
  require_defined("unsqueeze", where);
  return reshaped("unsqueeze", {*this, where}, raw::unsqueeze({*this, where}, dim));
}

Tensor Tensor::flatten(int start, int end, SourceLocation where) const {
  require_defined("flatten", where);
  const In self(*this, where);
  return reshaped("flatten", self, raw::reshape(self, raw::flattened_shape(self, start, end)));
}

Tensor Tensor::permute(const Shape& dims, SourceLocation where) const {
  require_defined("permute", where);
  Tensor y = raw::permute({*this, where}, dims);
  if (!records(*this)) return y;
  Shape back = dims;
  for (int d = 0; d < dims.rank(); ++d) back[static_cast<int>(dims[d] < 0 ? dims[d] + dim() : dims[d])] = d;
  return record("permute", std::move(y), {{*this, where}}, [back](const Tensor& g) { return g.permute(back); });
}

Tensor Tensor::transpose(int dim0, int dim1, SourceLocation where) const {
  require_defined("transpose", where);
  Tensor y = raw::transpose({*this, where}, dim0, dim1);
  if (!records(*this)) return y;
  return record("transpose", std::move(y), {{*this, where}},
                [dim0, dim1](const Tensor& g) { return g.transpose(dim0, dim1); });
}

Tensor Tensor::t(SourceLocation where) const {
  require_defined("t", where);
  if (dim() > 2)
    throw ShapeError(message("t", "a tensor of more than two dimensions has no one transpose", {{"self", *this}},
                             "use .mT() for the last two dimensions, or .transpose(a, b)"),
                     where);
  return dim() < 2 ? *this : transpose(0, 1, where);
}

Tensor Tensor::mT(SourceLocation where) const {
  require_defined("mT", where);
  if (dim() < 2)
    throw ShapeError(message("mT", "needs at least two dimensions", {{"self", *this}}, "e.g. .unsqueeze(1)"), where);
  return transpose(-2, -1, where);
}

Tensor Tensor::expand(const Shape& shape, SourceLocation where) const {
  require_defined("expand", where);
  Tensor y = raw::expand({*this, where}, shape);
  if (y.is_same(*this) || !records(*this)) return y;
  return record("expand", std::move(y), {{*this, where}}, [](const Tensor& g) { return g; });
}

Tensor Tensor::narrow(int dim, std::int64_t start, std::int64_t length, SourceLocation where) const {
  require_defined("narrow", where);
  const In self(*this, where);
  dim = raw::wrap_dim("narrow", self, dim);
  const std::int64_t size = this->dim() ? shape()[dim] : 0, from = start < 0 ? start + size : start;
  if (from < 0 || length < 0 || length > size - from)
    throw IndexError(raw::range_message("narrow", self, dim, start, length), where);
  Slices slices{Shape::filled(this->dim(), 0), shape(), Shape::filled(this->dim(), 1)};
  slices.start[dim] = from;
  slices.size[dim] = length;
  return sliced(self, slices, slices.size);
}

Tensor Tensor::select(int dim, std::int64_t index, SourceLocation where) const {
  require_defined("select", where);
  const Composed scope("select");
  dim = raw::wrap_dim("select", {*this, where}, dim);
  std::vector<Index> indices(static_cast<std::size_t>(dim), Index(minnow::all, where));
  indices.emplace_back(index, where);
  return this->index(indices, where);
}

}  // namespace minnow
