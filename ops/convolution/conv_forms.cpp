// The public convolutions, which are convolutions of images.
#include <algorithm>
#include <fmt/format.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/detail/conv.h>
#include <minnow/ops/detail/extents.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/windows.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

using detail::convolve;
using detail::convolve_transposed;
using detail::Extents;

/// The largest stride, padding or dilation: products with sizes do not overflow, and libraries take no larger ones.
constexpr std::int64_t kMaxParameter = (std::int64_t{1} << 31) - 1;

struct Geometry {
  Extents stride, padding, dilation, output_padding;
  std::int64_t groups;
  bool same = false;

  int dims() const { return stride.dims; }
  std::string str() const {
    return fmt::format("stride {}, padding {}, dilation {}", stride.str(), same ? "same" : padding.str(),
                       dilation.str());
  }
  /// Of the last two dimensions; of one dimension beside a height of 1.
  Conv2dParams last_two() const {
    Conv2dParams p;
    for (int d = 0; d < 2; ++d) {
      const int from = d + dims() - 2;
      if (from < 0) continue;
      p.stride[d] = stride[from];
      p.padding[d] = padding[from];
      p.dilation[d] = dilation[from];
    }
    p.groups = groups;
    return p;
  }
};

template <class Size> Geometry geometry(const ConvFuncOptions<Size>& o) {
  const Extents stride = o.stride;
  return {stride, o.padding.size, o.dilation, Extents(stride.dims, 0), o.groups, o.padding.same};
}
template <class Size> Geometry geometry(const ConvTransposeFuncOptions<Size>& o) {
  return {o.stride, o.padding, o.dilation, o.output_padding, o.groups};
}

constexpr const char* kSpace[] = {"L", "H, W", "D, H, W"};
constexpr const char* kKernel[] = {"K", "KH, KW", "KD, KH, KW"};
constexpr const char* kThing[] = {"sequence", "image", "volume"};
constexpr const char* kCount[] = {"three", "four", "five"};

/// operands: x, weight and, if defined, bias.  `transposed`: weight is [C, O / groups, ...].
void check(const Tensor& x, const Tensor& w, const Tensor& b, const Geometry& g, Operands operands, bool transposed) {
  const int dims = g.dims();
  if (!g.stride.at_least(1) || !g.dilation.at_least(1) || !g.padding.at_least(0) || g.groups < 1)
    throw ValueError(message("stride, dilation and groups must be 1 or more, padding 0 or more", operands,
                             fmt::format("{}, groups {} were given", g.str(), g.groups)));
  for (const Extents& e : {g.stride, g.padding, g.dilation})
    if (*std::max_element(e.begin(), e.end()) > kMaxParameter)
      throw ValueError(message(fmt::format("stride, padding and dilation must be at most {}", kMaxParameter), operands,
                               g.str() + " were given; no image is that large"));
  if (g.same && !g.stride.all_equal(1))
    throw ValueError(message("padding \"same\" needs a stride of 1", operands, g.str() + " were given"));
  if (x.dim() != dims + 2 || w.dim() != dims + 2)
    throw ShapeError(
        message(fmt::format("x and weight need {} dimensions", kCount[dims - 1]), operands,
                fmt::format("x: [N, C, {0}], or a single {3} [C, {0}]  weight: [{1}, {2}]", kSpace[dims - 1],
                            transposed ? "C, O / groups" : "O, C / groups", kKernel[dims - 1], kThing[dims - 1])));
  const std::int64_t in = x.shape()[1], outer = w.shape()[0], inner = w.shape()[1];
  const std::int64_t out = transposed ? detail::wrapping_mul(inner, g.groups) : outer;
  const bool fits = transposed ? outer == in && in % g.groups == 0
                               : in % g.groups == 0 && outer % g.groups == 0 && in / g.groups == inner;
  if (!fits || (b.defined() && b.shape() != Shape{out}))
    throw ShapeError(message(
        "the channels do not match", operands,
        transposed
            ? fmt::format("with groups = {} weight must be [{}, O / {}, {}] and bias [O], and groups divides {}",
                          g.groups, in, g.groups, kKernel[dims - 1], in)
            : fmt::format("with groups = {0} this weight takes x: [N, {1}, {2}]; for this x weight must be [O, {3}, "
                          "{4}] and bias [O], O divisible by groups",
                          g.groups, detail::wrapping_mul(inner, g.groups), kSpace[dims - 1], in / g.groups,
                          kKernel[dims - 1])));
}

void check_dtypes(const Tensor& x, const Tensor& w, const Tensor& b, Operands operands) {
  if (x.dtype() != w.dtype() || (b.defined() && b.dtype() != x.dtype()) || !x.is_floating_point())
    throw DTypeError(message("operands must have one floating-point dtype", operands, dtype_hint(operands)));
}

/// dilation (kernel - 1), or, if that overflows, something wider than any image.
std::int64_t span(const Geometry& g, const Tensor& w, int d) {
  std::int64_t n = 0;
  return __builtin_mul_overflow(g.dilation[d], w.shape()[2 + d] - 1, &n) ? INT64_MAX / 4 : std::min(n, INT64_MAX / 4);
}

/// Checks that the kernel fits.
void check_kernel(const Tensor& x, const Tensor& w, const Geometry& g, Operands operands) {
  for (int d = 0; d < g.dims(); ++d)
    if (w.shape()[2 + d] < 1 || x.shape()[2 + d] - 1 - span(g, w, d) + 2 * g.padding[d] < 0)
      throw ShapeError(message(fmt::format("the kernel does not fit into the padded {}", kThing[g.dims() - 1]),
                               operands, "use a smaller kernel or dilation, or more padding"));
}

/// Padding::same as numbers; a zero more at the end of a dimension is written.
Tensor padded(const Tensor& x, const Tensor& w, Geometry& g, Operands operands) {
  if (!g.same) return x;
  std::vector<std::int64_t> more;
  for (int d = g.dims() - 1; d >= 0; --d) {
    const std::int64_t total = w.shape()[2 + d] < 1 ? 0 : span(g, w, d);
    if (total / 2 > kMaxParameter)
      throw ShapeError(message("the kernel is too large for padding \"same\"", operands, "use a smaller dilation"));
    g.padding[d] = total / 2;
    more.push_back(0), more.push_back(total % 2);
  }
  g.same = false;
  return std::any_of(more.begin(), more.end(), [](std::int64_t n) { return n != 0; }) ? pad(x, more) : x;
}

/// The channels of an image are those of KD slices of a volume, so that one convolution of images adds all.
Tensor convolve_volumes(const Tensor& x, const Tensor& w, const Tensor& b, const Geometry& g, Activation activation) {
  const std::int64_t depth = w.shape()[2];
  const Tensor deep = g.padding[0] ? pad(x, {0, 0, 0, 0, g.padding[0], g.padding[0]}) : x;
  const Tensor slices = detail::windows(deep, {2, depth, g.stride[0], g.dilation[0]});  // [N, C, OD, H, W, KD]
  const Shape& s = slices.shape();
  const std::int64_t images = s[0] * s[2], channels = s[1] * depth;
  const Tensor kernel = w.reshape({w.shape()[0], w.shape()[1] * depth, w.shape()[3], w.shape()[4]});
  const Conv2dParams params = g.last_two();
  // For shape and memory format only, never read.
  const Shape shape{images, channels, s[3], s[4]};
  const View like(x.storage(), x.dtype(), shape, contiguous_strides(shape));
  const bool last = dispatch({{"x", x}}).conv2d_format(params, like, kernel) == MemoryFormat::channels_last;
  const Tensor in =
      last ? slices.permute({0, 2, 3, 4, 1, 5}).reshape({images, s[3], s[4], channels}).permute({0, 3, 1, 2})
           : slices.permute({0, 2, 1, 5, 3, 4}).reshape(shape);
  const Tensor y = convolve(in, kernel, b, params, activation);
  return y.reshape({s[0], s[2], y.size(1), y.size(2), y.size(3)}).permute({0, 2, 1, 3, 4});
}

/// Tells of a convolution of a batch.
Tensor told(Tensor y, const char* name, Operands operands, const Geometry& g, Activation activation = {}) {
  const auto list = [](const Extents& e) { return std::vector<std::int64_t>(e.begin(), e.end()); };
  if (is_heard()) [[unlikely]]
    tell(name, {y}, operands,
         {{"stride", list(g.stride)},
          {"padding", list(g.padding)},
          {"dilation", list(g.dilation)},
          {"output_padding", list(g.output_padding)},
          {"groups", g.groups},
          {"activation", static_cast<std::int64_t>(activation)}});
  return y;
}

template <class Size> Tensor convolution(const BoundOperands<3>& op, const ConvFuncOptions<Size>& options) {
  Geometry g = geometry(options);
  const Tensor &x = op[0], &w = op[1], &b = op[2];
  if (x.dim() == g.dims() + 1) {
    const Tensor batch = x.unsqueeze(0);
    return convolution(op.with({{"x", batch}, {"weight", w}, {"bias", b, kOptional}}), options).squeeze(0);
  }
  check(x, w, b, g, op, false);
  const Tensor in = padded(x, w, g, op);
  check_kernel(in, w, g, op);
  check_dtypes(x, w, b, op);
  Tensor y;
  if (g.dims() == 3) y = convolve_volumes(in, w, b, g, options.activation);
  else if (g.dims() == 2) y = convolve(in, w, b, g.last_two(), options.activation);
  else y = convolve(in.unsqueeze(2), w.unsqueeze(2), b, g.last_two(), options.activation).squeeze(2);
  return told(std::move(y), "conv", {{"x", in}, {"weight", w}, {"bias", b, kOptional}}, g, options.activation);
}

std::int64_t transposed_size(const Geometry& g, const Tensor& x, const Tensor& w, int d) {
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(x.shape()[2 + d] - 1, g.stride[d], &reach) || reach > INT64_MAX / 4) return 0;
  return reach - 2 * g.padding[d] + span(g, w, d) + g.output_padding[d] + 1;
}

void check_transposed(const Tensor& x, const Tensor& w, const Tensor& b, const Geometry& g, Operands operands) {
  check(x, w, b, g, operands, true);
  for (int d = 0; d < g.dims(); ++d) {
    if (g.output_padding[d] < 0 || g.output_padding[d] >= std::max(g.stride[d], g.dilation[d]))
      throw ValueError(message("output_padding must be 0 or more and less than stride or dilation", operands,
                               fmt::format("{}, output_padding {} were given", g.str(), g.output_padding.str())));
    const std::int64_t size = w.shape()[2 + d] < 1 || x.shape()[2 + d] < 1 ? 0 : transposed_size(g, x, w, d);
    if (size < 1 || size > INT64_MAX / 8)
      throw ShapeError(message(fmt::format("the output would be empty along spatial dimension {}", d), operands,
                               g.str() + " were given; the kernel needs a size, and padding leaves out elements"));
  }
  check_dtypes(x, w, b, operands);
}

/// Of images, without a bias.
Tensor transposed_images(const Tensor& x, const Tensor& w, Conv2dParams p, const std::int64_t (&more)[2]) {
  Shape shape{x.shape()[0], w.shape()[1] * p.groups, 0, 0};
  // A gradient knows sizes that give x's size, which an output_padding of stride or more does not: the whole is
  // cropped.
  const bool whole = more[0] >= p.stride[0] || more[1] >= p.stride[1];
  const std::int64_t crop[2] = {p.padding[0], p.padding[1]};
  for (int d = 0; d < 2; ++d) {
    if (whole) p.padding[d] = 0;
    shape[2 + d] = (x.shape()[2 + d] - 1) * p.stride[d] - 2 * p.padding[d] + p.dilation[d] * (w.shape()[2 + d] - 1) +
                   1 + (whole ? 0 : more[d]);
  }
  const Tensor y = convolve_transposed(x, w, shape, p);
  return whole ? pad(y, {-crop[1], more[1] - crop[1], -crop[0], more[0] - crop[0]}) : y;
}

/// Each slice gives KD images, which are added at their depths.
Tensor transposed_volumes(const Tensor& x, const Tensor& w, const Geometry& g) {
  const Shape &s = x.shape(), &k = w.shape();
  const Tensor slices = x.permute({0, 2, 1, 3, 4}).reshape({s[0] * s[2], s[1], s[3], s[4]});
  const Tensor y = transposed_images(slices, w.reshape({k[0], k[1] * k[2], k[3], k[4]}), g.last_two(),
                                     {g.output_padding[1], g.output_padding[2]});
  const Tensor parts = y.reshape({s[0], s[2], k[1] * g.groups, k[2], y.size(2), y.size(3)});  // [N, D, O, KD, OH, OW]
  const detail::Windowing depths{2, k[2], g.stride[0], g.dilation[0]};
  const Tensor all =
      detail::overlap_add(parts.permute({0, 2, 1, 4, 5, 3}), depths, (s[2] - 1) * g.stride[0] + depths.span());
  const std::int64_t before = -g.padding[0], after = g.output_padding[0] - g.padding[0];
  return before || after ? pad(all, {0, 0, 0, 0, before, after}) : all;
}

template <class Size> Tensor transposed(const BoundOperands<3>& op, const ConvTransposeFuncOptions<Size>& options) {
  const Geometry g = geometry(options);
  const Tensor &x = op[0], &w = op[1], &b = op[2];
  if (x.dim() == g.dims() + 1) {
    const Tensor batch = x.unsqueeze(0);
    return transposed(op.with({{"x", batch}, {"weight", w}, {"bias", b, kOptional}}), options).squeeze(0);
  }
  check_transposed(x, w, b, g, op);
  Tensor y;
  if (g.dims() == 3) y = transposed_volumes(x, w, g);
  else if (g.dims() == 2) y = transposed_images(x, w, g.last_two(), {g.output_padding[0], g.output_padding[1]});
  else y = transposed_images(x.unsqueeze(2), w.unsqueeze(2), g.last_two(), {0, g.output_padding[0]}).squeeze(2);
  if (!b.defined()) return told(std::move(y), "conv_transpose", op, g);
  Shape shape = Shape::filled(g.dims() + 1, 1);
  shape[0] = b.shape()[0];
  const Tensor each = b.reshape(shape);
  if (records(y, b)) return add(y, each);
  raw::binary_(raw::kBinary<kernels::Add>, y, each);
  return told(std::move(y), "conv_transpose", op, g);
}

}  // namespace

Tensor conv1d(const In& x, const In& w, const Tensor& b, const Conv1dFuncOptions& options) {
  return convolution(Operation("conv1d", x.where, kLower, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}}),
                     options);
}
Tensor conv2d(const In& x, const In& w, const Tensor& b, const Conv2dFuncOptions& options) {
  return convolution(Operation("conv2d", x.where, kLower, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}}),
                     options);
}
Tensor conv3d(const In& x, const In& w, const Tensor& b, const Conv3dFuncOptions& options) {
  return convolution(Operation("conv3d", x.where, kLower, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}}),
                     options);
}
Tensor conv_transpose1d(const In& x, const In& w, const Tensor& b, const ConvTranspose1dFuncOptions& options) {
  return transposed(Operation("conv_transpose1d", x.where, kLower, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}}),
                    options);
}
Tensor conv_transpose2d(const In& x, const In& w, const Tensor& b, const ConvTranspose2dFuncOptions& options) {
  return transposed(Operation("conv_transpose2d", x.where, kLower, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}}),
                    options);
}
Tensor conv_transpose3d(const In& x, const In& w, const Tensor& b, const ConvTranspose3dFuncOptions& options) {
  return transposed(Operation("conv_transpose3d", x.where, kLower, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}}),
                    options);
}

}  // namespace minnow
