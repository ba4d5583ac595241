#pragma once

#include <minnow/tensor/tensor.h>

namespace minnow::data::detail {

/// ValueError for a float32 image, dense and on the cpu, outside [0, 1]: normalized, or not yet divided by 255.
void check_unit_range(const char* op, const Tensor& image, SourceLocation where);

}  // namespace minnow::data::detail
