#include <minnow/ops/shape/rearrange.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/reduce.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// A diagonal of a tensor of some shape; dimensions are counted from the front.
struct Diagonal {
  std::int64_t offset;
  int dim1, dim2;

  Tensor of(const Tensor& x) const {
    const std::int64_t rows = x.shape()[dim1], columns = x.shape()[dim2];
    // An offset out of the matrix gives no elements, also where adding it would overflow.
    const std::int64_t row = offset < 0 ? (offset < -rows ? rows : -offset) : 0, column = offset > 0 ? offset : 0;
    const std::int64_t size = column > columns ? 0 : std::min(rows - row, columns - column);
    Shape shape = x.shape(), strides = x.strides();
    for (const int d : {std::max(dim1, dim2), std::min(dim1, dim2)}) shape.erase(d), strides.erase(d);
    shape.push_back(size);
    strides.push_back(x.strides()[dim1] + x.strides()[dim2]);
    const std::int64_t start = size ? row * x.strides()[dim1] + column * x.strides()[dim2] : 0;
    return raw::alias(x, shape, strides, x.storage_offset() + start);
  }
};

Tensor recorded_diagonal(const Tensor& x, Diagonal which);

/// Zeros of shape `whole` with x on the diagonal.
Tensor zeros_with_diagonal(const char* name, const Tensor& x, const Shape& whole, Diagonal which) {
  Tensor y = zeros(whole, {x.dtype(), x.device()});
  raw::copy_to(x, which.of(y));
  return record(name, std::move(y), {x}, [which](const Tensor& g) { return recorded_diagonal(g, which); });
}

/// As the gradient of a slice: without create_graph it is added to its part of the whole gradient.
struct DiagonalGradient {
  Diagonal which;
  Shape whole;

  Tensor operator()(const Tensor& g) const {
    return is_grad_enabled() ? zeros_with_diagonal("diagonal_backward", g, whole, which) : g;
  }
  Tensor part_of(const Tensor& sum) const { return which.of(sum); }
};

Tensor recorded_diagonal(const Tensor& x, Diagonal which) {
  Tensor y = which.of(x);
  if (!records(x)) return y;
  return record("diagonal", std::move(y), {x}, DiagonalGradient{which, x.shape()});
}

}  // namespace

Tensor diagonal(const In& x, std::int64_t offset, int dim1, int dim2) {
  const CallSite site("diagonal", x.where);
  x->require_defined("diagonal", x.where);
  const Diagonal which{offset, raw::wrap_dim(x, dim1), raw::wrap_dim(x, dim2)};
  if (which.dim1 == which.dim2)
    throw ValueError(message("dim1 and dim2 are both dimension " + std::to_string(which.dim1), {{"self", *x}},
                             "a diagonal needs two dimensions"));
  return recorded_diagonal(*x, which);
}

Tensor diag(const In& x, std::int64_t diagonal) {
  const CallSite site("diag", x.where);
  x->require_defined("diag", x.where);
  const Diagonal which{diagonal, 0, 1};
  if (x->dim() == 2) return recorded_diagonal(*x, which).clone();
  if (x->dim() != 1)
    throw ShapeError(message("takes a vector or a matrix", {{"self", *x}},
                             "x.diagonal(offset, dim1, dim2) takes the diagonals of batches of matrices"));
  std::int64_t size = 0;
  if (__builtin_sub_overflow(std::int64_t{0}, diagonal, &size) ||
      __builtin_add_overflow(x->size(0), std::max(diagonal, size), &size))
    throw ShapeError(message("diagonal " + std::to_string(diagonal) + " is too far from the main one", {{"self", *x}},
                             "the matrix has size + |diagonal| rows"));
  return zeros_with_diagonal("diag", *x, {size, size}, which);
}

Tensor diag_embed(const In& x, std::int64_t offset, int dim1, int dim2) {
  const CallSite site("diag_embed", x.where);
  x->require_defined();
  const int rank = x->dim() + 1;
  const auto wrapped = [&](int d) {
    if (d < -rank || d >= rank)
      throw IndexError(message("dimension " + std::to_string(d) + " is out of range", {{"self", *x}},
                               "the result has " + std::to_string(rank) + " dimensions"));
    return d < 0 ? d + rank : d;
  };
  const Diagonal which{offset, wrapped(dim1), wrapped(dim2)};
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  if (x->dim() == 0 || which.dim1 == which.dim2 || offset > kFar || offset < -kFar)
    throw ShapeError(message("takes vectors, and two dimensions for the matrices", {{"self", *x}},
                             "x: [..., n], dim1 and dim2 differ"));
  raw::require_max_rank(x);
  const std::int64_t size = x->size(-1) + std::abs(offset);
  Shape whole;
  for (int d = 0, from = 0; d < rank; ++d) whole.push_back(d == which.dim1 || d == which.dim2 ? size : x->size(from++));
  return zeros_with_diagonal("diag_embed", *x, whole, which);
}

namespace {

/// With at least `rank` dimensions, more of them in front.
std::vector<Tensor> with_rank(const std::vector<Tensor>& tensors, int rank) {
  std::vector<Tensor> out;
  for (Tensor t : tensors) {
    t.require_defined();
    while (t.dim() < rank) t = t.unsqueeze(0);
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace

Tensor hstack(const std::vector<Tensor>& tensors, SourceLocation where) {
  const CallSite site("hstack", where);
  const std::vector<Tensor> parts = with_rank(tensors, 1);
  return cat(parts, parts.empty() || parts[0].dim() == 1 ? 0 : 1, where);
}

Tensor vstack(const std::vector<Tensor>& tensors, SourceLocation where) {
  const CallSite site("vstack", where);
  return cat(with_rank(tensors, 2), 0, where);
}

namespace {

/// The number of elements before and after those of x, for each dimension.
struct Padding {
  Shape before, after;

  Padding negative() const {
    Padding n = *this;
    for (Shape* s : {&n.before, &n.after})
      for (std::int64_t& size : *s) size = -size;
    return n;
  }
};

[[noreturn]] void refuse_padding(const In& x, int dim, std::int64_t before, std::int64_t after, const char* hint) {
  throw ShapeError(message("dimension " + std::to_string(dim) + " of size " + std::to_string(x->shape()[dim]) +
                               " cannot be padded by {" + std::to_string(before) + ", " + std::to_string(after) + "}",
                           {{"self", *x}}, hint));
}

std::int64_t padded_size(const In& x, int dim, std::int64_t before, std::int64_t after) {
  std::int64_t size = x->shape()[dim];
  if (__builtin_add_overflow(size, before, &size) || __builtin_add_overflow(size, after, &size))
    refuse_padding(x, dim, before, after, "the size would overflow");
  if (size < 0) refuse_padding(x, dim, before, after, "negative padding may take away no more elements than there are");
  return size;
}

/// Not of long dimensions, whose sources would be a table as large, and whose rows would be one thread's each, nor of
/// short rows, as of channels-last images with few channels: finding each takes longer than copying it.
bool fits_one_pass(const Tensor& y) {
  constexpr std::int64_t kLongest = 1 << 16, kShortest = 32;
  bool has_rows = false;
  for (int d = 0; d < y.dim(); ++d) has_rows = has_rows || (y.stride(d) == 1 && y.size(d) >= kShortest);
  return y.device().is_cpu() && has_rows && y.numel() > 0 &&
         std::all_of(y.shape().begin(), y.shape().end(), [](std::int64_t size) { return size <= kLongest; });
}

/// y on the host in one pass: x from `before` on, and around it the elements at source(d, i) along dimension d, for i
/// from -before[d] on, or `value` where that is -1.
template <class F>
void pad_on_host(const Tensor& x, const Tensor& y, const Shape& before, const View& value, const F& source) {
  std::vector<std::int64_t> positions[kMaxRank];
  const std::int64_t* sources[kMaxRank] = {};
  for (int d = 0; d < y.dim(); ++d) {
    for (std::int64_t i = -before[d]; i < y.size(d) - before[d]; ++i) positions[d].push_back(source(d, i));
    sources[d] = positions[d].data();
  }
  dispatch({{"self", x}}).run(calls::PadEdges{x, y, before, sources, value});
}

Tensor constant_pad(const In& x, const Padding& padding, Scalar value) {
  Shape shape = x->shape(), kept = shape, from = shape, to = shape;
  for (int d = 0; d < shape.rank(); ++d) {
    const std::int64_t before = padding.before[d], after = padding.after[d];
    shape[d] = padded_size(x, d, before, after);
    from[d] = std::min(std::max<std::int64_t>(-before, 0), kept[d]);
    to[d] = std::max<std::int64_t>(before, 0);
    kept[d] = std::max<std::int64_t>(kept[d] - from[d] - std::max<std::int64_t>(-after, 0), 0);
  }
  Tensor y = raw::new_result(shape, x->strides(), x->dtype(), x->device());
  const Shape step = Shape::filled(shape.rank(), 1);
  const bool fills = shape.numel() != kept.numel();
  constexpr std::int64_t kCached = 1 << 20;  // bytes that a second pass finds in the cache
  if (fills && fits_one_pass(y) && kept.numel() && y.nbytes() > kCached) {
    const Tensor element = raw::scalar_tensor(value, y.dtype());
    pad_on_host(raw::slice(x, {from, kept, step}), y, to, element,
                [&](int d, std::int64_t i) { return i < 0 || i >= kept[d] ? -1 : i; });
  } else {
    if (fills) raw::fill_(y, value);
    if (kept.numel()) raw::copy_to(raw::slice(x, {from, kept, step}), raw::slice(y, {to, kept, step}));
  }
  return record("pad", std::move(y), {x},
                [back = padding.negative()](const Tensor& g) { return constant_pad(g, back, 0); });
}

void check_edges(const In& x, int dim, std::int64_t before, std::int64_t after, PadMode mode) {
  const std::int64_t size = x->shape()[dim], most = std::max(before, after);
  if (most > 0 && size == 0) refuse_padding(x, dim, before, after, "it has no elements to repeat; PadMode::constant");
  if (mode == PadMode::reflect && most >= size)
    refuse_padding(x, dim, before, after, "PadMode::reflect needs a padding less than the size");
  if (mode == PadMode::circular && most > size)
    refuse_padding(x, dim, before, after, "PadMode::circular needs a padding of at most the size");
  padded_size(x, dim, before, after);
}

/// For each element of the padded dimension the position in x that it comes from.
Tensor padded_positions(const In& x, int dim, std::int64_t before, std::int64_t after, PadMode mode) {
  check_edges(x, dim, before, after, mode);
  const std::int64_t size = x->shape()[dim], padded = padded_size(x, dim, before, after);
  const Tensor i = arange(-before, padded - before, 1, {DType::int64, x->device()});
  if (mode == PadMode::replicate) return clamp(i, 0, static_cast<double>(size - 1));
  if (mode == PadMode::circular) return remainder(i, size);
  return (size - 1) - abs((size - 1) - abs(i));
}

/// Padding of no negative numbers, which takes elements of x along its edges, or gives gradients back to them.
class EdgePadding {
 public:
  EdgePadding(const Shape& inner, const Padding& padding, PadMode mode)
      : inner_(inner), padding_(padding), mode_(mode) {}

  Tensor of(const Tensor& x) const {
    Shape shape = inner_;
    for (int d = 0; d < shape.rank(); ++d) shape[d] += padding_.before[d] + padding_.after[d];
    Tensor y = raw::new_result(shape, x.strides(), x.dtype(), x.device());
    if (fits_one_pass(y))
      pad_on_host(x, y, padding_.before, calls::kUndefined,
                  [this](int d, std::int64_t i) { return position(i, inner_[d]); });
    else fill_by_copies(x, y);
    return record("pad", std::move(y), {x}, [p = *this](const Tensor& g) { return p.gradient(g); });
  }

  /// The edges are added to the elements that they were taken from.
  Tensor gradient(const Tensor& grad) const {
    const bool half = is_half(grad.dtype());
    Tensor sum = half ? raw::cast(grad, DType::float32) : raw::detach(grad);
    for (int d = 0; d < inner_.rank(); ++d) {
      if (!padding_.before[d] && !padding_.after[d]) continue;
      Slices kept{Shape::filled(sum.dim(), 0), sum.shape(), Shape::filled(sum.dim(), 1)};
      const Tensor whole = sum;
      kept.start[d] = padding_.before[d], kept.size[d] = inner_[d];
      sum = raw::new_result(kept.size, whole.strides(), whole.dtype(), whole.device());
      raw::overwrite(raw::slice(whole, kept), sum);
      for (const bool front : {true, false})
        if (size_of(d, front)) add(edge(whole, kept, d, front), sum, d, front);
    }
    if (half) sum = raw::cast(sum, grad.dtype());
    return record("pad_backward", std::move(sum), {grad}, [p = *this](const Tensor& g) { return p.of(g); });
  }

 private:
  std::int64_t position(std::int64_t i, std::int64_t size) const {
    if (mode_ == PadMode::replicate) return std::clamp<std::int64_t>(i, 0, size - 1);
    if (mode_ == PadMode::circular) return (i + size) % size;
    return (size - 1) - std::abs((size - 1) - std::abs(i));
  }
  void fill_by_copies(const Tensor& x, const Tensor& y) const {
    // The edges of a dimension are those of what the dimensions behind it have made.
    Slices made{padding_.before, inner_, Shape::filled(y.dim(), 1)};
    raw::overwrite(x, raw::slice(y, made));
    for (int d = y.dim() - 1; d >= 0; --d) {
      for (const bool front : {true, false})
        if (size_of(d, front)) raw::overwrite(source(raw::slice(y, made), d, front), edge(y, made, d, front));
      made.start[d] = 0, made.size[d] = y.size(d);
    }
  }
  std::int64_t size_of(int d, bool front) const { return (front ? padding_.before : padding_.after)[d]; }
  /// The edge of dimension d, beside what was made.
  Tensor edge(const Tensor& y, Slices made, int d, bool front) const {
    made.start[d] = front ? 0 : padding_.before[d] + inner_[d];
    made.size[d] = size_of(d, front);
    return raw::slice(y, made);
  }
  /// Where the elements of an edge come from, in a tensor that is not padded along d; of replicate a single one.
  Tensor taken(const Tensor& x, int d, bool front) const {
    const std::int64_t n = inner_[d], size = size_of(d, front);
    Slices at{Shape::filled(x.dim(), 0), x.shape(), Shape::filled(x.dim(), 1)};
    at.size[d] = mode_ == PadMode::replicate ? 1 : size;
    if (mode_ == PadMode::replicate) at.start[d] = front ? 0 : n - 1;
    else if (mode_ == PadMode::reflect) at.start[d] = front ? 1 : n - 1 - size;
    else at.start[d] = front ? n - size : 0;
    return raw::slice(x, at);
  }
  Tensor source(const Tensor& x, int d, bool front) const {
    const Tensor from = taken(x, d, front);
    if (mode_ == PadMode::circular || !from.numel()) return from;
    if (mode_ == PadMode::reflect) return raw::reversed(from, d);
    Shape shape = from.shape();
    shape[d] = size_of(d, front);
    return raw::expand(from, shape);
  }
  void add(const Tensor& edge, const Tensor& to, int d, bool front) const {
    if (!edge.numel()) return;
    const Tensor at = taken(to, d, front);
    if (mode_ != PadMode::replicate)
      return raw::binary_(raw::kBinary<kernels::Add>, at, mode_ == PadMode::reflect ? raw::reversed(edge, d) : edge);
    raw::binary_(raw::kBinary<kernels::Add>, at, raw::reduce(raw::kReduce<kernels::Sum>, edge, {d}, true));
  }

  Shape inner_;
  Padding padding_;
  PadMode mode_;
};

Tensor pad_of(const BoundOperands<1>& op, const std::vector<std::int64_t>& padding, PadMode mode, Scalar value) {
  const Tensor& x = op[0];
  const auto count = static_cast<int>(std::min<std::size_t>(padding.size(), 2 * kMaxRank + 1));
  if (count % 2 != 0 || count / 2 > x.dim())
    throw ShapeError(message(std::to_string(padding.size()) + " numbers of padding", op,
                             "give two, {before, after}, for each padded dimension, from the last one on"));
  Padding padded{Shape::filled(x.dim(), 0), Shape::filled(x.dim(), 0)};
  for (int i = 0; i < count / 2; ++i) {
    padded.before[x.dim() - 1 - i] = padding[static_cast<std::size_t>(2 * i)];
    padded.after[x.dim() - 1 - i] = padding[static_cast<std::size_t>(2 * i + 1)];
    for (const std::int64_t n :
         {padding[static_cast<std::size_t>(2 * i)], padding[static_cast<std::size_t>(2 * i + 1)]})
      if (n == INT64_MIN)
        throw ValueError(message("padding " + std::to_string(n) + " is too small", op, "give the number of elements"));
  }
  if (mode == PadMode::constant) {
    require_representable(value, x.dtype());
    return constant_pad(x, padded, value);
  }
  const auto negative = [](std::int64_t n) { return n < 0; };
  if (std::none_of(padded.before.begin(), padded.before.end(), negative) &&
      std::none_of(padded.after.begin(), padded.after.end(), negative)) {
    for (int d = 0; d < x.dim(); ++d)
      if (padded.before[d] || padded.after[d]) check_edges(x, d, padded.before[d], padded.after[d], mode);
    return EdgePadding(x.shape(), padded, mode).of(x);
  }
  Tensor y = x;
  if (mode == PadMode::circular)  // what is taken away does not come back at the other end
    for (int d = 0; d < x.dim(); ++d) {
      std::int64_t &before = padded.before[d], &after = padded.after[d];
      const std::int64_t start = std::max<std::int64_t>(-before, 0), stop = std::max<std::int64_t>(-after, 0);
      if (start > x.size(d) || stop > x.size(d) - start)
        refuse_padding(x, d, before, after, "negative padding may take away no more elements than there are");
      y = y.narrow(d, start, x.size(d) - start - stop);
      before += start, after += stop;
    }
  for (int d = 0; d < x.dim(); ++d)
    if (padded.before[d] != 0 || padded.after[d] != 0)
      y = index_select(y, d, padded_positions(y, d, padded.before[d], padded.after[d], mode));
  return y.is_same(x) ? x.clone() : y;
}

}  // namespace

Tensor pad(const In& x, const std::vector<std::int64_t>& padding, PadMode mode, Scalar value) {
  const bool mirrors = mode == PadMode::reflect || mode == PadMode::replicate;
  const Operation op("pad", x.where, mirrors ? Precision(kWide, kKept) : kKept, {{"self", *x}});
  Tensor y = pad_of(op, padding, mode, value);
  if (is_heard()) [[unlikely]]
    tell("pad", {y}, op,
         {{"padding", padding}, {"mode", static_cast<std::int64_t>(mode)}, {"value", value.as_double()}});
  return y;
}

namespace {

/// x, or x.flatten() without a dimension, and the dimension counted from the front.
std::pair<Tensor, int> flat_without_dim(const In& x, std::optional<int> dim) {
  x->require_defined();
  if (!dim) return {x->reshape({-1}), 0};
  const int d = raw::wrap_dim(x, *dim);
  return {x->dim() ? *x : x->reshape({1}), d};
}

}  // namespace

Tensor repeat_interleave(const In& x, std::int64_t repeats, std::optional<int> dim) {
  const CallSite site("repeat_interleave", x.where);
  const auto [from, d] = flat_without_dim(x, dim);
  if (repeats < 0)
    throw ValueError(
        message("repeats must be 0 or more, got " + std::to_string(repeats), {{"self", *x}}, "0 leaves no elements"));
  Shape joined = from.shape();
  if (__builtin_mul_overflow(joined[d], repeats, &joined[d]))
    throw ShapeError(message(
        "the size of dimension " + std::to_string(d) + " overflows when it is multiplied by " + std::to_string(repeats),
        {{"self", *x}}, "repeat fewer times"));
  raw::require_max_rank(from);
  Shape repeated = from.shape();
  repeated.insert(d + 1, repeats);
  const Tensor rows = d == from.dim() - 1 ? from.contiguous() : from;  // elements are read for each repetition
  const Tensor y = rows.unsqueeze(d + 1).expand(repeated).reshape(joined);
  return y.storage() == x->storage() ? y.clone().contiguous() : y;
}

Tensor repeat_interleave(const In& x, const In& repeats, std::optional<int> dim) {
  const Operation op("repeat_interleave", x.where, {{"self", *x}, {"repeats", *repeats}});
  const auto [from, d] = flat_without_dim(x, dim);
  if (repeats->dtype() != DType::int64 && repeats->dtype() != DType::int32)
    throw DTypeError(message("repeats must be int64 or int32", op, "convert it: .to(int64)"));
  const std::int64_t size = from.shape()[d];
  if (repeats->dim() > 1 || (repeats->numel() != 1 && repeats->numel() != size))
    throw ShapeError(message("repeats does not match dimension " + std::to_string(d), op,
                             "it needs 1 or " + std::to_string(size) + " elements"));
  const Tensor times = repeats->detach().cpu().to(DType::int64).expand({size}).contiguous();
  const std::int64_t* const n = times.data<std::int64_t>();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (n[i] < 0) throw ValueError(message("repeats must be 0 or more, got " + std::to_string(n[i]), op));
    if (__builtin_add_overflow(count, n[i], &count))
      throw ShapeError(message("the sum of repeats overflows", op, "repeat less"));
  }
  const Tensor positions = empty({count}, {DType::int64});
  auto* to = positions.data<std::int64_t>();
  for (std::int64_t i = 0; i < size; ++i) to = std::fill_n(to, n[i], i);
  return index_select(from, d, positions.to(x->device()));
}

Tensor tile(const In& x, const Shape& times) {
  const CallSite site("tile", x.where);
  x->require_defined("tile", x.where);
  Shape counts = times;
  while (counts.rank() < x->dim()) counts.insert(0, 1);
  return repeat(x, counts);
}

namespace {

Tensor rolled(const Tensor& x, std::int64_t shift, int dim) {
  dim = raw::wrap_dim(x, dim);
  if (x.dim() == 0 || x.numel() == 0) return x.clone();
  const std::int64_t size = x.shape()[dim], cut = (size - shift % size) % size;
  const Tensor from = raw::detach(x);
  Tensor y = raw::new_result(x.shape(), x.strides(), x.dtype(), x.device());
  raw::overwrite(from.narrow(dim, cut, size - cut), y.narrow(dim, 0, size - cut));
  raw::overwrite(from.narrow(dim, 0, cut), y.narrow(dim, size - cut, cut));
  if (is_heard()) [[unlikely]]
    tell("roll", {y}, {{"self", x}}, {{"cut", cut}, {"dim", dim}});
  return record("roll", std::move(y), {x}, [cut, dim](const Tensor& g) { return rolled(g, cut, dim); });
}

}  // namespace

Tensor roll(const In& x, const Shape& shifts, const Dims& dims) {
  const CallSite site("roll", x.where);
  x->require_defined("roll", x.where);
  const Shape& along = dims;
  const int wanted = std::max(along.rank(), 1);
  if (shifts.rank() != wanted)
    throw ValueError(
        message(std::to_string(shifts.rank()) + " shifts for " + std::to_string(along.rank()) + " dimensions",
                {{"self", *x}}, "give a shift for each dimension, or one shift and no dimension"));
  if (along.empty()) return rolled(x->flatten(), shifts[0], 0).reshape(x->shape());
  Tensor y = rolled(*x, shifts[0], static_cast<int>(along[0]));
  for (int i = 1; i < wanted; ++i) y = rolled(y, shifts[i], static_cast<int>(along[i]));
  return y;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, SourceLocation where) {
  const CallSite site("meshgrid", where);
  if (tensors.empty()) throw ValueError(message("there are no tensors", {}, "give at least one vector"));
  Shape shape;
  for (const Tensor& t : tensors) {
    t.require_defined("meshgrid", where);
    if (t.dim() > 1) throw ShapeError(message("takes vectors", {{"tensor", t}}, "flatten it: .flatten()"));
    if (t.dtype() != tensors[0].dtype())
      throw DTypeError(message("the dtypes differ", {{"first", tensors[0]}, {"other", t}}, "convert one: .to(dtype)"));
    require_same_device({{"first", tensors[0]}, {"other", t}});
    shape.push_back(t.numel(), where);
  }
  std::vector<Tensor> grids;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Shape along = Shape::filled(shape.rank(), 1);
    along[static_cast<int>(i)] = tensors[i].numel();
    grids.push_back(tensors[i].reshape(along).expand(shape));
  }
  return grids;
}

}  // namespace minnow
