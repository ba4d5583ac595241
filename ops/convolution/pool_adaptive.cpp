// Adaptive pools, of the others.
#include <fmt/format.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/detail/extents.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/ops/reductions/reduce.h>
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
  if (x.dim() != size.dims + 2)
    throw ShapeError(message(fmt::format("x needs {} dimensions", kCount[size.dims - 1]), {{"x", x}}, hint));
  if (!x.is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", x}}, "convert first: .to(float32)"));
  for (int d = 0; d < size.dims; ++d)
    if (x.size(2 + d) == 0) throw ShapeError(message("x has no pixels", {{"x", x}}, hint));
  for (const std::int64_t n : size)
    if (n < 1) throw ValueError(message(fmt::format("output_size must be positive, got {}", n), {{"x", x}}, "e.g. 1"));
}

Tensor average(const Tensor& x, const Extents& size) {
  if (x.defined() && x.dim() == size.dims + 1) return average(x.unsqueeze(0), size).squeeze(0);
  check(x, size);
  if (!size.all_equal(1)) return detail::adaptive_average(x, size);
  Shape dims;
  for (int d = 0; d < size.dims; ++d) dims.push_back(2 + d);
  return mean(x, dims, true);
}

MinMax largest(const Tensor& x, const Extents& size, bool indices) {
  return detail::of_batch(x, size.dims, [&](const Tensor& batch) {
    check(batch, size);
    return detail::adaptive_largest(batch, size, indices);
  });
}

}  // namespace

Tensor adaptive_avg_pool1d(const In& x, std::int64_t output_size) {
  const Operation op("adaptive_avg_pool1d", x.where, {{"x", *x}});
  return average(op[0], output_size);
}
Tensor adaptive_avg_pool2d(const In& x, Pair output_size) {
  const Operation op("adaptive_avg_pool2d", x.where, {{"x", *x}});
  return average(op[0], output_size);
}
Tensor adaptive_avg_pool3d(const In& x, Triple output_size) {
  const Operation op("adaptive_avg_pool3d", x.where, {kWide, kKept}, {{"x", *x}});
  return average(op[0], output_size);
}

MinMax adaptive_max_pool1d_with_indices(const In& x, std::int64_t output_size) {
  const Operation op("adaptive_max_pool1d_with_indices", x.where, {{"x", *x}});
  return largest(op[0], output_size, true);
}
MinMax adaptive_max_pool2d_with_indices(const In& x, Pair output_size) {
  const Operation op("adaptive_max_pool2d_with_indices", x.where, {{"x", *x}});
  return largest(op[0], output_size, true);
}
MinMax adaptive_max_pool3d_with_indices(const In& x, Triple output_size) {
  const Operation op("adaptive_max_pool3d_with_indices", x.where, {kWide, kKept}, {{"x", *x}});
  return largest(op[0], output_size, true);
}
Tensor adaptive_max_pool1d(const In& x, std::int64_t output_size) {
  const Operation op("adaptive_max_pool1d", x.where, {{"x", *x}});
  return largest(op[0], output_size, false).values;
}
Tensor adaptive_max_pool2d(const In& x, Pair output_size) {
  const Operation op("adaptive_max_pool2d", x.where, {{"x", *x}});
  return largest(op[0], output_size, false).values;
}
Tensor adaptive_max_pool3d(const In& x, Triple output_size) {
  const Operation op("adaptive_max_pool3d", x.where, {kWide, kKept}, {{"x", *x}});
  return largest(op[0], output_size, false).values;
}

}  // namespace minnow
