#include <minnow/autograd/record.h>
#include <minnow/ops/detail/view.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/view.h>

// The members of Tensor that return views: raw views, recorded.
namespace minnow {
namespace {

/// A view with the same elements in the same row-major order: its gradient is reshaped back.
Tensor record_reshape(const char* name, const Tensor& x, Tensor y) {
  if (is_heard()) [[unlikely]]
    tell("reshape", {y}, {{"self", x}}, {{"shape", list_of(y.shape())}});
  if (!records(x)) return y;
  return record(name, std::move(y), {x}, [shape = x.shape()](const Tensor& g) { return g.reshape(shape); });
}

using detail::sliced;

/// Zeros of shape `whole` with g in the slices: the gradient of sliced().
Tensor zeros_with(const Tensor& g, const Shape& whole, const Slices& slices) {
  Tensor y = zeros(whole, {g.dtype(), g.device()});
  raw::copy_to(raw::reshape(g, slices.size), raw::slice(y, slices));
  return record("slice_backward", std::move(y), {g},
                [slices, shape = g.shape()](const Tensor& gg) { return sliced(gg, slices, shape); });
}

/// Without create_graph, the gradient of a slice is added to its part of the whole gradient: the gradients of all
/// slices of a tensor take time proportional to the tensor.
struct SliceGradient {
  Slices slices;
  Shape whole;

  Tensor operator()(const Tensor& g) const {
    return is_grad_enabled() ? zeros_with(g, whole, slices) : g.reshape(slices.size);
  }
  Tensor part_of(const Tensor& sum) const { return raw::slice(sum, slices); }
};

}  // namespace

Tensor detail::sliced(const Tensor& x, const Slices& slices, const Shape& shape) {
  Tensor y = raw::slice(x, slices);
  if (shape != slices.size) y = raw::view(y, shape);
  if (is_heard()) [[unlikely]]
    tell("slice", {y}, {{"self", x}},
         {{"start", list_of(slices.start)},
          {"size", list_of(slices.size)},
          {"step", list_of(slices.step)},
          {"shape", list_of(shape)}});
  if (!records(x)) return y;
  return record("slice", std::move(y), {x}, SliceGradient{slices, x.shape()});
}

Tensor Tensor::reshape(const Shape& shape, SourceLocation where) const {
  const CallSite site("reshape", where);
  require_defined();
  return record_reshape("reshape", *this, raw::reshape(*this, shape));
}

Tensor Tensor::view(const Shape& shape, SourceLocation where) const {
  const CallSite site("view", where);
  require_defined();
  return record_reshape("view", *this, raw::view(*this, shape));
}

Tensor Tensor::squeeze(SourceLocation where) const {
  const CallSite site("squeeze", where);
  require_defined();
  return record_reshape("squeeze", *this, raw::view(*this, raw::squeezed_shape(*this)));
}

Tensor Tensor::squeeze(int dim, SourceLocation where) const {
  const CallSite site("squeeze", where);
  require_defined();
  return record_reshape("squeeze", *this, raw::squeeze(*this, dim));
}

Tensor Tensor::unsqueeze(int dim, SourceLocation where) const {
  const CallSite site("unsqueeze", where);
  require_defined();
  return record_reshape("unsqueeze", *this, raw::unsqueeze(*this, dim));
}

Tensor Tensor::flatten(int start, int end, SourceLocation where) const {
  const CallSite site("flatten", where);
  require_defined();
  return record_reshape("flatten", *this, raw::reshape(*this, raw::flattened_shape(*this, start, end)));
}

Tensor Tensor::permute(const Shape& dims, SourceLocation where) const {
  const CallSite site("permute", where);
  require_defined();
  Tensor y = raw::permute(*this, dims);
  if (is_heard()) [[unlikely]]
    tell("permute", {y}, {{"self", *this}}, {{"dims", list_of(dims)}});
  if (!records(*this)) return y;
  Shape back = dims;
  for (int d = 0; d < dims.rank(); ++d) back[static_cast<int>(dims[d] < 0 ? dims[d] + dim() : dims[d])] = d;
  return record("permute", std::move(y), {*this}, [back](const Tensor& g) { return g.permute(back); });
}

Tensor Tensor::transpose(int dim0, int dim1, SourceLocation where) const {
  const CallSite site("transpose", where);
  require_defined();
  Tensor y = raw::transpose(*this, dim0, dim1);
  if (is_heard()) [[unlikely]]
    tell("transpose", {y}, {{"self", *this}}, {{"dim0", dim0}, {"dim1", dim1}});
  if (!records(*this)) return y;
  return record("transpose", std::move(y), {*this}, [dim0, dim1](const Tensor& g) { return g.transpose(dim0, dim1); });
}

Tensor Tensor::t(SourceLocation where) const {
  const CallSite site("t", where);
  require_defined();
  if (dim() > 2)
    throw ShapeError(message("t() needs at most two dimensions", {{"self", *this}},
                             "use .mT() for the last two dimensions, or .transpose(a, b)"));
  return dim() < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::mT(SourceLocation where) const {
  const CallSite site("mT", where);
  require_defined();
  if (dim() < 2) throw ShapeError(message("needs at least two dimensions", {{"self", *this}}, "e.g. .unsqueeze(1)"));
  return transpose(-2, -1);
}

Tensor Tensor::expand(const Shape& shape, SourceLocation where) const {
  const CallSite site("expand", where);
  require_defined();
  Tensor y = raw::expand(*this, shape);
  if (is_heard()) [[unlikely]]
    tell("expand", {y}, {{"self", *this}}, {{"shape", list_of(y.shape())}});
  if (y.is_same(*this) || !records(*this)) return y;
  return record("expand", std::move(y), {*this}, [](const Tensor& g) { return g; });
}

Tensor Tensor::narrow(int dim, std::int64_t start, std::int64_t length, SourceLocation where) const {
  const CallSite site("narrow", where);
  require_defined();
  dim = raw::wrap_dim(*this, dim);
  const std::int64_t size = this->dim() ? shape()[dim] : 0, from = start < 0 ? start + size : start;
  if (from < 0 || length < 0 || length > size - from) throw IndexError(raw::range_message(*this, dim, start, length));
  Slices slices{Shape::filled(this->dim(), 0), shape(), Shape::filled(this->dim(), 1)};
  slices.start[dim] = from;
  slices.size[dim] = length;
  return sliced(*this, slices, slices.size);
}

Tensor Tensor::select(int dim, std::int64_t index, SourceLocation where) const {
  const CallSite site("select", where);
  require_defined();
  dim = raw::wrap_dim(*this, dim);
  std::vector<Index> indices(static_cast<std::size_t>(dim), Index(minnow::all));
  indices.emplace_back(index);
  return this->index(indices);
}

}  // namespace minnow
