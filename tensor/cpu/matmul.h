#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow::cpu {

/// As Backend::matmul.  float32 and, where the machine has them, the half types by oneDNN; float64 and
/// integers by reference.h.  Equal bits for any number of threads.
void matmul(const MatmulParams& params, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out);

}  // namespace minnow::cpu
