// Adaptive pools, of the others.
#include <fmt/format.h>
#include <vector>
#include <minnow/ops/index.h>
#include <minnow/ops/pool.h>
#include <minnow/ops/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

void require_pixels(const Tensor& x, int dims, const char* hint) {
  dispatch({{"x", x}});
  if (x.dim() != dims)
    throw ShapeError(message(dims == 4 ? "x needs four dimensions" : "x needs three dimensions", {{"x", x}}, hint));
  if (!x.is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", x}}, "convert first: .to(float32)"));
  for (int d = 2; d < dims; ++d)
    if (x.size(d) == 0) throw ShapeError(message("x has no pixels", {{"x", x}}, hint));
}

void require_positive(const Tensor& x, std::int64_t size) {
  if (size < 1)
    throw ValueError(message(fmt::format("output_size must be positive, got {}", size), {{"x", x}}, "e.g. 1"));
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

Tensor pooled(const Tensor& x, Pair size) {
  const std::int64_t h = x.size(2), w = x.size(3);
  if (size.height == 1 && size.width == 1) return mean(x, {2, 3}, true);
  if (h % size.height == 0 && w % size.width == 0) return avg_pool2d(x, {h / size.height, w / size.width});
  return window_means(window_means(x, 2, size.height), 3, size.width);
}

}  // namespace

Tensor adaptive_avg_pool2d(const In& x, Pair output_size) {
  const CallSite site("adaptive_avg_pool2d", x.where);
  require_pixels(*x, 4, "x: [N, C, H, W]; a single image: .unsqueeze(0)");
  require_positive(*x, output_size.height);
  require_positive(*x, output_size.width);
  return pooled(*x, output_size);
}

Tensor adaptive_avg_pool1d(const In& x, std::int64_t output_size) {
  const CallSite site("adaptive_avg_pool1d", x.where);
  require_pixels(*x, 3, "x: [N, C, L]; a single sequence: .unsqueeze(0)");
  require_positive(*x, output_size);
  return pooled(x->unsqueeze(2), {1, output_size}).squeeze(2);
}

}  // namespace minnow
