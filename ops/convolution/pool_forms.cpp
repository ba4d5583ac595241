// The public pools, which are pools of images: those of volumes take their images first, then their depths.
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <vector>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/detail/extents.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow {
namespace {

using detail::Extents;
using detail::of_batch;
using detail::pooled_size;

constexpr const char* kCount[] = {"three", "four", "five"};
constexpr const char* kShape[] = {"x: [N, C, L], or a single sequence [C, L]",
                                  "x: [N, C, H, W], or a single image [C, H, W]",
                                  "x: [N, C, D, H, W], or a single volume [C, D, H, W]"};
constexpr const char* kThing[] = {"sequence", "image", "volume"};

struct Geometry {
  Extents kernel, stride, padding, dilation;
  bool ceil_mode = false, count_include_pad = true;
  bool adaptive = false;  ///< the kernel is the number of windows

  int dims() const { return kernel.dims; }
  std::string str() const {
    return fmt::format("kernel {}, stride {}, padding {}, dilation {} were given", kernel.str(), stride.str(),
                       padding.str(), dilation.str());
  }
  std::int64_t count(const Tensor& x, int d) const {
    return pooled_size(x.shape()[2 + d], kernel[d], stride[d], padding[d], dilation[d], ceil_mode);
  }
  /// Of the last two dimensions; of one dimension beside a height of 1.
  Pool2dParams last_two() const {
    Pool2dParams p;
    for (int d = 0; d < 2; ++d)
      if (const int from = d + dims() - 2; from >= 0) set(p, d, from);
    p.count_include_pad = count_include_pad;
    p.adaptive = adaptive;
    return p;
  }
  /// Of the depth, as a height.
  Pool2dParams depth() const {
    Pool2dParams p;
    set(p, 0, 0);
    p.count_include_pad = count_include_pad;
    p.adaptive = adaptive;
    if (adaptive) p.kernel[1] = 0;
    return p;
  }

 private:
  void set(Pool2dParams& p, int d, int from) const {
    p.kernel[d] = kernel[from];
    p.stride[d] = stride[from];
    p.padding[d] = padding[from];
    p.dilation[d] = dilation[from];
  }
};

Extents stride_or_kernel(Extents stride, const Extents& kernel) {
  for (int d = 0; d < stride.dims; ++d)
    if (stride[d] == 0) stride[d] = kernel[d];
  return stride;
}

void check_input(const Tensor& x, int dims) {
  if (x.dim() != dims + 2)
    throw ShapeError(message(fmt::format("x needs {} dimensions", kCount[dims - 1]), {{"x", x}}, kShape[dims - 1]));
  if (!x.is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", x}}, "convert first: .to(float32)"));
}

void check(const Tensor& x, const Geometry& g) {
  if (g.adaptive) return;
  check_input(x, g.dims());
  for (int d = 0; d < g.dims(); ++d) {
    if (g.kernel[d] < 1 || g.stride[d] < 1 || g.dilation[d] < 1 || g.padding[d] < 0 || g.padding[d] > g.kernel[d] / 2)
      throw ValueError(message("kernel, stride and dilation must be 1 or more, padding at most half the kernel",
                               {{"x", x}},
                               g.str() + "; e.g. " + std::string(CallSite::op()) + "(x, 2) halves " +
                                   (g.dims() == 2 ? "height and width" : "each size")));
    if (g.count(x, d) < 1)
      throw ShapeError(message(fmt::format("the window does not fit into the padded {}", kThing[g.dims() - 1]),
                               {{"x", x}}, g.str() + "; use a smaller kernel or dilation, or more padding"));
    if (g.dilation[d] > std::numeric_limits<std::int32_t>::max())
      throw ValueError(message("a dilation is above 2147483647", {{"x", x}}, g.str() + "; use a smaller one"));
  }
}

/// Whether x is dense with the channels of a pixel next to each other, and positions in its volumes are of 32 bits.
bool by_channel(const Tensor& x) {
  return x.numel() <= INT32_MAX && !x.is_contiguous() && x.permute({0, 2, 3, 4, 1}).is_contiguous();
}
/// x: [N, C, D, H, W] -> [N, C * D, H, W]; by channel [N * D, C, H, W].
Tensor as_images(const Tensor& x) {
  if (by_channel(x)) return x.transpose(1, 2).flatten(0, 1);
  return x.reshape({x.size(0), x.size(1) * x.size(2), x.size(3), x.size(4)});
}
/// Images pooled -> [N, C, D, OH * OW]; by channel [N, 1, D, OH * OW * C].
Tensor as_depths(const Tensor& images, const Tensor& x) {
  const std::int64_t pixels = detail::wrapping_mul(images.size(2), images.size(3));  // without elements of any size
  if (by_channel(x)) return images.permute({0, 2, 3, 1}).reshape({x.size(0), 1, x.size(2), pixels * x.size(1)});
  return images.reshape({x.size(0), x.size(1), x.size(2), pixels});
}
/// Those pooled -> [N, C, OD, OH, OW].
Tensor as_volumes(const Tensor& depths, const Tensor& images, const Tensor& x) {
  if (by_channel(x))
    return depths.reshape({x.size(0), depths.size(2), images.size(2), images.size(3), x.size(1)})
        .permute({0, 4, 1, 2, 3});
  return depths.reshape({depths.size(0), depths.size(1), depths.size(2), images.size(2), images.size(3)});
}

void tell_of(const char* name, std::initializer_list<Tensor> results, const Tensor& x, const Geometry& g) {
  const auto list = [](const Extents& e) { return std::vector<std::int64_t>(e.begin(), e.end()); };
  tell(name, results, {{"x", x}},
       {{"kernel", list(g.kernel)},
        {"stride", list(g.stride)},
        {"padding", list(g.padding)},
        {"dilation", list(g.dilation)},
        {"ceil_mode", g.ceil_mode},
        {"count_include_pad", g.count_include_pad},
        {"adaptive", g.adaptive}});
}

/// The largest elements, and their positions (int64) if they are asked for.
MinMax largest_of(const Tensor& x, const Geometry& g, bool indices) {
  const auto positions = [&](const Tensor& of) { return indices ? raw::cast(of, DType::int64) : Tensor(); };
  if (g.dims() == 2) {
    const auto found = detail::max_pool(x, g.last_two(), g.ceil_mode);
    return {found.values, positions(found.indices)};
  }
  if (g.dims() == 1) {
    const auto found = detail::max_pool(x.unsqueeze(2), g.last_two(), g.ceil_mode);
    return {found.values.squeeze(2), indices ? positions(found.indices).squeeze(2) : Tensor()};
  }
  const auto images = detail::max_pool(as_images(x), g.last_two(), g.ceil_mode);
  const auto depths = detail::max_pool(as_depths(images.values, x), g.depth(), g.ceil_mode);
  const Tensor values = as_volumes(depths.values, images.values, x);
  if (!indices) return {values, {}};
  Tensor at = positions(depths.indices);  // depth * pixels + pixel
  if (at.numel() != 0) {
    const std::int64_t pixels = x.size(3) * x.size(4);
    const Tensor first = arange(0, x.size(2) * pixels, pixels, {DType::int64, x.device()}).unsqueeze(1);
    const Tensor whole = add_(as_depths(positions(images.indices), x), first);
    at = gather(whole.flatten(2), 2, at.flatten(2)).reshape(at.shape());
  }
  return {values, as_volumes(at, images.values, x)};
}

MinMax largest(const Tensor& x, const Geometry& g, bool indices) {
  check(x, g);
  MinMax found = largest_of(x, g, indices);
  if (is_heard()) [[unlikely]]
    tell_of("max_pool", {found.values, found.indices}, x, g);
  return found;
}

Tensor average_of(const Tensor& x, const Geometry& g) {
  if (g.dims() == 1) return detail::avg_pool(x.unsqueeze(2), g.last_two(), g.ceil_mode).squeeze(2);
  if (g.dims() == 2) return detail::avg_pool(x, g.last_two(), g.ceil_mode);
  const Tensor images = detail::avg_pool(as_images(x), g.last_two(), g.ceil_mode);
  return as_volumes(detail::avg_pool(as_depths(images, x), g.depth(), g.ceil_mode), images, x);
}

Tensor average(const Tensor& x, const Geometry& g) {
  Tensor y = average_of(x, g);
  if (is_heard()) [[unlikely]]
    tell_of("avg_pool", {y}, x, g);
  return y;
}

/// Sums divided by a number: of whole windows, for which x gets zeros at the end.
Tensor divided(const Tensor& x, const Geometry& g, std::int64_t divisor) {
  std::vector<std::int64_t> more;
  for (int d = g.dims() - 1; d >= 0; --d) {
    const std::int64_t end = (g.count(x, d) - 1) * g.stride[d] + g.kernel[d];
    more.push_back(0), more.push_back(std::max<std::int64_t>(end - x.size(2 + d) - 2 * g.padding[d], 0));
  }
  const bool whole = std::all_of(more.begin(), more.end(), [](std::int64_t n) { return n == 0; });
  Geometry floored = g;
  floored.ceil_mode = false;
  floored.count_include_pad = true;
  return mul(average(whole ? x : pad(x, more), floored),
             static_cast<double>(g.kernel.product()) / static_cast<double>(divisor));
}

template <class Size> MinMax max_pool(const Tensor& x, Size kernel, const MaxPoolOptions<Size>& o, bool indices) {
  if (x.defined() && !x.is_floating_point() && x.dtype() != DType::bool_) {
    const MinMax found = max_pool(x.to(DType::float64), kernel, o, indices || x.dtype() == DType::int64);
    if (x.dtype() != DType::int64) return {found.values.to(x.dtype()), found.indices};
    const int first = x.dim() - detail::Extents(kernel).dims;  // large ones are not what float64 makes of them
    const Tensor at = found.indices.flatten(first);
    return {gather(x.flatten(first), -1, at).reshape(found.indices.shape()), indices ? found.indices : Tensor()};
  }
  const Geometry g{kernel, stride_or_kernel(o.stride, kernel), o.padding, o.dilation, o.ceil_mode};
  return of_batch(x, g.dims(), [&](const Tensor& batch) { return largest(batch, g, indices); });
}

Tensor checked_average(const Tensor& x, const Geometry& g, std::int64_t divisor) {
  check(x, g);
  if (divisor < 0)
    throw ValueError(message(fmt::format("divisor_override must be positive, got {}", divisor), {{"x", x}},
                             "0 means the number of elements of a window"));
  return divisor ? divided(x, g, divisor) : average(x, g);
}

template <class Size> Tensor avg_pool(const Tensor& x, const Extents& k, const AvgPoolOptions<Size>& o) {
  const Geometry g{k, stride_or_kernel(o.stride, k), o.padding, Extents(k.dims, 1), o.ceil_mode, o.count_include_pad};
  return of_batch(x, k.dims, [&](const Tensor& batch) { return checked_average(batch, g, o.divisor_override); });
}

Tensor lp_pool(const Tensor& x, double p, const Extents& k, const Extents& stride, bool ceil_mode) {
  if (x.defined() && x.dim() == k.dims + 1) return lp_pool(x.unsqueeze(0), p, k, stride, ceil_mode).squeeze(0);
  const Geometry g{k, stride_or_kernel(stride, k), Extents(k.dims, 0), Extents(k.dims, 1), ceil_mode};
  check(x, g);
  if (!(p > 0)) throw ValueError(message(fmt::format("p must be positive, got {}", p), {{"x", x}}, "e.g. 2"));
  return pow(mul(average(pow(x, p), g), static_cast<double>(k.product())), 1 / p);
}

Tensor max_unpool(const BoundOperands<2>& op, const Extents& k, const Extents& given_stride, const Extents& padding,
                  const Extents& wanted) {
  const Extents stride = stride_or_kernel(given_stride, k);
  const Tensor &x = op[0], &indices = op[1];
  if (x.dim() == k.dims + 1 && indices.dim() == x.dim()) {
    const Tensor batch = x.unsqueeze(0), places = indices.unsqueeze(0);
    return max_unpool(op.with({{"x", batch}, {"indices", places}}), k, given_stride, padding, wanted).squeeze(0);
  }
  check_input(x, k.dims);
  if (indices.dtype() != DType::int64)
    throw DTypeError(message("indices must be int64", op, "those of max_pool2d_with_indices"));
  if (indices.shape() != x.shape())
    throw ShapeError(message("x and indices have different shapes", op, "one position for each element"));
  if (!k.at_least(1) || !stride.at_least(1) || !padding.at_least(0) || !wanted.at_least(0))
    throw ValueError(message("kernel and stride must be 1 or more, padding and output_size 0 or more", op,
                             fmt::format("kernel {}, stride {}, padding {}, output_size {} were given", k.str(),
                                         stride.str(), padding.str(), wanted.str())));
  Shape shape{x.size(0), x.size(1)};
  for (int d = 0; d < k.dims; ++d) {
    std::int64_t size = 0;
    if (__builtin_mul_overflow(x.size(2 + d) - 1, stride[d], &size) || size > INT64_MAX / 4 || k[d] > INT64_MAX / 4 ||
        padding[d] > INT64_MAX / 8)
      size = 0;  // refused, unless it is given
    else size += k[d] - 2 * padding[d];
    if (wanted[d] > 0) size = wanted[d];
    if (size < 1) throw ShapeError(message("the output would be empty", op, "give a smaller padding, or output_size"));
    shape.push_back(size);
  }
  Shape flat{shape[0], shape[1], 1};
  for (int d = 0; d < k.dims; ++d) flat[2] = detail::saturating_mul(flat[2], shape[2 + d]);
  const Tensor at = indices.flatten(2);
  Tensor y = zeros(flat, {x.dtype(), x.device()});
  raw::scatter_add_(y, 2, at, x.detach().flatten(2), ScatterOp::assign);
  y = record("max_unpool", y.reshape(shape), {x},
             [at, like = x.shape()](const Tensor& g) { return gather(g.flatten(2), 2, at).reshape(like); });
  return y;
}

}  // namespace

Tensor detail::adaptive_average(const Tensor& x, const Extents& size) {
  const Extents ones(size.dims, 1), none(size.dims, 0);
  return average(x, {.kernel = size, .stride = ones, .padding = none, .dilation = ones, .adaptive = true});
}

MinMax detail::adaptive_largest(const Tensor& x, const Extents& size, bool indices) {
  const Extents ones(size.dims, 1), none(size.dims, 0);
  return largest(x, {.kernel = size, .stride = ones, .padding = none, .dilation = ones, .adaptive = true}, indices);
}

Tensor max_pool1d(const In& x, std::int64_t kernel, const MaxPool1dOptions& options) {
  const Operation op("max_pool1d", x.where, {{"x", *x}});
  return max_pool(op[0], kernel, options, false).values;
}
Tensor max_pool2d(const In& x, Pair kernel, const MaxPool2dOptions& options) {
  const Operation op("max_pool2d", x.where, {{"x", *x}});
  return max_pool(op[0], kernel, options, false).values;
}
Tensor max_pool3d(const In& x, Triple kernel, const MaxPool3dOptions& options) {
  const Operation op("max_pool3d", x.where, {kWide, kKept}, {{"x", *x}});
  return max_pool(op[0], kernel, options, false).values;
}
MinMax max_pool1d_with_indices(const In& x, std::int64_t kernel, const MaxPool1dOptions& options) {
  const Operation op("max_pool1d_with_indices", x.where, {{"x", *x}});
  return max_pool(op[0], kernel, options, true);
}
MinMax max_pool2d_with_indices(const In& x, Pair kernel, const MaxPool2dOptions& options) {
  const Operation op("max_pool2d_with_indices", x.where, {{"x", *x}});
  return max_pool(op[0], kernel, options, true);
}
MinMax max_pool3d_with_indices(const In& x, Triple kernel, const MaxPool3dOptions& options) {
  const Operation op("max_pool3d_with_indices", x.where, {kWide, kKept}, {{"x", *x}});
  return max_pool(op[0], kernel, options, true);
}

Tensor max_unpool1d(const In& x, const In& indices, std::int64_t kernel, const MaxUnpool1dOptions& options) {
  return max_unpool(Operation("max_unpool1d", x.where, {kWide, kKept}, {{"x", *x}, {"indices", *indices}}), kernel,
                    options.stride, options.padding, options.output_size);
}
Tensor max_unpool2d(const In& x, const In& indices, Pair kernel, const MaxUnpool2dOptions& options) {
  return max_unpool(Operation("max_unpool2d", x.where, {kWide, kKept}, {{"x", *x}, {"indices", *indices}}), kernel,
                    options.stride, options.padding, options.output_size);
}
Tensor max_unpool3d(const In& x, const In& indices, Triple kernel, const MaxUnpool3dOptions& options) {
  return max_unpool(Operation("max_unpool3d", x.where, {kWide, kKept}, {{"x", *x}, {"indices", *indices}}), kernel,
                    options.stride, options.padding, options.output_size);
}

Tensor avg_pool1d(const In& x, std::int64_t kernel, const AvgPool1dOptions& options) {
  const Operation op("avg_pool1d", x.where, {{"x", *x}});
  return avg_pool(op[0], kernel, options);
}
Tensor avg_pool2d(const In& x, Pair kernel, const AvgPool2dOptions& options) {
  const Operation op("avg_pool2d", x.where, {{"x", *x}});
  return avg_pool(op[0], kernel, options);
}
Tensor avg_pool3d(const In& x, Triple kernel, const AvgPool3dOptions& options) {
  const Operation op("avg_pool3d", x.where, {kWide, kKept}, {{"x", *x}});
  return avg_pool(op[0], kernel, options);
}

Tensor lp_pool1d(const In& x, double p, std::int64_t kernel, const LPPool1dOptions& options) {
  const Operation op("lp_pool1d", x.where, {kKept, kWide}, {{"x", *x}});
  return lp_pool(op[0], p, kernel, options.stride, options.ceil_mode);
}
Tensor lp_pool2d(const In& x, double p, Pair kernel, const LPPool2dOptions& options) {
  const Operation op("lp_pool2d", x.where, {kKept, kWide}, {{"x", *x}});
  return lp_pool(op[0], p, kernel, options.stride, options.ceil_mode);
}
Tensor lp_pool3d(const In& x, double p, Triple kernel, const LPPool3dOptions& options) {
  const Operation op("lp_pool3d", x.where, kWide, {{"x", *x}});
  return lp_pool(op[0], p, kernel, options.stride, options.ceil_mode);
}

}  // namespace minnow
