#pragma once

#include <vector>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/tensor.h>
#include "harness/harness.h"

namespace bench {

std::vector<Workload> operation_workloads();
std::vector<Workload> training_workloads();

/// Numbers by formula as a tensor.
inline minnow::Tensor formula(std::uint32_t seed, const minnow::Shape& shape, double scale = 1) {
  minnow::Tensor t = minnow::empty(shape);
  const auto out = t.span<float>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = number(seed, static_cast<std::uint32_t>(i)) * static_cast<float>(scale);
  return t;
}

inline std::vector<double> digest(const minnow::Tensor& t) {
  return digest(t.data<float>(), t.shape().span(), t.strides().span());
}

}  // namespace bench
