#include <fmt/format.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/detail/extents.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

using detail::Extents;

/// The numbers of windows, as wanted or as parts of x's sizes.
Extents counts(const Tensor& x, const Extents& wanted, const std::vector<double>& ratio) {
  Extents out = wanted;
  const auto dims = static_cast<std::size_t>(out.dims);
  if (ratio.empty() == wanted.all_equal(0) || (!ratio.empty() && ratio.size() != 1 && ratio.size() != dims))
    throw ValueError(message("needs an output_size, or an output_ratio", {{"x", x}},
                             "the ratio is one number, or one for each dimension: {.output_ratio = {0.5}}"));
  for (std::size_t d = 0; d < dims && !ratio.empty(); ++d) {
    const int i = static_cast<int>(d);
    if (const double part = ratio[ratio.size() == 1 ? 0 : d]; !(part > 0 && part < 1))
      throw ValueError(message(fmt::format("output_ratio is {}", part), {{"x", x}}, "it is above 0 and below 1"));
    out[i] = static_cast<std::int64_t>(static_cast<double>(x.size(2 + i)) * ratio[ratio.size() == 1 ? 0 : d]);
  }
  return out;
}

/// Where the windows of a dimension begin: [N, C, out], of samples [N, C].
Tensor starts(const Tensor& sample, std::int64_t in, std::int64_t kernel, std::int64_t out) {
  const Tensor last = full({}, in - kernel, {DType::int64, sample.device()});
  Shape shape = sample.shape();
  shape.push_back(1);
  if (out == 1) return last.expand(shape);
  const double step = static_cast<double>(in - kernel) / static_cast<double>(out - 1);
  const Tensor s = sample.unsqueeze(-1), i = arange(out - 1, {s.dtype(), s.device()});
  const Tensor begin = sub(floor(mul(add(s, i), step)), floor(mul(s, step)));
  return cat({begin.to(DType::int64), last.expand(shape)}, -1);
}

MinMax pool(const Tensor& x, const Extents& k, const Extents& wanted, const std::vector<double>& ratio,
            const Tensor& given) {
  const int dims = k.dims;
  if (x.dim() != dims + 2 || !x.is_floating_point())
    throw ShapeError(message(fmt::format("x must be floating-point, of {} dimensions", dims + 2), {{"x", x}},
                             dims == 2 ? "x: [N, C, H, W], or [C, H, W]" : "x: [N, C, D, H, W], or [C, D, H, W]"));
  const Extents out = counts(x, wanted, ratio);
  for (int d = 0; d < dims; ++d)
    if (k[d] < 1 || out[d] < 1 || k[d] > x.size(2 + d) || out[d] > x.size(2 + d) - k[d] + 1)
      throw ValueError(message(fmt::format("{} windows of {} do not fit", out.str(), k.str()), {{"x", x}},
                               "each begins one element after the other or more"));
  const std::int64_t samples = x.size(0), channels = x.size(1);
  const DType dtype = x.dtype() == DType::float64 ? x.dtype() : DType::float32;
  const Tensor random = given.defined() ? given.to(dtype) : rand({samples, channels, dims}, {dtype, x.device()});
  if (random.shape() != Shape{samples, channels, dims})
    throw ShapeError(message("random_samples does not match x", {{"x", x}, {"random_samples", random}},
                             fmt::format("it needs [N, C, {}]", dims)));
  // [N, C, windows..., kernel...]: the positions in x.
  Tensor index = zeros({}, {DType::int64, x.device()});
  for (int d = 0; d < dims; ++d) {
    // As in PyTorch the last dimension of an image comes first.
    const Tensor sample = random.select(-1, dims == 2 ? 1 - d : d);
    const Tensor begin = starts(sample, x.size(2 + d), k[d], out[d]);
    Shape windows = Shape::filled(2 + 2 * dims, 1), inside = windows;
    windows[0] = samples, windows[1] = channels, windows[2 + d] = out[d], inside[2 + dims + d] = k[d];
    const Tensor place = add(begin.reshape(windows), arange(k[d], {DType::int64, x.device()}).reshape(inside));
    index = add(mul(index, x.size(2 + d)), place);
  }
  index = index.flatten(2);
  Shape elements{samples, channels, out.product(), k.product()}, shape{samples, channels};
  for (const std::int64_t n : out) shape.push_back(n);
  const MinMax found = max(gather(x.flatten(2), 2, index).reshape(elements), -1, true);
  return {found.values.reshape(shape), gather(index.reshape(elements), 3, found.indices).reshape(shape)};
}

template <class Size> MinMax pool(const In& x_, const char* name, Size k, const FractionalMaxPoolOptions<Size>& o) {
  const Operation op(name, x_.where, {kWide, kKept}, {{"x", *x_}});
  const Extents kernel(k);
  const bool one = op[0].dim() == kernel.dims + 1;
  const MinMax y = pool(one ? op[0].unsqueeze(0) : op[0], kernel, o.output_size, o.output_ratio, o.random_samples);
  return one ? MinMax{y.values.squeeze(0), y.indices.squeeze(0)} : y;
}

}  // namespace

Tensor fractional_max_pool2d(const In& x, Pair kernel, const FractionalMaxPool2dOptions& options) {
  return pool(x, "fractional_max_pool2d", kernel, options).values;
}
Tensor fractional_max_pool3d(const In& x, Triple kernel, const FractionalMaxPool3dOptions& options) {
  return pool(x, "fractional_max_pool3d", kernel, options).values;
}
MinMax fractional_max_pool2d_with_indices(const In& x, Pair kernel, const FractionalMaxPool2dOptions& options) {
  return pool(x, "fractional_max_pool2d_with_indices", kernel, options);
}
MinMax fractional_max_pool3d_with_indices(const In& x, Triple kernel, const FractionalMaxPool3dOptions& options) {
  return pool(x, "fractional_max_pool3d_with_indices", kernel, options);
}

}  // namespace minnow
