#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <limits>
#include <mma.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/reductions/softmax.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/math.h>

// Attention of halves on tensor cores, whose weights are never in memory (Dao et al. 2022): the softmax of a row is
// put together from parts, and backward computes them again from the logarithm of the row's sum.
//
// A warp has 16 rows of queries (backward for keys and values: 16 of these), and needs no other warp.  The last tile of
// 16 rows begins at the last but 15th, so that it is whole: what it shares with the one before is computed twice, and
// taken into sums once.  Factors are loaded from global memory by wmma, which the warps of a block share by the cache.

namespace minnow::cuda {
namespace {

namespace math = kernels::math;
namespace wmma = nvcuda::wmma;

constexpr int kTile = 16, kWarps = 4;
constexpr unsigned kBlock = kWarps * kWarp;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

template <class S> struct TensorCore;
template <> struct TensorCore<float16_t> { using Type = __half; };
template <> struct TensorCore<bfloat16_t> { using Type = __nv_bfloat16; };
template <class S> using TypeOf = typename TensorCore<S>::Type;

/// [B, H, rows, size], of which the elements of a row are adjacent.
template <class S> struct Rows {
  S* data;
  std::int64_t batch, head, row;

  __device__ __forceinline__ S* at(std::int64_t b, std::int64_t h, std::int64_t r) const {
    return data + b * batch + h * head + r * row;
  }
};

template <class S> struct Problem {
  Rows<const S> q, k, v, out, grad;
  Rows<S> y, grad_q, grad_k, grad_v;
  float* stats;  ///< [B, H, rows]: the logarithms of sums
  float* dots;   ///< [B, H, rows]: Σ out grad
  std::int64_t batch, heads, rows, columns;
  std::int64_t tiles, count;  ///< of a head, and all: one for each warp
  float scale;
  bool causal;
};

template <class T> using Left = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major>;
template <class T> using LeftTransposed = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::col_major>;
template <class T> using Right = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major>;
template <class T> using RightTransposed = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major>;
using Sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

template <class F, class S> __device__ __forceinline__ void load(F& to, const S* from, std::int64_t stride) {
  wmma::load_matrix_sync(to, reinterpret_cast<const TypeOf<S>*>(from), static_cast<unsigned>(stride));
}

/// A tile: the rows that are its own are those from `first` on.
struct Tile {
  std::int64_t start, first;

  __device__ Tile(std::int64_t index, std::int64_t length)
      : start(index * kTile + kTile <= length ? index * kTile : length - kTile), first(index * kTile) {}
};

/// What a warp works on.
struct Work {
  std::int64_t b, h;
  Tile tile;

  template <class S>
  __device__ Work(const Problem<S>& p, std::int64_t number, std::int64_t length)
      : b(number / p.tiles / p.heads), h(number / p.tiles % p.heads), tile(number % p.tiles, length) {}
};

template <class S> __device__ __forceinline__ std::int64_t warp_number(const Problem<S>&) {
  return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
}

/// sums += a bᵀ of rows of `kSize` elements, by 16 rows of each.
template <int kSize, class S>
__device__ __forceinline__ void add_products(Sums& sums, const S* a, std::int64_t a_row, const S* b,
                                             std::int64_t b_row) {
#pragma unroll
  for (int i = 0; i < kSize; i += kTile) {
    Left<TypeOf<S>> left;
    RightTransposed<TypeOf<S>> right;
    load(left, a + i, a_row);
    load(right, b + i, b_row);
    wmma::mma_sync(sums, left, right, sums);
  }
}

/// out[i] += weights b, of 16 rows of b, for each part of 16 columns of it.
template <int kSize, class F, class S>
__device__ __forceinline__ void add_rows(Sums (&out)[kSize / kTile], const F& weights, const S* b, std::int64_t b_row) {
#pragma unroll
  for (int i = 0; i < kSize / kTile; ++i) {
    Right<TypeOf<S>> right;
    load(right, b + i * kTile, b_row);
    wmma::mma_sync(out[i], weights, right, out[i]);
  }
}

template <int kParts> __device__ __forceinline__ void clear(Sums (&sums)[kParts]) {
#pragma unroll
  for (int i = 0; i < kParts; ++i) wmma::fill_fragment(sums[i], 0.0f);
}

/// Of a warp: 16 rows of kColumns floats, and of as many halves.
template <class S, int kColumns> struct Room {
  static constexpr int kFloats = kColumns + 4, kHalves = kColumns + 8;  // apart by other banks
  alignas(32) float floats[kTile * kFloats];
  alignas(32) unsigned char bytes[kTile * kHalves * sizeof(S)];

  __device__ __forceinline__ S* halves() { return reinterpret_cast<S*>(bytes); }
};

/// Rows of 16 from the sums, as halves.
template <int kParts, class S, int kColumns>
__device__ __forceinline__ void store_rows(Room<S, kColumns>& room, const Sums (&sums)[kParts], S* to,
                                           std::int64_t row) {
  constexpr int kPieces = kColumns / kTile, kEach = 8;
  const int lane = static_cast<int>(threadIdx.x % kWarp);
#pragma unroll
  for (int i = 0; i < kParts; i += kPieces) {
#pragma unroll
    for (int u = 0; u < kPieces; ++u)
      if (i + u < kParts)
        wmma::store_matrix_sync(room.floats + u * kTile, sums[i + u], Room<S, kColumns>::kFloats, wmma::mem_row_major);
    __syncwarp();
    for (int k = lane; k < kTile * kColumns / kEach; k += static_cast<int>(kWarp)) {
      const int r = k / (kColumns / kEach), c = k % (kColumns / kEach) * kEach;
      float some[kEach];
      for (int u = 0; u < kEach; ++u) some[u] = room.floats[r * Room<S, kColumns>::kFloats + c + u];
      store_some(to + r * row + i * kTile + c, some);
    }
    __syncwarp();
  }
}

/// The number of each row of an accumulator's elements: the order of these is not documented.
__device__ __forceinline__ Sums row_numbers(float* room, int stride) {
  for (int k = static_cast<int>(threadIdx.x % kWarp); k < kTile * kTile; k += static_cast<int>(kWarp))
    room[k / kTile * stride + k % kTile] = static_cast<float>(k / kTile);
  __syncwarp();
  Sums rows;
  wmma::load_matrix_sync(rows, room, static_cast<unsigned>(stride), wmma::mem_row_major);
  __syncwarp();
  return rows;
}

/// Multiplies each row by a factor.
template <int kParts>
__device__ __forceinline__ void scale_rows(Sums (&sums)[kParts], const Sums& rows, const float* factors) {
  for (int e = 0; e < Sums::num_elements; ++e) {
    const float factor = factors[static_cast<int>(rows.x[e])];
#pragma unroll
    for (int i = 0; i < kParts; ++i) sums[i].x[e] *= factor;
  }
}

/// Two lanes have a row.
__device__ __forceinline__ float of_both(float x, bool largest) {
  const float other = shuffle_xor(x, 1);
  return largest ? (other > x ? other : x) : x + other;
}

/// A warp: 16 rows of the result, with kColumns keys at a time.
template <int kSize, class S> __global__ void __launch_bounds__(kBlock) forward(Problem<S> p) {
  constexpr int kColumns = 64, kParts = kSize / kTile, kTiles = kColumns / kTile, kEach = kColumns / 2;
  using Own = Room<S, kColumns>;
  __shared__ Own rooms[kWarps];
  __shared__ float factors_of[kWarps][kTile];
  if (warp_number(p) >= p.count) return;
  const Work work(p, warp_number(p), p.rows);
  const int warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
  Own& room = rooms[warp];
  float* const factors = factors_of[warp];
  const int row = lane / 2, side = lane % 2 * kEach;
  const std::int64_t place = work.tile.start + row,
                     limit = p.causal ? min(p.columns, work.tile.start + kTile) : p.columns;
  const Sums numbers = row_numbers(room.floats, Own::kFloats);
  const S* const q = p.q.at(work.b, work.h, work.tile.start);
  Sums out[kParts];
  clear(out);
  float largest = kLowest, sum = 0;
  for (std::int64_t begin = 0; begin < limit; begin += kColumns) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (begin + t * kTile >= limit) continue;
      Sums scores;
      wmma::fill_fragment(scores, 0.0f);
      add_products<kSize>(scores, q, p.q.row, p.k.at(work.b, work.h, Tile(begin / kTile + t, p.columns).start),
                          p.k.row);
      wmma::store_matrix_sync(room.floats + t * kTile, scores, Own::kFloats, wmma::mem_row_major);
    }
    __syncwarp();
    float x[kEach], most = kLowest;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int column = side + j;
      const Tile tile((begin + column) / kTile, p.columns);
      const std::int64_t key = tile.start + column % kTile;
      const bool takes_part = tile.first < limit && key >= tile.first && (!p.causal || key <= place);
      x[j] = takes_part ? room.floats[row * Own::kFloats + column] * p.scale : kLowest;
      most = x[j] > most ? x[j] : most;
    }
    most = of_both(most, true);
    const float next = most > largest ? most : largest, factor = largest == kLowest ? 0.0f : math::exp(largest - next);
    float part = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const float weight = x[j] == kLowest ? 0.0f : math::exp(x[j] - next);
      part += weight;
      room.halves()[row * Own::kHalves + side + j] = narrow<S>(weight);
    }
    sum = sum * factor + of_both(part, false);
    largest = next;
    if (side == 0) factors[row] = factor;
    __syncwarp();
    scale_rows(out, numbers, factors);
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (begin + t * kTile >= limit) continue;
      Left<TypeOf<S>> weights;
      load(weights, room.halves() + t * kTile, Own::kHalves);
      add_rows<kSize>(out, weights, p.v.at(work.b, work.h, Tile(begin / kTile + t, p.columns).start), p.v.row);
    }
    __syncwarp();
  }
  if (side == 0) {
    factors[row] = 1 / sum;
    if (p.stats != nullptr) p.stats[(work.b * p.heads + work.h) * p.rows + place] = largest + math::log(sum);
  }
  __syncwarp();
  scale_rows(out, numbers, factors);
  store_rows(room, out, p.y.at(work.b, work.h, work.tile.start), p.y.row);
}

/// Multiplies all by a number.
template <int kParts> __device__ __forceinline__ void scale_all(Sums (&sums)[kParts], float factor) {
#pragma unroll
  for (int i = 0; i < kParts; ++i)
    for (int e = 0; e < Sums::num_elements; ++e) sums[i].x[e] *= factor;
}

/// The weights and the gradients of the scaled scores of 16 queries and kColumns keys, from the scores and the
/// gradients of the weights in `scores` and `slopes`, as halves in both.  takes_part(row, column).
template <class S, int kColumns, class F>
__device__ __forceinline__ void weigh(const Problem<S>& p, Room<S, kColumns>& scores, Room<S, kColumns>& slopes,
                                      const float* stats, const float* dots, const F& takes_part) {
  constexpr int kEach = kColumns / 2;
  const int lane = static_cast<int>(threadIdx.x % kWarp), row = lane / 2, side = lane % 2 * kEach;
  const float stat = stats[row], dot = dots[row];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int at = row * Room<S, kColumns>::kFloats + side + j, to = row * Room<S, kColumns>::kHalves + side + j;
    const float weight = takes_part(row, side + j) ? math::exp(scores.floats[at] * p.scale - stat) : 0.0f;
    const float slope = weight == 0 ? 0.0f : weight * (slopes.floats[at] - dot);
    scores.halves()[to] = narrow<S>(weight);
    slopes.halves()[to] = narrow<S>(slope);
  }
}

/// A warp: 16 rows of the gradient of q, and their dots, which are needed for those of k and v.
template <int kSize, class S> __global__ void __launch_bounds__(kBlock) backward_q(Problem<S> p) {
  constexpr int kColumns = 32, kParts = kSize / kTile, kTiles = kColumns / kTile;
  using Own = Room<S, kColumns>;
  __shared__ Own scores_of[kWarps], slopes_of[kWarps];
  __shared__ float dots_of[kWarps][kTile];
  if (warp_number(p) >= p.count) return;
  const Work work(p, warp_number(p), p.rows);
  const int warp = static_cast<int>(threadIdx.x / kWarp), lane = static_cast<int>(threadIdx.x % kWarp);
  Own &scores = scores_of[warp], &slopes = slopes_of[warp];
  float* const dots = dots_of[warp];
  const std::int64_t first = (work.b * p.heads + work.h) * p.rows + work.tile.start;
  const S *const q = p.q.at(work.b, work.h, work.tile.start), *const grad = p.grad.at(work.b, work.h, work.tile.start);
  {
    const int row = lane / 2, side = lane % 2 * (kSize / 2);
    const S *const y = p.out.at(work.b, work.h, work.tile.start + row), *const g = grad + row * p.grad.row;
    float dot = 0;
    for (int j = 0; j < kSize / 2; ++j) dot += widen<float>(y[side + j]) * widen<float>(g[side + j]);
    dot = of_both(dot, false);
    if (side == 0) dots[row] = p.dots[first + row] = dot;
  }
  __syncwarp();
  Sums out[kParts];
  clear(out);
  const std::int64_t limit = p.causal ? min(p.columns, work.tile.start + kTile) : p.columns;
  for (std::int64_t begin = 0; begin < limit; begin += kColumns) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (begin + t * kTile >= limit) continue;
      const std::int64_t key = Tile(begin / kTile + t, p.columns).start;
      Sums score, slope;
      wmma::fill_fragment(score, 0.0f);
      wmma::fill_fragment(slope, 0.0f);
      add_products<kSize>(score, q, p.q.row, p.k.at(work.b, work.h, key), p.k.row);
      add_products<kSize>(slope, grad, p.grad.row, p.v.at(work.b, work.h, key), p.v.row);
      wmma::store_matrix_sync(scores.floats + t * kTile, score, Own::kFloats, wmma::mem_row_major);
      wmma::store_matrix_sync(slopes.floats + t * kTile, slope, Own::kFloats, wmma::mem_row_major);
    }
    __syncwarp();
    weigh(p, scores, slopes, p.stats + first, dots, [&](int row, int column) {
      const Tile tile((begin + column) / kTile, p.columns);
      const std::int64_t key = tile.start + column % kTile;
      return tile.first < limit && key >= tile.first && (!p.causal || key <= work.tile.start + row);
    });
    __syncwarp();
#pragma unroll
    for (int t = 0; t < kTiles; ++t) {
      if (begin + t * kTile >= limit) continue;
      Left<TypeOf<S>> of_scores;
      load(of_scores, slopes.halves() + t * kTile, Own::kHalves);
      add_rows<kSize>(out, of_scores, p.k.at(work.b, work.h, Tile(begin / kTile + t, p.columns).start), p.k.row);
    }
    __syncwarp();
  }
  scale_all(out, p.scale);  // at the end: as halves the gradients of scores have few digits to lose
  store_rows(scores, out, p.grad_q.at(work.b, work.h, work.tile.start), p.grad_q.row);
}

/// A warp: 16 rows of the gradients of k and v.
template <int kSize, class S> __global__ void __launch_bounds__(kBlock) backward_kv(Problem<S> p) {
  constexpr int kParts = kSize / kTile;
  using Own = Room<S, kTile>;
  __shared__ Own scores_of[kWarps], slopes_of[kWarps];
  if (warp_number(p) >= p.count) return;
  const Work work(p, warp_number(p), p.columns);
  const int warp = static_cast<int>(threadIdx.x / kWarp);
  Own &scores = scores_of[warp], &slopes = slopes_of[warp];
  const S *const k = p.k.at(work.b, work.h, work.tile.start), *const v = p.v.at(work.b, work.h, work.tile.start);
  const std::int64_t head = (work.b * p.heads + work.h) * p.rows;
  Sums of_k[kParts], of_v[kParts];
  clear(of_k);
  clear(of_v);
  for (std::int64_t begin = p.causal ? work.tile.start / kTile * kTile : 0; begin < p.rows; begin += kTile) {
    const Tile tile(begin / kTile, p.rows);
    const S *const q = p.q.at(work.b, work.h, tile.start), *const grad = p.grad.at(work.b, work.h, tile.start);
    Sums score, slope;
    wmma::fill_fragment(score, 0.0f);
    wmma::fill_fragment(slope, 0.0f);
    add_products<kSize>(score, q, p.q.row, k, p.k.row);
    add_products<kSize>(slope, grad, p.grad.row, v, p.v.row);
    wmma::store_matrix_sync(scores.floats, score, Own::kFloats, wmma::mem_row_major);
    wmma::store_matrix_sync(slopes.floats, slope, Own::kFloats, wmma::mem_row_major);
    __syncwarp();
    weigh(p, scores, slopes, p.stats + head + tile.start, p.dots + head + tile.start, [&](int row, int column) {
      const std::int64_t query = tile.start + row;
      return query >= tile.first && (!p.causal || work.tile.start + column <= query);
    });
    __syncwarp();
    LeftTransposed<TypeOf<S>> weights;
    load(weights, scores.halves(), Own::kHalves);
    add_rows<kSize>(of_v, weights, grad, p.grad.row);
    load(weights, slopes.halves(), Own::kHalves);
    add_rows<kSize>(of_k, weights, q, p.q.row);
    __syncwarp();
  }
  scale_all(of_k, p.scale);
  store_rows(scores, of_k, p.grad_k.at(work.b, work.h, work.tile.start), p.grad_k.row);
  store_rows(scores, of_v, p.grad_v.at(work.b, work.h, work.tile.start), p.grad_v.row);
}

template <class S> Rows<S> rows_of(const View& t) {
  if (!t.defined()) return {};
  return {static_cast<S*>(t.raw_data()), t.strides()[0], t.strides()[1], t.strides()[2]};
}

template <class S> Problem<S> problem_of(const View& q, const View& k, double scale, bool causal) {
  Problem<S> p{};
  p.q = rows_of<const S>(q);
  p.k = rows_of<const S>(k);
  p.batch = q.shape()[0];
  p.heads = q.shape()[1];
  p.rows = q.shape()[2];
  p.columns = k.shape()[2];
  p.scale = static_cast<float>(scale);
  p.causal = causal;
  return p;
}

/// With a warp for each tile of `length` rows.
template <class S> void launch_tiles(const Call& call, void (*kernel)(Problem<S>), Problem<S> p, std::int64_t length) {
  p.tiles = (length + kTile - 1) / kTile;
  p.count = p.batch * p.heads * p.tiles;
  launch(call, kernel, dim3(static_cast<unsigned>((p.count + kWarps - 1) / kWarps)), kBlock, p);
}

/// f.operator()<kSize, S>().
template <class F> void visit_sizes(const View& q, const F& f) {
  const auto of_type = [&]<class S>() {
    if (q.shape()[3] == 64) f.template operator()<64, S>();
    else f.template operator()<128, S>();
  };
  if (q.dtype() == DType::float16) of_type.template operator()<float16_t>();
  else of_type.template operator()<bfloat16_t>();
}

}  // namespace

template <> void execute(const calls::Attention& args) {
  const Call call(args);
  visit_sizes(args.q, [&]<int kSize, class S>() {
    Problem<S> p = problem_of<S>(args.q, args.k, args.scale, args.causal);
    p.v = rows_of<const S>(args.v);
    p.y = rows_of<S>(args.out);
    p.stats = args.stats.defined() ? static_cast<float*>(args.stats.raw_data()) : nullptr;
    launch_tiles(call, forward<kSize, S>, p, p.rows);
  });
}

template <> void execute(const calls::AttentionBackward& args) {
  const Call call(args);
  visit_sizes(args.q, [&]<int kSize, class S>() {
    Problem<S> p = problem_of<S>(args.q, args.k, args.scale, args.causal);
    p.v = rows_of<const S>(args.v);
    p.grad = rows_of<const S>(args.grad);
    p.out = rows_of<const S>(args.out);
    p.grad_q = rows_of<S>(args.grad_q);
    p.grad_k = rows_of<S>(args.grad_k);
    p.grad_v = rows_of<S>(args.grad_v);
    const Scratch dots(call, static_cast<std::size_t>(p.batch * p.heads * p.rows) * sizeof(float));
    p.stats = static_cast<float*>(args.stats.raw_data());
    p.dots = dots.as<float>();
    launch_tiles(call, backward_q<kSize, S>, p, p.rows);
    launch_tiles(call, backward_kv<kSize, S>, p, p.columns);
  });
}

}  // namespace minnow::cuda
