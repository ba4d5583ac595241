#pragma once

#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::cpu {

/// out = activation(out).
inline void activate(Activation activation, const View& out) {
  using Ops = kernels::UnaryOps;
  const DType compute = kernels::compute_type(out.dtype());
  if (activation == Activation::relu) execute(calls::Unary{kernels::kIndexOf<Ops, kernels::Relu>, compute, out, out});
  else if (activation == Activation::gelu_tanh)
    execute(calls::Unary{kernels::kIndexOf<Ops, kernels::GeluTanh>, compute, out, out});
}

}  // namespace minnow::cpu
