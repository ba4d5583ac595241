#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <vector>
#include <minnow/autograd/engine.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>

namespace minnow {
namespace {

using Mode = Interpolation;

/// A pixel along one dimension, and its weight; undefined for 1.
struct Tap {
  Tensor index, weight;
};

/// The taps of one dimension of `size` pixels at the places of a grid.
struct Sampling {
  std::int64_t size;
  GridSampleOptions options;

  double last() const { return static_cast<double>(size - 1); }

  Tensor place(const Tensor& g) const {
    const auto n = static_cast<double>(size);
    return options.align_corners ? mul(add(g, 1), (n - 1) / 2) : mul(sub(add(g, 1), 1 / n), n / 2);
  }

  /// A place that is inside of x, except for zeros.
  Tensor inside(const Tensor& at) const {
    if (options.padding_mode == GridPadding::zeros) return at;
    if (options.padding_mode == GridPadding::border) return clamp(at, 0, last());
    const double low = options.align_corners ? 0 : -0.5, span = options.align_corners ? last() : last() + 1;
    if (span == 0) return mul(at, 0);
    const Tensor back = sub(span, abs(sub(span, remainder(abs(sub(at, low)), 2 * span))));
    return clamp(add(back, low), 0, last());
  }

  /// A tap at whole numbers.
  Tap tap(const Tensor& whole, const Tensor& weight) const {
    const Tensor at = whole.detach();
    // Casts of what is far outside, or NaN, are not defined: the number is limited before and after.
    const Tensor index = clamp(clamp(at, -1, static_cast<double>(size)).to(DType::int64), 0, last());
    if (options.padding_mode != GridPadding::zeros) return {index, weight};
    const Tensor in = logical_and(ge(at, 0), le(at, last()));
    return {index, weight.defined() ? where(in, weight, 0) : in.to(at.dtype())};
  }

  std::vector<Tap> taps(const Tensor& g) const {
    const Tensor at = place(g);
    if (options.mode == Mode::nearest) return {tap(round(inside(at)), {})};
    if (options.mode == Mode::bilinear) {
      const Tensor in = inside(at), first = floor(in), second = sub(in, first);
      return {tap(first, sub(1, second)), tap(add(first, 1), second)};
    }
    const Tensor first = floor(at), t = sub(at, first), u = sub(1, t);
    return {tap(inside(sub(first, 1)), far(add(t, 1))), tap(inside(first), near(t)),
            tap(inside(add(first, 1)), near(u)), tap(inside(add(first, 2)), far(add(u, 1)))};
  }

 private:
  /// Keys' kernel with a = -0.75 at distance d from 0 to 1, and from 1 to 2.
  static Tensor near(const Tensor& d) { return add(mul(mul(sub(mul(d, 1.25), 2.25), d), d), 1); }
  static Tensor far(const Tensor& d) { return add(mul(sub(mul(add(mul(d, -0.75), 3.75), d), 6), d), 3); }
};

void check(const BoundOperands<2>& op, const GridSampleOptions& o) {
  const Tensor &x = op[0], &grid = op[1];
  if ((x.dim() != 4 && x.dim() != 5) || grid.dim() != x.dim() || grid.size(-1) != x.dim() - 2 ||
      grid.size(0) != x.size(0))
    throw ShapeError(message("x and grid do not match", op,
                             "x: [N, C, H, W]  grid: [N, OH, OW, 2], or x: [N, C, D, H, W]  grid: [N, OD, OH, OW, 3]"));
  for (int d = 2; d < x.dim(); ++d)
    if (x.size(d) == 0) throw ShapeError(message("x has no pixels", op, "each spatial size must be 1 or more"));
  if (x.dtype() != grid.dtype() || !x.is_floating_point())
    throw DTypeError(message("operands must have one floating-point dtype", op, dtype_hint(op)));
  const bool known = o.mode == Mode::nearest || o.mode == Mode::bilinear || (o.mode == Mode::bicubic && x.dim() == 4);
  if (!known)
    throw ValueError(message("the mode must be bilinear, nearest, or, of images, bicubic", op,
                             "give .mode = Interpolation::bilinear"));
}

/// The sum over the taps of dimensions from d on; index and weight are those of the dimensions before.
void add_taps(const Tensor& pixels, const std::vector<std::vector<Tap>>& taps, const std::vector<std::int64_t>& sizes,
              std::size_t d, const Tensor& index, const Tensor& weight, Tensor& total) {
  if (d == taps.size()) {
    const Tensor flat = index.flatten(1).unsqueeze(1);  // [N, 1, places]
    Tensor read = gather(pixels, 2, flat.expand({pixels.size(0), pixels.size(1), flat.size(2)}));
    if (weight.defined()) read = mul(read, weight.flatten(1).unsqueeze(1));
    total = total.defined() ? add(total, read) : read;
    return;
  }
  for (const Tap& tap : taps[d]) {
    const Tensor at = index.defined() ? add(mul(index, sizes[d]), tap.index) : tap.index;
    const Tensor w = !weight.defined() ? tap.weight : tap.weight.defined() ? mul(weight, tap.weight) : weight;
    add_taps(pixels, taps, sizes, d + 1, at, w, total);
  }
}

/// The function of elementwise ones and gathers, which has derivatives of any order.
Tensor composed(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  const int dims = x.dim() - 2;
  std::vector<std::vector<Tap>> taps;
  std::vector<std::int64_t> sizes;
  for (int d = 0; d < dims; ++d) {  // the grid's last dimension begins with the width
    sizes.push_back(x.size(2 + d));
    taps.push_back(Sampling{sizes.back(), options}.taps(grid.select(-1, dims - 1 - d)));
  }
  Tensor total;
  add_taps(x.flatten(2), taps, sizes, 0, {}, {}, total);
  Shape shape{x.size(0), x.size(1)};
  for (int d = 0; d < dims; ++d) shape.push_back(grid.size(1 + d));
  total = total.reshape(shape);
  if (options.mode != Mode::nearest) return total;
  // The grid gets a gradient of 0, as in PyTorch.
  return record("grid_sample", total, {total, grid}, [grid = grid.detach()](const Tensor& g) -> Gradients {
    return {g, zeros_like(grid)};
  });
}

/// One call for the host; its gradient is one too, unless that is to have a gradient.
Tensor on_host(const Tensor& x, const Tensor& places, const GridSampleOptions& options) {
  const Tensor grid = raw::contiguous(places);
  const GridSampleParams params{options.mode == Mode::nearest    ? 1
                                : options.mode == Mode::bilinear ? 2
                                                                 : 4,
                                static_cast<GridSampleParams::Padding>(options.padding_mode), options.align_corners};
  Shape shape{x.size(0), x.size(1)};
  for (int d = 1; d < grid.dim() - 1; ++d) shape.push_back(grid.size(d));
  Tensor y = raw::new_result(shape, x.dtype(), x.device());
  dispatch({{"x", x}}).run(calls::GridSample{.x = x, .grid = grid, .y = y, .params = params});
  return record("grid_sample", std::move(y), {x, places},
                [x = Saved(x), places = Saved(places), options, params](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor image = x(), at = places();
                  std::vector<Tensor> wanted, found;
                  if (needs[0]) wanted.push_back(image);
                  if (needs[1]) wanted.push_back(at);
                  if (is_grad_enabled())
                    found = grad({composed(image, at, options)}, wanted, {.create_graph = true, .grad_outputs = {g}});
                  else
                    for (std::size_t i = 0; i < wanted.size(); ++i) {
                      const bool of_x = i == 0 && needs[0];
                      const View& result = found.emplace_back(zeros(wanted[i].shape(), {g.dtype(), g.device()}));
                      const View& none = detail::calls::kUndefined;
                      if (of_x || params.taps > 1)  // nearest has no slope
                        dispatch({{"grad", g}})
                            .run(calls::GridSample{image, raw::contiguous(at), raw::contiguous(g), of_x ? result : none,
                                                   of_x ? none : result, params});
                    }
                  return {needs[0] ? found.front() : Tensor(), needs[1] ? found.back() : Tensor()};
                });
}

/// Whether the elements of a channel are at offsets of 31 bits.
bool is_near(const Tensor& x) {
  std::int64_t last = 0;
  for (int d = 2; d < x.dim(); ++d) last += (x.size(d) - 1) * std::abs(x.strides()[d]);
  return std::max(last, x.shape().numel()) <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

Tensor grid_sample(const In& x_, const In& grid_, const GridSampleOptions& options) {
  const Operation op("grid_sample", x_.where, {kWide, kWidest}, {{"x", *x_}, {"grid", *grid_}});
  const Tensor &x = op[0], &grid = op[1];
  check(op, options);
  const DType compute = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor image = x.to(compute), places = grid.to(compute);
  const bool host = op.backend().computes_on_host() && is_near(image);
  Tensor y = (host ? on_host : composed)(image, places, options).to(x.dtype());
  if (is_heard()) [[unlikely]]
    tell("grid_sample", {y}, op,
         {{"mode", static_cast<std::int64_t>(options.mode)},
          {"padding_mode", static_cast<std::int64_t>(options.padding_mode)},
          {"align_corners", options.align_corners}});
  return y;
}

Tensor affine_grid(const In& theta_, const Shape& size, bool align_corners) {
  const Operation op("affine_grid", theta_.where, kLower, {{"theta", *theta_}});
  const Tensor& theta = op[0];
  const int dims = size.rank() - 2;
  if ((dims != 2 && dims != 3) || theta.shape() != Shape{size[0], dims, dims + 1})
    throw ShapeError(message("theta does not match the size " + size.str(), op,
                             "theta: [N, 2, 3] for {N, C, H, W}, [N, 3, 4] for {N, C, D, H, W}"));
  for (int d = 0; d < dims; ++d)
    if (size[2 + d] < 1)
      throw ValueError(message("sizes must be positive, got " + size.str(), op, "e.g. {1, 3, 8, 8}"));
  if (!theta.is_floating_point())
    throw DTypeError(message("theta must be floating-point", op, "convert first: .to(float32)"));
  // [N, dims, H, W] and then its transpose: broadcast sums of long rows.
  Shape column{size[0], dims}, last{0};
  for (int d = 0; d < dims; ++d) column.push_back(1), last.push_back(2 + d);
  last.push_back(1);
  const DType compute = theta.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor map = theta.to(compute);
  Tensor y = map.select(2, dims).reshape(column);
  for (int d = 0; d < dims; ++d) {
    const std::int64_t n = size[2 + d];
    const auto count = static_cast<double>(n);
    Shape along = Shape::filled(dims + 2, 1);
    along[2 + d] = n;
    const Tensor i = arange(0, n, 1, {DType::float64, theta.device()}).reshape(along);
    const Tensor at = !align_corners ? sub(mul(add(i, 0.5), 2 / count), 1)
                      : n > 1        ? sub(mul(i, 2 / (count - 1)), 1)
                                     : mul(i, 0);
    y = add(y, mul(at.to(compute), map.select(2, dims - 1 - d).reshape(column)));
  }
  return y.permute(last).contiguous().to(theta.dtype());
}

}  // namespace minnow
