#pragma once

#include <optional>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// e^x / Σ e^x along dim, or its logarithm.   out: its dtype, if that is another one: a half of float32, on devices
/// that compute on the host
Tensor softmax(const In& x, int dim, bool log, std::optional<DType> out = {});
/// The gradient of x from that of y, and y itself.
Tensor softmax_backward(const In& grad, const In& y, int dim, bool log);

}  // namespace minnow::detail::raw
