#pragma once

#include <minnow/nn/losses/loss.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn::detail {

/// The losses of the elements, combined.  ValueError for batchmean: only kl_div has it.
Tensor reduced(const Tensor& losses, Reduction reduction);
/// ShapeError unless the shapes of two bound operands are equal, DTypeError unless one is floating-point.
void require_same_shape(Operands both);
/// The same for shapes that cannot be broadcast.  Warns once about those that are: it is mostly a mistake.
void require_broadcast_shapes(Operands both);

}  // namespace minnow::nn::detail
