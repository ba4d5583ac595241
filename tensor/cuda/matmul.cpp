#include <minnow/tensor/cuda/cublaslt.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/matmul_layout.h>
#include <minnow/tensor/cuda/matmul_plain.h>
#include <minnow/tensor/cuda/pack.h>
#include <minnow/tensor/cuda_math.h>

namespace minnow::cuda {
namespace {

Matrices matrices_of(const Tensor& t) {
  const Shape& n = t.shape();
  const Strides& s = t.strides();
  return {n[0], n[1], n[2], s[0], s[1], s[2]};
}

/// The operand, or where neither its rows nor its columns are contiguous its copy that `holder` keeps.
Matrices operand(const Call& call, const Tensor& t, Tensor& holder) {
  holder = t;
  Matrices m = matrices_of(t);
  if (normalise(m)) return m;
  // Of a repeated matrix one is copied.
  const bool repeated = t.strides()[0] == 0;
  const Tensor one =
      repeated ? Tensor(t.storage(), t.dtype(), {1, m.rows, m.cols}, t.strides(), t.storage_offset()) : t;
  holder = packed(call, one);
  Matrices copy = matrices_of(holder);
  normalise(copy);
  copy.batch = m.batch;
  return copy;
}

/// False where the library has no algorithm, with or without the bias.
bool run_library(const Call& call, const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
                 const Tensor& out) {
  Tensor a_holder, b_holder;
  const Matrices left = operand(call, a, a_holder), right = operand(call, b, b_holder);
  Matrices result = matrices_of(out);
  normalise(result);
  MatmulKey key;
  key.product = column_major(left, right, result);
  key.dtype = out.dtype();
  key.tf32 = math_options().matmul_tf32;
  const cublaslt::Operands operands{b_holder.raw_data(), a_holder.raw_data(),
                                    bias.defined() ? bias.raw_data() : nullptr, out.raw_data()};
  key.bias = operands.bias != nullptr;
  key.align_a = alignment_of(operands.a);
  key.align_b = alignment_of(operands.b);
  key.align_d = alignment_of(operands.d);
  key.align_bias = alignment_of(operands.bias);
  const auto plan = cublaslt::plan(call, key, operands);
  if (!plan->possible) return false;
  cublaslt::run(call, *plan, key.dtype, params.alpha, params.beta, operands);
  return true;
}

/// Adds a bias to the rows: an empty sum, the old values and the bias.
void add_bias(const Call& call, const Tensor& bias, const Tensor& out) {
  const Tensor nothing(out.storage(), out.dtype(), {out.shape()[0], out.shape()[1], 0}, {0, 0, 0}),
      nothing_right(out.storage(), out.dtype(), {out.shape()[0], 0, out.shape()[2]}, {0, 0, 0});
  plain_matmul(call, {.alpha = 0, .beta = 1}, nothing, nothing_right, bias, out);
}

}  // namespace

void CudaBackend::matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
                         const Tensor& out) {
  if (out.numel() == 0) return;
  const Call call("matmul", out, {&a, &b, &bias});
  if (!is_floating(out.dtype()) || a.shape()[2] == 0) return plain_matmul(call, params, a, b, bias, out);
  Matrices result = matrices_of(out);
  if (!normalise(result) || !writable(result)) {
    const Tensor rows = scratch(call, out.shape(), out.dtype());
    if (params.beta != 0) convert(out, rows);
    matmul(params, a, b, bias, rows);
    return convert(rows, out);
  }
  const Tensor row = bias.defined() ? packed(call, bias) : bias;
  if (run_library(call, params, a, b, row, out)) return;
  if (row.defined() && run_library(call, params, a, b, {}, out)) return add_bias(call, row, out);
  plain_matmul(call, params, a, b, row, out);
}

}  // namespace minnow::cuda
