#include <algorithm>
#include <utility>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/scratch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

/// Elements that are computed in float or double: halves pass through a buffer.  All functions are for none too, where the
/// tensor is undefined.
class Elements {
 public:
  Elements(const View& t)
      : dtype_(t.defined() ? t.dtype() : DType::float32),
        data_(t.defined() ? static_cast<char*>(t.raw_data()) : nullptr) {}

  /// `count` elements to read; of halves copies, which are taken from `room`.
  const void* read(std::int64_t at, std::int64_t count, float*& room) const {
    float* to = static_cast<float*>(write(at, count, room));
    if (data_ != nullptr && is_half(dtype_)) loops().load[static_cast<int>(dtype_)][kFloat](place(at), to, count);
    return to;
  }
  /// Where `count` elements are to be written, before written().
  void* write(std::int64_t at, std::int64_t count, float*& room) const {
    if (data_ == nullptr || !is_half(dtype_)) return place(at);
    return std::exchange(room, room + count);
  }
  void written(std::int64_t at, std::int64_t count, const void* from) const {
    if (data_ != nullptr && is_half(dtype_)) loops().store[kFloat][static_cast<int>(dtype_)](from, place(at), count);
  }

 private:
  static constexpr int kFloat = static_cast<int>(Compute::kFloat);

  char* place(std::int64_t at) const {
    return data_ == nullptr ? nullptr : data_ + at * static_cast<std::int64_t>(size_of(dtype_));
  }

  DType dtype_;
  char* data_;
};

/// Rows that are worked on together: what the first level of the cache holds of their operands.
std::int64_t rows_together(std::int64_t n) { return std::clamp<std::int64_t>(4096 / n, 1, kLayerNormRows); }

/// Bytes of `count` converted elements.
std::size_t converted(const View& x, std::int64_t count) {
  return is_half(x.dtype()) ? static_cast<std::size_t>(count) * sizeof(float) : 0;
}

const LayerNormLoops& loops_of(const View& x) { return loops().layer_norm[static_cast<int>(compute_of(x.dtype()))]; }

}  // namespace

template <> void execute(const calls::LayerNorm& args) {
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1], together = rows_together(n);
  const Elements x(args.x), weight(args.weight), bias(args.bias), y(args.y);
  auto* const mean = args.stats.defined() ? static_cast<double*>(args.stats.raw_data()) : nullptr;
  const LayerNormLoops& l = loops_of(args.x);
  const ThreadScratch scratch(converted(args.x, 2 * together * n), converted(args.x, 2 * n));
  float* shared = static_cast<float*>(scratch.shared());
  const void* const weights = weight.read(0, n, shared);
  const void* const biases = bias.read(0, n, shared);
  parallel_blocks(rows, together, 2 * args.x.nbytes(), [&](std::int64_t first, std::int64_t last) {
    float* room = static_cast<float*>(scratch.mine());
    const std::int64_t at = first * n, count = (last - first) * n;
    const void* const from = x.read(at, count, room);
    void* const to = y.write(at, count, room);
    l.forward({last - first, n, from, weights, biases, to, mean ? mean + first : nullptr,
               mean ? mean + rows + first : nullptr, args.eps});
    y.written(at, count, to);
  });
}

namespace {

/// The gradients of weight and bias are sums over parts of the rows, joined in order: their number is the shape's alone.
struct Parts {
  std::int64_t rows, count;  ///< rows of a part

  Parts(std::int64_t all, std::int64_t n) {
    constexpr std::int64_t kElements = 1 << 15, kLeast = 4, kMost = 64;
    rows = std::max({kElements / n, kLeast, (all + kMost - 1) / kMost});
    count = (all + rows - 1) / rows;
  }
};

/// out = the sum of `parts` arrays of n, `step` apart.
void join(const double* parts, std::int64_t count, std::int64_t step, const View& out) {
  constexpr std::int64_t kColumns = 512;
  const std::int64_t n = out.numel();
  const auto size = static_cast<std::int64_t>(out.itemsize());
  const ConvertLoop store = loops().store[static_cast<int>(Compute::kDouble)][static_cast<int>(out.dtype())];
  parallel_blocks(n, kColumns, count * n * std::int64_t{sizeof(double)}, [&](std::int64_t first, std::int64_t last) {
    double sums[kColumns] = {};
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t j = first; j < last; ++j) sums[j - first] += parts[k * step + j];
    store(sums, static_cast<char*>(out.raw_data()) + first * size, last - first);
  });
}

}  // namespace

template <> void execute(const calls::LayerNormBackward& args) {
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1], together = rows_together(n);
  const Elements grad(args.grad), x(args.x), weight(args.weight), grad_x(args.grad_x);
  const auto* const mean = static_cast<const double*>(args.stats.raw_data());
  const LayerNormLoops& l = loops_of(args.x);
  const bool sums = args.grad_weight.defined() || args.grad_bias.defined();
  const Parts parts(rows, n);
  const std::size_t sums_size = sums ? static_cast<std::size_t>(parts.count * 2 * n) * sizeof(double) : 0;
  const ThreadScratch scratch(converted(args.x, 3 * together * n), sums_size + converted(args.x, n));
  auto* const of_parts = static_cast<double*>(scratch.shared());  // [parts, 2, n]
  float* shared =
      sums ? reinterpret_cast<float*>(of_parts + parts.count * 2 * n) : static_cast<float*>(scratch.shared());
  const void* const weights = weight.read(0, n, shared);
  parallel_for(parts.count, 3 * args.x.nbytes(), [&](std::int64_t part) {
    double* const to_weight = sums ? of_parts + part * 2 * n : nullptr;
    if (sums) std::fill_n(to_weight, 2 * n, 0.0);
    const std::int64_t end = std::min(rows, (part + 1) * parts.rows);
    for (std::int64_t first = part * parts.rows; first < end; first += together) {
      float* room = static_cast<float*>(scratch.mine());
      const std::int64_t last = std::min(end, first + together), at = first * n, count = (last - first) * n;
      const void* const grads = grad.read(at, count, room);
      const void* const from = x.read(at, count, room);
      void* const to = grad_x.write(at, count, room);
      l.backward({last - first, n, grads, from, weights, mean + first, mean + rows + first, to,
                  args.grad_weight.defined() ? to_weight : nullptr,
                  args.grad_bias.defined() ? to_weight + n : nullptr});
      grad_x.written(at, count, to);
    }
  });
  if (args.grad_weight.defined()) join(of_parts, parts.count, 2 * n, args.grad_weight);
  if (args.grad_bias.defined()) join(of_parts + n, parts.count, 2 * n, args.grad_bias);
}

}  // namespace minnow::cpu
