#include <algorithm>
#include <vector>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {
namespace {

const float* floats(const Matrices& m, std::int64_t item) {
  return reinterpret_cast<const float*>(m.data) + item * m.batch_stride;
}

/// out = beta out + bias
void start(const MatmulOperands& o, float* out, float beta) {
  const auto* const bias = reinterpret_cast<const float*>(o.bias);
  for (std::int64_t i = 0; i < o.out.rows; ++i) {
    float* const row = out + i * o.out.row_stride;
    for (std::int64_t j = 0; j < o.out.cols; ++j)
      row[j] = (beta == 0 ? 0.0f : beta * row[j]) + (bias == nullptr ? 0.0f : bias[j]);
  }
}

}  // namespace

/// gemm.h has the sums and adds them; factors are applied before, to `out` and to a copy of a.
bool library::multiply(const MatmulParams& params, const MatmulOperands& o, MatmulDTypes dtypes) {
  if (dtypes.in != DType::float32) return false;
  const std::int64_t m = o.out.rows, n = o.out.cols, k = o.a.cols, batch = o.out.batch;
  const auto alpha = static_cast<float>(params.alpha), beta = static_cast<float>(params.beta);
  const bool plain = alpha == 1 && beta == 0;
  const Buffer copies(alpha == 1 ? 0 : static_cast<std::size_t>(batch * m * k) * sizeof(float));
  const auto one = [&](std::int64_t item) {
    Product p{m,
              n,
              k,
              floats(o.a, item),
              o.a.row_stride,
              o.a.col_stride,
              floats(o.b, item),
              o.b.row_stride,
              o.b.col_stride,
              plain ? reinterpret_cast<const float*>(o.bias) : nullptr,
              reinterpret_cast<float*>(o.out.data) + item * o.out.batch_stride,
              o.out.row_stride,
              !plain};
    if (!plain) start(o, p.c, beta);
    if (alpha != 1) {
      float* const scaled = static_cast<float*>(copies.data()) + item * m * k;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < k; ++j) scaled[i * k + j] = alpha * p.a[i * p.a_row + j * p.a_col];
      p.a = scaled;
      p.a_row = k;
      p.a_col = 1;
    }
    cpu::multiply(p);
  };
  if (batch >= num_threads()) parallel_for(batch, batch * m * n * k, one);
  else
    for (std::int64_t i = 0; i < batch; ++i) one(i);
  return true;
}

}  // namespace minnow::cpu
