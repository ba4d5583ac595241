#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

// A pixel at a place between pixels is a weighted sum of those around it.  Indices, weights and their slopes are made
// for a block of places, along each dimension and then of the products; all channels share them.

namespace minnow::cpu {

constexpr int kGridDims = 3, kGridTaps = 16, kGridPlaces = 128;

/// Some places of an image.  The result is y, or if one of the gradients is not null, that.
struct GridBlock {
  const void *x, *grid;
  void *y, *grad_x, *grad_grid;
  std::int64_t places, channels, channel_step, y_step;
  std::int64_t size[kGridDims], step[kGridDims];  ///< of x, or of grad_x
  int dims;
  GridSampleParams params;
};
struct GridLoops {
  void (*sample[2])(const GridBlock& block);  ///< of floats and of doubles
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(GridLoops, grid_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// The pixels that places are between: their offsets in x, their weights, and the slopes of those to each dimension.
template <class T, int Count, int Dims> struct GridPixels {
  alignas(64) std::int32_t offset[Count][kGridPlaces];
  alignas(64) T weight[Count][kGridPlaces];
  alignas(64) T slope[Dims][Count][kGridPlaces];
};

/// A dimension with places as pixels, -1 to 1 on the grid.
template <class T> struct GridAxis {
  T scale, shift, low, span, last;
  std::int32_t step;
  GridSampleParams::Padding padding;

  GridAxis(std::int64_t size, std::int64_t apart, const GridSampleParams& p)
      : scale(static_cast<T>(p.align_corners ? size - 1 : size) / T(2)),
        shift(p.align_corners ? T(0) : T(1) / static_cast<T>(size)),
        low(p.align_corners ? T(0) : T(-0.5)),
        span(static_cast<T>(p.align_corners ? size - 1 : size)),
        last(static_cast<T>(size - 1)),
        step(static_cast<std::int32_t>(apart)),
        padding(p.padding) {}

  /// Makes places ones inside of x, except for zeros, and multiplies `slope` by theirs.
  MINNOW_HD void move_inside(int n, T* __restrict at, T* __restrict slope) const {
    if (padding == GridSampleParams::reflection) {
      const T period = 2 * span, times = span > 0 ? 1 / period : T(0);
      for (int p = 0; p < n; ++p) {
        const T away = at[p] - low, distance = away < 0 ? -away : away,
                rest = span - (distance - kernels::math::floor(distance * times) * period);
        slope[p] = (away < 0 ? -slope[p] : slope[p]) * (rest < 0 ? T(-1) : T(1));
        at[p] = span > 0 ? span - (rest < 0 ? -rest : rest) + low : distance * 0;
      }
    }
    if (padding == GridSampleParams::zeros) return;
    for (int p = 0; p < n; ++p) {
      slope[p] = at[p] < 0 ? T(0) : at[p] > last ? T(0) : slope[p];
      at[p] = at[p] < 0 ? T(0) : at[p] > last ? last : at[p];
    }
  }
  /// The offsets of whole places; weights and slopes, if there are any, become 0 where zeros are read.
  MINNOW_HD void take(int n, const T* __restrict at, std::int32_t* __restrict offset, T* __restrict weight,
                      T* __restrict slope) const {
    for (int p = 0; p < n; ++p)
      offset[p] = static_cast<std::int32_t>(at[p] >= 0 ? at[p] > last ? last : at[p] : T(0)) * step;
    if (padding != GridSampleParams::zeros) return;
    for (int p = 0; p < n; ++p) weight[p] = at[p] >= 0 ? at[p] > last ? T(0) : weight[p] : T(0);
    if (slope == nullptr) return;
    for (int p = 0; p < n; ++p) slope[p] = at[p] >= 0 ? at[p] > last ? T(0) : slope[p] : T(0);
  }
};

/// Keys' kernel with a = -0.75 at distance d from 0 to 1, and from 1 to 2, and their slopes.
template <class T> MINNOW_HD T near(T d) { return (d * T(1.25) - T(2.25)) * d * d + 1; }
template <class T> MINNOW_HD T far(T d) { return ((d * T(-0.75) + T(3.75)) * d - 6) * d + 3; }
template <class T> MINNOW_HD T near_slope(T d) { return (d * T(3.75) - T(4.5)) * d; }
template <class T> MINNOW_HD T far_slope(T d) { return (d * T(-2.25) + T(7.5)) * d - 6; }

/// Along one dimension.
template <class T>
void line_pixels(const GridBlock& b, const GridAxis<T>& axis, const T* grid, GridPixels<T, 4, 1>& to) {
  const T scale = axis.scale, shift = axis.shift;
  const int n = static_cast<int>(b.places), dims = b.dims, taps = b.params.taps, sloped = b.grad_grid ? n : 0;
  alignas(64) T at[4][kGridPlaces], slope[kGridPlaces];
  // A constant distance between numbers of the grid, which vectors of all of them are taken from.
  const auto read = [&](auto apart) {
    for (int p = 0; p < n; ++p) at[0][p] = (grid[p * apart()] + 1 - shift) * scale, slope[p] = scale;
  };
  if (dims == 2) read(std::integral_constant<int, 2>());
  else read(std::integral_constant<int, 3>());
  if (taps == 1) {
    axis.move_inside(n, at[0], slope);
    for (int p = 0; p < n; ++p) at[0][p] = kernels::math::round(at[0][p]), to.weight[0][p] = 1;
    for (int p = 0; p < sloped; ++p) to.slope[0][0][p] = 0;
  } else if (taps == 2) {
    axis.move_inside(n, at[0], slope);
    for (int p = 0; p < n; ++p) {
      const T first = kernels::math::floor(at[0][p]), second = at[0][p] - first;
      at[0][p] = first, at[1][p] = first + 1;
      to.weight[0][p] = 1 - second, to.weight[1][p] = second;
    }
    for (int p = 0; p < sloped; ++p) to.slope[0][0][p] = -slope[p], to.slope[0][1][p] = slope[p];
  } else {
    for (int p = 0; p < sloped; ++p) {
      const T t = at[0][p] - kernels::math::floor(at[0][p]), u = 1 - t;
      to.slope[0][0][p] = far_slope(t + 1) * scale, to.slope[0][1][p] = near_slope(t) * scale;
      to.slope[0][2][p] = -near_slope(u) * scale, to.slope[0][3][p] = -far_slope(u + 1) * scale;
    }
    for (int p = 0; p < n; ++p) {
      const T first = kernels::math::floor(at[0][p]), t = at[0][p] - first, u = 1 - t;
      at[0][p] = first - 1, at[1][p] = first, at[2][p] = first + 1, at[3][p] = first + 2;
      to.weight[0][p] = far(t + 1), to.weight[1][p] = near(t), to.weight[2][p] = near(u), to.weight[3][p] = far(u + 1);
    }
    for (int tap = 0; tap < taps; ++tap) axis.move_inside(n, at[tap], slope);
  }
  for (int tap = 0; tap < taps; ++tap)
    axis.take(n, at[tap], to.offset[tap], to.weight[tap], sloped ? to.slope[0][tap] : nullptr);
}

/// Of all dimensions; returns how many there are.
template <class T> int all_pixels(const GridBlock& b, GridPixels<T, kGridTaps, kGridDims>& to) {
  GridPixels<T, 4, 1> line[kGridDims];
  const int n = static_cast<int>(b.places), taps = b.params.taps;
  int count = 1;
  for (int d = 0; d < b.dims; ++d) {  // the grid's last dimension begins with the width
    line_pixels(b, GridAxis<T>(b.size[d], b.step[d], b.params), static_cast<const T*>(b.grid) + b.dims - 1 - d,
                line[d]);
    count *= taps;
  }
  for (int k = 0; k < count; ++k) {
    for (int d = b.dims - 1, rest = k; d >= 0; --d, rest /= taps) {
      const GridPixels<T, 4, 1>& l = line[d];
      const int tap = rest % taps;
      const bool first = d == b.dims - 1;
      for (int other = d; other < b.dims && b.grad_grid; ++other)
        for (int p = 0; p < n; ++p)
          to.slope[other][k][p] = other > d ? to.slope[other][k][p] * l.weight[tap][p]
                                            : l.slope[0][tap][p] * (first ? T(1) : to.weight[k][p]);
      for (int p = 0; p < n; ++p) {
        to.offset[k][p] = l.offset[tap][p] + (first ? 0 : to.offset[k][p]);
        to.weight[k][p] = l.weight[tap][p] * (first ? T(1) : to.weight[k][p]);
      }
    }
  }
  return count;
}

/// y += the sums of `Some` pixels from number k on, or = for the first, at `Beside` places from p on: what is found for
/// places serves all channels.
template <class T, int Some, int Beside>
MINNOW_HD void read_places(const GridBlock& b, const GridPixels<T, kGridTaps, kGridDims>& pixels, int k, int p) {
  const std::int64_t channels = b.channels, step = b.channel_step, y_step = b.y_step;
  const T* from[Beside][Some];
  T weight[Beside][Some];
  for (int j = 0; j < Beside; ++j)
    for (int i = 0; i < Some; ++i)
      from[j][i] = static_cast<const T*>(b.x) + pixels.offset[k + i][p + j], weight[j][i] = pixels.weight[k + i][p + j];
  T* y = static_cast<T*>(b.y) + p;
  for (std::int64_t c = 0; c < channels; ++c, y += y_step)
    for (int j = 0; j < Beside; ++j) {
      T sum = k == 0 ? T(0) : y[j];
      for (int i = 0; i < Some; ++i) sum += weight[j][i] * from[j][i][c * step];
      y[j] = sum;
    }
}
template <class T, int Some>
MINNOW_HD void read_pixels(const GridBlock& b, const GridPixels<T, kGridTaps, kGridDims>& pixels, int k) {
  constexpr int kBeside = Some == 1 ? 4 : 1;
  const int n = static_cast<int>(b.places), most = n / kBeside * kBeside;
  for (int p = 0; p < most; p += kBeside) read_places<T, Some, kBeside>(b, pixels, k, p);
  for (int p = most; p < n; ++p) read_places<T, Some, 1>(b, pixels, k, p);
}

template <class T> void sample(const GridBlock& b) {
  GridPixels<T, kGridTaps, kGridDims> pixels;
  const int n = static_cast<int>(b.places), count = all_pixels(b, pixels);
  if (!b.grad_x && !b.grad_grid) {
    if (count == 1) return read_pixels<T, 1>(b, pixels, 0);
    for (int k = 0; k < count; k += 4) read_pixels<T, 4>(b, pixels, k);
    return;
  }
  alignas(64) T sums[kGridTaps][kGridPlaces];  // of the products of pixels and gradients
  for (int k = 0; k < count && b.grad_grid; ++k)
    for (int p = 0; p < n; ++p) sums[k][p] = 0;
  for (std::int64_t c = 0; c < b.channels; ++c) {
    const T* __restrict x = static_cast<const T*>(b.x) + c * b.channel_step;
    T* __restrict y = static_cast<T*>(b.y) + c * b.y_step;
    if (b.grad_x) {
      T* __restrict to = static_cast<T*>(b.grad_x) + c * b.channel_step;
      for (int k = 0; k < count; ++k)
        for (int p = 0; p < n; ++p) to[pixels.offset[k][p]] += pixels.weight[k][p] * y[p];
    } else {
      for (int k = 0; k < count; ++k)
        for (int p = 0; p < n; ++p) sums[k][p] += y[p] * x[pixels.offset[k][p]];
    }
  }
  for (int d = 0; d < b.dims && b.grad_grid; ++d)
    for (int p = 0; p < n; ++p) {
      T sum = 0;
      for (int k = 0; k < count; ++k) sum += sums[k][p] * pixels.slope[d][k][p];
      static_cast<T*>(b.grad_grid)[p * b.dims + b.dims - 1 - d] = sum;
    }
}

}  // namespace

const GridLoops grid_loops = {{sample<float>, sample<double>}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {

template <> void execute(const calls::GridSample& args) {
  const View& pixels = args.grad_x.defined() ? args.grad_x : args.x;
  const int dims = pixels.dim() - 2;
  const auto item = static_cast<std::int64_t>(pixels.itemsize());
  const std::int64_t images = pixels.shape()[0], channels = pixels.shape()[1], *steps = pixels.strides().begin();
  const std::int64_t places = args.grid.numel() / std::max<std::int64_t>(1, images * dims);
  const auto sample = MINNOW_ISA_LOOPS(grid_loops).sample[pixels.dtype() == DType::float64 ? 1 : 0];
  const auto at = [&](const View& t, std::int64_t offset) {
    return t.defined() ? static_cast<char*>(t.raw_data()) + offset * item : nullptr;
  };
  // Channels of one pixel are shared out where places would meet.
  const std::int64_t blocks = (places + kGridPlaces - 1) / kGridPlaces,
                     some = args.grad_x.defined() ? 16 : std::max<std::int64_t>(1, channels),
                     groups = args.grad_x.defined() ? (channels + some - 1) / some : blocks;
  parallel_for(images * groups, 4 * args.y.nbytes(), [&](std::int64_t i) {
    const std::int64_t image = i / groups, first = args.grad_x.defined() ? 0 : i % groups,
                       last = args.grad_x.defined() ? blocks : first + 1,
                       channel = args.grad_x.defined() ? i % groups * some : 0;
    const std::int64_t plane = image * steps[0] + channel * steps[1];
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t place = block * kGridPlaces;
      GridBlock b{at(args.x, plane),
                  at(args.grid, (image * places + place) * dims),
                  at(args.y, (image * channels + channel) * places + place),
                  at(args.grad_x, plane),
                  at(args.grad_grid, (image * places + place) * dims),
                  std::min<std::int64_t>(kGridPlaces, places - place),
                  std::min(some, channels - channel),
                  steps[1],
                  places,
                  {},
                  {},
                  dims,
                  args.params};
      for (int d = 0; d < dims; ++d) b.size[d] = pixels.shape()[2 + d], b.step[d] = steps[2 + d];
      sample(b);
    }
  });
}

}  // namespace minnow::cpu
#endif
