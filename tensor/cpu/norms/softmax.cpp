#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/norms/softmax_loops.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/reduce.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kMaxRows = 1024;

/// Rows in an item of work: enough to pay for its call.
std::int64_t rows_per_item(std::int64_t n) {
  return std::clamp<std::int64_t>(4096 / std::max<std::int64_t>(1, n), 1, kMaxRows);
}

/// [outer, n, inner] around a dimension.
struct Extents {
  std::int64_t outer = 1, n = 1, inner = 1;
};
Extents extents(const View& x, int dim) {
  Extents e;
  for (int d = 0; d < x.dim(); ++d) (d < dim ? e.outer : d == dim ? e.n : e.inner) *= x.shape()[d];
  return e;
}

/// Rows of contiguous elements of a floating-point dtype as float or double; halves are converted.
class Rows {
 public:
  Rows(const View& tensor)
      : dtype_(tensor.dtype()), compute_(compute_of(dtype_)), data_(static_cast<char*>(tensor.raw_data())) {}

  bool converts() const { return is_half(dtype_); }
  Compute compute() const { return compute_; }
  char* at(std::int64_t element) const { return data_ + element * static_cast<std::int64_t>(size_of(dtype_)); }
  const void* load(std::int64_t element, std::int64_t n, float* buffer) const {
    if (!converts()) return at(element);
    loops().load[static_cast<int>(dtype_)][static_cast<int>(Compute::kFloat)](at(element), buffer, n);
    return buffer;
  }
  void* open(std::int64_t element, float* buffer) const {
    return converts() ? static_cast<void*>(buffer) : at(element);
  }
  void close(std::int64_t element, std::int64_t n, const float* buffer) const {
    if (converts()) loops().store[static_cast<int>(Compute::kFloat)][static_cast<int>(dtype_)](buffer, at(element), n);
  }
  void load_all(std::int64_t element, std::int64_t n, double* to) const {
    loops().load[static_cast<int>(dtype_)][static_cast<int>(Compute::kDouble)](at(element), to, n);
  }
  void set_all(std::int64_t element, std::int64_t n, const double* from) const {
    loops().store[static_cast<int>(Compute::kDouble)][static_cast<int>(dtype_)](from, at(element), n);
  }
  double value(std::int64_t element) const {
    double v = 0;
    loops().load[static_cast<int>(dtype_)][static_cast<int>(Compute::kDouble)](at(element), &v, 1);
    return v;
  }
  void set(std::int64_t element, double v) const {
    loops().store[static_cast<int>(Compute::kDouble)][static_cast<int>(dtype_)](&v, at(element), 1);
  }

 private:
  DType dtype_;
  Compute compute_;
  char* data_;
};

/// A buffer for each thread of `parts` times n converted elements; empty if no conversion is needed.
ThreadScratch buffers_for(const Rows& x, std::int64_t parts, std::int64_t n) {
  return ThreadScratch(x.converts() ? static_cast<std::size_t>(parts * n) * sizeof(float) : 0);
}

float* part(float* buffer, std::int64_t i, std::int64_t n) { return buffer == nullptr ? nullptr : buffer + i * n; }

}  // namespace

template <> void execute(const calls::Softmax& args) {
  const View &x = args.x, &y = args.y;
  if (x.numel() == 0) return;
  const Extents e = extents(x, args.dim);
  const Rows from(x);
  const Rows to(y);
  const SoftmaxLoops& l = loops().softmax[static_cast<int>(from.compute())];
  const std::int64_t bytes = x.nbytes() + y.nbytes();
  if (e.inner == 1) {
    const std::int64_t group = rows_per_item(e.n);
    const ThreadScratch buffers = buffers_for(to, 2, group * e.n);
    parallel_blocks(e.outer, group, bytes, [&](std::int64_t first, std::int64_t last) {
      float* buffer = static_cast<float*>(buffers.mine());
      float* result = part(buffer, 1, group * e.n);
      const std::int64_t at = first * e.n, all = (last - first) * e.n;
      l.rows(from.load(at, all, buffer), to.open(at, result), last - first, e.n, args.log);
      to.close(at, all, result);
    });
    return;
  }
  const std::int64_t slice = e.n * e.inner;
  const std::int64_t strips = (e.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  if (to.converts()) {
    const ThreadScratch buffers = buffers_for(to, 2, slice);
    parallel_for(e.outer, bytes, [&](std::int64_t o) {
      float* buffer = static_cast<float*>(buffers.mine());
      float* result = part(buffer, 1, slice);
      const float* const given = static_cast<const float*>(from.load(o * slice, slice, buffer));
      for (std::int64_t left = 0; left < e.inner; left += kSoftmaxColumns)
        l.columns(given + left, result + left, e.n, e.inner, std::min(kSoftmaxColumns, e.inner - left), args.log);
      to.close(o * slice, slice, result);
    });
    return;
  }
  parallel_for(e.outer * strips, bytes, [&](std::int64_t k) {
    const std::int64_t left = k % strips * kSoftmaxColumns;
    const std::int64_t at = k / strips * slice + left;
    l.columns(from.at(at), to.at(at), e.n, e.inner, std::min(kSoftmaxColumns, e.inner - left), args.log);
  });
}

template <> void execute(const calls::SoftmaxBackward& args) {
  const View &grad = args.grad, &y = args.y, &grad_x = args.grad_x;
  if (y.numel() == 0) return;
  const Extents e = extents(y, args.dim);
  const Rows g(grad);
  const Rows value(y);
  const Rows to(grad_x);
  const SoftmaxLoops& l = loops().softmax[static_cast<int>(value.compute())];
  const std::int64_t bytes = 3 * y.nbytes();
  const std::int64_t slice = e.n * e.inner;
  if (e.inner == 1) {
    const std::int64_t group = rows_per_item(e.n);
    const ThreadScratch buffers = buffers_for(value, 3, group * e.n);
    parallel_blocks(e.outer, group, bytes, [&](std::int64_t first, std::int64_t last) {
      float* buffer = static_cast<float*>(buffers.mine());
      float* result = part(buffer, 2, group * e.n);
      const std::int64_t at = first * e.n, all = (last - first) * e.n;
      l.rows_backward(g.load(at, all, buffer), value.load(at, all, part(buffer, 1, group * e.n)), to.open(at, result),
                      last - first, e.n, args.log);
      to.close(at, all, result);
    });
    return;
  }
  if (value.converts()) {
    const ThreadScratch buffers = buffers_for(value, 3, slice);
    parallel_for(e.outer, bytes, [&](std::int64_t o) {
      float* buffer = static_cast<float*>(buffers.mine());
      float* result = part(buffer, 2, slice);
      g.load(o * slice, slice, buffer);
      value.load(o * slice, slice, buffer + slice);
      for (std::int64_t left = 0; left < e.inner; left += kSoftmaxColumns)
        l.columns_backward(buffer + left, buffer + slice + left, result + left, e.n, e.inner,
                           std::min(kSoftmaxColumns, e.inner - left), args.log);
      to.close(o * slice, slice, result);
    });
    return;
  }
  const std::int64_t strips = (e.inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  parallel_for(e.outer * strips, bytes, [&](std::int64_t k) {
    const std::int64_t left = k % strips * kSoftmaxColumns;
    const std::int64_t at = k / strips * slice + left;
    l.columns_backward(g.at(at), value.at(at), to.at(at), e.n, e.inner, std::min(kSoftmaxColumns, e.inner - left),
                       args.log);
  });
}

namespace {

/// to[c][r] = from[r][c].
template <class T> void transpose(const void* from, std::int64_t rows, std::int64_t cols, void* to) {
  for (std::int64_t c = 0; c < cols; ++c)
    for (std::int64_t r = 0; r < rows; ++r)
      static_cast<T*>(to)[c * rows + r] = static_cast<const T*>(from)[r * cols + c];
}

/// Logits [N, C], or [N, C, inner], whose rows are columns of the slices.  An item of work is some rows of a slice.
/// Rows of few classes are transposed, so that they are columns too.
class LogitRows {
 public:
  explicit LogitRows(const View& logits)
      : x_(logits),
        e_(extents(logits, 1)),
        transposes_(e_.inner == 1 && e_.n > 0 && e_.n <= kFew),
        slices_(e_.inner == 1 ? 1 : e_.outer),
        in_slice_(e_.inner == 1 ? e_.outer : e_.inner),
        group_(e_.inner == 1 ? rows_per_item(e_.n) : std::max(rows_per_item(e_.n), kSoftmaxColumns)),
        blocks_((in_slice_ + group_ - 1) / group_) {}

  std::int64_t rows() const { return slices_ * in_slice_; }
  std::int64_t classes() const { return e_.n; }
  bool are_columns() const { return e_.inner > 1 || transposes_; }
  ThreadScratch buffers() const {
    const auto n = static_cast<std::size_t>(group_ * e_.n);
    return ThreadScratch(transposes_ ? 2 * n * sizeof(double) : x_.converts() ? n * sizeof(float) : 0);
  }
  /// Calls f(first row, rows, their first logit in a tensor as this, stride of classes in loaded ones).
  template <class F> void each(std::int64_t bytes, const F& f) const {
    parallel_for(slices_ * blocks_, bytes, [&](std::int64_t item) {
      const std::int64_t slice = item / blocks_, left = item % blocks_ * group_;
      const std::int64_t rows = std::min(group_, in_slice_ - left);
      f(slice * in_slice_ + left, rows, e_.inner > 1 ? slice * e_.n * in_slice_ + left : left * e_.n,
        transposes_ || (x_.converts() && e_.inner > 1) ? rows : e_.inner);
    });
  }
  const void* load(std::int64_t at, std::int64_t rows, float* buffer) const {
    if (transposes_) {
      const void* const from = x_.load(at, rows * e_.n, second(buffer));
      if (x_.compute() == Compute::kDouble) transpose<double>(from, rows, e_.n, buffer);
      else transpose<float>(from, rows, e_.n, buffer);
      return buffer;
    }
    if (e_.inner == 1 || !x_.converts()) return x_.load(at, rows * e_.n, buffer);
    for (std::int64_t c = 0; c < e_.n; ++c) x_.load(at + c * e_.inner, rows, buffer + c * rows);
    return buffer;
  }
  void* open(const Rows& to, std::int64_t at, float* buffer) const {
    return transposes_ ? buffer : to.open(at, buffer);
  }
  /// Writes what was computed to what open() gave.
  void close(const Rows& to, std::int64_t at, std::int64_t rows, float* buffer) const {
    if (transposes_) {
      void* const out = to.open(at, second(buffer));
      if (x_.compute() == Compute::kDouble) transpose<double>(buffer, e_.n, rows, out);
      else transpose<float>(buffer, e_.n, rows, out);
      return to.close(at, rows * e_.n, second(buffer));
    }
    if (e_.inner == 1 || !to.converts()) return to.close(at, rows * e_.n, buffer);
    for (std::int64_t c = 0; c < e_.n; ++c) to.close(at + c * e_.inner, rows, buffer + c * rows);
  }
  /// Where logit c of loaded row k is.
  std::int64_t place(std::int64_t k, std::int64_t c, std::int64_t stride) const {
    return are_columns() ? c * stride + k : k * e_.n + c;
  }

 private:
  static constexpr std::int64_t kFew = 12;
  float* second(float* buffer) const { return buffer + 2 * group_ * e_.n; }

  Rows x_;
  Extents e_;
  bool transposes_;
  std::int64_t slices_, in_slice_, group_, blocks_;
};

/// Writes the loss and the sums of each row.  Returns the number of rows that are not ignored, -1 for a target out of
/// range.
std::int64_t losses_of_rows(const calls::CrossEntropy& args) {
  const LogitRows logits(args.logits);
  const std::int64_t rows = logits.rows(), n = logits.classes();
  const Rows loss(args.losses), kept(args.exp_sums);
  const Compute compute = compute_of(args.logits.dtype());
  const std::int64_t* wanted = static_cast<const std::int64_t*>(args.target.raw_data());
  const std::int64_t target_stride = args.target.strides()[0];
  const SoftmaxLoops& l = loops().softmax[static_cast<int>(compute)];
  const ColumnLoops& columns = column_loops().loops[compute == Compute::kDouble ? 1 : 0];
  std::atomic<bool> in_range{true};
  std::atomic<std::int64_t> not_ignored{0};
  const ThreadScratch buffers = logits.buffers();
  logits.each(args.logits.nbytes(), [&](std::int64_t first, std::int64_t count, std::int64_t at, std::int64_t stride) {
    const void* x = logits.load(at, count, static_cast<float*>(buffers.mine()));
    double most[kMaxRows], sum[kMaxRows], losses[kMaxRows];
    if (logits.are_columns()) columns.exp_sums(x, n, stride, count, most, sum, losses);
    else l.exp_sums(x, count, n, most, sum, losses);
    std::int64_t used = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t t = wanted[(first + k) * target_stride];
      if (t == args.ignore_index || t < 0 || t >= n) {
        if (t != args.ignore_index) in_range.store(false, std::memory_order_relaxed);
        losses[k] = 0;
        continue;
      }
      ++used;
      const std::int64_t place = logits.place(k, t, stride);
      const double chosen = compute == Compute::kDouble ? static_cast<const double*>(x)[place]
                                                        : static_cast<double>(static_cast<const float*>(x)[place]);
      // What was subtracted from the logits.  log_sum + (shift - x) keeps the logarithm, which would be lost beside
      // large logits.
      losses[k] += (std::isfinite(most[k]) ? most[k] : 0.0) - chosen;
    }
    kept.set_all(first, count, most);
    kept.set_all(rows + first, count, sum);
    loss.set_all(first, count, losses);
    not_ignored.fetch_add(used, std::memory_order_relaxed);
  });
  return in_range ? not_ignored.load() : -1;
}

/// The sum or mean of the losses; `used`: how many rows are not ignored.
void combine_losses(const calls::CrossEntropy& args, std::int64_t used) {
  const View &losses = args.losses, &sums = args.exp_sums;
  const std::int64_t n = losses.shape()[0];
  const View all(losses.storage(), losses.dtype(), {1, n, 1}, {n, losses.strides()[0], 1}, losses.storage_offset());
  const View sum(sums.storage(), sums.dtype(), {1, 1}, {1, 1}, sums.storage_offset() + 2 * n);
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>, all, sum});
  const Rows kept(sums), total(args.total);
  kept.set(2 * n + 1, static_cast<double>(used));
  // Rounded once, as a quotient of floats: a double is more than twice as precise.
  total.set(0, args.mean ? kept.value(2 * n) / kept.value(2 * n + 1) : kept.value(2 * n));
}

/// The gradient of each of `rows` losses whose mean has the gradient g, rounded to the compute type.
double gradient_of_each(double g, double rows, Compute compute) {
  return compute == Compute::kDouble ? g / rows : static_cast<double>(static_cast<float>(g / rows));
}

}  // namespace

template <> Outcome execute(const calls::CrossEntropy& args) {
  const std::int64_t used = losses_of_rows(args);
  if (used < 0) return Outcome::class_out_of_range;
  if (args.total.defined()) combine_losses(args, used);
  return Outcome::ok;
}

namespace {

/// What is left to do in the loaded gradients of `count` rows: [i == target] is subtracted, and rows without a target
/// are 0.
template <class T>
void subtract_targets(const LogitRows& logits, std::int64_t count, std::int64_t stride, const std::int64_t* targets,
                      const double* scales, T* out) {
  for (std::int64_t k = 0; k < count; ++k) {
    if (targets[k] >= 0) out[logits.place(k, targets[k], stride)] -= static_cast<T>(scales[k]);
    else
      for (std::int64_t c = 0; c < logits.classes(); ++c) out[logits.place(k, c, stride)] = 0;
  }
}

}  // namespace

template <> void execute(const calls::CrossEntropyBackward& args) {
  const LogitRows logits(args.logits);
  const std::int64_t rows = logits.rows(), n = logits.classes();
  const Rows g(args.grad), kept(args.exp_sums), to(args.grad_logits);
  const Compute compute = compute_of(args.logits.dtype());
  const std::int64_t grad_stride = args.grad.strides()[0], target_stride = args.target.strides()[0];
  const std::int64_t* wanted = static_cast<const std::int64_t*>(args.target.raw_data());
  const SoftmaxLoops& l = loops().softmax[static_cast<int>(compute)];
  const ColumnLoops& columns = column_loops().loops[compute == Compute::kDouble ? 1 : 0];
  const ThreadScratch buffers = logits.buffers();
  const double used = args.mean ? kept.value(2 * rows + 1) : 1;
  const auto bytes = 2 * args.logits.nbytes();
  logits.each(bytes, [&](std::int64_t first, std::int64_t count, std::int64_t at, std::int64_t stride) {
    float* buffer = static_cast<float*>(buffers.mine());
    double most[kMaxRows], factor[kMaxRows], scale[kMaxRows];
    std::int64_t targets[kMaxRows];
    kept.load_all(first, count, most);
    kept.load_all(rows + first, count, factor);
    double of_row = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t t = wanted[(first + k) * target_stride];
      targets[k] = t == args.ignore_index || t >= n ? -1 : t;
      if (k == 0 || grad_stride != 0) {
        of_row = g.value((first + k) * grad_stride);
        if (args.mean) of_row = gradient_of_each(of_row, used, compute);
      }
      scale[k] = of_row;
      // A row with a logit of infinity has no gradient, as log_softmax has none.
      factor[k] = most[k] == std::numeric_limits<double>::infinity() ? std::numeric_limits<double>::quiet_NaN()
                                                                     : of_row / factor[k];
    }
    const void* x = logits.load(at, count, buffer);
    void* out = logits.open(to, at, buffer);
    if (logits.are_columns()) {
      columns.scaled_exp(x, out, n, stride, count, most, factor);
    } else {
      const std::int64_t bytes_of_row = n * (compute == Compute::kDouble ? 8 : 4);
      for (std::int64_t k = 0; k < count; ++k)
        l.scaled_exp(static_cast<const char*>(x) + k * bytes_of_row, static_cast<char*>(out) + k * bytes_of_row, n,
                     most[k], factor[k]);
    }
    if (compute == Compute::kDouble) subtract_targets(logits, count, stride, targets, scale, static_cast<double*>(out));
    else subtract_targets(logits, count, stride, targets, scale, static_cast<float*>(out));
    logits.close(to, at, count, buffer);
  });
}

}  // namespace minnow::cpu
