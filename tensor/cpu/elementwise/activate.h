#pragma once

#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::cpu {

/// y = activation(y), of n floats.  Relu of NaN is NaN, which that of oneDNN's epilogues is not.
inline void activate(Activation activation, float* y, std::int64_t n) {
  using Ops = kernels::UnaryOps;
  if (activation == Activation::none) return;
  const int op = activation == Activation::relu ? kernels::kIndexOf<Ops, kernels::Relu>
                                                : kernels::kIndexOf<Ops, kernels::GeluTanh>;
  loops().unary[static_cast<int>(kernels::Compute::kFloat)][op](y, y, n, 0, 0);
}

/// out = activation(out).
inline void activate(Activation activation, const View& out) {
  using Ops = kernels::UnaryOps;
  const DType compute = kernels::compute_type(out.dtype());
  if (activation == Activation::relu) execute(calls::Unary{kernels::kIndexOf<Ops, kernels::Relu>, compute, out, out});
  else if (activation == Activation::gelu_tanh)
    execute(calls::Unary{kernels::kIndexOf<Ops, kernels::GeluTanh>, compute, out, out});
}

}  // namespace minnow::cpu
