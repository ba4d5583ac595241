#include <minnow/tensor/cpu/matmul.h>

#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/gemm.h>
#include <minnow/tensor/cpu/onednn_plan.h>
#include <minnow/tensor/cpu/pack.h>
#include <minnow/tensor/cpu/reference.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::cpu {
namespace {

constexpr std::string_view kOp = "matmul";

/// A batch of matrices as libraries take them: one of the last two strides is 1, the other at least the row's
/// length; a batch stride of 0 repeats one matrix.
struct Matrices {
  char* data;
  std::int64_t batch, rows, cols, batch_stride, row_stride, col_stride;

  bool transposed() const { return row_stride == 1 && col_stride != 1; }
  std::int64_t leading() const { return transposed() ? col_stride : row_stride; }
};

/// Dimensions of size 1 get the strides that fit; false when the memory is no matrix of a library.
bool normalise(Matrices& m) {
  if (m.cols == 1) m.col_stride = 1;
  if (m.rows == 1) m.row_stride = m.col_stride == 1 ? m.cols : 1;
  if (m.batch == 1) m.batch_stride = 0;
  const bool plain = m.col_stride == 1 && m.row_stride >= m.cols;
  const bool flipped = m.row_stride == 1 && m.col_stride >= m.rows;
  return (plain || flipped) && m.batch_stride >= 0;
}

Matrices view_of(const Tensor& t) {
  const Strides& s = t.strides();
  return {static_cast<char*>(t.raw_data()), t.shape()[0], t.shape()[1], t.shape()[2], s[0], s[1], s[2]};
}

/// The operand itself, or its copy that `holder` keeps.
Matrices operand(const Tensor& t, Tensor& holder) {
  holder = t;
  Matrices m = view_of(t);
  if (normalise(m)) return m;
  // Of a repeated matrix one is copied.
  const Tensor one = t.strides()[0] == 0 && m.batch > 1
                         ? Tensor(t.storage(), t.dtype(), {1, m.rows, m.cols}, t.strides(), t.storage_offset())
                         : t;
  holder = scratch(one.shape(), t.dtype());
  convert(one, holder);
  Matrices copy = view_of(holder);
  normalise(copy);
  copy.batch = m.batch;
  return copy;
}

/// A product whose right side is shared by the batch, and whose left side is one tall matrix, is one product.
void join_batch(Matrices& a, Matrices& b, Matrices& out) {
  if (a.batch == 1 || b.batch_stride != 0 || a.transposed() || a.batch_stride != a.rows * a.row_stride ||
      out.batch_stride != out.rows * out.row_stride)
    return;
  a.rows *= a.batch;
  out.rows *= out.batch;
  a.batch = b.batch = out.batch = 1;
}

/// Strides of a matrix that a library may use for a leading dimension; a single row's or column's may be
/// anything.
onednn::memory::desc desc_of(const Matrices& m, DType dtype, bool repeated_allowed) {
  const std::int64_t batch = repeated_allowed && m.batch_stride == 0 ? 1 : m.batch;
  if (m.batch == 1) return onednn::desc_of({m.rows, m.cols}, {m.row_stride, m.col_stride}, dtype);
  const std::int64_t own = m.transposed() ? m.col_stride * m.cols : m.row_stride * m.rows;
  return onednn::desc_of({batch, m.rows, m.cols}, {batch == 1 ? own : m.batch_stride, m.row_stride, m.col_stride},
                         dtype);
}

void fill_bias(const Matrices& out, const Tensor& bias) {
  const auto* values = static_cast<const float*>(bias.raw_data());
  for (std::int64_t i = 0; i < out.rows; ++i)
    std::copy_n(values, out.cols, reinterpret_cast<float*>(out.data) + i * out.row_stride);
}

/// Measured: with little depth the plain sgemm is as fast or faster (1.4 times for a weight gradient of 64
/// rows), and it does not divide the depth among threads, which would make the sum depend on their number.
bool prefers_sgemm(const MatmulParams& params, const Matrices& a, const Matrices& b, const Matrices& out) {
  constexpr std::int64_t kDepth = 128, kSmall = 64 * 64 * 64;
  if (out.batch != 1 || params.alpha != 1 || params.beta != 0 || a.cols > kDepth) return false;
  return (out.cols >= 256 && out.rows <= 256 && (a.transposed() || b.transposed())) ||
         out.rows * out.cols * a.cols <= kSmall;
}

void run_sgemm(const MatmulParams& params, const Matrices& a, const Matrices& b, const Tensor& bias,
               const Matrices& out) {
  if (bias.defined()) fill_bias(out, bias);
  onednn::sgemm(kOp, {.transpose_a = a.transposed(),
                      .transpose_b = b.transposed(),
                      .m = out.rows,
                      .n = out.cols,
                      .k = a.cols,
                      .alpha = params.alpha,
                      .a = reinterpret_cast<const float*>(a.data),
                      .lda = a.leading(),
                      .b = reinterpret_cast<const float*>(b.data),
                      .ldb = b.leading(),
                      .beta = bias.defined() ? 1.0 : params.beta,
                      .c = reinterpret_cast<float*>(out.data),
                      .ldc = out.leading()});
}

struct MatmulPlan {
  onednn::Executable run;
};

/// By the matmul primitive; false where it has no form for these operands.
bool run_primitive(const MatmulParams& params, const Matrices& a, const Matrices& b, const Tensor& bias,
                   const Matrices& out, DType dtype) {
  const bool with_bias = bias.defined();
  onednn::PlanKey key;
  key.add(static_cast<int>(dtype), with_bias).add(params.alpha).add(params.beta);
  for (const Matrices* m : {&a, &b, &out})
    key.add(m->batch, m->rows, m->cols, m->batch_stride, m->row_stride, m->col_stride);
  const auto plan = onednn::plans<MatmulPlan>().get(key, [&] {
    const auto a_desc = desc_of(a, dtype, true), b_desc = desc_of(b, dtype, true),
               out_desc = desc_of(out, dtype, false);
    auto bias_desc = onednn::nothing();
    if (with_bias)
      bias_desc = out.batch == 1 ? onednn::desc_of({1, out.cols}, {out.cols, 1}, dtype)
                                 : onednn::desc_of({1, 1, out.cols}, {out.cols, out.cols, 1}, dtype);
    auto made = std::make_shared<MatmulPlan>();
    if (const auto p = onednn::matmul_plan(kOp, a_desc, b_desc, bias_desc, out_desc, {params.alpha, params.beta}))
      made->run = onednn::executable<dnnl::matmul>(
          kOp, p,
          {{DNNL_ARG_SRC, a_desc}, {DNNL_ARG_WEIGHTS, b_desc}, {DNNL_ARG_BIAS, bias_desc}, {DNNL_ARG_DST, out_desc}});
    return made;
  });
  if (!plan->run) return false;
  plan->run.run(kOp, {a.data, b.data, with_bias ? bias.raw_data() : nullptr, out.data});
  return true;
}

/// A deep product of a transposed left side is divided along its depth by the number of threads (oneDNN 2.6), so that
/// its bits depend on them; a plain one is not.
bool splits_depth(const Matrices& a) { return a.transposed() && a.cols >= 512; }

/// By our own kernel; false where the library's is to be taken.
bool run_small(const MatmulParams& params, const Matrices& a, const Matrices& b, const Tensor& bias,
               const Matrices& out) {
  if (out.batch != 1 || out.transposed() || params.alpha != 1 || params.beta != 0) return false;
  const Product product{out.rows,
                        out.cols,
                        a.cols,
                        reinterpret_cast<const float*>(a.data),
                        a.row_stride,
                        a.col_stride,
                        reinterpret_cast<const float*>(b.data),
                        b.row_stride,
                        b.col_stride,
                        bias.defined() ? static_cast<const float*>(bias.raw_data()) : nullptr,
                        reinterpret_cast<float*>(out.data),
                        out.row_stride};
  if (!is_small(product)) return false;
  multiply(product);
  return true;
}

/// By oneDNN in float32 or a half type; out's rows are contiguous.  False where the library cannot.
bool run_library(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out) {
  Tensor a_holder, b_holder;
  Matrices av = operand(a, a_holder), bv = operand(b, b_holder), ov = view_of(out);
  if (splits_depth(av) || (av.batch > 1 && av.batch_stride == 0 && bv.batch_stride == 0)) {
    a_holder = scratch(a.shape(), a.dtype());  // also when both sides repeat, which no library calls a batch
    convert(a, a_holder);
    av = view_of(a_holder);
    normalise(av);
  }
  normalise(ov);
  join_batch(av, bv, ov);
  if (out.dtype() == DType::float32 && run_small(params, av, bv, bias, ov)) return true;
  const onednn::ThreadCount threads(num_threads());
  if (out.dtype() == DType::float32 && !ov.transposed() && prefers_sgemm(params, av, bv, ov)) {
    run_sgemm(params, av, bv, bias, ov);
    return true;
  }
  return run_primitive(params, av, bv, bias, ov, out.dtype());
}

/// Through another dtype: operands, and the output's old value where it counts, are converted.
void run_converted(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out,
                   DType dtype) {
  const Tensor wide = scratch(out.shape(), dtype);
  if (params.beta != 0) convert(out, wide);
  matmul(params, packed(a, dtype), packed(b, dtype), bias.defined() ? packed(bias, dtype) : bias, wide);
  convert(wide, out);
}

bool rows_contiguous(const Tensor& out) {
  Matrices m = view_of(out);
  return normalise(m) && m.col_stride == 1 && (m.batch == 1 || m.batch_stride >= m.rows * m.row_stride);
}

void run_reference(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
                   const Tensor& out) {
  const bool dense_rows = b.strides()[2] == 1 || b.shape()[2] == 1;
  const Tensor rows = dense_rows ? b : packed(b, b.dtype());
  if (out.dtype() == DType::float64) reference::matmul<double>(params, a, rows, bias, out);
  else if (out.dtype() == DType::float32) reference::matmul<float>(params, a, rows, bias, out);
  else reference::matmul<std::int64_t>(params, a, rows, bias, out);
}

}  // namespace

void matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out) {
  if (out.numel() == 0) return;
  const DType dtype = out.dtype();
  if (is_integral(dtype) && dtype != DType::int64) return run_converted(params, a, b, bias, out, DType::int64);
  if (!onednn::has_type(dtype)) return run_reference(params, a, b, bias, out);
  // A library refuses an empty sum, and would multiply the bias by alpha too.
  if (a.shape()[2] == 0 || (bias.defined() && params.alpha != 1)) {
    if (dtype == DType::float32) return run_reference(params, a, b, bias, out);
    return run_converted(params, a, b, bias, out, DType::float32);
  }
  if (!rows_contiguous(out)) return run_converted(params, a, b, bias, out, dtype);
  const Tensor row = bias.defined() ? packed(bias, dtype) : bias;
  if (run_library(params, a, b, row, out)) return;
  if (dtype == DType::float32) run_reference(params, a, b, row, out);
  else run_converted(params, a, b, row, out, DType::float32);
}

namespace {

/// A view on the stack, which takes nothing from the heap; its handle is valid as long as this lives.
struct Local {
  Local(const Tensor& t, const Shape& shape, const Strides& strides) {
    impl.storage = t.storage();
    impl.shape = shape;
    impl.strides = strides;
    impl.offset = t.storage_offset();
    impl.numel = shape.numel();
    impl.dtype = t.dtype();
    impl.contiguous = is_contiguous(shape, strides);
  }

  detail::TensorImpl impl;
  const Tensor view{std::shared_ptr<detail::TensorImpl>(std::shared_ptr<void>(), &impl)};
};

}  // namespace

void CpuBackend::matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias,
                        const Tensor& out) {
  cpu::matmul(params, a, b, bias, out);
  using Ops = kernels::UnaryOps;
  if (params.activation == Activation::relu) unary({kernels::kIndexOf<Ops, kernels::Relu>}, out, out);
  else if (params.activation == Activation::gelu_tanh) unary({kernels::kIndexOf<Ops, kernels::GeluTanh>}, out, out);
}

void CpuBackend::linear_backward_weight(const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                                        const Tensor& grad_bias) {
  const Shape &g = grad.shape(), &gs = grad.strides(), &xs = x.strides(), &ws = grad_w.strides();
  const Local flipped(grad, {1, g[1], g[0]}, {0, gs[1], gs[0]}), wide(grad, {1, g[0], g[1]}, {0, gs[0], gs[1]});
  const Local input(x, {1, x.shape()[0], x.shape()[1]}, {0, xs[0], xs[1]});
  const Local product(grad_w, {1, g[1], x.shape()[1]}, {0, ws[0], ws[1]}), sums(grad_bias, {1, g[1]}, {g[1], 1});
  matmul({}, flipped.view, input.view, {}, product.view);
  reduce({kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>}, wide.view, sums.view);
}

}  // namespace minnow::cpu
