#include <algorithm>
#include <cstring>
#include <minnow/tensor/cpu/onednn/onednn_plan.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/cpu/runtime/library.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {
namespace {

constexpr std::string_view kOp = "matmul";

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

/// Whether columns of b are a dense matrix.  oneDNN's faster kernels of halves take and write only whole ones: columns
/// of the result are written to one, and copied.
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

}  // namespace

bool library::multiply(const MatmulParams& params, const MatmulOperands& o, MatmulDTypes dtypes) {
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

}  // namespace minnow::cpu
