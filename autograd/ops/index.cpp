#include <minnow/autograd/ops/index.h>

#include <algorithm>
#include <utility>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/index.h>
#include <minnow/tensor/ops/view.h>

namespace minnow {

Tensor gather(const In& x, int dim, const In& index) {
  const CallSite site("gather", x.where);
  Tensor y = raw::gather(x, dim, index);
  return record("gather", std::move(y), {x}, [dim, index = Saved(*index), shape = x->shape()](const Tensor& g) {
    return scatter_add(zeros(shape, {g.dtype(), g.device()}), dim, index(), g);
  });
}

Tensor scatter_add(const In& x, int dim, const In& index, const In& source) {
  const CallSite site("scatter_add", x.where);
  Tensor y = raw::scatter_add(x, dim, index, source);
  return record("scatter_add", std::move(y), {x, source},
                [dim, index = Saved(*index)](const Tensor& g, Needs needs) -> Gradients {
                  return {g, needs[1] ? gather(g, dim, index()) : Tensor()};
                });
}

Tensor index_select(const In& x, int dim, const In& index) {
  const CallSite site("index_select", x.where);
  Tensor y = raw::index_select(x, dim, index);
  return record("index_select", std::move(y), {x}, [dim, index = Saved(*index), shape = x->shape()](const Tensor& g) {
    if (!is_grad_enabled()) return raw::index_select_backward(g, dim, index(), shape);
    return index_add(zeros(shape, {g.dtype(), g.device()}), dim, index(), g);
  });
}

Tensor index_add(const In& x, int dim, const In& index, const In& source) {
  const CallSite site("index_add", x.where);
  Tensor y = raw::index_add(x, dim, index, source);
  return record("index_add", std::move(y), {x, source},
                [dim, index = Saved(*index)](const Tensor& g, Needs needs) -> Gradients {
                  return {g, needs[1] ? index_select(g, dim, index()) : Tensor()};
                });
}

Tensor embedding(const In& index, const In& weight, std::optional<std::int64_t> padding_idx) {
  const CallSite site("embedding", index.where);
  const Operands operands{{"index", *index}, {"weight", *weight}};
  dispatch({{"index", *index}, {"weight", *weight}});
  if (index->dtype() != DType::int64 && index->dtype() != DType::int32)
    throw DTypeError(message("index must be int64 or int32", operands, "convert it first: index.to(int64)"));
  if (weight->dim() != 2)
    throw ShapeError(message("weight must have two dimensions", operands, "weight: [rows, size of a row]"));
  const std::int64_t n = weight->shape()[0], d = weight->shape()[1];
  if (padding_idx && (*padding_idx < -n || *padding_idx >= n))
    throw IndexError(message("padding_idx must be in [" + std::to_string(-n) + ", " + std::to_string(n - 1) +
                                 "], got " + std::to_string(*padding_idx),
                             operands, "name a row of weight"));
  if (padding_idx && *padding_idx < 0) *padding_idx += n;
  const Tensor flat = raw::reshape(raw::cast(index, DType::int64), {-1});
  Shape shape = index->shape();
  shape.push_back(d);
  Tensor y = raw::reshape(raw::index_select(weight, 0, flat), shape);
  return record("embedding", std::move(y), {weight}, [flat = Saved(flat), padding_idx, n, d](const Tensor& g) {
    const Tensor rows = g.reshape({flat().numel(), d});
    const Tensor kept = padding_idx ? where(eq(flat(), *padding_idx).unsqueeze(1), 0.0, rows) : rows;
    if (!is_grad_enabled()) return raw::index_select_backward(kept, 0, flat(), {n, d});
    return index_add(zeros({n, d}, {g.dtype(), g.device()}), 0, flat(), kept);
  });
}

Tensor one_hot(const In& index, std::int64_t classes) {
  const CallSite site("one_hot", index.where);
  return raw::one_hot(index, classes);
}

namespace {

/// The dimension along which x is taken to parts, counted from the front.
int dim_of_parts(const In& x, int dim) {
  if (x->dim() == 0)
    throw IndexError(
        message("a tensor without dimensions has no parts", {{"self", *x}}, "give it one first, e.g. .reshape({1})"));
  return raw::wrap_dim(x, dim);
}

std::vector<Tensor> parts_of(const In& x, std::int64_t size, int dim) {
  const std::int64_t total = x->shape()[dim], count = size ? total / size + (total % size != 0) : 1;
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(count, 1); ++i)
    parts.push_back(x->narrow(dim, i * size, std::min(size, total - i * size)));
  return parts;
}

}  // namespace

std::vector<Tensor> split(const In& x, std::int64_t size, int dim) {
  const CallSite site("split", x.where);
  dim = dim_of_parts(x, dim);
  if (size < 0 || (size == 0 && x->shape()[dim] != 0))
    throw ValueError(
        message("parts of size " + std::to_string(size) + " make no " + std::to_string(x->shape()[dim]) + " elements",
                {{"self", *x}}, "a part has 1 element or more"));
  return parts_of(x, size, dim);
}

std::vector<Tensor> split(const In& x, const std::vector<std::int64_t>& sizes, int dim) {
  const CallSite site("split", x.where);
  dim = dim_of_parts(x, dim);
  std::int64_t left = x->shape()[dim];
  bool fits = true;
  for (const std::int64_t size : sizes) {
    fits = fits && size >= 0 && size <= left;
    if (fits) left -= size;
  }
  if (!fits || left != 0) {
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
  dim = dim_of_parts(x, dim);
  if (chunks < 1)
    throw ValueError(message(std::to_string(chunks) + " parts were asked for", {{"self", *x}}, "ask for 1 or more"));
  const std::int64_t total = x->shape()[dim];
  if (total != 0) return parts_of(x, total / chunks + (total % chunks != 0), dim);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < chunks; ++i) parts.push_back(x->narrow(dim, 0, 0));
  return parts;
}

std::vector<Tensor> unbind(const In& x, int dim) {
  const CallSite site("unbind", x.where);
  dim = dim_of_parts(x, dim);
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < x->shape()[dim]; ++i) parts.push_back(x->select(dim, i));
  return parts;
}

namespace {
/// In the place of a size: a tensor that cat passed over.
constexpr std::int64_t kNothing = -1;
}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int dim, SourceLocation where) {
  const CallSite site("cat", where);
  Tensor y = raw::cat(tensors, dim);
  if (!records(tensors)) return y;
  dim = y.dim() == 1 ? 0 : raw::wrap_dim(y, dim);
  std::vector<std::int64_t> sizes;
  for (const Tensor& t : tensors) sizes.push_back(raw::is_nothing(t) ? kNothing : t.shape()[dim]);
  return record("cat", std::move(y), tensors, [dim, sizes](const Tensor& g, Needs needs) {
    Gradients gradients(sizes.size());
    std::int64_t start = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool nothing = sizes[i] == kNothing;
      if (needs[i]) gradients[i] = nothing ? zeros({0}, {g.dtype(), g.device()}) : g.narrow(dim, start, sizes[i]);
      if (!nothing) start += sizes[i];
    }
    return gradients;
  });
}

Tensor stack(const std::vector<Tensor>& tensors, int dim, SourceLocation where) {
  const CallSite site("stack", where);
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
  raw::require_room(x, times.rank());
  Shape apart, wide, joined;  // [times, size] for each dimension, which are then joined
  for (int d = 0; d < times.rank(); ++d) {
    const std::int64_t size = d < lead ? 1 : x->shape()[d - lead];
    for (Shape* s : {&apart, &wide}) s->push_back(s == &wide ? times[d] : 1), s->push_back(size);
    joined.push_back(times[d] * size);
  }
  return x->reshape(apart).expand(wide).reshape(joined);
}

Tensor flip(const In& x, const Dims& dims) {
  const CallSite site("flip", x.where);
  x->require_defined("flip", x.where);
  Tensor y = static_cast<const Shape&>(dims).empty() ? x->clone() : *x;
  unsigned seen = 0;
  for (const std::int64_t d : static_cast<const Shape&>(dims)) {
    const int dim = raw::wrap_dim(x, static_cast<int>(d));
    if (std::exchange(seen, seen | 1u << dim) & 1u << dim)
      throw ValueError(
          message("dimension " + std::to_string(d) + " is named twice", {{"self", *x}}, "name each dimension once"));
    y = index_select(y, dim, arange(x->size(dim) - 1, -1, -1, {DType::int64, x->device()}));
  }
  return y;
}

Tensor roll(const In& x, std::int64_t shift, int dim) {
  const CallSite site("roll", x.where);
  x->require_defined("roll", x.where);
  dim = raw::wrap_dim(x, dim);
  const std::int64_t size = x->dim() ? x->shape()[dim] : 0;
  if (size == 0) return x->clone();
  const std::int64_t cut = ((-shift) % size + size) % size;
  return cat({x->narrow(dim, cut, size - cut), x->narrow(dim, 0, cut)}, dim);
}

}  // namespace minnow
