#include <algorithm>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/convolution/winograd.h>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>

// F(4 x 4, 3 x 3): y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A for tiles d of 6 x 6 and y of 4 x 4 elements, after Lavin and Gray
// (2015).  The elementwise product, summed over the channels, is 36 matrix products.  The gradient of g is the
// transposed map: Gᵀ [(Bᵀ d B) ⊙ (A y Aᵀ)] G, summed over the tiles.

namespace minnow::cpu {

/// A tile of channels-last elements, at `at`, with `row` elements from one row to the next.
struct WinogradTile {
  std::int64_t row, channels;
  int top, bottom, left, right;  ///< rows [top, bottom) and columns [left, right) of it exist
};
/// Between activations and transformed float32.  Each transformed element is `step` elements from the next one, and has
/// all channels.   E: float, or std::uint16_t for bfloat16.
template <class E> struct WinogradTransforms {
  /// 6 x 6 elements; those that do not exist are 0.
  void (*input)(const E* at, const WinogradTile& tile, float* to, std::int64_t step);
  /// 4 x 4 elements of a gradient, whose sums are added to `sums`, if that is not nullptr.
  void (*gradient)(const E* at, const WinogradTile& tile, float* to, std::int64_t step, float* sums);
  void (*output)(const float* from, std::int64_t step, E* at, const WinogradTile& tile, const float* bias, bool relu);
};
struct WinogradLoops {
  WinogradTransforms<float> of_float;
  WinogradTransforms<std::uint16_t> of_bfloat16;
  /// g: [9, n].
  void (*weights)(const float* g, std::int64_t n, float* to, std::int64_t step);
  void (*weight_gradient)(const float* from, std::int64_t step, std::int64_t n, float* g);
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(WinogradLoops, winograd_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

// The points at which the polynomials are evaluated are 0, ±a, ±b and infinity.  With these rounding errors are smaller
// than with 1 and 2.
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB;
constexpr float kAt0 = 1 / (kA2 * kB2), kAtA = 1 / (2 * kA2 * (kA2 - kB2)), kAtB = 1 / (2 * kB2 * (kB2 - kA2));

/// Bᵀ
struct OfInput {
  static constexpr int kFrom = 6, kTo = 6;
  MINNOW_HD static void apply(const Vector* d, Vector* v) {
    const Vector a = d[4] - kB2 * d[2], b = kA * (d[3] - kB2 * d[1]), c = d[4] - kA2 * d[2],
                 e = kB * (d[3] - kA2 * d[1]);
    v[0] = kA2 * kB2 * d[0] - (kA2 + kB2) * d[2] + d[4];
    v[1] = a + b;
    v[2] = a - b;
    v[3] = c + e;
    v[4] = c - e;
    v[5] = kA2 * kB2 * d[1] - (kA2 + kB2) * d[3] + d[5];
  }
};
/// Aᵀ
struct OfOutput {
  static constexpr int kFrom = 6, kTo = 4;
  MINNOW_HD static void apply(const Vector* m, Vector* y) {
    const Vector a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
    y[0] = m[0] + a + c;
    y[1] = kA * b + kB * d;
    y[2] = kA2 * a + kB2 * c;
    y[3] = kA * kA2 * b + kB * kB2 * d + m[5];
  }
};
/// A
struct OfGradient {
  static constexpr int kFrom = 4, kTo = 6;
  MINNOW_HD static void apply(const Vector* y, Vector* w) {
    const Vector a = y[0] + kA2 * y[2], b = kA * (y[1] + kA2 * y[3]), c = y[0] + kB2 * y[2],
                 d = kB * (y[1] + kB2 * y[3]);
    w[0] = y[0];
    w[1] = a + b;
    w[2] = a - b;
    w[3] = c + d;
    w[4] = c - d;
    w[5] = y[3];
  }
};
/// G
struct OfWeights {
  static constexpr int kFrom = 3, kTo = 6;
  MINNOW_HD static void apply(const Vector* g, Vector* u) {
    const Vector a = kAtA * (g[0] + kA2 * g[2]), b = kAtA * kA * g[1], c = kAtB * (g[0] + kB2 * g[2]),
                 d = kAtB * kB * g[1];
    u[0] = kAt0 * g[0];
    u[1] = a + b;
    u[2] = a - b;
    u[3] = c + d;
    u[4] = c - d;
    u[5] = g[2];
  }
};
/// Gᵀ
struct OfWeightGradient {
  static constexpr int kFrom = 6, kTo = 3;
  MINNOW_HD static void apply(const Vector* s, Vector* g) {
    const Vector a = kAtA * (s[1] + s[2]), b = kAtB * (s[3] + s[4]);
    g[0] = kAt0 * s[0] + a + b;
    g[1] = kAtA * kA * (s[1] - s[2]) + kAtB * kB * (s[3] - s[4]);
    g[2] = kA2 * a + kB2 * b + s[5];
  }
};

/// to = M from Mᵀ, of a map M: first of the columns, then of the rows.
template <class M> MINNOW_HD void transform(const Vector (&from)[M::kFrom * M::kFrom], Vector (&to)[M::kTo * M::kTo]) {
  Vector half[M::kTo * M::kFrom];
#pragma GCC unroll 6
  for (int j = 0; j < M::kFrom; ++j) {
    Vector column[M::kFrom], out[M::kTo];
#pragma GCC unroll 6
    for (int i = 0; i < M::kFrom; ++i) column[i] = from[i * M::kFrom + j];
    M::apply(column, out);
#pragma GCC unroll 6
    for (int i = 0; i < M::kTo; ++i) half[i * M::kFrom + j] = out[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < M::kTo; ++i) M::apply(half + i * M::kFrom, to + i * M::kTo);
}

template <int Side, class E> MINNOW_HD void load_tile(const E* at, const WinogradTile& t, Vector (&v)[Side * Side]) {
#pragma GCC unroll 6
  for (int i = 0; i < Side; ++i)
#pragma GCC unroll 4
    for (int j = Side; j < Side + 4; ++j) __builtin_prefetch(at + i * t.row + j * t.channels);  // of the next tile
  if (t.top == 0 && t.left == 0 && t.bottom == Side && t.right == Side) {
#pragma GCC unroll 6
    for (int i = 0; i < Side; ++i)
#pragma GCC unroll 6
      for (int j = 0; j < Side; ++j) v[i * Side + j] = load(at + i * t.row + j * t.channels);
    return;
  }
  for (int i = 0; i < Side; ++i)
    for (int j = 0; j < Side; ++j) {
      const bool there = i >= t.top && i < t.bottom && j >= t.left && j < t.right;
      v[i * Side + j] = there ? load(at + i * t.row + j * t.channels) : Vector{};
    }
}
template <int Count> MINNOW_HD void store_all(const Vector (&v)[Count], float* to, std::int64_t step) {
#pragma GCC unroll 36
  for (int i = 0; i < Count; ++i) store(v[i], to + i * step);
}
template <int Count> MINNOW_HD void load_all(const float* from, std::int64_t step, Vector (&v)[Count]) {
#pragma GCC unroll 36
  for (int i = 0; i < Count; ++i) v[i] = load(from + i * step);
}

template <class E> void input(const E* at, const WinogradTile& tile, float* to, std::int64_t step) {
  for (std::int64_t c = 0; c < tile.channels; c += kLanes32) {
    Vector d[36], v[36];
    load_tile<6>(at + c, tile, d);
    transform<OfInput>(d, v);
    store_all(v, to + c, step);
  }
}

template <class E> void gradient(const E* at, const WinogradTile& tile, float* to, std::int64_t step, float* sums) {
  for (std::int64_t c = 0; c < tile.channels; c += kLanes32) {
    Vector y[16], w[36];
    load_tile<4>(at + c, tile, y);
    if (sums) {
      Vector sum = load(sums + c);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) sum += y[i];
      store(sum, sums + c);
    }
    transform<OfGradient>(y, w);
    store_all(w, to + c, step);
  }
}

template <class E>
void output(const float* from, std::int64_t step, E* at, const WinogradTile& tile, const float* bias, bool relu) {
  for (std::int64_t c = 0; c < tile.channels; c += kLanes32) {
    Vector m[36], y[16];
    load_all(from + c, step, m);
    transform<OfOutput>(m, y);
    const Vector added = bias ? load(bias + c) : Vector{};
    for (int i = 0; i < tile.bottom; ++i)
      for (int j = 0; j < tile.right; ++j) {
        const Vector sum = y[i * 4 + j] + added;
        store(relu ? (sum < 0.0f ? Vector{} : sum) : sum, at + c + i * tile.row + j * tile.channels);
      }
  }
}

void weights(const float* g, std::int64_t n, float* to, std::int64_t step) {
  for (std::int64_t k = 0; k < n; k += kLanes32) {
    Vector w[9], u[36];
    load_all(g + k, n, w);
    transform<OfWeights>(w, u);
    store_all(u, to + k, step);
  }
}

void weight_gradient(const float* from, std::int64_t step, std::int64_t n, float* g) {
  for (std::int64_t k = 0; k < n; k += kLanes32) {
    Vector s[36], w[9];
    load_all(from + k, step, s);
    transform<OfWeightGradient>(s, w);
    store_all(w, g + k, n);
  }
}

}  // namespace

extern const WinogradLoops winograd_loops = {{input<float>, gradient<float>, output<float>},
                                             {input<std::uint16_t>, gradient<std::uint16_t>, output<std::uint16_t>},
                                             weights,
                                             weight_gradient};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE

namespace minnow::cpu {
namespace {

constexpr std::int64_t kElements = 36;  // of a transformed tile

float* floats(const View& t) { return static_cast<float*>(t.raw_data()); }

/// The tiles of a batch, and blocks of them: a block's transformed tiles stay in the cache of a core.
struct Tiles {
  std::int64_t images, height, width;  ///< of the outputs
  std::int64_t high, wide, block;
  static constexpr std::int64_t kLeast = 48;

  Tiles(const Shape& out, std::int64_t channels)
      : images(out[0]), height(out[2]), width(out[3]), high((height + 3) / 4), wide((width + 3) / 4) {
    constexpr std::int64_t kBytes = 3 << 18;
    const std::int64_t tile = kElements * channels * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t most = std::max(kLeast, kBytes / tile / 6 * 6), needed = (count() + most - 1) / most;
    block = needed <= 1 ? count() : ((count() + needed - 1) / needed + 5) / 6 * 6;  // about equal, in whole gemm tiles
  }
  std::int64_t count() const { return images * high * wide; }
  std::int64_t blocks() const { return (count() + block - 1) / block; }

  /// f(image, first row, first column of the outputs of tile i).
  template <class F> void at(std::int64_t i, const F& f) const {
    const std::int64_t in_image = i % (high * wide);
    f(i / (high * wide), in_image / wide * 4, in_image % wide * 4);
  }
};

template <class E> const WinogradTransforms<E>& transforms() {
  const WinogradLoops& loops = MINNOW_ISA_LOOPS(winograd_loops);
  if constexpr (std::is_same_v<E, float>) return loops.of_float;
  else return loops.of_bfloat16;
}

/// The tile of `side` elements from (h, w) on of an image, and its address, which may lie before the image.
template <class E> struct Place {
  E* at;
  WinogradTile tile;

  Place(const View& t, std::int64_t image, std::int64_t h, std::int64_t w, int side) {
    const Shape& s = t.shape();
    const auto clipped = [&](std::int64_t n) { return static_cast<int>(std::clamp<std::int64_t>(n, 0, side)); };
    tile = {s[3] * s[1], s[1], clipped(-h), clipped(s[2] - h), clipped(-w), clipped(s[3] - w)};
    at = static_cast<E*>(t.raw_data()) + (image * s[2] + h) * tile.row + w * s[1];
  }
};

/// c = a b, or more; of `rows` rows.
void multiply(const GemmLoops& gemm, GemmTile tile, std::int64_t rows, std::int64_t cols) {
  const float *const a = tile.a, *const b = tile.b;
  float* const c = tile.c;
  for (std::int64_t j = 0; j < cols; j += gemm.cols)
    for (std::int64_t i = 0; i < rows; i += gemm.rows) {
      tile.a = a + i * tile.a_row;
      tile.b = b + j;
      tile.c = c + i * tile.c_row + j;
      gemm.tile(tile, static_cast<int>(std::min<std::int64_t>(gemm.rows, rows - i)),
                static_cast<int>(std::min<std::int64_t>(gemm.cols, cols - j)));
    }
}

/// The transformed weights, [36, from, to], of a convolution, or of the one that gives the gradient of its input.
View transformed(const View& w, bool backward) {
  const std::int64_t outer = w.shape()[0], inner = w.shape()[1], from = backward ? outer : inner,
                     to = backward ? inner : outer;
  const View all = scratch({kElements, from, to}, DType::float32), room = scratch({from, 9, to}, DType::float32);
  const float* const g = floats(w);
  const auto transform = MINNOW_ISA_LOOPS(winograd_loops).weights;
  parallel_for(from, w.nbytes(), [&](std::int64_t f) {
    float* const own = floats(room) + f * 9 * to;
    for (std::int64_t t = 0; t < to; ++t) {
      const float* const taps = g + (backward ? f * inner + t : t * inner + f) * 9;
      for (int k = 0; k < 9; ++k) own[k * to + t] = taps[backward ? 8 - k : k];  // backward turns them around
    }
    transform(own, to, floats(all) + f * to, from * to);
  });
  count_copies({0, 1});
  return all;
}

/// y = the convolution of x with transformed weights.
template <class E>
void convolve(const View& x, const View& transformed, const View& bias, const View& y, const std::int64_t (&padding)[2],
              bool relu) {
  const std::int64_t from = x.shape()[1], to = y.shape()[1];
  const Tiles tiles(y.shape(), from + to);
  const WinogradTransforms<E>& loop = transforms<E>();
  const GemmLoops& gemm = loops().gemm;
  const float *const u = floats(transformed), *const added = bias.defined() ? floats(bias) : nullptr;
  const std::int64_t in_step = tiles.block * from, out_step = tiles.block * to;
  for_each_part(
      tiles.blocks(), sizeof(float) * static_cast<std::size_t>(kElements * (in_step + out_step)),
      [&](std::int64_t b, char* own) {
        float *const v = reinterpret_cast<float*>(own), *const m = v + kElements * in_step;
        const std::int64_t first = b * tiles.block, n = std::min(tiles.block, tiles.count() - first);
        for (std::int64_t i = 0; i < n; ++i)
          tiles.at(first + i, [&](std::int64_t image, std::int64_t h, std::int64_t w) {
            const Place<const E> place(x, image, h - padding[0], w - padding[1], 6);
            loop.input(place.at, place.tile, v + i * from, in_step);
          });
        for (std::int64_t e = 0; e < kElements; ++e)
          multiply(gemm, {v + e * in_step, from, 1, u + e * from * to, to, from, m + e * out_step, to, nullptr, false},
                   n, to);
        for (std::int64_t i = 0; i < n; ++i)
          tiles.at(first + i, [&](std::int64_t image, std::int64_t h, std::int64_t w) {
            const Place<E> place(y, image, h, w, 4);
            loop.output(m + i * to, out_step, place.at, place.tile, added, relu);
          });
      });
}

}  // namespace

bool suits_winograd(const Conv2dParams& params, const Shape& w, const Shape& y) {
  constexpr std::int64_t kChannels = 16, kSide = 8, kTiles = 40, kWork = 1 << 23;
  const bool plain = params.groups == 1 && params.stride[0] == 1 && params.stride[1] == 1 && params.dilation[0] == 1 &&
                     params.dilation[1] == 1 && params.padding[0] <= 1 && params.padding[1] <= 1;
  return plain && w[2] == 3 && w[3] == 3 && w[0] % kChannels == 0 && w[1] % kChannels == 0 && y[2] >= kSide &&
         y[3] >= kSide && Tiles(y, w[0]).count() >= kTiles && y[0] * y[2] * y[3] * w.numel() >= kWork;
}

void winograd_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                      Activation activation) {
  const bool relu = activation == Activation::relu;
  const View u = transformed(w, false);
  if (x.dtype() == DType::bfloat16) convolve<std::uint16_t>(x, u, bias, y, params.padding, relu);
  else convolve<float>(x, u, bias, y, params.padding, relu);
  if (activation != Activation::relu) activate(activation, y);
}

void winograd_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const std::int64_t padding[] = {2 - params.padding[0], 2 - params.padding[1]};
  const View u = transformed(w, true);
  if (grad.dtype() == DType::bfloat16) convolve<std::uint16_t>(grad, u, {}, grad_x, padding, false);
  else convolve<float>(grad, u, {}, grad_x, padding, false);
}

namespace {

template <class E>
void weight_gradients(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                      const View& grad_bias) {
  const std::int64_t in = x.shape()[1], out = grad.shape()[1], taps = 9 * in * out;
  const Tiles tiles(grad.shape(), in + out);
  const ConvParts parts = cut_into(tiles.count(), tiles.count() / (Tiles::kLeast / 2), grad_w.numel());
  const WinogradTransforms<E>& loop = transforms<E>();
  const auto of_weights = MINNOW_ISA_LOOPS(winograd_loops).weight_gradient;
  const GemmLoops& gemm = loops().gemm;
  // Of each part [C, 9, O], and behind it the sums of the gradient.
  const View sums = scratch({parts.count, taps + out}, DType::float32);
  const std::int64_t in_step = tiles.block * in, out_step = tiles.block * out;
  const std::int64_t floats_of_thread = kElements * (in_step + out_step + in * out);
  for_parts(
      parts, sizeof(float) * static_cast<std::size_t>(floats_of_thread),
      [&](std::int64_t p, const ConvPart& part, char* own) {
        float *const v = reinterpret_cast<float*>(own), *const g = v + kElements * in_step,
                     *const s = g + kElements * out_step;
        float *const result = floats(sums) + p * (taps + out), *const bias = result + taps;
        std::fill_n(bias, out, 0.0F);
        const std::int64_t begin = part.first, end = begin + part.size;
        for (std::int64_t first = begin; first < end; first += tiles.block) {
          const std::int64_t n = std::min(tiles.block, end - first);
          for (std::int64_t i = 0; i < n; ++i)
            tiles.at(first + i, [&](std::int64_t image, std::int64_t h, std::int64_t w) {
              const Place<const E> read(x, image, h - params.padding[0], w - params.padding[1], 6),
                  arrived(grad, image, h, w, 4);
              loop.input(read.at, read.tile, v + i * in, in_step);
              loop.gradient(arrived.at, arrived.tile, g + i * out, out_step, grad_bias.defined() ? bias : nullptr);
            });
          for (std::int64_t e = 0; e < kElements; ++e)
            multiply(gemm,
                     {v + e * in_step, 1, in, g + e * out_step, out, n, s + e * in * out, out, nullptr, first != begin},
                     in, out);
        }
        for (std::int64_t c = 0; c < in; ++c) of_weights(s + c * out, in * out, out, result + c * 9 * out);
      });
  float* const all = floats(sums);
  parallel_for(in, sums.nbytes(), [&](std::int64_t c) {
    float* const sum = all + c * 9 * out;
    for (std::int64_t p = 1; p < parts.count; ++p)
      for (std::int64_t k = 0; k < 9 * out; ++k) sum[k] += sum[p * (taps + out) + k];
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t k = 0; k < 9; ++k) floats(grad_w)[(o * in + c) * 9 + k] = sum[k * out + o];
  });
  if (!grad_bias.defined()) return;
  for (std::int64_t p = 1; p < parts.count; ++p)
    for (std::int64_t o = 0; o < out; ++o) all[taps + o] += all[p * (taps + out) + taps + o];
  convert(View(sums.storage(), DType::float32, {out}, {1}, taps), grad_bias);
}

}  // namespace

void winograd_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                              const View& grad_bias) {
  const auto run = x.dtype() == DType::bfloat16 ? weight_gradients<std::uint16_t> : weight_gradients<float>;
  run(params, grad, x, grad_w, grad_bias);
}

}  // namespace minnow::cpu

#endif
