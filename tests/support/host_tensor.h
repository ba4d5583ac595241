#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/tensor.h>

namespace minnow::test {

/// A CPU tensor made without operations, for tests of the floors below them.
inline Tensor host_tensor(DType dtype, const Shape& shape, const Strides& strides) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  return Tensor(std::make_shared<Storage>(cpu_allocator(), Device(), bytes), dtype, shape, strides);
}

inline Tensor host_tensor(const std::vector<float>& values, const Shape& shape) {
  const Tensor out = host_tensor(DType::float32, shape, contiguous_strides(shape));
  std::copy(values.begin(), values.end(), out.data<float>());
  return out;
}

/// `count` elements 0, 1, 2, ...
inline Tensor counting(std::int64_t count) {
  const Tensor out = host_tensor(DType::float32, {count}, {1});
  for (std::int64_t i = 0; i < count; ++i) out.data<float>()[i] = static_cast<float>(i);
  return out;
}

/// The elements of a CPU tensor in the order of memory.
inline std::vector<float> values(const Tensor& t) {
  const float* first = t.data<float>();
  return {first, first + t.numel()};
}

}  // namespace minnow::test
