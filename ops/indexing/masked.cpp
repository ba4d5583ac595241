#include <minnow/ops/indexing/masked.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// The shape that x and the mask are broadcast to.
Shape require_mask(const BoundOperands<2>& op) {
  if (op[1].dtype() != DType::bool_) throw DTypeError(message("the mask is not bool", op, "compare: mask != 0"));
  return raw::broadcast_shape(op[0], op[1], "x", "mask");
}

/// x where keep(column - row, of the last two dimensions).
template <class Keep> Tensor triangle(const char* op, const In& x, std::int64_t diagonal, Keep keep) {
  const CallSite site(op, x.where);
  x->require_defined();
  if (x->dim() < 2) throw ShapeError(message("needs at least two dimensions", {{"self", *x}}, "e.g. x.unsqueeze(0)"));
  // Whether an element is kept depends on column - row alone: the rows of the mask are parts of one vector.
  const std::int64_t rows = x->size(-2), columns = x->size(-1), edge = std::max<std::int64_t>(rows, 1) - 1;
  const Tensor kept = keep(arange(-edge, columns, 1, {DType::int64, x->device()}));
  const Tensor mask = raw::alias(kept, {rows, columns}, Strides({-1, 1}), kept.storage_offset() + edge);
  Tensor y = where(x->device().is_cpu() ? mask : raw::contiguous(mask), x, raw::scalar_tensor(0, x->dtype()));
  if (is_heard()) [[unlikely]]
    tell(op, {y}, {{"x", *x}}, {{"diagonal", diagonal}});
  return y;
}

constexpr std::int64_t kFlags = 8;
bool none_of_flags(const bool* flags) {
  std::uint64_t all = 0;
  std::memcpy(&all, flags, kFlags);
  return all == 0;
}
std::int64_t count_flags(const bool* flags, std::int64_t n) {
  std::int64_t count = 0, i = 0;
  for (std::uint64_t all = 0; i + kFlags <= n; i += kFlags) {
    std::memcpy(&all, flags + i, kFlags);
    count += static_cast<std::int64_t>(all * 0x0101010101010101 >> 56);  // the sum of the bytes
  }
  return count + std::count(flags + i, flags + n, true);
}

/// The elements of a contiguous x where flags are true, on the host.
template <class T> Tensor flagged(const Tensor& x, const bool* flags) {
  const std::int64_t count = count_flags(flags, x.numel());
  Tensor y = raw::new_result({count}, x.dtype(), x.device());
  const T* const from = static_cast<const T*>(x.raw_data());
  T* const to = static_cast<T*>(y.raw_data());
  for (std::int64_t i = 0, found = 0; found < count; ++i) {  // without a branch, as in nonzero()
    to[found] = from[i];
    found += flags[i];
  }
  return y;
}

}  // namespace

Tensor nonzero(const In& x) {
  const CallSite site("nonzero", x.where);
  x->require_defined();
  const Tensor flags = (x->dtype() == DType::bool_ ? x->detach() : ne(x->detach(), 0)).cpu().contiguous();
  const bool* flag = flags.data<bool>();
  const std::int64_t n = flags.numel(), count = count_flags(flag, n);
  const int rank = x->dim();
  const Tensor indices = empty({count, rank}, {DType::int64});
  auto* const out = rank ? indices.data<std::int64_t>() : nullptr;
  std::int64_t rows[kMaxRank] = {}, found = 0;
  const std::int64_t columns = rank ? x->shape()[rank - 1] : 0;
  for (std::int64_t begin = 0; begin < n && rank > 0 && found < count; begin += columns) {
    const std::int64_t before = found;
    // Without a branch: each place is written, and the next one over it where it is no element's.
    for (std::int64_t i = 0; i < columns && found < count; i += kFlags) {
      const std::int64_t last = std::min(columns, i + kFlags);
      if (last == i + kFlags && none_of_flags(flag + begin + i)) continue;
      std::int64_t* to = out + found * rank + rank - 1;
      const bool has_room = count - found > kFlags;
      for (std::int64_t c = i; c < last && (has_room || found < count); ++c) {
        *to = c;
        to += flag[begin + c] ? rank : 0;
        found += flag[begin + c];
      }
    }
    for (int d = 0; d < rank - 1; ++d)
      for (std::int64_t k = before; k < found; ++k) out[k * rank + d] = rows[d];
    for (int d = rank - 2; d >= 0 && ++rows[d] == x->shape()[d]; --d) rows[d] = 0;
  }
  return indices.to(x->device());
}

Tensor masked_fill(const In& x, const In& mask, const TensorLike& value) {
  const Operation op("masked_fill", x.where, {{"x", *x}, {"mask", *mask}}, HostScalars::allowed);
  require_mask(op);
  if (!value.is_number()) {
    value.tensor->require_defined();
    return where(mask, value.tensor->to(x->dtype()), x);
  }
  require_representable(value.number, x->dtype());
  return where(mask, raw::scalar_tensor(value.number, x->dtype()), x);
}

Tensor masked_fill_(const In& x, const In& mask, const TensorLike& value) {
  const CallSite site("masked_fill_", x.where);
  return copy_(x, masked_fill(x, mask, value));
}

Tensor masked_select(const In& x, const In& mask) {
  const Operation op("masked_select", x.where, {{"x", *x}, {"mask", *mask}}, HostScalars::allowed);
  const Shape shape = require_mask(op);
  if (shape.rank() == 0) return masked_select(x->unsqueeze(0), mask);  // one element or none
  if (!x->device().is_cpu() || records(*x)) return x->expand(shape).index({mask->expand(shape)});
  const Tensor from = raw::contiguous(x->detach().expand(shape)), kept = raw::contiguous(mask->expand(shape));
  const bool* const flags = kept.data<bool>();
  return size_switch(x->itemsize(), [&]<class T>() { return flagged<T>(from, flags); });
}

Tensor tril(const In& x, std::int64_t diagonal) {
  return triangle("tril", x, diagonal, [&](const Tensor& offset) { return offset <= diagonal; });
}

Tensor triu(const In& x, std::int64_t diagonal) {
  return triangle("triu", x, diagonal, [&](const Tensor& offset) { return offset >= diagonal; });
}

namespace {

void require_int64(const Tensor& x, const Tensor& index) {
  if (index.dtype() != DType::int64 && index.dtype() != DType::int32)
    throw DTypeError(message("index must be int64 or int32", {{"x", x}, {"index", index}}, "convert it: .to(int64)"));
}

}  // namespace

Tensor take_along_dim(const In& x, const In& index, std::optional<int> dim) {
  const Operation op("take_along_dim", x.where, {{"x", *x}, {"index", *index}});
  require_int64(*x, *index);
  if (!dim) return gather(x->reshape({-1}), 0, index->reshape({-1}));
  const int d = raw::wrap_dim(x, *dim);
  if (x->dim() != index->dim())
    throw ShapeError(message("x and index have different numbers of dimensions", op,
                             "add dimensions of size 1 to one of them: .unsqueeze(dim)"));
  if (x->dim() == 0) return gather(x, 0, index);
  Shape values = x->shape(), positions = index->shape();
  for (int k = 0; k < x->dim(); ++k) {
    if (k == d || values[k] == positions[k]) continue;
    if (values[k] != 1 && positions[k] != 1)
      throw ShapeError(message("dimension " + std::to_string(k) + " cannot be broadcast", op,
                               "the sizes must be equal or 1, except in dimension " + std::to_string(d)));
    (values[k] == 1 ? values : positions)[k] = values[k] == 1 ? positions[k] : values[k];
  }
  return gather(x->expand(values), d, index->expand(positions));
}

namespace {

/// Negative indices count from the end.
Tensor from_zero(const Tensor& index, std::int64_t size) { return where(index < 0, index + size, index); }

/// Assigns `value`, of size 1 along dim, to the slices of `out` along dim at index, which are those of x.
void assign_slices(const In& x, int dim, const In& index, const Tensor& value, const Tensor& out, int out_dim) {
  Backend& backend = dispatch({{"x", *x}, {"index", *index}});
  require_int64(*x, *index);
  if (index->dim() > 1)
    throw ShapeError(
        message("index has more than one dimension", {{"x", *x}, {"index", *index}}, "flatten it: .flatten()"));
  if (index->numel() == 0) return;
  const std::int64_t size = x->dim() ? x->shape()[dim] : 1;
  const Tensor positions = detail::wide_index(from_zero(*index, size)).reshape({-1});
  Shape shape = out.shape();
  if (out.dim()) shape[out_dim] = positions.numel();
  run_checked(
      backend, calls::IndexAdd{value.expand(shape), positions, out, out_dim, ScatterOp::assign},
      [size, dim](const Tensor& t, const Tensor& i) {
        auto invalid = raw::find_invalid_index(detail::wide_index(from_zero(i, size)), size);
        if (invalid && invalid->value < 0) invalid->value -= size;
        throw IndexError(message((invalid ? "index " + invalid->str() : "an index") + " is out of range",
                                 {{"x", t}, {"index", i}},
                                 "indices of dimension " + std::to_string(dim) + " go from " + std::to_string(-size) +
                                     " to " + std::to_string(size - 1)));
      },
      *x, *index);
}

}  // namespace

Tensor index_fill(const In& x, int dim, const In& index, const TensorLike& value) {
  const CallSite site("index_fill", x.where);
  x->require_defined();
  dim = raw::wrap_dim(x, dim);
  if (value.is_number()) {
    require_representable(value.number, x->dtype());
    Shape slice = x->shape();
    if (x->dim()) slice[dim] = 1;
    Tensor y = x->detach().clone();
    assign_slices(x, dim, index, full(slice, value.number, {x->dtype(), x->device()}), y, dim);
    return record("index_fill", std::move(y), {x},
                  [dim, index = Saved(*index)](const Tensor& g) { return index_fill(g, dim, index(), 0); });
  }
  const TensorOptions flags{DType::bool_, x->device()};
  Shape along = Shape::filled(x->dim(), 1);
  if (x->dim()) along[dim] = x->shape()[dim];
  const Tensor mask = zeros({along.numel()}, flags);
  assign_slices(x, dim, index, ones({1}, flags), mask, 0);
  value.tensor->require_defined();
  if (value.tensor->dim() != 0)
    throw ShapeError(message("value must be a number or a 0-dim tensor", {{"x", *x}, {"value", *value.tensor}},
                             "index_add and x(...) = values write several"));
  return masked_fill(x, mask.reshape(along), value);
}

Tensor index_fill_(const In& x, int dim, const In& index, const TensorLike& value) {
  const CallSite site("index_fill_", x.where);
  return copy_(x, index_fill(x, dim, index, value));
}

namespace {

/// The elements of source at `positions`, which follow from the mask.
Tensor picked(const Tensor& source, const Tensor& mask, const Tensor& positions) {
  const Tensor flat = raw::reshape(source, {-1});
  const Tensor out = raw::new_result(positions.shape(), source.dtype(), source.device());
  if (positions.numel())
    run_checked(
        dispatch({{"source", source}, {"mask", mask}}), calls::IndexSelect{flat, positions, out, 0},
        [](const Tensor& s, const Tensor& m) {
          throw IndexError(message("the mask has more true elements than source has elements",
                                   {{"source", s}, {"mask", m}}, "give an element for each true one"));
        },
        source, mask);
  return out;
}

}  // namespace

Tensor masked_scatter(const In& x, const In& mask, const In& source) {
  const Operation op("masked_scatter", x.where, {{"x", *x}, {"mask", *mask}, {"source", *source}});
  if (mask->dtype() != DType::bool_) throw DTypeError(message("the mask is not bool", op, "compare: mask != 0"));
  if (source->dtype() != x->dtype())
    throw DTypeError(
        message("source and x have different dtypes", op, "convert it: .to(" + std::string(name_of(x->dtype())) + ")"));
  const Shape shape = raw::broadcast_shape(x, mask, "x", "mask");
  const Tensor kept = x->expand(shape), where_true = mask->expand(shape);
  if (source->numel() == 0) {
    if (any(where_true).item<bool>())
      throw IndexError(
          message("the mask has true elements, and source has none", op, "give an element for each true one"));
    return kept.clone();
  }
  // The i-th true element takes element i of source; a false one any, which is not used.
  const Tensor positions = clamp_min(cumsum(where_true.reshape({-1}), 0) - 1, 0);
  Tensor y = raw::where(where_true, raw::reshape(picked(*source, *mask, positions), shape), kept);
  return op.record(
      std::move(y), {x, source},
      [mask = Saved(where_true), positions = Saved(positions), from = source->shape()](const Tensor& g, Needs needs) {
        Gradients out(2);
        if (needs[0]) out[0] = masked_fill(g, mask(), 0);
        if (needs[1])
          out[1] = index_add(zeros({from.numel()}, {g.dtype(), g.device()}), 0, positions(),
                             where(mask(), g, 0.0).reshape({-1}))
                       .reshape(from);
        return out;
      });
}

Tensor masked_scatter_(const In& x, const In& mask, const In& source) {
  const CallSite site("masked_scatter_", x.where);
  return copy_(x, masked_scatter(x, mask, source));
}

}  // namespace minnow
