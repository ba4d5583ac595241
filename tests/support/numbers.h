#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/tensor.h>

namespace minnow::test {

inline Tensor tensor_of(const View& v) {
  return Tensor(v.storage(), v.dtype(), v.shape(), v.strides(), v.storage_offset());
}
inline Tensor scratch(const Shape& shape, DType dtype, MemoryFormat format = MemoryFormat::contiguous) {
  return tensor_of(cpu::scratch(shape, dtype, format));
}
inline Tensor packed(const Tensor& from, DType dtype, MemoryFormat format = MemoryFormat::contiguous) {
  return tensor_of(cpu::packed(from, dtype, format));
}

/// Numbers of [-1, 1), the same for the same seed.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 88172645463325252u) {}
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1.0;
  }

 private:
  std::uint64_t state_;
};

/// A tensor with gaps and any order of dimensions: sizes `shape`, dimension order[0] outermost in memory;
/// `gap` unused elements follow each row of the innermost dimension.
inline Tensor strided_scratch(const Shape& shape, DType dtype, const std::vector<int>& order, std::int64_t gap) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int d = order[static_cast<std::size_t>(i)];
    strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1);
    if (i == shape.rank() - 1) step += gap;
  }
  const Tensor memory = test::scratch({step}, dtype);
  return Tensor(memory.storage(), dtype, shape, strides);
}

/// Fills with random values rounded to `dtype` on a grid that every floating-point dtype holds (multiples of 1/64),
/// or with integers of [-8, 8) for an integral one.
inline void randomise(const Tensor& t, std::uint64_t seed) {
  Numbers numbers(seed);
  const Tensor values = test::scratch(t.shape(), DType::float64);
  auto* p = static_cast<double*>(values.raw_data());
  for (std::int64_t i = 0; i < t.numel(); ++i)
    p[i] = is_integral(t.dtype()) ? std::floor(numbers.next() * 8) : std::round(numbers.next() * 64) / 64;
  cpu::convert(values, t);
}

inline Tensor random(const Shape& shape, DType dtype, std::uint64_t seed,
                     MemoryFormat format = MemoryFormat::contiguous) {
  Tensor t = test::scratch(shape, dtype, format);
  randomise(t, seed);
  return t;
}

/// The elements in row-major order as doubles.
inline std::vector<double> values_of(const Tensor& t) {
  const Tensor wide = test::packed(t, DType::float64);
  const auto* p = static_cast<const double*>(wide.raw_data());
  return {p, p + t.numel()};
}

inline Tensor as_double(const Tensor& t) {
  Tensor wide = test::scratch(t.shape(), DType::float64);
  cpu::convert(t, wide);
  return wide;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = test::packed(a, a.dtype()), y = test::packed(b, b.dtype());
  return x.nbytes() == y.nbytes() &&
         (x.nbytes() == 0 || std::memcmp(x.raw_data(), y.raw_data(), static_cast<std::size_t>(x.nbytes())) == 0);
}

/// The largest |a - b|; infinite where exactly one is NaN or the sizes differ.
inline double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = values_of(a), y = values_of(b);
  if (x.size() != y.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) != std::isnan(y[i])) return INFINITY;
    if (x[i] != y[i] && !std::isnan(x[i])) worst = std::max(worst, std::fabs(x[i] - y[i]));
  }
  return worst;
}

/// The rounding error of `dtype` at 1.
inline double epsilon(DType dtype) {
  if (dtype == DType::float64) return 0x1p-52;
  if (dtype == DType::float32) return 0x1p-23;
  return dtype == DType::float16 ? 0x1p-10 : 0x1p-7;
}

/// The largest error of a sum of `terms` products of numbers below 1 in `dtype`.
inline double sum_bound(std::int64_t terms, DType dtype) {
  return 4 * epsilon(dtype) * (1 + std::sqrt(static_cast<double>(terms)));
}

}  // namespace minnow::test
