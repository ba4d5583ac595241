#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// out = alpha a b + beta out (+ bias) by a plain kernel, for every dtype and any strides: integers, empty sums, and
/// what cuBLASLt has no algorithm for.  Each element is one sum in a fixed order.
void plain_matmul(const Call& call, const MatmulParams& params, const View& a, const View& b, const View& bias,
                  const View& out);

}  // namespace minnow::cuda
