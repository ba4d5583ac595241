// Adaptive pools, of the others.
#include <fmt/format.h>
#include <vector>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/extents.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/ops/detail/windows.h>
#include <minnow/ops/index.h>
#include <minnow/ops/pool.h>
#include <minnow/ops/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

using detail::Extents;

constexpr const char* kCount[] = {"three", "four", "five"};
constexpr const char* kShape[] = {"x: [N, C, L], or a single sequence [C, L]",
                                  "x: [N, C, H, W], or a single image [C, H, W]",
                                  "x: [N, C, D, H, W], or a single volume [C, D, H, W]"};

void check(const Tensor& x, const Extents& size) {
  const char* hint = kShape[size.dims - 1];
  dispatch({{"x", x}});
  if (x.dim() != size.dims + 2)
    throw ShapeError(message(fmt::format("x needs {} dimensions", kCount[size.dims - 1]), {{"x", x}}, hint));
  if (!x.is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", x}}, "convert first: .to(float32)"));
  for (int d = 0; d < size.dims; ++d)
    if (x.size(2 + d) == 0) throw ShapeError(message("x has no pixels", {{"x", x}}, hint));
  for (const std::int64_t n : size)
    if (n < 1) throw ValueError(message(fmt::format("output_size must be positive, got {}", n), {{"x", x}}, "e.g. 1"));
}

/// Whether each size of x is a multiple: the windows are those of a pool with this kernel.
bool divides(const Tensor& x, const Extents& size, Extents& kernel) {
  for (int d = 0; d < size.dims; ++d) {
    if (x.size(2 + d) % size[d] != 0) return false;
    kernel[d] = x.size(2 + d) / size[d];
  }
  return true;
}

/// The means of `count` windows of a dimension.
Tensor window_means(const Tensor& x, int dim, std::int64_t count) {
  const std::int64_t size = x.size(dim);
  if (count == size) return x;
  std::vector<Tensor> means;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t begin = i * size / count, end = ((i + 1) * size + count - 1) / count;
    means.push_back(mean(x.narrow(dim, begin, end - begin), dim, true));
  }
  return cat(means, dim);
}

Tensor average(const Tensor& x, const Extents& size) {
  if (x.defined() && x.dim() == size.dims + 1) return average(x.unsqueeze(0), size).squeeze(0);
  check(x, size);
  if (size.all_equal(1)) {
    Shape dims;
    for (int d = 0; d < size.dims; ++d) dims.push_back(2 + d);
    return mean(x, dims, true);
  }
  Extents k = size;
  if (divides(x, size, k)) {
    if (size.dims == 1) return avg_pool1d(x, k[0]);
    return size.dims == 2 ? avg_pool2d(x, {k[0], k[1]}) : avg_pool3d(x, {k[0], k[1], k[2]});
  }
  Tensor y = x;
  for (int d = 0; d < size.dims; ++d) y = window_means(y, 2 + d, size[d]);
  return y;
}

/// Takes the largest elements of `count` windows of dimension `dim`.  `positions` are those of x's elements, in units of
/// the dimensions behind, which have `inner` elements; undefined where each has its own.
MinMax window_maxima(const Tensor& x, const Tensor& positions, int dim, std::int64_t count, std::int64_t inner) {
  const std::int64_t size = x.size(dim), most = (size + count - 1) / count + 1;
  const TensorOptions ints{DType::int64, x.device()};
  const Tensor start = floor_divide(arange(0, count, 1, ints) * size, count);
  const Tensor end = floor_divide(arange(1, count + 1, 1, ints) * size + (count - 1), count);
  // Shorter windows have their last element again, which does not become the first of the largest.
  const Tensor taps = minimum(start.unsqueeze(1) + arange(0, most, 1, ints), end.unsqueeze(1) - 1);
  const MinMax found = max(index_select(x, dim, taps.flatten()).unflatten(dim, {count, most}), dim + 1);
  Shape along = Shape::filled(x.dim(), 1);
  along[dim] = count;
  const Tensor at = found.indices + start.reshape(along);
  return {found.values, positions.defined() ? at * inner + gather(positions, dim, at) : at};
}

MinMax largest(const Tensor& x, const Extents& size) {
  if (x.defined() && x.dim() == size.dims + 1)
    return detail::of_batch(x, size.dims, [&](const Tensor& batch) { return largest(batch, size); });
  check(x, size);
  Extents k = size;
  if (divides(x, size, k)) {
    if (size.dims == 1) return max_pool1d_with_indices(x, k[0]);
    return size.dims == 2 ? max_pool2d_with_indices(x, {k[0], k[1]}) : max_pool3d_with_indices(x, {k[0], k[1], k[2]});
  }
  MinMax found{x, {}};
  std::int64_t inner = 1;
  for (int d = size.dims - 1; d >= 0; --d) {
    found = window_maxima(found.values, found.indices, 2 + d, size[d], inner);
    inner *= x.size(2 + d);
  }
  return found;
}

}  // namespace

Tensor adaptive_avg_pool1d(const In& x, std::int64_t output_size) {
  const CallSite site("adaptive_avg_pool1d", x.where);
  return average(*x, output_size);
}
Tensor adaptive_avg_pool2d(const In& x, Pair output_size) {
  const CallSite site("adaptive_avg_pool2d", x.where);
  return average(*x, output_size);
}
Tensor adaptive_avg_pool3d(const In& x, Triple output_size) {
  const CallSite site("adaptive_avg_pool3d", x.where);
  if (const auto cast = autocast(site, *x)) return adaptive_avg_pool3d({cast[0], x.where}, output_size);
  return average(*x, output_size);
}

MinMax adaptive_max_pool1d_with_indices(const In& x, std::int64_t output_size) {
  const CallSite site("adaptive_max_pool1d_with_indices", x.where);
  return largest(*x, output_size);
}
MinMax adaptive_max_pool2d_with_indices(const In& x, Pair output_size) {
  const CallSite site("adaptive_max_pool2d_with_indices", x.where);
  return largest(*x, output_size);
}
MinMax adaptive_max_pool3d_with_indices(const In& x, Triple output_size) {
  const CallSite site("adaptive_max_pool3d_with_indices", x.where);
  if (const auto cast = autocast(site, *x)) return adaptive_max_pool3d_with_indices({cast[0], x.where}, output_size);
  return largest(*x, output_size);
}
Tensor adaptive_max_pool1d(const In& x, std::int64_t output_size) {
  const CallSite site("adaptive_max_pool1d", x.where);
  return largest(*x, output_size).values;
}
Tensor adaptive_max_pool2d(const In& x, Pair output_size) {
  const CallSite site("adaptive_max_pool2d", x.where);
  return largest(*x, output_size).values;
}
Tensor adaptive_max_pool3d(const In& x, Triple output_size) {
  const CallSite site("adaptive_max_pool3d", x.where);
  if (const auto cast = autocast(site, *x)) return adaptive_max_pool3d({cast[0], x.where}, output_size);
  return largest(*x, output_size).values;
}

}  // namespace minnow
