#include <minnow/ops/indexing/index.h>

#include <algorithm>
#include <utility>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {

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
  if (is_heard()) [[unlikely]]
    tell("cat", y, "tensors", tensors, {{"dim", dim}});
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
    if (!t.defined())
      throw ValueError(message("tensors[" + std::to_string(&t - tensors.data()) + "] is undefined",
                               {{"first", tensors[0]}, {"other", t}},
                               "it was default-constructed, moved from, or is a gradient that was never computed"));
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
  const auto copied = [&](const Tensor& y) { return y.storage() == x->storage() ? y.clone().contiguous() : y; };
  const int lead = times.rank() - x->dim();
  bool valid = lead >= 0;
  for (const std::int64_t n : times) valid &= n >= 0;
  if (!valid)
    throw ShapeError(message(times.str() + " cannot repeat the tensor", {{"self", *x}},
                             "give a number, 0 or more, for each dimension; more of them add dimensions in front"));
  Shape separated, repeated, joined;  // each dimension as [times, size], then joined
  if (2 * times.rank() > kMaxRank) {  // one after the other
    for (int d = 0; d < lead; ++d) joined.push_back(1);
    for (const std::int64_t size : x->shape()) joined.push_back(size);
    Tensor y = x->reshape(joined);
    for (int d = 0; d < times.rank(); ++d) {
      if (times[d] == 1) continue;
      std::int64_t outer = 1, inner = 1;
      for (int i = 0; i < times.rank(); ++i) (i < d ? outer : inner) *= joined[i];
      joined[d] = detail::saturating_mul(times[d], joined[d]);
      y = y.reshape({outer, 1, inner}).expand({outer, times[d], inner}).reshape(joined);
    }
    return copied(y);
  }
  for (int d = 0; d < times.rank(); ++d) {
    const std::int64_t size = d < lead ? 1 : x->shape()[d - lead];
    for (Shape* s : {&separated, &repeated}) s->push_back(s == &repeated ? times[d] : 1), s->push_back(size);
    joined.push_back(detail::saturating_mul(times[d], size));
  }
  return copied(x->reshape(separated).expand(repeated).reshape(joined));
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
  if (is_heard()) [[unlikely]]
    tell("flip", {y}, {{"self", *x}}, {{"dims", list_of(dims)}});
  return record("flip", std::move(y), {x}, [dims](const Tensor& g) { return flip(g, dims); });
}

}  // namespace minnow
