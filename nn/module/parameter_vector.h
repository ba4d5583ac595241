#pragma once

#include <vector>
#include <minnow/tensor/in.h>

namespace minnow::nn {

/// The elements of all parameters in one vector, with gradients to them.  ValueError for an empty list, DTypeError and
/// DeviceError unless all have one dtype and device.
[[nodiscard]] Tensor parameters_to_vector(const std::vector<Tensor>& params,
                                          SourceLocation where = SourceLocation::current());
/// Copies the elements of a vector back, without recording.  ShapeError unless it has as many as the parameters.
void vector_to_parameters(const In& vector, const std::vector<Tensor>& params);

}  // namespace minnow::nn
