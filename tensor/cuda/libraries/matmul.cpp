#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/pointer_alignment.h>
#include <minnow/tensor/cuda/libraries/cublaslt.h>
#include <minnow/tensor/cuda/libraries/dense_copy.h>
#include <minnow/tensor/cuda/libraries/matmul_fallback.h>
#include <minnow/tensor/cuda/libraries/matmul_layout.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/kernels/unary.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/cuda_math.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::cuda {
namespace {

/// Whether cuBLASLt's epilogue computes the activation as our kernel does, which otherwise runs after the product.  Its
/// tanh is an approximation with an error of 5e-5, below the rounding of half types only.
bool fuses(Activation activation, DType dtype) { return activation == Activation::gelu_tanh && is_half(dtype); }

Matrices matrices_of(const View& t) {
  const Shape& n = t.shape();
  const Strides& s = t.strides();
  return {n[0], n[1], n[2], s[0], s[1], s[2]};
}

/// The operand, or, if neither its rows nor its columns are contiguous, a copy, which `holder` keeps.
Matrices operand(const Call& call, const View& t, View& holder) {
  holder = t;
  Matrices m = matrices_of(t);
  if (normalize(m)) return m;
  // A repeated matrix is copied once.
  const bool repeated = t.strides()[0] == 0;
  const View one = repeated ? View(t.storage(), t.dtype(), {1, m.rows, m.cols}, t.strides(), t.storage_offset()) : t;
  holder = packed(call, one);
  Matrices copy = matrices_of(holder);
  normalize(copy);
  copy.batch = m.batch;
  return copy;
}

/// What a run computes besides the product.
struct Extras {
  View bias{};                               ///< packed, or undefined
  Activation activation = Activation::none;  ///< applied last
  SumsOf sums_of = SumsOf::none;
  View sums{};  ///< written, or undefined
};

void* data_of(const View& t) { return t.defined() ? t.raw_data() : nullptr; }

/// Returns false if cuBLASLt has no algorithm for all of it.
bool run_library(const Call& call, const MatmulParams& params, const View& a, const View& b, const View& out,
                 const Extras& extras) {
  if (out.numel() == 0 || a.shape()[2] == 0) return false;  // it does not take empty matrices
  View a_holder, b_holder;
  const Matrices left = operand(call, a, a_holder), right = operand(call, b, b_holder);
  Matrices result = matrices_of(out);
  normalize(result);
  const cublaslt::MatmulOperands operands{b_holder.raw_data(), a_holder.raw_data(), out.raw_data(),
                                          data_of(extras.bias), data_of(extras.sums)};
  MatmulKey key;
  key.product = column_major(left, right, result);
  key.dtype = out.dtype();
  key.tf32 = math_options().matmul_tf32;
  key.bias = extras.bias.defined();
  key.sums = extras.sums_of;
  key.activation = extras.activation;
  key.align_a = alignment_of(operands.a);
  key.align_b = alignment_of(operands.b);
  key.align_d = alignment_of(operands.d);
  key.align_bias = alignment_of(operands.epilogue());
  const auto plan = cublaslt::plan(call, key, operands);
  return cublaslt::run(call, *plan, key.dtype, params.alpha, params.beta, operands);
}

/// Adds a bias to the rows: an empty sum + the old values + the bias.
void add_bias(const Call& call, const View& bias, const View& out) {
  const View nothing(out.storage(), out.dtype(), {out.shape()[0], out.shape()[1], 0}, {0, 0, 0}),
      nothing_right(out.storage(), out.dtype(), {out.shape()[0], 0, out.shape()[2]}, {0, 0, 0});
  plain_matmul(call, {.alpha = 0, .beta = 1}, nothing, nothing_right, bias, out);
}

/// A bias that cuBLASLt's epilogues can load: dense and aligned.
View loadable(const Call& call, const View& bias) {
  constexpr int kAlignment = 16;
  if (bias.is_contiguous() && alignment_of(bias.raw_data()) >= kAlignment) return bias;
  View copy = scratch(call, bias.shape(), bias.dtype());
  convert(bias, copy);
  return copy;
}

/// Runs a product by cuBLASLt, with as much fused as possible, or by the plain kernel.
void run_product(const Call& call, const MatmulParams& params, const View& a, const View& b, const View& bias,
                 const View& out) {
  if (run_library(call, params, a, b, out, {bias})) return;
  if (bias.defined() && run_library(call, params, a, b, out, {})) return add_bias(call, bias, out);
  constexpr std::int64_t kLarge = std::int64_t{1} << 24;  // multiply-adds: below it, waiting is not noticed
  if (saturating_mul(out.numel(), a.shape()[2]) > kLarge)
    warn_once("cuBLASLt has no algorithm for the product of " + describe(a) + " and " + describe(b) +
                  ", which a slow kernel computes instead",
              CallSite::where());
  plain_matmul(call, params, a, b, bias, out);
}

void activate(Activation activation, const View& out) {
  using Ops = kernels::UnaryOps;
  const DType compute = kernels::compute_type(out.dtype());
  if (activation == Activation::relu) execute(calls::Unary{kernels::kIndexOf<Ops, kernels::Relu>, compute, out, out});
  else if (activation == Activation::gelu_tanh)
    execute(calls::Unary{kernels::kIndexOf<Ops, kernels::GeluTanh>, compute, out, out});
}

/// A matrix as a batch of one, transposed if `transposed`.
View one(const View& t, bool transposed) {
  const Shape& n = t.shape();
  const Strides& s = t.strides();
  if (transposed) return View(t.storage(), t.dtype(), {1, n[1], n[0]}, {0, s[1], s[0]}, t.storage_offset());
  return View(t.storage(), t.dtype(), {1, n[0], n[1]}, {0, s[0], s[1]}, t.storage_offset());
}

}  // namespace

template <> void execute(const calls::Matmul& args) {
  const View &a = args.a, &b = args.b, &bias = args.bias, &out = args.out;
  const MatmulParams& params = args.params;
  if (out.numel() == 0) return;
  const Call call(args);
  if (!is_floating_point(out.dtype()) || a.shape()[2] == 0) {
    plain_matmul(call, params, a, b, bias, out);
    return activate(params.activation, out);
  }
  Matrices result = matrices_of(out);
  if (!normalize(result) || !writable(result)) {
    const View rows = scratch(call, out.shape(), out.dtype());
    if (params.beta != 0) convert(out, rows);
    execute(calls::Matmul{a, b, bias, rows, params});
    return convert(rows, out);
  }
  const View row = bias.defined() ? loadable(call, bias) : bias;
  if (fuses(params.activation, out.dtype()) && run_library(call, params, a, b, out, {row, params.activation})) return;
  run_product(call, params, a, b, row, out);
  activate(params.activation, out);
}

template <> void execute(const calls::LinearBackwardWeight& args) {
  const View &grad = args.grad, &x = args.x, &grad_w = args.grad_w, &grad_bias = args.grad_bias;
  const Call call(args);
  // cuBLASLt's left operand is the right one here.
  const bool transposed = !grad_w.is_contiguous();
  const View left = transposed ? one(x, true) : one(grad, true), right = transposed ? one(grad, false) : one(x, false),
             out = one(grad_w, transposed);
  Extras extras;
  extras.sums_of = transposed ? SumsOf::a : SumsOf::b;
  extras.sums = grad_bias;
  if (run_library(call, {}, left, right, out, extras)) return;
  run_product(call, {}, left, right, {}, out);
  const std::int64_t columns = grad_bias.shape()[0];
  const View sums(grad_bias.storage(), grad_bias.dtype(), {1, columns}, {columns, 1}, grad_bias.storage_offset());
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>, one(grad, false), sums});
}

}  // namespace minnow::cuda
