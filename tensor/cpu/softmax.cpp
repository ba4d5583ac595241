#include <algorithm>
#include <atomic>
#include <cmath>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/scratch.h>
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
    const ThreadScratch buffers = buffers_for(from, 2, group * e.n);
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
  if (from.converts()) {
    const ThreadScratch buffers = buffers_for(from, 2, slice);
    parallel_for(e.outer, bytes, [&](std::int64_t o) {
      float* buffer = static_cast<float*>(buffers.mine());
      float* result = part(buffer, 1, slice);
      from.load(o * slice, slice, buffer);
      for (std::int64_t left = 0; left < e.inner; left += kSoftmaxColumns)
        l.columns(buffer + left, result + left, e.n, e.inner, std::min(kSoftmaxColumns, e.inner - left), args.log);
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

/// Writes the loss and the sums of each row.  Returns the number of rows that are not ignored, -1 for a target out of
/// range.
std::int64_t losses_of_rows(const calls::CrossEntropy& args) {
  const View &logits = args.logits, &target = args.target;
  const std::int64_t rows = logits.shape()[0];
  const std::int64_t n = logits.shape()[1];
  const Rows x(logits);
  const Rows loss(args.losses);
  const Rows kept(args.exp_sums);
  const std::int64_t* wanted = static_cast<const std::int64_t*>(target.raw_data());
  const std::int64_t stride = target.strides()[0];
  const SoftmaxLoops& l = loops().softmax[static_cast<int>(x.compute())];
  std::atomic<bool> in_range{true};
  std::atomic<std::int64_t> not_ignored{0};
  const std::int64_t group = rows_per_item(n);
  const ThreadScratch buffers = buffers_for(x, 1, group * n);
  parallel_blocks(rows, group, logits.nbytes(), [&](std::int64_t first, std::int64_t last) {
    float* buffer = static_cast<float*>(buffers.mine());
    double most[kMaxRows], sum[kMaxRows], log_sum[kMaxRows];
    l.exp_sums(x.load(first * n, (last - first) * n, buffer), last - first, n, most, sum, log_sum);
    std::int64_t used = 0;
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t t = wanted[r * stride], k = r - first;
      const bool ignored = t == args.ignore_index;
      if (!ignored && (t < 0 || t >= n)) {
        in_range.store(false, std::memory_order_relaxed);
        continue;
      }
      used += ignored ? 0 : 1;
      kept.set(r, most[k]);
      kept.set(rows + r, sum[k]);
      // What was subtracted from the logits.  log_sum + (shift - x) keeps the logarithm, which would be lost beside
      // large logits.
      const double shift = std::isfinite(most[k]) ? most[k] : 0.0;
      loss.set(r, ignored ? 0.0 : log_sum[k] + (shift - x.value(r * n + t)));
    }
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

template <> void execute(const calls::CrossEntropyBackward& args) {
  const View &grad = args.grad, &logits = args.logits, &target = args.target, &exp_sums = args.exp_sums,
             &grad_logits = args.grad_logits;
  const std::int64_t rows = logits.shape()[0];
  const std::int64_t n = logits.shape()[1];
  const Rows x(logits);
  const Rows g(grad);
  const Rows kept(exp_sums);
  const Rows to(grad_logits);
  const std::int64_t grad_stride = grad.strides()[0];
  const std::int64_t* wanted = static_cast<const std::int64_t*>(target.raw_data());
  const std::int64_t stride = target.strides()[0];
  const SoftmaxLoops& l = loops().softmax[static_cast<int>(x.compute())];
  const ThreadScratch buffers = buffers_for(x, 2, n);
  parallel_blocks(rows, rows_per_item(n), 2 * logits.nbytes(), [&](std::int64_t first, std::int64_t last) {
    float* buffer = static_cast<float*>(buffers.mine());
    float* result = part(buffer, 1, n);
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t t = wanted[r * stride];
      void* out = to.open(r * n, result);
      if (t == args.ignore_index || t < 0 || t >= n) {
        std::fill_n(to.at(r * n), static_cast<std::size_t>(n) * size_of(grad_logits.dtype()), char{0});
        continue;
      }
      const double scale = args.mean ? gradient_of_each(g.value(r * grad_stride), kept.value(2 * rows + 1), x.compute())
                                     : g.value(r * grad_stride);
      l.scaled_exp(x.load(r * n, n, buffer), out, n, kept.value(r), scale / kept.value(rows + r));
      if (x.compute() == Compute::kDouble) static_cast<double*>(out)[t] -= scale;
      else static_cast<float*>(out)[t] -= static_cast<float>(scale);
      to.close(r * n, n, result);
    }
  });
}

}  // namespace minnow::cpu
