#pragma once

#include <filesystem>
#include <vector>
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/tensor.h>
#include "harness/harness.h"

namespace bench {

/// Single operations, of the sizes that a CPU and a GPU share.
std::vector<Workload> operation_workloads();
/// Short rows, channels and tables, of a CPU's sizes.
std::vector<Workload> row_workloads();
/// Single operations of a GPU's sizes.
std::vector<Workload> large_workloads();
std::vector<Workload> training_workloads();
/// Whole networks and recurrent layers.
std::vector<Workload> network_workloads();
/// Large tables of which a step reads few rows.
std::vector<Workload> table_workloads();
/// Losses with derivatives in them.
std::vector<Workload> derivative_workloads();
/// Files that are read into tensors.
std::vector<Workload> file_workloads();
/// Empty without minnow::vision.
std::vector<Workload>& image_workloads();
/// Where make_files.py has written; throws if it is not given.
std::filesystem::path folder_of(const Settings& s);
/// Seconds until a CNN has 99 % on MNIST's test images, for a seed.
Ready time_to_accuracy(const Settings& s);
/// A whole epoch of the CNN, eager and captured.
std::vector<Workload> epoch_workloads();

/// Numbers by formula as a tensor.
inline minnow::Tensor formula(const Settings& s, std::uint32_t seed, const minnow::Shape& shape, double scale = 1) {
  minnow::Tensor t = minnow::empty(shape);
  const auto out = t.span<float>();
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = number(seed, static_cast<std::uint32_t>(i)) * static_cast<float>(scale);
  return t.to(minnow::Device(s.device));
}

inline std::vector<double> digest(const minnow::Tensor& t) {
  const minnow::Tensor here = t.detach().to(minnow::Device("cpu")).to(minnow::float32);
  return digest(here.data<float>(), here.shape().span(), here.strides().span());
}

/// Times f() without gradients; what it returns is checked.
template <class F> Ready forward_only(F f) {
  const minnow::NoGradGuard no_grad;
  return {{{"",
            [f] {
              const minnow::NoGradGuard inside;
              (void)f();
            }}},
          digest(f())};
}

}  // namespace bench
