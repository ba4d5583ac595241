#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// out = alpha a b + beta out (+ bias) by a simple kernel, for any dtype and strides: for integers, empty sums, and
/// products for which cuBLASLt has no algorithm.  Each element is summed in a fixed order.
void plain_matmul(const Call& call, const MatmulParams& params, const View& a, const View& b, const View& bias,
                  const View& out);

}  // namespace minnow::cuda
