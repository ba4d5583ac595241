#include <minnow/tensor/cuda/libraries/matmul_fallback.h>

#include <cstdint>
#include <type_traits>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/dtype_switch.h>

namespace minnow::cuda {
namespace {

constexpr int kTile = 16;

/// The type that elements of T are multiplied in.
template <class T>
using ComputeOf = std::conditional_t<is_floating_point(dtype_of<T>()),
                                     std::conditional_t<std::is_same_v<T, double>, double, float>, std::int64_t>;

template <class T> struct Strided {
  T* data;
  std::int64_t batch, row, col;
  __device__ T& at(std::int64_t p, std::int64_t i, std::int64_t j) const { return data[p * batch + i * row + j * col]; }
};

template <class T> struct PlainProduct {
  Strided<const T> a, b;
  const T* bias;
  Strided<T> out;
  std::int64_t batch, rows, cols, depth, bias_step;
  ComputeOf<T> alpha, beta;
  bool keeps;  // beta is not 0: out is read
};

/// Integers wrap around.
template <class C> __device__ C multiply_add(C sum, C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    using U = std::make_unsigned_t<C>;
    return static_cast<C>(static_cast<U>(sum) + static_cast<U>(a) * static_cast<U>(b));
  } else {
    return sum + a * b;
  }
}

/// A block computes one tile of out at a time; all its threads run the same iterations.
template <class T> __global__ void multiply(PlainProduct<T> product) {
  using C = ComputeOf<T>;
  __shared__ C left[kTile][kTile + 1];
  __shared__ C right[kTile][kTile + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const std::int64_t wide = (product.cols + kTile - 1) / kTile, high = (product.rows + kTile - 1) / kTile;
  for (std::int64_t tile = blockIdx.x; tile < product.batch * high * wide; tile += gridDim.x) {
    const std::int64_t p = tile / (high * wide), i = tile / wide % high * kTile + y, j = tile % wide * kTile + x;
    C sum = C(0);
    for (std::int64_t k = 0; k < product.depth; k += kTile) {
      left[y][x] = i < product.rows && k + x < product.depth ? static_cast<C>(product.a.at(p, i, k + x)) : C(0);
      right[y][x] = k + y < product.depth && j < product.cols ? static_cast<C>(product.b.at(p, k + y, j)) : C(0);
      __syncthreads();
      for (int step = 0; step < kTile; ++step) sum = multiply_add(sum, left[y][step], right[step][x]);
      __syncthreads();
    }
    if (i >= product.rows || j >= product.cols) continue;
    C value = multiply_add(C(0), product.alpha, sum);
    if (product.keeps) value = multiply_add(value, product.beta, static_cast<C>(product.out.at(p, i, j)));
    if (product.bias) value = multiply_add(value, C(1), static_cast<C>(product.bias[j * product.bias_step]));
    product.out.at(p, i, j) = static_cast<T>(value);
  }
}

template <class T> Strided<T> view_of(const View& t) {
  const Strides& s = t.strides();
  return {static_cast<T*>(t.raw_data()), s[0], s[1], s[2]};
}

}  // namespace

void plain_matmul(const Call& call, const MatmulParams& params, const View& a, const View& b, const View& bias,
                  const View& out) {
  if (out.numel() == 0) return;
  const Shape& s = out.shape();
  const std::int64_t tiles = s[0] * ((s[1] + kTile - 1) / kTile) * ((s[2] + kTile - 1) / kTile);
  dtype_switch(out.dtype(), [&]<class T>() {
    using C = ComputeOf<T>;
    const bool added = bias.defined();
    const PlainProduct<T> product{view_of<const T>(a),
                                  view_of<const T>(b),
                                  added ? static_cast<const T*>(bias.raw_data()) : nullptr,
                                  view_of<T>(out),
                                  s[0],
                                  s[1],
                                  s[2],
                                  a.shape()[2],
                                  added ? bias.strides()[0] : 0,
                                  static_cast<C>(params.alpha),
                                  static_cast<C>(params.beta),
                                  params.beta != 0};
    launch(call, multiply<T>, dim3(blocks_for(tiles, 1)), dim3(kTile, kTile), product);
  });
}

}  // namespace minnow::cuda
