#include <minnow/ops/indexing/segments.h>

#include <fmt/format.h>
#include <limits>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/search.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

void require_floating_point(const Tensor& x, Operands op) {
  if (!x.is_floating_point())
    throw DTypeError(message(fmt::format("{} must be floating-point", op[0].name), op, "convert it: .to(float32)"));
}

void check_lengths(const Tensor& data, const Tensor& lengths, int axis, bool unsafe, Operands op) {
  require_floating_point(data, op);
  if (lengths.dtype() != DType::int64)
    throw DTypeError(message("lengths must be int64 or int32", op, "convert them: .to(int64)"));
  bool fits = lengths.dim() > 0 && lengths.dim() <= data.dim() && axis == lengths.dim() - 1;
  for (int d = 0; fits && d < axis; ++d) fits = lengths.size(d) == data.size(d);
  if (!fits)
    throw ShapeError(message(fmt::format("the lengths of segments along dimension {}", axis), op,
                             "data: [..., N, *]  lengths: [..., S], where axis is N's and S's dimension"));
  const std::int64_t n = data.size(axis);
  const auto each_fits = [&] { return logical_and(ge(lengths, 0), le(lengths, n)); };  // or their sum may overflow
  if (!unsafe && !logical_and(all(each_fits()), all(eq(sum(lengths, -1), n))).item<bool>())
    throw ValueError(message(fmt::format("the lengths must not be negative, and add up to {}", n), op,
                             "each element is in one segment"));
}

/// t: [..., S] with the dimensions that data has behind axis, each of size 1.
Tensor widened(const Tensor& t, const Tensor& data) {
  Shape shape = t.shape();
  while (shape.rank() < data.dim()) shape.push_back(1);
  return t.reshape(shape);
}

/// One more than the largest index.
std::int64_t groups_of(const Tensor& index, Operands op) {
  const auto last = amax(index).item<std::int64_t>();
  if (last < 0 || last == std::numeric_limits<std::int64_t>::max())
    throw IndexError(message(fmt::format("the largest index is {}", last), op, "indices number the groups from 0 on"));
  return last + 1;
}

}  // namespace

Tensor segment_reduce(const In& data_, Scatter reduce, const In& lengths_, const SegmentOptions& options) {
  const Operation op("segment_reduce", data_.where, {{"data", *data_}, {"lengths", *lengths_}});
  const Tensor &data = op[0], lengths = detail::wide_index(op[1]);
  const int axis = raw::wrap_dim(data, options.axis);
  check_lengths(data, lengths, axis, options.unsafe, op);
  if (reduce == Scatter::mean && is_half(data.dtype()))  // rounds once
    return segment_reduce(data.to(DType::float32), reduce, lengths, options).to(data.dtype());
  Shape places = lengths.shape(), shape = data.shape();
  places[axis] = data.size(axis);
  shape[axis] = lengths.size(axis);
  const Tensor place = arange(data.size(axis), {DType::int64, data.device()}).expand(places);
  const Tensor index = widened(searchsorted(cumsum(lengths, -1), place, true), data).expand(data.shape());
  const bool sums = reduce == Scatter::sum || reduce == Scatter::mean;
  const bool extremes = reduce == Scatter::amax || reduce == Scatter::amin;
  const double infinity = std::numeric_limits<double>::infinity();
  const double first = extremes ? (reduce == Scatter::amax ? -infinity : infinity)
                                : options.initial.value_or(reduce == Scatter::prod ? 1 : 0);
  const Tensor base = full(shape, first, {data.dtype(), data.device()});
  if (!sums) {
    if (!extremes) return scatter_reduce(base, axis, index, data, reduce);
    const ScatterOp op_of_two = reduce == Scatter::amax ? ScatterOp::max : ScatterOp::min;
    const Tensor y = detail::scatter_extremes(base, axis, index, data, op_of_two, false);
    if (!options.initial) return y;
    return where(reduce == Scatter::amax ? lt(y, *options.initial) : gt(y, *options.initial), *options.initial, y);
  }
  const Tensor total = scatter_add(base, axis, index, data);
  if (reduce == Scatter::sum) return total;
  const Tensor count = widened(options.initial ? clamp_min(lengths, 1) : lengths, data);
  return div(total, count.to(data.dtype()));
}

Tensor scatter_softmax(const In& x_, const In& index_, int dim, std::optional<std::int64_t> dim_size) {
  const Operation op("scatter_softmax", x_.where, {kWide, kKept}, {{"x", *x_}, {"index", *index_}});
  const Tensor& x = op[0];
  require_floating_point(x, op);
  dim = raw::wrap_dim(x, dim);
  if (x.numel() == 0) return x.clone();
  if (is_half(x.dtype())) return scatter_softmax(x.to(DType::float32), op[1], dim, dim_size).to(x.dtype());
  const Tensor index = op[1].expand(x.shape());
  Shape groups = x.shape();
  if (x.dim() > 0) groups[dim] = dim_size ? *dim_size : groups_of(index, op);
  const TensorOptions like{x.dtype(), x.device()};
  const Tensor none = full(groups, -std::numeric_limits<double>::infinity(), like);
  const Tensor most = scatter_reduce(none, dim, index, x.detach(), Scatter::amax);
  const Tensor part = exp(sub(x, gather(most, dim, index)));
  return div(part, gather(scatter_add(zeros(groups, like), dim, index, part), dim, index));
}

}  // namespace minnow
