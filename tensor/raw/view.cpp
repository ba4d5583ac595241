#include <minnow/tensor/raw/view.h>

#include <algorithm>
#include <optional>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::detail::raw {
namespace {

/// The strides of a view of x with shape `to`, or none if it needs a copy.
std::optional<Strides> view_strides(const Tensor& x, const Shape& to) {
  if (x.is_contiguous()) return contiguous_strides(to);
  Strides strides = Shape::filled(to.rank(), 1);
  int d = to.rank() - 1;
  std::int64_t run = 1, base = x.dim() ? x.strides().back() : 1;
  for (int s = x.dim() - 1; s >= 0; --s) {
    run *= x.shape()[s];
    const bool joined =
        s > 0 && (x.shape()[s - 1] == 1 || x.strides()[s - 1] == run * base);  // dimension s - 1 continues the run
    if (joined) continue;
    std::int64_t filled = 1;
    while (d >= 0 && (filled < run || to[d] == 1)) {
      strides[d] = base * filled;
      filled *= to[d--];
    }
    if (filled != run) return std::nullopt;
    run = 1;
    if (s > 0) base = x.strides()[s - 1];
  }
  return d < 0 ? std::optional(strides) : std::nullopt;
}

std::string number(std::int64_t n) { return std::to_string(n); }

}  // namespace

int wrap_dim(const In& x, std::int64_t dim) {
  const int rank = std::max(x->dim(), 1);  // a 0-dim tensor takes 0 and -1, as in PyTorch
  if (dim < -rank || dim >= rank)
    throw IndexError(message("dimension " + number(dim) + " is out of range", {{"self", *x}},
                             "dimensions go from " + number(-rank) + " to " + number(rank - 1)));
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

void require_max_rank(const In& x, int dims) {
  if (x->dim() + dims > kMaxRank)
    throw ShapeError(message(number(x->dim() + dims) + " dimensions are more than the maximum of " + number(kMaxRank),
                             {{"self", *x}}, "join some of them first, e.g. by flatten"));
}

Tensor alias(const In& x, const Shape& shape, const Strides& strides, std::int64_t offset) {
  return Tensor(x->storage(), x->dtype(), shape, strides, offset);
}

Tensor reversed(const In& x, int dim) {
  Strides strides = x->strides();
  const std::int64_t last = (x->shape()[dim] - 1) * strides[dim];
  strides[dim] = -strides[dim];
  return alias(x, x->shape(), strides, x->storage_offset() + last);
}

Tensor detach(const In& x) { return alias(x, x->shape(), x->strides(), x->storage_offset()); }

Tensor first_dim_at(const In& x, std::int64_t i) {
  Shape shape;
  Strides strides;
  for (int d = 1; d < x->dim(); ++d) {
    shape.push_back(x->shape()[d]);
    strides.push_back(x->strides()[d]);
  }
  return alias(x, shape, strides, x->storage_offset() + i * x->strides()[0]);
}

Shape resolve_shape(const In& x, Shape shape) {
  std::int64_t known = 1;
  int open = -1;
  bool valid = true;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] >= 0) valid &= !__builtin_mul_overflow(known, shape[d], &known);
    else if (shape[d] == -1 && open < 0) open = d;
    else valid = false;
  }
  if (valid && open >= 0) {
    valid = known != 0 && x->numel() % known == 0;
    if (valid) shape[open] = x->numel() / known;
  } else {
    valid &= known == x->numel();
  }
  if (!valid)
    throw ShapeError(message("shape " + shape.str() + " does not hold " + number(x->numel()) + " elements",
                             {{"self", *x}}, "sizes must multiply to that number; one of them may be -1"));
  return shape;
}

Tensor reshape(const In& x, const Shape& wanted) {
  const Shape shape = resolve_shape(x, wanted);
  if (const auto strides = view_strides(*x, shape)) return alias(x, shape, *strides, x->storage_offset());
  const Tensor dense = contiguous(x);
  return alias(dense, shape, contiguous_strides(shape), dense.storage_offset());
}

Tensor view(const In& x, const Shape& wanted) {
  const Shape shape = resolve_shape(x, wanted);
  if (const auto strides = view_strides(*x, shape)) return alias(x, shape, *strides, x->storage_offset());
  throw ShapeError(message("shape " + shape.str() + " cannot view a tensor of strides " + x->strides().str(),
                           {{"self", *x}}, "use .reshape(...), which copies if it has to"));
}

Tensor permute(const In& x, const Shape& dims) {
  const int rank = x->dim();
  Shape shape = x->shape();
  Strides strides = x->strides();
  unsigned seen = 0;
  for (int d = 0; d < std::min(rank, dims.rank()); ++d) {
    const int from = wrap_dim(x, dims[d]);
    seen |= 1u << from;
    shape[d] = x->shape()[from];
    strides[d] = x->strides()[from];
  }
  if (dims.rank() != rank || seen != (1u << rank) - 1)
    throw ShapeError(message(dims.str() + " is not a permutation of " + number(rank) + " dimensions", {{"self", *x}},
                             "give each dimension once"));
  return alias(x, shape, strides, x->storage_offset());
}

Tensor transpose(const In& x, int dim0, int dim1) {
  const int a = wrap_dim(x, dim0), b = wrap_dim(x, dim1);
  Shape shape = x->shape();
  Strides strides = x->strides();
  if (x->dim()) {
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
  }
  return alias(x, shape, strides, x->storage_offset());
}

Tensor unsqueeze(const In& x, int dim) {
  const int rank = x->dim();
  if (dim < -rank - 1 || dim > rank)
    throw IndexError(message("dimension " + number(dim) + " is out of range", {{"self", *x}},
                             "a new dimension goes from " + number(-rank - 1) + " to " + number(rank)));
  require_max_rank(x);
  if (dim < 0) dim += rank + 1;
  Shape shape = x->shape();
  Strides strides = x->strides();
  strides.insert(dim, dim < rank ? wrapping_mul(shape[dim], strides[dim]) : 1);
  shape.insert(dim, 1);
  return alias(x, shape, strides, x->storage_offset());
}

Tensor squeeze(const In& x, int dim) {
  dim = wrap_dim(x, dim);
  Shape shape = x->shape();
  Strides strides = x->strides();
  if (x->dim() && shape[dim] == 1) {
    shape.erase(dim);
    strides.erase(dim);
  }
  return alias(x, shape, strides, x->storage_offset());
}

Tensor expand(const In& x, const Shape& wanted) {
  if (wanted == x->shape()) return *x;
  Shape shape = wanted;
  Strides strides = Shape::filled(shape.rank(), 0);
  const int lead = shape.rank() - x->dim();
  bool valid = lead >= 0, countable = true, none = false;
  std::int64_t count = 1;
  for (int d = 0; valid && d < shape.rank(); ++d) {
    const std::int64_t own = d < lead ? 1 : x->shape()[d - lead];
    if (shape[d] == -1 && d >= lead) shape[d] = own;
    valid = shape[d] == own || (own == 1 && shape[d] >= 0);
    countable &= !__builtin_mul_overflow(count, shape[d], &count);
    none |= shape[d] == 0;
    if (valid && d >= lead && (own != 1 || shape[d] == 1)) strides[d] = x->strides()[d - lead];
  }
  if (!valid)
    throw ShapeError(message("cannot expand to " + wanted.str(), {{"self", *x}},
                             "only dimensions of size 1, and new ones in front, can be expanded"));
  if (!countable && !none)
    throw ShapeError(
        message(wanted.str() + " has more elements than can be counted", {{"self", *x}}, "expand to a smaller shape"));
  return alias(x, shape, strides, x->storage_offset());
}

Tensor slice(const In& x, const Slices& s) {
  Strides strides = x->strides();
  std::int64_t offset = x->storage_offset();
  for (int d = 0; d < x->dim(); ++d) {
    if (s.size[d]) offset += s.start[d] * strides[d];
    if (s.size[d] > 1) strides[d] *= s.step[d];  // with one element or none the step does not matter
  }
  return alias(x, s.size, strides, offset);
}

Indexed resolve(const In& x, std::span<const Index> indices) {
  const int rank = x->dim();
  int used = 0, ellipses = 0, added = 0;
  for (const Index& i : indices) {
    used += i.kind == Index::Kind::kInteger || i.kind == Index::Kind::kSlice;
    ellipses += i.kind == Index::Kind::kEllipsis;
    added += i.kind == Index::Kind::kNewAxis;
    added -= i.kind == Index::Kind::kInteger;
  }
  if (ellipses > 1)
    throw IndexError(message(number(ellipses) + " ellipses, but an index can have only one", {{"self", *x}},
                             "use `all` for other dimensions"));
  if (used > rank)
    throw IndexError(message(number(used) + " indices for " + number(rank) + " dimensions", {{"self", *x}},
                             "give at most one index for each dimension"));
  require_max_rank(x, added);
  Indexed out{{Shape::filled(rank, 0), x->shape(), Shape::filled(rank, 1)}, {}};
  int d = 0;
  for (const Index& i : indices) {
    if (i.kind == Index::Kind::kNewAxis) {
      out.shape.push_back(1);
    } else if (i.kind == Index::Kind::kEllipsis) {
      for (int left = rank - used; left > 0; --left) out.shape.push_back(x->shape()[d++]);
    } else if (i.kind == Index::Kind::kInteger) {
      const std::int64_t size = x->shape()[d], at = i.range.start < 0 ? i.range.start + size : i.range.start;
      if (at < 0 || at >= size)
        throw IndexError(message("index " + number(i.range.start) + " is out of range in dimension " + number(d) +
                                     " of size " + number(size),
                                 {{"self", *x}}, "indices go from " + number(-size) + " to " + number(size - 1)));
      out.slices.start[d] = at;
      out.slices.size[d++] = 1;
    } else {
      const std::int64_t size = x->shape()[d], step = i.range.step;
      if (step < 1) {
        const CallSite site = CallSite::instead("slice", CallSite::where());
        throw ValueError(
            message("the step must be at least 1, got " + number(step), {{"self", *x}}, "use flip() to reverse"));
      }
      const auto bound = [size](std::int64_t at) { return std::clamp(at < 0 ? at + size : at, std::int64_t{0}, size); };
      const std::int64_t start = bound(i.range.start), stop = std::max(start, bound(i.range.stop));
      out.slices.start[d] = start;
      out.slices.step[d] = step;
      out.slices.size[d] = (stop - start) / step + ((stop - start) % step != 0);
      out.shape.push_back(out.slices.size[d++]);
    }
  }
  while (d < rank) out.shape.push_back(x->shape()[d++]);
  return out;
}

Shape flattened_shape(const In& x, int start, int end) {
  start = wrap_dim(x, start);
  end = wrap_dim(x, end);
  if (start > end)
    throw ValueError(message("start " + number(start) + " comes after end " + number(end), {{"self", *x}},
                             "flatten joins the dimensions from start to end"));
  if (x->dim() == 0) return {1};
  Shape shape, joined;
  for (int d = 0; d < x->dim(); ++d) {
    (d < start || d > end ? shape : joined).push_back(x->shape()[d]);
    if (d == end) shape.push_back(joined.numel());
  }
  if (!is_countable(joined))
    throw ShapeError(
        message(joined.str() + " has more elements than can be counted", {{"self", *x}}, "flatten fewer dimensions"));
  return shape;
}

Shape squeezed_shape(const In& x) {
  Shape shape;
  for (const std::int64_t size : x->shape())
    if (size != 1) shape.push_back(size);
  return shape;
}

std::string range_message(const In& x, int dim, std::int64_t start, std::int64_t length) {
  return message(number(length) + " elements from " + number(start) + " are not in dimension " + number(dim) +
                     " of size " + number(x->dim() ? x->shape()[dim] : 0),
                 {{"self", *x}}, "start and length must lie within the dimension");
}

}  // namespace minnow::detail::raw
