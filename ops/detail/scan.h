#pragma once

#include <minnow/tensor/internal.h>
#include <minnow/tensor/tensor.h>

namespace minnow::detail {

/// t moved by one along dim: element i is t[i + 1] if `ahead`, else t[i - 1]; `fill` where there is none.
Tensor shifted(const Tensor& t, int dim, bool ahead, double fill);
/// y[i] = x[i] + factor[i] y[i - 1] along dim, or with y[i + 1] if `reverse`.
Tensor recurrence(const Tensor& x, const Tensor& factor, int dim, bool reverse);

}  // namespace minnow::detail
