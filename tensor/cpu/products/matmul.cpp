#include <algorithm>
#include <type_traits>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/products/few_rows.h>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/cpu/products/matmul_operands.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/reference.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/profile/profile.h>

// float32 and, if the machine has instructions for them, halves by the library or our own kernel; float64 and integers
// by our own.  reference.h computes what neither takes.  Results have the same bits for any number of threads.

namespace minnow::cpu {
namespace {

constexpr std::string_view kOp = "matmul";

/// Replaces the strides of dimensions of size 1.  Returns false if a library cannot take the layout.
bool normalize(Matrices& m) {
  if (m.cols == 1) m.col_stride = 1;
  if (m.rows == 1) m.row_stride = m.col_stride == 1 ? m.cols : 1;
  if (m.batch == 1) m.batch_stride = 0;
  const bool plain = m.col_stride == 1 && m.row_stride >= m.cols;
  const bool flipped = m.row_stride == 1 && m.col_stride >= m.rows;
  return (plain || flipped) && m.batch_stride >= 0;
}

Matrices view_of(const View& t) {
  const Strides& s = t.strides();
  return {static_cast<char*>(t.raw_data()), t.shape()[0], t.shape()[1], t.shape()[2], s[0], s[1], s[2]};
}

/// The operand itself, or a copy, which `holder` keeps.
Matrices operand(const View& t, View& holder) {
  holder = t;
  Matrices m = view_of(t);
  // oneDNN 3.7 reads a row of halves as dense, whatever its step.
  const bool is_row_with_gaps = is_half(t.dtype()) && m.rows == 1 && m.cols > 1 && m.col_stride != 1;
  if (normalize(m) && !is_row_with_gaps) return m;
  // A repeated matrix is copied once.
  const View one = t.strides()[0] == 0 && m.batch > 1
                       ? View(t.storage(), t.dtype(), {1, m.rows, m.cols}, t.strides(), t.storage_offset())
                       : t;
  holder = scratch(one.shape(), t.dtype());
  convert(one, holder);
  Matrices copy = view_of(holder);
  normalize(copy);
  copy.batch = m.batch;
  return copy;
}

/// If all batches have the same b, and the batches of a are one tall matrix, joins them to one product.
void join_batch(Matrices& a, Matrices& b, Matrices& out) {
  if (a.batch == 1 || b.batch_stride != 0 || a.transposed() || a.batch_stride != a.rows * a.row_stride ||
      out.batch_stride != out.rows * out.row_stride)
    return;
  a.rows *= a.batch;
  out.rows *= out.batch;
  a.batch = b.batch = out.batch = 1;
}

template <class T> ProductOf<T> product_of(const MatmulOperands& o, std::int64_t item, bool add) {
  const auto of = [item](const Matrices& m) { return reinterpret_cast<T*>(m.data) + item * m.batch_stride; };
  return {o.out.rows,
          o.out.cols,
          o.a.cols,
          of(o.a),
          o.a.row_stride,
          o.a.col_stride,
          of(o.b),
          o.b.row_stride,
          o.b.col_stride,
          reinterpret_cast<const T*>(o.bias),
          of(o.out),
          o.out.row_stride,
          add};
}

/// Computes a product by our kernel; returns false if the library is faster or the kernel does not support the
/// parameters.
template <class T> bool run_own(const MatmulParams& params, const MatmulOperands& o) {
  const bool add = params.beta == 1 && o.bias == nullptr;
  if (o.out.transposed() || params.alpha != 1 || (params.beta != 0 && !add)) return false;
  const ProductOf<T> first = product_of<T>(o, 0, add);
  const std::int64_t work = first.m * first.n * first.k, batch = o.out.batch;
  if constexpr (std::is_floating_point_v<T>) {
    const bool few_rows = has_few_rows(first);
    if (few_rows || has_few_columns(first)) {
      const auto few = few_rows ? multiply_few_rows<T> : multiply_few_columns<T>;
      if (batch == 1) few(first);
      else
        parallel_for(batch, batch * first.k * std::max(first.m, first.n) * static_cast<std::int64_t>(sizeof(T)),
                     [&](std::int64_t i) { few(product_of<T>(o, i, add)); });
      return true;
    }
  }
  if constexpr (std::is_same_v<T, float>)
    if (!is_worth_packing(first)) return false;
  if (batch < num_threads()) {
    for (std::int64_t i = 0; i < batch; ++i) multiply(product_of<T>(o, i, add));
    return true;
  }
  constexpr std::int64_t kCall = 256;  // multiplications in the time of the smallest product
  parallel_for(batch, batch * std::max(work, kCall), [&](std::int64_t i) { multiply(product_of<T>(o, i, add)); });
  return true;
}

/// Computes products of halves with few rows or columns; returns false for others.
template <class H> bool run_few_halves(const MatmulParams& params, const MatmulOperands& o) {
  if (o.out.transposed() || params.alpha != 1 || params.beta != 0) return false;
  constexpr DType kDType = std::is_same_v<H, float16_t> ? DType::float16 : DType::bfloat16;
  // Measured: oneDNN's products of halves are faster from about 3 rows on.
  const std::int64_t most = library::has_half(kDType) ? 2 : kFewRows;
  if (!multiply_few_halves(product_of<H>(o, 0, false), most)) return false;
  parallel_for(o.out.batch - 1, o.out.batch * o.a.cols * std::max(o.out.rows, o.out.cols) * 2,
               [&](std::int64_t i) { multiply_few_halves(product_of<H>(o, i + 1, false), most); });
  return true;
}

bool rows_contiguous(const View& out) {
  Matrices m = view_of(out);
  return normalize(m) && m.col_stride == 1 && (m.batch == 1 || m.batch_stride >= m.rows * m.row_stride);
}
/// Whether the matrices are columns of a wider one, which our kernel can write.
bool side_by_side(const View& out) {
  Matrices m = view_of(out);
  return !is_half(out.dtype()) && normalize(m) && m.col_stride == 1 && m.batch > 1 && m.batch_stride >= m.cols &&
         m.row_stride >= m.batch * m.batch_stride;
}

/// Computes a product with contiguous rows of out or matrices side by side; returns false if no way can.
bool run_library(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out) {
  View a_holder, b_holder;
  Matrices av = operand(a, a_holder), bv = operand(b, b_holder), ov = view_of(out);
  if (av.batch > 1 && av.batch_stride == 0 && bv.batch_stride == 0) {
    a_holder = scratch(a.shape(), a.dtype());  // both are repeated, which no library accepts as a batch
    convert(a, a_holder);
    av = view_of(a_holder);
    normalize(av);
  }
  normalize(ov);
  join_batch(av, bv, ov);
  const MatmulOperands o{av, bv, ov, bias.defined() ? static_cast<const char*>(bias.raw_data()) : nullptr};
  switch (a.dtype()) {
    case DType::float64: return run_own<double>(params, o);
    case DType::int64: return run_own<std::uint64_t>(params, o);
    case DType::int32: return run_own<std::uint32_t>(params, o);
    case DType::float32:
      if (run_own<float>(params, o)) return true;
      break;
    case DType::float16:
      if (out.dtype() == a.dtype() && run_few_halves<float16_t>(params, o)) return true;
      break;
    case DType::bfloat16:
      if (out.dtype() == a.dtype() && run_few_halves<bfloat16_t>(params, o)) return true;
      break;
    default: break;
  }
  return rows_contiguous(out) && library::multiply(params, o, {a.dtype(), out.dtype()});
}

void product(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out);

/// Computes in another dtype: converts the operands, and the old value of the output if beta is not 0.
void run_converted(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out,
                   DType dtype) {
  const View converted_out = scratch(out.shape(), dtype);
  if (params.beta != 0) convert(out, converted_out);
  product(params, packed(a, dtype), packed(b, dtype), bias.defined() ? packed(bias, dtype) : bias, converted_out);
  convert(converted_out, out);
}

void run_reference(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out) {
  const bool dense_rows = b.strides()[2] == 1 || b.shape()[2] == 1;
  const View rows = dense_rows ? b : packed(b, b.dtype());
  if (out.dtype() == DType::float64) reference::matmul<double>(params, a, rows, bias, out);
  else if (out.dtype() == DType::float32) reference::matmul<float>(params, a, rows, bias, out);
  else if (out.dtype() == DType::int32) reference::matmul<std::int32_t>(params, a, rows, bias, out);
  else reference::matmul<std::int64_t>(params, a, rows, bias, out);
}

/// float32 of halves, without a bias.
void run_widening(const MatmulParams& params, const View& a, const View& b, const View& out) {
  if (library::has_half(a.dtype()) && a.shape()[2] != 0 && run_library(params, a, b, {}, out)) return;
  // Our kernel takes no factor: it is of the copy.
  const View left = packed(a, DType::float32);
  if (params.alpha != 1) {
    auto* const x = static_cast<float*>(left.raw_data());
    std::transform(x, x + left.numel(), x, [alpha = static_cast<float>(params.alpha)](float v) { return v * alpha; });
  }
  product({.beta = params.beta}, left, packed(b, DType::float32), {}, out);
}

void product(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out) {
  if (out.numel() == 0) return;
  const DType dtype = out.dtype();
  if (is_half(a.dtype()) && dtype == DType::float32) return run_widening(params, a, b, out);
  if (is_integral(dtype) && dtype != DType::int64 && dtype != DType::int32)
    return run_converted(params, a, b, bias, out, DType::int32);
  // oneDNN refuses empty sums, and would multiply the bias by alpha.
  if (a.shape()[2] == 0 || (bias.defined() && params.alpha != 1)) {
    if (!is_half(dtype)) return run_reference(params, a, b, bias, out);
    return run_converted(params, a, b, bias, out, DType::float32);
  }
  const bool contiguous = rows_contiguous(out);
  if (!contiguous && !side_by_side(out)) return run_converted(params, a, b, bias, out, dtype);
  const View row = bias.defined() ? packed(bias, dtype) : bias;
  if (run_library(params, a, b, row, out)) return;
  if (!contiguous) return run_converted(params, a, b, row, out, dtype);
  if (is_half(dtype)) return run_converted(params, a, b, row, out, DType::float32);
  profile::detail::note_slow_path(kOp, "no kernel takes these operands on this processor");
  run_reference(params, a, b, row, out);
}

}  // namespace

template <> void execute(const calls::Matmul& args) {
  product(args.params, args.a, args.b, args.bias, args.out);
  activate(args.params.activation, args.out);
}

template <> void execute(const calls::LinearBackwardWeight& args) {
  const View &grad = args.grad, &x = args.x, &grad_w = args.grad_w, &grad_bias = args.grad_bias;
  const Shape& g = grad.shape();
  const Strides &gs = grad.strides(), &xs = x.strides(), &ws = grad_w.strides();
  const auto seen = [](const View& t, const Shape& shape, const Strides& strides) {
    return View(t.storage(), t.dtype(), shape, strides, t.storage_offset());
  };
  product({}, seen(grad, {1, g[1], g[0]}, {0, gs[1], gs[0]}),
          seen(x, {1, x.shape()[0], x.shape()[1]}, {0, xs[0], xs[1]}), {},
          seen(grad_w, {1, g[1], x.shape()[1]}, {0, ws[0], ws[1]}));
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>,
                        seen(grad, {1, g[0], g[1]}, {0, gs[0], gs[1]}), seen(grad_bias, {1, g[1]}, {g[1], 1})});
}

}  // namespace minnow::cpu
