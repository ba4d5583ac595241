#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

/// out = softmax(scale q k^T) v of each head.  q: [B, H, L, E]  k: [B, H, S, E]  v: [B, H, S, Ev]  out:
/// [B, H, L, Ev]; one dtype, no size 0, the elements of a vector adjacent.  causal: row i has weights up to column i
/// only.  On the host float32.  On a GPU float16 or bfloat16, E = Ev, 64 or 128, L and S at least 16, and all vectors
/// begin at multiples of 32 bytes; stats: float32 [B, H, L], contiguous, which gets what backward reads, or undefined.
struct Attention {
  static constexpr const char* kName = "scaled_dot_product_attention";
  const View &q, &k, &v, &out, &stats;
  double scale;
  bool causal;
};

/// out, stats: of the forward call, on a GPU.
struct AttentionBackward {
  static constexpr const char* kName = "scaled_dot_product_attention_backward";
  const View &grad, &q, &k, &v, &out, &stats, &grad_q, &grad_k, &grad_v;
  double scale;
  bool causal;
};

// Linear algebra.

/// a: [B, M, K]  b: [B, K, N]  out: [B, M, N]; B may have stride 0 (broadcast), and the strides of a
/// and b may be those of transposed matrices.  bias: [N] or undefined.
struct Matmul {
  static constexpr const char* kName = "matmul";
  const View& a;
  const View& b;
  const View& bias;
  const View& out;
  MatmulParams params = {};
};

/// grad_w = gradᵀ x, grad_bias = the sum of each column of grad.   grad: [N, O]  x: [N, I]  grad_w: [O, I]  grad_bias:
/// [O]; the results are contiguous, or grad_wᵀ is, on devices that do not compute on the host.
struct LinearBackwardWeight {
  static constexpr const char* kName = "linear_backward";
  const View& grad;
  const View& x;
  const View& grad_w;
  const View& grad_bias;
};

/// y = activation(q(x) wᵀ scale + bias), or with `add` what y was besides.  q(x): x rounded to 8 bits with one scale
/// and one zero point for each row, from its smallest and largest element and 0; the sums are exact, so that y has the
/// same bits for any number of threads.  A row of y is NaN if that of x has NaN or infinity.
/// x: float32 [N, I]  w: int8 [O, I]  scale: float32 [O]  bias: float32 [O] or undefined  y: float32 [N, O]; all
/// contiguous, none empty, I at most 65536.
struct QuantizedLinear {
  static constexpr const char* kName = "quantized_linear";
  static constexpr const char* kHostOnly = "layers that are quantized to int8";
  const View& x;
  const View& w;
  const View& scale;
  const View& bias;
  const View& y;
  bool add = false;
  Activation activation = Activation::none;
};

/// y = x wᵀ, of a matrix in blocks.   x: float32 [N, I], N at most kMostBlockRows, I a multiple of 32
/// w: uint8 [O, bytes of a row]  y: float32 [N, O]; all contiguous, none empty.
struct BlockProduct {
  static constexpr const char* kName = "block_product";
  static constexpr const char* kHostOnly = "weights in blocks";
  static constexpr std::int64_t kMostBlockRows = 8;
  const View& x;
  const View& w;
  const View& y;
  BlockFormat format;
};
/// The numbers of a matrix in blocks.   w: uint8 [O, bytes of a row]  y: float32 [O, I], both contiguous.
struct Dequantize {
  static constexpr const char* kName = "dequantize";
  static constexpr const char* kHostOnly = "weights in blocks";
  const View& w;
  const View& y;
  BlockFormat format;
};

/// `flag` of lu: a matrix without an inverse is no_solution.
struct Lapack {
  static constexpr const char* kName = "linalg";
  static constexpr const char* kHostOnly = "matrix factorizations";
  using Result = Outcome;
  LapackRoutine routine;
  const View& a;
  const View& b;
  const View& c;
  const View& d;
  bool flag = false;
};

}  // namespace minnow::detail::calls
