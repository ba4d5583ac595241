#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <vector>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

using Mode = Interpolation;

constexpr const char* kNames[] = {"nearest", "nearest_exact", "linear", "bilinear", "bicubic", "trilinear", "area"};

/// A spatial dimension and its new size.
struct Axis {
  int dim;
  std::int64_t in, out;
  double factor = 0;  ///< the given one, or 0

  bool whole() const { return factor > 0 ? factor == std::floor(factor) : out % in == 0; }
  bool like(const Axis& o) const { return in == o.in && out == o.out && factor == o.factor; }
  bool same() const { return in == out && (factor == 0 || factor == 1); }
};

/// The pixels that each output pixel is a sum of, and their weights.
struct Taps {
  std::vector<Tensor> index;   ///< int64 [out] each
  std::vector<Tensor> weight;  ///< [out, 1, ...] each, as many dimensions as there are from `dim` on
};

/// The numbers of the output pixels.
Tensor numbers(const Axis& a, DType dtype, Device device) { return arange(0, a.out, 1, {dtype, device}); }

/// As PyTorch computes it, in float32, unless pixels are repeated.
Tensor nearest_index(const Axis& a, bool exact, Device device) {
  if (a.whole()) return floor_divide(numbers(a, DType::int64, device), a.out / a.in);
  const float scale =
      a.factor > 0 ? static_cast<float>(1 / a.factor) : static_cast<float>(a.in) / static_cast<float>(a.out);
  const double first = exact ? 0.5 : 0;
  const Tensor i = arange(first, first + static_cast<double>(a.out), 1, {DType::float32, device});
  return clamp_max(mul(i, scale).to(DType::int64), static_cast<double>(a.in - 1));
}

/// The place of each output pixel in units of input pixels: float64 [out].
Tensor places(const Axis& a, bool align_corners, Device device) {
  double step = a.factor > 0 ? 1 / a.factor : static_cast<double>(a.in) / static_cast<double>(a.out);
  if (align_corners) step = a.out > 1 ? static_cast<double>(a.in - 1) / static_cast<double>(a.out - 1) : 0;
  const double first = align_corners ? 0 : 0.5 * step - 0.5;
  if (step == 0) return full({a.out}, first, {DType::float64, device});
  return arange(first, first + step * (static_cast<double>(a.out) - 0.5), step, {DType::float64, device});
}

Tensor indices_at(const Tensor& places, const Axis& a) {
  return clamp(places, 0, static_cast<double>(a.in - 1)).to(DType::int64);
}

Taps linear_taps(const Axis& a, bool align_corners, DType dtype, Device device) {
  const Tensor at = clamp(places(a, align_corners, device), 0, static_cast<double>(a.in - 1));
  const Tensor first = at.to(DType::int64), second = frac(at).to(dtype);
  return {{first, clamp_max(add(first, 1), static_cast<double>(a.in - 1))}, {sub(1, second), second}};
}

/// By Keys' kernel of the distances to four pixels.
Taps cubic_taps(const Axis& a, bool align_corners, DType dtype, Device device) {
  const Tensor at = places(a, align_corners, device);
  const Tensor pixel = add(floor(at), arange(-1, 3, 1, {DType::float64, device}).unsqueeze(1)), d = abs(sub(at, pixel));
  const Tensor near = add(mul(mul(sub(mul(d, 1.25), 2.25), d), d), 1);
  const Tensor far = add(mul(sub(mul(add(mul(d, -0.75), 3.75), d), 6), d), 3);
  return {indices_at(pixel, a).unbind(), where(le(d, 1), near, far).to(dtype).unbind()};
}

Tensor spread(const Tensor& y, const Axis& a, const Taps& taps);

/// The weighted sums of pixels along a dimension.
Tensor weighted(const Tensor& x, const Axis& a, const Taps& taps) {
  Tensor y;
  {
    const NoGradGuard no_grad;
    Backend& backend = dispatch({{"x", x}});
    for (std::size_t t = 0; t < taps.index.size(); ++t) {
      const Tensor each = raw::index_select(x, a.dim, taps.index[t]);
      if (t == 0) y = mul_(each, taps.weight[t]);
      else if (y.numel())
        backend.run(calls::Ternary{raw::kTernary<kernels::Addcmul>, y.dtype(), y, each,
                                   taps.weight[t].expand(y.shape()), y, 1});
    }
  }
  return record("interpolate", std::move(y), {x}, [a, taps](const Tensor& g) { return spread(g, a, taps); });
}

/// The transposed map: adds each weighted pixel of y to those that it came from.
Tensor spread(const Tensor& y, const Axis& a, const Taps& taps) {
  Tensor x;
  {
    const NoGradGuard no_grad;
    Backend& backend = dispatch({{"grad", y}});
    Shape shape = y.shape();
    shape[a.dim] = a.in;
    x = zeros(shape, {y.dtype(), y.device()});
    for (std::size_t t = 0; y.numel() && t < taps.index.size(); ++t) {
      const Tensor part = mul(y, taps.weight[t]);
      if (a.dim < y.dim() - 1) (void)backend.run(calls::IndexAdd{part, taps.index[t], x, a.dim});
      else (void)backend.run(calls::ScatterAdd{part, taps.index[t].expand(y.shape()), x, a.dim});
    }
  }
  return record("interpolate_backward", std::move(x), {y}, [a, taps](const Tensor& g) { return weighted(g, a, taps); });
}

/// f(axis) for each: smaller results first, and of larger ones the last dimension first, whose elements cost most.
template <class F> void in_order(std::span<const Axis> axes, const F& f) {
  for (const Axis& a : axes)
    if (a.out < a.in) f(a);
  for (auto a = axes.rbegin(); a != axes.rend(); ++a)
    if (a->out >= a->in && !a->same()) f(*a);
}

std::vector<Axis> axes_of(const BoundOperands<1>& op, const InterpolateOptions& o) {
  const Tensor& x = op[0];
  const int dims = x.dim() - 2;
  if ((o.size.count == 0) == (o.scale_factor.count == 0))
    throw ValueError(message("needs either size or scale_factor", op, "e.g. {.scale_factor = 2}"));
  const int given = o.size.count + o.scale_factor.count;
  if (given != 1 && given != dims)
    throw ValueError(message(fmt::format("{} numbers for {} spatial dimensions", given, dims), op,
                             "give one for each, or one for all"));
  std::vector<Axis> axes;
  for (int d = 0; d < dims; ++d) {
    Axis a{2 + d, x.size(2 + d), 0};
    const int i = given == 1 ? 0 : d;
    if (o.size.count) {
      a.out = o.size.values[i];
      if (a.out < 1)
        throw ValueError(message(fmt::format("size must be positive, got {}", a.out), op, "e.g. {.size = 8}"));
    } else {
      a.factor = o.scale_factor.values[i];
      const double out = std::floor(static_cast<double>(a.in) * a.factor);
      if (!(a.factor > 0 && a.factor <= 1e9 && (out >= 1 || a.in == 0)))
        throw ValueError(message(fmt::format("scale_factor {} of a size of {} gives no size", a.factor, a.in), op,
                                 "give a positive one, by which at least one pixel is left"));
      a.out = static_cast<std::int64_t>(out);
    }
    if (a.in == 0) throw ShapeError(message("x has no pixels", op, "each spatial size must be 1 or more"));
    axes.push_back(a);
  }
  return axes;
}

void check(const BoundOperands<1>& op, const InterpolateOptions& o) {
  const Tensor& x = op[0];
  if (x.dim() < 3 || x.dim() > 5)
    throw ShapeError(message("x needs three to five dimensions", op, "x: [N, C, L], [N, C, H, W], [N, C, D, H, W]"));
  const int wanted = o.mode == Mode::linear                                ? 1
                     : o.mode == Mode::bilinear || o.mode == Mode::bicubic ? 2
                     : o.mode == Mode::trilinear                           ? 3
                                                                           : x.dim() - 2;
  const char* const mode = kNames[static_cast<int>(o.mode)];
  if (wanted != x.dim() - 2)
    throw ShapeError(message(fmt::format("{} is for {} spatial dimension{}", mode, wanted, wanted > 1 ? "s" : ""), op,
                             "linear: one, bilinear and bicubic: two, trilinear: three"));
  const bool nearest = o.mode == Mode::nearest || o.mode == Mode::nearest_exact;
  if (o.align_corners && (nearest || o.mode == Mode::area))
    throw ValueError(
        message(fmt::format("{} has no align_corners", mode), op, "it is for linear, bilinear, bicubic and trilinear"));
  if (o.antialias && o.mode != Mode::bilinear && o.mode != Mode::bicubic)
    throw ValueError(message(fmt::format("{} has no antialias", mode), op, "it is for bilinear and bicubic"));
  if (!nearest && !x.is_floating_point())
    throw DTypeError(message("x must be floating-point", op, "convert first: .to(float32); nearest takes any"));
}

/// f of images in channels-last as [N, H, W, C], which are dense, with the dimensions of axes there.
template <class F> Tensor by_rows(const Tensor& x, std::vector<Axis> axes, const F& f) {
  if (x.dim() != 4 || x.is_contiguous() || !x.is_contiguous(MemoryFormat::channels_last)) return f(x, axes);
  for (Axis& a : axes) --a.dim;
  return f(x.permute({0, 2, 3, 1}), axes).permute({0, 3, 1, 2});
}

Tensor nearest(const Tensor& x, std::span<const Axis> axes, bool exact) {
  Tensor y = x, index;
  const Axis* made_for = nullptr;  // images are often square
  in_order(axes, [&](const Axis& a) {
    if (made_for == nullptr || !made_for->like(a)) index = nearest_index(a, exact, x.device());
    made_for = &a;
    y = index_select(y, a.dim, index);
  });
  return y.is_same(x) ? x.clone() : y;
}

Tensor area(const Tensor& x, std::span<const Axis> axes) {
  if (axes.size() == 1) return adaptive_avg_pool1d(x, axes[0].out);
  if (axes.size() == 2) return adaptive_avg_pool2d(x, {axes[0].out, axes[1].out});
  return adaptive_avg_pool3d(x, {axes[0].out, axes[1].out, axes[2].out});
}

/// [out, in]: a triangle or Keys' kernel with a = -0.5, as wide as an output pixel; each row sums to 1.
Tensor antialiasing(const Axis& a, const InterpolateOptions& o, DType dtype, Device device) {
  const auto in = static_cast<double>(a.in), out = static_cast<double>(a.out);
  const double scale = o.align_corners ? (a.out > 1 ? (in - 1) / (out - 1) : 0)
                       : a.factor > 0  ? 1 / a.factor
                                       : in / out;
  const double width = std::max(scale, 1.0);
  const Tensor center = mul(arange(0.5, out, 1, {DType::float64, device}), scale / width).unsqueeze(1);
  const Tensor pixel = div(arange(0.5, in, 1, {DType::float64, device}), width), d = abs(sub(pixel, center));
  Tensor weight;
  if (o.mode == Mode::bicubic) {
    const Tensor close = add(mul(mul(sub(mul(d, 1.5), 2.5), d), d), 1);
    const Tensor distant = add(mul(sub(mul(add(mul(d, -0.5), 2.5), d), 4), d), 2);
    weight = where(lt(d, 1), close, where(lt(d, 2), distant, 0.0));
  } else {
    weight = clamp_min(sub(1, d), 0);
  }
  return div(weight, sum(weight, 1, true)).to(dtype);
}

}  // namespace

namespace {

Tensor interpolated(const Tensor& x, const InterpolateOptions& o, const std::vector<Axis>& axes) {
  if (o.mode == Mode::nearest || o.mode == Mode::nearest_exact)
    return by_rows(x, axes, [&](const Tensor& rows, std::span<const Axis> of_rows) {
      return nearest(rows, of_rows, o.mode == Mode::nearest_exact);
    });
  if (o.mode == Mode::area) return area(x, axes);
  const DType compute = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  if (o.antialias) {
    Tensor y = x.to(compute), weight;
    const Axis* made_for = nullptr;
    in_order(axes, [&](const Axis& a) {
      if (made_for == nullptr || !made_for->like(a)) weight = antialiasing(a, o, compute, x.device());
      made_for = &a;
      y = a.dim == y.dim() - 1 ? matmul(y, weight.t()) : matmul(weight, y);
    });
    return y.is_same(x) ? x.clone() : y.to(x.dtype());
  }
  return by_rows(x, axes, [&](const Tensor& rows, std::span<const Axis> of_rows) {
    Tensor y = rows.to(compute).contiguous();
    Taps taps;
    const Axis* made_for = nullptr;
    in_order(of_rows, [&](const Axis& a) {
      if (made_for == nullptr || !made_for->like(a))
        taps = (o.mode == Mode::bicubic ? cubic_taps : linear_taps)(a, o.align_corners, compute, x.device());
      made_for = &a;
      Shape along = Shape::filled(y.dim() - a.dim, 1);
      along[0] = a.out;
      for (Tensor& weight : taps.weight) weight = weight.reshape(along);
      y = weighted(y, a, taps);
    });
    return y.is_same(rows) ? rows.clone() : y.to(x.dtype());
  });
}

}  // namespace

Tensor interpolate(const In& x_, const InterpolateOptions& o) {
  const Operation op("interpolate", x_.where, {kKept, kWide}, {{"x", *x_}});
  check(op, o);
  const std::vector<Axis> axes = axes_of(op, o);
  Tensor y = interpolated(op[0], o, axes);
  if (is_heard() && o.mode != Mode::area) [[unlikely]] {  // that is an adaptive pool, which tells
    std::vector<std::int64_t> sizes;
    std::vector<double> factors;
    for (const Axis& a : axes) sizes.push_back(a.out), factors.push_back(a.factor);
    tell("interpolate", {y}, op,
         {{"mode", std::string_view(kNames[static_cast<int>(o.mode)])},
          {"align_corners", o.align_corners},
          {"antialias", o.antialias},
          {"size", sizes},
          {"factors", factors}});
  }
  return y;
}

}  // namespace minnow
