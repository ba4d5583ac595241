#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {
class Backend;

namespace raw {

// Uninitialized memory for the result of the operation that the open CallSite names.

Tensor new_result(const Shape& shape, DType dtype, Device device);
/// Dense, in the order of dimensions of `like`.
Tensor new_result(const Shape& shape, const Strides& like, DType dtype, Device device);
/// The same, on a device of a backend that was looked up.
Tensor new_result(Backend& backend, const Shape& shape, DType dtype, Device device);
Tensor new_result(Backend& backend, const Shape& shape, const Strides& like, DType dtype, Device device);
/// Of strides that are known to be dense; pinned where that is asked for and there is a device to pin for.
Tensor allocate(const Shape& shape, const Strides& strides, DType dtype, Device device, bool pinned);

/// Product of the sizes times the element size.  DTypeError, ShapeError, OutOfMemoryError.
std::size_t checked_bytes(const Shape& shape, DType dtype);

/// A 0-dim CPU tensor, which elementwise operations take beside operands on any device.
[[nodiscard]] Tensor scalar_tensor(Scalar value, DType dtype);

}  // namespace raw
}  // namespace minnow::detail
