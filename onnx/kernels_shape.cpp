#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>
#include <optional>
#include <minnow/onnx/detail/kernels.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/indexing/scatter.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::onnx::detail {
namespace {

using Results = std::vector<Tensor>;
using Numbers = std::vector<std::int64_t>;

Shape shape_of(const Step& s, const Numbers& sizes) {
  if (sizes.size() > static_cast<std::size_t>(kMaxRank)) s.refuse("it makes more dimensions than a tensor may have");
  return Shape(std::span(sizes));
}

/// Axes as an input or, before `since`, as an attribute; counted from the front.
Numbers axes_of(const Step& s, std::size_t input, int rank, bool* given = nullptr) {
  Numbers axes = s.has(input) ? s.integers(input) : s.list("axes", {});
  for (std::int64_t& axis : axes) axis = s.dim(axis, rank);
  if (given) *given = s.has(input) || s.has("axes");
  return axes;
}

Results reshape(const Step& s) {
  Numbers sizes = s.integers(1);
  const Tensor& x = s.x(0);
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == 0 && s.integer("allowzero", 0) == 0)
      sizes[d] = x.size(s.dim(static_cast<std::int64_t>(d), x.dim()));
  return {x.reshape(shape_of(s, sizes))};
}

Results flatten(const Step& s) {
  const Tensor& x = s.x(0);
  const std::int64_t axis = s.integer("axis", 1), rank = x.dim();
  const std::int64_t from = axis < 0 ? axis + rank : axis;
  if (from < 0 || from > rank) s.refuse("its axis does not exist");
  std::int64_t rows = 1, columns = 1;
  for (int d = 0; d < x.dim(); ++d) (d < from ? rows : columns) *= x.size(d);
  return {x.reshape({rows, columns})};
}

Results transpose(const Step& s) {
  const Tensor& x = s.x(0);
  Numbers reversed(static_cast<std::size_t>(x.dim()));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {x.permute(shape_of(s, s.list("perm", reversed)))};
}

Results squeeze(const Step& s) {
  const Tensor& x = s.x(0);
  bool given = false;
  const Numbers axes = axes_of(s, 1, x.dim(), &given);
  Shape shape;
  for (int d = 0; d < x.dim(); ++d) {
    const bool named = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (named && x.size(d) != 1) s.refuse("a dimension to leave out has more than one element");
    if (given ? !named : x.size(d) != 1) shape.push_back(x.size(d));
  }
  return {x.reshape(shape)};
}

Results unsqueeze(const Step& s) {
  const Tensor& x = s.x(0);
  Numbers axes = s.has(1) ? s.integers(1) : s.list("axes", {});
  const int rank = x.dim() + static_cast<int>(std::min<std::size_t>(axes.size(), kMaxRank + 1));
  if (rank > kMaxRank) s.refuse("it makes more dimensions than a tensor may have");
  for (std::int64_t& axis : axes) axis = s.dim(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) s.refuse("it names a dimension twice");
  Shape shape = x.shape();
  for (const std::int64_t axis : axes) shape.insert(static_cast<int>(axis), 1);
  return {x.reshape(shape)};
}

Results expand(const Step& s) {
  const Tensor& x = s.x(0);
  Numbers sizes = s.integers(1);
  while (sizes.size() < static_cast<std::size_t>(x.dim())) sizes.insert(sizes.begin(), 1);
  for (int d = 1; d <= x.dim(); ++d) {  // broadcast both ways
    std::int64_t& size = sizes[sizes.size() - static_cast<std::size_t>(d)];
    if (size == 1) size = x.size(-d);
  }
  return {x.expand(shape_of(s, sizes))};
}

Results tile(const Step& s) { return {repeat(s.x(0), shape_of(s, s.integers(1)))}; }

Results slice(const Step& s) {
  Tensor y = s.x(0);
  const Numbers starts = s.integers(1), ends = s.integers(2);
  Numbers axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (s.has(3)) axes = s.integers(3);
  if (s.has(4)) steps = s.integers(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    s.refuse("its lists of places differ in length");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int dim = s.dim(axes[i], y.dim());
    const std::int64_t size = y.size(dim), step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) s.refuse("its step is 0");
    const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    std::int64_t from = step > 0 ? place(starts[i], 0, size) : place(starts[i], -1, size - 1),
                 to = step > 0 ? place(ends[i], 0, size) : place(ends[i], -1, size - 1), by = step;
    if (step < 0) {  // what is read, from the front
      y = flip(y, {dim});
      from = size - 1 - from, to = size - 1 - to, by = -step;
    }
    std::vector<Index> indices(static_cast<std::size_t>(dim), Index(all));
    indices.emplace_back(minnow::slice(from, std::max(from, to), by));
    y = y.index(indices);
  }
  return {y};
}

/// Indices may count from the end.
Tensor counted_from_front(const Tensor& index, std::int64_t size) {
  return where(lt(index, 0), add(index, size), index).to(DType::int64);
}

Results gather_slices(const Step& s) {
  const Tensor& x = s.x(0);
  if (s.x(1).is_floating_point()) s.refuse("its indices must be integers");
  const int axis = s.dim(s.integer("axis", 0), x.dim());
  const Tensor index = counted_from_front(s.x(1), x.size(axis)).to(x.device());
  Shape shape;
  for (int d = 0; d < axis; ++d) shape.push_back(x.size(d));
  for (const std::int64_t size : index.shape()) shape.push_back(size);
  for (int d = axis + 1; d < x.dim(); ++d) shape.push_back(x.size(d));
  return {index_select(x, axis, index.reshape({-1})).reshape(shape)};
}

Results gather_elements(const Step& s) {
  const Tensor& x = s.x(0);
  const int axis = s.dim(s.integer("axis", 0), x.dim());
  return {gather(x, axis, counted_from_front(s.x(1), x.size(axis)).to(x.device()))};
}

/// The places that rows of indices name, as numbers of slices of x: index [..., n] names x[i0, ..., in-1].
Tensor slices_of(const Step& s, const Tensor& x, const Tensor& index, int batch) {
  if (index.is_floating_point() || index.dim() < 1) s.refuse("its indices must be integers, in rows");
  const std::int64_t depth = index.size(-1);
  if (depth < 1 || depth > x.dim() - batch) s.refuse("its indices name more dimensions than there are, or none");
  Tensor place;
  for (std::int64_t i = 0; i < depth; ++i) {
    const std::int64_t size = x.size(batch + static_cast<int>(i));
    const Tensor at = counted_from_front(index.select(-1, i), size);
    if (at.numel() && (at.min().item<std::int64_t>() < 0 || at.max().item<std::int64_t>() >= size))
      s.refuse(fmt::format("its indices go beyond dimension {} of {}", batch + static_cast<int>(i), x.shape().str()));
    place = place.defined() ? add(mul(place, size), at) : at;
  }
  return place.to(x.device());
}

/// The sizes of x from a dimension on.
Shape sizes_from(const Tensor& x, int dim) {
  Shape shape;
  for (int d = dim; d < x.dim(); ++d) shape.push_back(x.size(d));
  return shape;
}
std::int64_t product(const Tensor& x, int begin, int end) {
  std::int64_t count = 1;
  for (int d = begin; d < end; ++d) count *= x.size(d);
  return count;
}

Results gather_nd(const Step& s) {
  const Tensor &x = s.x(0), &index = s.x(1);
  const std::int64_t given = s.integer("batch_dims", 0);
  if (given < 0 || given >= std::min(x.dim(), index.dim())) s.refuse("its batch_dims do not exist");
  const int batch = static_cast<int>(given), depth = batch + static_cast<int>(index.dim() ? index.size(-1) : 0);
  for (int d = 0; d < batch; ++d)
    if (x.size(d) != index.size(d)) s.refuse("its first dimensions differ in size");
  Tensor place = slices_of(s, x, index, batch);
  Shape shape = place.shape();
  const std::int64_t rows = product(x, 0, batch), of_row = product(x, batch, depth);
  place = place.reshape({rows, rows ? place.numel() / rows : 0});
  place = add(place, mul(arange(rows).to(x.device()), of_row).unsqueeze(1));
  for (const std::int64_t size : sizes_from(x, depth)) shape.push_back(size);
  Shape flat = sizes_from(x, depth);
  flat.insert(0, rows * of_row);
  return {index_select(x.reshape(flat), 0, place.reshape({-1})).reshape(shape_of(s, {shape.begin(), shape.end()}))};
}

/// What reduction names; nothing for "none".
std::optional<Scatter> combined(const Step& s) {
  const std::string name = s.text("reduction", "none");
  if (name == "none") return {};
  if (name == "add") return Scatter::sum;
  if (name == "mul") return Scatter::prod;
  if (name == "max") return Scatter::amax;
  if (name == "min") return Scatter::amin;
  s.refuse("its reduction is not known");
}

Results scatter_nd(const Step& s) {
  const Tensor &x = s.x(0), &index = s.x(1);
  Tensor place = slices_of(s, x, index, 0);
  const int depth = static_cast<int>(index.size(-1));
  const std::int64_t slices = product(x, 0, depth), size = product(x, depth, x.dim());
  if (s.x(2).numel() != place.numel() * size) s.refuse("its updates are not of the size that ONNX says");
  const Tensor source = s.x(2).to(x.device()).reshape({place.numel(), size});
  place = place.reshape({-1, 1}).expand({place.numel(), size});
  return {scatter(x.reshape({slices, size}), 0, place, source, combined(s)).reshape(x.shape())};
}

Results scatter_elements(const Step& s) {
  const Tensor& x = s.x(0);
  const int axis = s.dim(s.integer("axis", 0), x.dim());
  const Tensor index = counted_from_front(s.x(1), x.size(axis)).to(x.device());
  if (s.x(2).shape() != index.shape()) s.refuse("its updates and indices differ in size");
  return {scatter(x, axis, index, s.x(2).to(x.device()), combined(s))};
}

Results concat(const Step& s) {
  (void)s.x(0);
  return {cat(s.together(), s.dim(s.integer("axis", 0), s.x(0).dim()))};
}

Results split(const Step& s) {
  const Tensor& x = s.x(0);
  const int axis = s.dim(s.integer("axis", 0), x.dim());
  const auto count = static_cast<std::int64_t>(s.outputs());
  Numbers sizes;
  if (s.has(1)) sizes = s.integers(1);
  else {
    const std::int64_t size = (x.size(axis) + count - 1) / std::max<std::int64_t>(count, 1);
    for (std::int64_t i = 0; i < count; ++i)
      sizes.push_back(std::clamp<std::int64_t>(x.size(axis) - i * size, 0, size));
  }
  if (static_cast<std::int64_t>(sizes.size()) != count) s.refuse("it has another number of parts than of outputs");
  return minnow::split(x, sizes, axis);
}

Results shape(const Step& s) {
  const Tensor& x = s.x(0);
  const std::int64_t rank = x.dim();
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = place(s.integer("start", 0)), end = place(s.integer("end", rank));
  Numbers sizes;
  for (std::int64_t d = start; d < end; ++d) sizes.push_back(x.size(static_cast<int>(d)));
  return {tensor(sizes)};
}

Results constant(const Step& s) {
  if (s.has("value")) return {s.tensor("value")};
  if (s.has("value_int")) return {tensor(s.integer("value_int", 0))};
  if (s.has("value_float")) return {tensor(static_cast<float>(s.number("value_float", 0)))};
  if (s.has("value_ints")) return {tensor(s.list("value_ints", {}))};
  s.refuse("it has no value that minnow knows");
}

Results constant_of_shape(const Step& s) {
  const Tensor value = s.has("value") ? s.tensor("value") : zeros({1});
  if (value.numel() != 1) s.refuse("its value must be one number");
  return {value.reshape({}).expand(shape_of(s, s.integers(0))).contiguous()};
}

Results range(const Step& s) {
  const Tensor& start = s.x(0);
  if (start.is_floating_point()) return {arange(start.item(), s.x(1).item(), s.x(2).item(), {.dtype = start.dtype()})};
  return {arange(start.item<std::int64_t>(), s.x(1).item<std::int64_t>(), s.x(2).item<std::int64_t>(),
                 {.dtype = start.dtype()})};
}

Results cast(const Step& s) {
  const std::optional<DType> dtype = dtype_of(s.integer("to", 0));
  if (!dtype) s.refuse("minnow does not have the dtype");
  return {s.x(0).to(*dtype)};
}

Results triangle(const Step& s) {
  const std::int64_t diagonal = s.has(1) ? s.x(1).item<std::int64_t>() : 0;
  return {s.integer("upper", 1) != 0 ? triu(s.x(0), diagonal) : tril(s.x(0), diagonal)};
}

Results one_hot_of(const Step& s) {
  const Tensor& index = s.x(0);
  const std::int64_t depth = s.x(1).item<std::int64_t>();
  const Tensor on = one_hot(counted_from_front(index, depth), depth).to(DType::bool_);
  const Tensor values = s.x(2).to(index.device());
  const Tensor y = where(on, values.select(0, 1), values.select(0, 0));
  const int axis = s.dim(s.integer("axis", -1), y.dim());
  Shape order;
  for (int d = 0; d + 1 < y.dim(); ++d) order.push_back(d);
  order.insert(axis, y.dim() - 1);
  return {y.permute(order)};
}

Results top(const Step& s) {
  const Tensor& x = s.x(0);
  const Numbers k = s.integers(1);
  if (k.size() != 1) s.refuse("its k must be one number");
  const auto found = topk(x, k[0], s.dim(s.integer("axis", -1), x.dim()), s.integer("largest", 1) != 0);
  return {found.values, found.indices};
}

Results cumulated(const Step& s) {
  const Tensor& x = s.x(0);
  const int axis = s.dim(s.x(1).item<std::int64_t>(), x.dim());
  if (s.integer("exclusive", 0) != 0) s.refuse("exclusive sums are not read");
  if (s.integer("reverse", 0) == 0) return {cumsum(x, axis).to(x.dtype())};
  return {flip(cumsum(flip(x, {axis}), axis), {axis}).to(x.dtype())};
}

Results padded(const Step& s) {
  const Tensor& x = s.x(0);
  const Numbers pads = s.integers(1);
  Numbers axes(static_cast<std::size_t>(x.dim()));
  std::iota(axes.begin(), axes.end(), 0);
  if (s.has(3)) axes = axes_of(s, 3, x.dim());
  if (pads.size() != 2 * axes.size()) s.refuse("it needs two numbers for each dimension");
  Numbers padding(2 * static_cast<std::size_t>(x.dim()));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto from_end = static_cast<std::size_t>(x.dim() - 1 - axes[i]);
    padding[2 * from_end] = pads[i];
    padding[2 * from_end + 1] = pads[axes.size() + i];
  }
  const std::string mode = s.text("mode", "constant");
  if (mode == "constant") return {pad(x, padding, PadMode::constant, s.has(2) ? s.x(2).item() : 0.0)};
  while (padding.size() > 2 && padding.back() == 0 && padding[padding.size() - 2] == 0)
    padding.resize(padding.size() - 2);
  if (mode == "reflect") return {pad(x, padding, PadMode::reflect)};
  if (mode == "edge") return {pad(x, padding, PadMode::replicate)};
  if (mode == "wrap") return {pad(x, padding, PadMode::circular)};
  s.refuse("its mode is not known");
}

// Reductions.

template <class F> Results reduced(const Step& s, const F& f) {
  const Tensor& x = s.x(0);
  const Numbers axes = axes_of(s, 1, x.dim());
  if (axes.empty() && s.integer("noop_with_empty_axes", 0) != 0) return {x};
  return {f(x, Dims(shape_of(s, axes)), s.integer("keepdims", 1) != 0)};
}
template <Tensor (*kF)(const In&, const Dims&, bool)> Results reduce(const Step& s) {
  return reduced(s, [](const Tensor& x, const Dims& dims, bool keep) { return kF(x, dims, keep).to(x.dtype()); });
}
template <Tensor (*kF)(const In&, const Dims&, bool)> Results reduce_to_extreme(const Step& s) {
  if (s.x(0).numel() == 0) s.refuse("there is no largest or smallest of no elements");
  return reduce<kF>(s);
}
template <int kP> Results norms(const Step& s) {
  return reduced(s, [](const Tensor& x, const Dims& dims, bool keep) { return norm(x, kP, dims, keep); });
}

Results arg_reduce(const Step& s, bool largest) {
  const Tensor& x = s.x(0);
  const int axis = s.dim(s.integer("axis", 0), x.dim());
  const bool keep = s.integer("keepdims", 1) != 0, last = s.integer("select_last_index", 0) != 0;
  const Tensor from = last ? flip(x, {axis}) : x;
  const Tensor y = largest ? argmax(from, axis, keep) : argmin(from, axis, keep);
  return {last ? sub(x.size(axis) - 1, y) : y};
}

constexpr Kernel kKernels[] = {
    {"Reshape", reshape},
    {"Flatten", flatten},
    {"Transpose", transpose},
    {"Squeeze", squeeze},
    {"Unsqueeze", unsqueeze},
    {"Expand", expand},
    {"Tile", tile},
    {"Slice", slice},
    {"Gather", gather_slices},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"Concat", concat},
    {"Split", split},
    {"Shape", shape},
    {"Size", [](const Step& s) -> Results { return {tensor(s.x(0).numel())}; }},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Range", range},
    {"Cast", cast},
    {"CastLike", [](const Step& s) -> Results { return {s.x(0).to(s.x(1).dtype())}; }},
    {"Trilu", triangle},
    {"OneHot", one_hot_of},
    {"TopK", top},
    {"CumSum", cumulated},
    {"Pad", padded},
    {"ReduceSum", reduce<sum>},
    {"ReduceMean", reduce<mean>},
    {"ReduceProd", reduce<prod>},
    {"ReduceMax", reduce_to_extreme<amax>},
    {"ReduceMin", reduce_to_extreme<amin>},
    {"ReduceLogSumExp", reduce<logsumexp>},
    {"ReduceL1", norms<1>},
    {"ReduceL2", norms<2>},
    {"ReduceSumSquare",
     [](const Step& s) {
       return reduced(s, [](const Tensor& x, const Dims& dims, bool keep) { return sum(mul(x, x), dims, keep); });
     }},
    {"ArgMax", [](const Step& s) { return arg_reduce(s, true); }},
    {"ArgMin", [](const Step& s) { return arg_reduce(s, false); }},
};

}  // namespace

std::span<const Kernel> shape_kernels() { return kKernels; }

}  // namespace minnow::onnx::detail
