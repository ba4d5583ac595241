#include <algorithm>
#include <cstring>
#include <type_traits>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/products/few_rows.h>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/cpu/runtime/onednn_plan.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/reference.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/runtime/profile.h>

// float32 and, if the machine has primitives for them, halves by oneDNN or our own kernel; float64 and integers by our
// own.  reference.h computes what neither takes.  Results have the same bits for any number of threads.

namespace minnow::cpu {
namespace {

constexpr std::string_view kOp = "matmul";

/// A batch of matrices for libraries: one of the last two strides is 1, the other at least the length of a row; a batch
/// stride of 0 repeats one matrix.
struct Matrices {
  char* data;
  std::int64_t batch, rows, cols, batch_stride, row_stride, col_stride;

  bool transposed() const { return row_stride == 1 && col_stride != 1; }
  std::int64_t leading() const { return transposed() ? col_stride : row_stride; }
};

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
  if (normalize(m)) return m;
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

/// A block of rows and columns of some matrices of a batch.
Matrices block(Matrices m, Range batch, Range rows, Range cols, std::int64_t itemsize) {
  m.data += (batch.begin * m.batch_stride + rows.begin * m.row_stride + cols.begin * m.col_stride) * itemsize;
  m.batch = batch.size();
  m.rows = rows.size();
  m.cols = cols.size();
  return m;
}

/// The descriptor of matrices.
onednn::memory::desc desc_of(const Matrices& m, DType dtype, bool repeated_allowed) {
  const std::int64_t batch = repeated_allowed && m.batch_stride == 0 ? 1 : m.batch;
  if (m.batch == 1) return onednn::desc_of({m.rows, m.cols}, {m.row_stride, m.col_stride}, dtype);
  const std::int64_t own = m.transposed() ? m.col_stride * m.cols : m.row_stride * m.rows;
  return onednn::desc_of({batch, m.rows, m.cols}, {batch == 1 ? own : m.batch_stride, m.row_stride, m.col_stride},
                         dtype);
}

/// The operands of a product of float32 or halves, for oneDNN or our kernel.
struct MatmulOperands {
  Matrices a, b, out;
  const char* bias;  // or nullptr
};

/// Measured: with a small depth sgemm is as fast or faster than the primitive, for one row three times.
bool prefers_sgemm(const MatmulParams& params, const MatmulOperands& o) {
  constexpr std::int64_t kDepth = 128, kSmallWork = 64 * 64 * 64;
  if (o.out.batch != 1 || o.out.transposed() || params.alpha != 1 || params.beta != 0) return false;
  if (o.out.rows == 1) return true;
  if (o.a.cols > kDepth) return false;
  return (o.out.cols >= 256 && o.out.rows <= 256 && (o.a.transposed() || o.b.transposed())) ||
         o.out.rows * o.out.cols * o.a.cols <= kSmallWork;
}

void run_sgemm(const MatmulOperands& o) {
  if (o.bias)
    for (std::int64_t i = 0; i < o.out.rows; ++i)
      std::copy_n(reinterpret_cast<const float*>(o.bias), o.out.cols,
                  reinterpret_cast<float*>(o.out.data) + i * o.out.row_stride);
  onednn::sgemm(kOp, {.transpose_a = o.a.transposed(),
                      .transpose_b = o.b.transposed(),
                      .m = o.out.rows,
                      .n = o.out.cols,
                      .k = o.a.cols,
                      .alpha = 1.0,
                      .a = reinterpret_cast<const float*>(o.a.data),
                      .lda = o.a.leading(),
                      .b = reinterpret_cast<const float*>(o.b.data),
                      .ldb = o.b.leading(),
                      .beta = o.bias ? 1.0 : 0.0,
                      .c = reinterpret_cast<float*>(o.out.data),
                      .ldc = o.out.leading()});
}

struct MatmulPlan {
  onednn::Executable run;
};

/// Of the operands, and of the result.
struct MatmulDTypes {
  DType in, out;
};

/// The matmul primitive for one part, on one thread; `run` is empty if oneDNN has none for these operands.
std::shared_ptr<MatmulPlan> primitive(const MatmulParams& params, const MatmulOperands& o, MatmulDTypes dtypes) {
  const DType dtype = dtypes.in;
  onednn::PlanKey key;
  key.add(static_cast<int>(dtype), static_cast<int>(dtypes.out), o.bias != nullptr).add(params.alpha).add(params.beta);
  for (const Matrices* m : {&o.a, &o.b, &o.out})
    key.add(m->batch, m->rows, m->cols, m->batch_stride, m->row_stride, m->col_stride);
  return onednn::plans<MatmulPlan>().get(key, [&] {
    const auto a_desc = desc_of(o.a, dtype, true), b_desc = desc_of(o.b, dtype, true),
               out_desc = desc_of(o.out, dtypes.out, false);
    auto bias_desc = onednn::nothing();
    const std::int64_t n = o.out.cols;
    if (o.bias)
      bias_desc =
          o.out.batch == 1 ? onednn::desc_of({1, n}, {n, 1}, dtype) : onednn::desc_of({1, 1, n}, {n, n, 1}, dtype);
    auto made = std::make_shared<MatmulPlan>();
    if (const auto p = onednn::matmul_plan(kOp, a_desc, b_desc, bias_desc, out_desc, {params.alpha, params.beta}))
      made->run = onednn::executable<dnnl::matmul>(
          kOp, p,
          {{DNNL_ARG_SRC, a_desc}, {DNNL_ARG_WEIGHTS, b_desc}, {DNNL_ARG_BIAS, bias_desc}, {DNNL_ARG_DST, out_desc}});
    return made;
  });
}

/// Whether columns of b are a dense matrix.  oneDNN's faster kernels of halves take and write only whole ones: columns of the
/// result are written to one, and copied.
bool has_dense_columns(const MatmulOperands& o, DType dtype) {
  return is_half(dtype) && o.b.transposed() && o.b.col_stride == o.b.rows;
}

/// The division of a product into parts that one thread computes each.  It depends on the sizes only, so that the bits
/// do not depend on the number of threads.
class PartGrid {
 public:
  PartGrid(const MatmulOperands& o, MatmulDTypes dtypes)
      : whole_(o),
        itemsize_(static_cast<std::int64_t>(size_of(dtypes.in))),
        out_itemsize_(static_cast<std::int64_t>(size_of(dtypes.out))) {
    const std::int64_t m = o.out.rows, n = o.out.cols, work = o.out.batch * m * n * o.a.cols;
    // The multiplications, rows and columns of a part.  Products with few rows are bound by memory.
    const bool is_narrow = m < 16, is_half_type = is_half(dtypes.in);
    const std::int64_t part_work = is_narrow ? 1 << 20 : is_half_type ? 1 << 23 : 1 << 27;
    constexpr std::int64_t height = 128;
    const bool is_small = m < 2 * height && n < 512;  // or one thread would compute all of it
    const std::int64_t wide = is_half_type ? is_small && has_dense_columns(o, dtypes.in) ? 32 : 256 : 512,
                       width = is_narrow ? 128 : wide;
    const std::int64_t parts = std::clamp<std::int64_t>(work / part_work, 1, kMaxWork);
    batches_ = std::min(o.out.batch, parts);
    const std::int64_t each = (parts + batches_ - 1) / batches_;
    // oneDNN's faster kernels of halves write whole rows: columns are divided only if there are few of them.
    const bool by_rows = is_half_type && m >= kTallParts * height;
    cols_ = by_rows ? 1 : std::clamp<std::int64_t>(n / width, 1, each);
    rows_ = std::clamp<std::int64_t>(m / height, 1, (each + cols_ - 1) / cols_);
    while (count() > kMaxWork) rows_ > 1 ? --rows_ : --cols_;
  }
  std::int64_t count() const { return batches_ * rows_ * cols_; }
  std::int64_t cols() const { return cols_; }
  MatmulOperands operator[](std::int64_t i) const {
    const std::int64_t batch = whole_.out.batch, p = i / (rows_ * cols_), r = i / cols_ % rows_, c = i % cols_;
    const Range items{batch * p / batches_, batch * (p + 1) / batches_}, depth{0, whole_.a.cols};
    const Range rows = share(whole_.out.rows, rows_, r), cols = share(whole_.out.cols, cols_, c);
    return {block(whole_.a, items, rows, depth, itemsize_), block(whole_.b, items, depth, cols, itemsize_),
            block(whole_.out, items, rows, cols, out_itemsize_),
            whole_.bias ? whole_.bias + cols.begin * itemsize_ : nullptr};
  }
  static constexpr std::int64_t kMaxWork = 32, kTallParts = 8;

 private:
  MatmulOperands whole_;
  std::int64_t itemsize_, out_itemsize_, batches_ = 1, rows_ = 1, cols_ = 1;
};

/// Computes a product by oneDNN; returns false if it has no primitive for these operands.
bool run_parts(const MatmulParams& params, const MatmulOperands& o, MatmulDTypes dtypes) {
  const PartGrid grid(o, dtypes);
  const onednn::OneThread alone;
  if (dtypes.in == DType::float32 && prefers_sgemm(params, o)) {
    parallel_loop(grid.count(), num_threads(), [&](std::int64_t i) { run_sgemm(grid[i]); });
    return true;
  }
  const bool copies = grid.cols() > 1 && has_dense_columns(o, dtypes.in) && params.beta == 0 && o.out.batch == 1;
  const std::size_t itemsize = size_of(dtypes.out);
  std::shared_ptr<MatmulPlan> plans[PartGrid::kMaxWork];
  std::size_t room = 0;
  const auto part_of = [&](std::int64_t i) {
    MatmulOperands part = grid[i];
    if (copies) part.out.row_stride = part.out.cols;
    return part;
  };
  for (std::int64_t i = 0; i < grid.count(); ++i) {
    const MatmulOperands part = part_of(i);
    plans[i] = primitive(params, part, dtypes);
    if (!plans[i]->run) return false;
    if (copies) room = std::max(room, itemsize * static_cast<std::size_t>(part.out.rows * part.out.cols));
  }
  for_each_part(grid.count(), room, [&](std::int64_t i, char* own) {
    const MatmulOperands part = part_of(i);
    char* const to = part.out.data;
    plans[i]->run.run(kOp, {part.a.data, part.b.data, part.bias, copies ? own : to});
    if (!copies) return;
    const std::size_t row = itemsize * static_cast<std::size_t>(part.out.cols),
                      step = itemsize * static_cast<std::size_t>(o.out.row_stride);
    for (std::size_t r = 0; r < static_cast<std::size_t>(part.out.rows); ++r)
      std::memcpy(to + r * step, own + r * row, row);
  });
  return true;
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

/// Computes a product by our kernel; returns false if oneDNN is faster or the kernel does not support the parameters.
template <class T> bool run_own(const MatmulParams& params, const MatmulOperands& o) {
  constexpr std::int64_t kMaxWork = 1 << 30;  // multiplications; above, oneDNN's AVX-512 kernels are faster
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
    if (!is_worth_packing(first) || (work > kMaxWork && onednn::has_avx512())) return false;
  if (batch < num_threads()) {
    for (std::int64_t i = 0; i < batch; ++i) multiply(product_of<T>(o, i, add));
    return true;
  }
  parallel_for(batch, batch * work, [&](std::int64_t i) { multiply(product_of<T>(o, i, add)); });
  return true;
}

/// Computes products of halves with few rows or columns; returns false for others.
template <class H> bool run_few_halves(const MatmulParams& params, const MatmulOperands& o) {
  if (o.out.transposed() || params.alpha != 1 || params.beta != 0) return false;
  constexpr DType kDType = std::is_same_v<H, float16_t> ? DType::float16 : DType::bfloat16;
  // Measured: oneDNN's products of halves are faster from about 3 rows on.
  const std::int64_t most = onednn::has_half(kDType) ? 2 : kFewRows;
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
  return rows_contiguous(out) && run_parts(params, o, {a.dtype(), out.dtype()});
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
  if (onednn::has_half(a.dtype()) && a.shape()[2] != 0 && run_library(params, a, b, {}, out)) return;
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
