#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/threads.h>
#include "../kernels/isa_support.h"

namespace minnow::test {

inline constexpr DType kAllDtypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64,
                                       DType::int32,   DType::int16,   DType::int8,    DType::uint8,    DType::bool_};

/// How a test tensor lies in memory.
enum class Lay { kContiguous, kReversed, kGaps, kBroadcast };

inline std::int64_t extent(const Shape& shape, const Strides& strides) {
  std::int64_t last = 0;
  for (int d = 0; d < shape.rank(); ++d) last += (shape[d] - 1) * strides[d];
  return shape.numel() == 0 ? 0 : last + 1;
}

inline Tensor with_strides(const Shape& shape, const Strides& strides, DType dtype) {
  const std::size_t bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(1, extent(shape, strides))) * size_of(dtype);
  auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), bytes);
  std::memset(storage->data(), 0, bytes);
  return Tensor(storage, dtype, shape, strides);
}

inline Tensor blank(const Shape& shape, DType dtype = DType::float32, Lay lay = Lay::kContiguous) {
  Strides strides = contiguous_strides(shape);
  if (lay == Lay::kReversed) {
    std::int64_t step = 1;
    for (int d = 0; d < shape.rank(); ++d) strides[d] = step, step *= std::max<std::int64_t>(1, shape[d]);
  } else if (lay == Lay::kGaps) {
    for (std::int64_t& s : strides) s *= 2;
  } else if (lay == Lay::kBroadcast && shape.rank() > 0) {
    std::int64_t step = 1;
    for (int d = shape.rank() - 1; d >= 1; --d) strides[d] = step, step *= shape[d];
    strides[0] = 0;
  }
  return with_strides(shape, strides, dtype);
}

/// Address of the i-th element in row-major order.
inline char* address(const Tensor& t, std::int64_t i) {
  std::int64_t offset = 0;
  for (int d = t.dim() - 1; d >= 0; --d) {
    offset += i % t.shape()[d] * t.strides()[d];
    i /= t.shape()[d];
  }
  return static_cast<char*>(t.raw_data()) + offset * static_cast<std::int64_t>(t.itemsize());
}

inline double get(const Tensor& t, std::int64_t i) {
  const void* p = address(t, i);
  switch (t.dtype()) {
    case DType::float32: return static_cast<double>(*static_cast<const float*>(p));
    case DType::float64: return *static_cast<const double*>(p);
    case DType::float16: return static_cast<double>(static_cast<float>(*static_cast<const float16_t*>(p)));
    case DType::bfloat16: return static_cast<double>(static_cast<float>(*static_cast<const bfloat16_t*>(p)));
    case DType::int64: return static_cast<double>(*static_cast<const std::int64_t*>(p));
    case DType::int32: return *static_cast<const std::int32_t*>(p);
    case DType::int16: return *static_cast<const std::int16_t*>(p);
    case DType::int8: return *static_cast<const std::int8_t*>(p);
    case DType::uint8: return *static_cast<const std::uint8_t*>(p);
    case DType::bool_: break;
  }
  return *static_cast<const std::uint8_t*>(p);
}
inline void set(const Tensor& t, std::int64_t i, double v) {
  void* p = address(t, i);
  switch (t.dtype()) {
    case DType::float32: *static_cast<float*>(p) = static_cast<float>(v); return;
    case DType::float64: *static_cast<double*>(p) = v; return;
    case DType::float16: *static_cast<float16_t*>(p) = float16_t(static_cast<float>(v)); return;
    case DType::bfloat16: *static_cast<bfloat16_t*>(p) = bfloat16_t(static_cast<float>(v)); return;
    case DType::int64: *static_cast<std::int64_t*>(p) = static_cast<std::int64_t>(v); return;
    case DType::int32: *static_cast<std::int32_t*>(p) = static_cast<std::int32_t>(v); return;
    case DType::int16: *static_cast<std::int16_t*>(p) = static_cast<std::int16_t>(v); return;
    case DType::int8: *static_cast<std::int8_t*>(p) = static_cast<std::int8_t>(v); return;
    case DType::uint8: *static_cast<std::uint8_t*>(p) = static_cast<std::uint8_t>(v); return;
    case DType::bool_: *static_cast<std::uint8_t*>(p) = v != 0 ? 1 : 0; return;
  }
}

/// Small whole numbers in a jumbled order: exact in every dtype.  From `low`, `span` different ones.
inline Tensor numbers(const Shape& shape, DType dtype = DType::float32, Lay lay = Lay::kContiguous, int low = 0,
                      int span = 7) {
  Tensor t = blank(shape, dtype, lay);
  for (std::int64_t i = 0; i < t.numel(); ++i) set(t, i, static_cast<double>(low + (i * 5 + i / 11) % span));
  return t;
}
/// Reals of [-1, 1) times `scale`.
inline Tensor reals(const Shape& shape, DType dtype = DType::float32, Lay lay = Lay::kContiguous, double scale = 1) {
  Tensor t = blank(shape, dtype, lay);
  std::uint64_t x = 88172645463325252u;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    set(t, i, (static_cast<double>(x >> 11) * 0x1p-52 - 1) * scale);
  }
  return t;
}

inline Backend& backend() { return *cpu_backend(); }

inline bool same_bits(const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    if (std::memcmp(address(a, i), address(b, i), a.itemsize()) != 0) return false;
  }
  return true;
}

/// Calls f with 1, 2, 3 and 8 threads, each time with a new output, and expects the same bits of all.
inline void expect_thread_invariant(const std::function<Tensor()>& f) {
  const int before = num_threads();
  set_num_threads(1);
  const Tensor one = f();
  for (const int threads : {2, 3, 8}) {
    set_num_threads(threads);
    EXPECT_TRUE(same_bits(f(), one)) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace minnow::test
