#pragma once

#include <torch/torch.h>
#include <vector>
#include "harness/harness.h"

namespace bench {

std::vector<Workload> training_workloads();
std::vector<Workload> row_workloads();
std::vector<Workload> network_workloads();

/// Numbers by formula as a tensor.
inline torch::Tensor formula(std::uint32_t seed, torch::IntArrayRef shape, double scale = 1) {
  torch::Tensor t = torch::empty(shape);
  auto* out = t.data_ptr<float>();
  for (std::int64_t i = 0; i < t.numel(); ++i)
    out[i] = number(seed, static_cast<std::uint32_t>(i)) * static_cast<float>(scale);
  return t;
}

inline std::vector<double> digest(const torch::Tensor& t) {
  return digest(t.data_ptr<float>(), {t.sizes().data(), t.sizes().size()}, {t.strides().data(), t.strides().size()});
}

template <class F> Ready forward_only(F f) {
  const torch::NoGradGuard no_grad;
  return {{{"",
            [f] {
              const torch::NoGradGuard inside;
              (void)f();
            }}},
          digest(f())};
}

}  // namespace bench
