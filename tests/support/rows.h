#pragma once

#include <cmath>
#include <minnow/tensor/create.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {

/// Element i of a CPU tensor is from(i), in a dtype.
template <class F> Tensor made(const Shape& shape, DType dtype, F from) {
  const Tensor t = empty(shape, {DType::float64});
  const auto out = t.span<double>();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = from(static_cast<std::int64_t>(i));
  return raw::cast(t, dtype);
}

/// Unsorted numbers in [-1, 1).
inline double mixed(std::int64_t i) {
  auto x = static_cast<std::uint32_t>(i) * 2654435761u + 12345u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return static_cast<double>(x) / 2147483648.0 - 1.0;
}

inline Tensor on(const Tensor& t, Device device) { return raw::to_device(t, device); }
inline Tensor to_host(const Tensor& t) { return raw::to_device(t, Device()); }

/// In float64, the reference for all others.
inline Tensor exact(const Tensor& t) { return is_floating_point(t.dtype()) ? raw::cast(t, DType::float64) : t; }

/// A device's result agrees with the one that the CPU computed in float64.
inline void expect_agrees(const Tensor& got, const Tensor& want, const std::string& what, double scale = 1) {
  Tolerance tolerance = tolerance_of(got.dtype());
  tolerance.absolute *= scale;
  expect_close(to_host(got), raw::cast(want, got.dtype()), what, tolerance);
}

}  // namespace minnow::test
