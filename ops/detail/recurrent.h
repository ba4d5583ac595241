#pragma once

#include <cstdint>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

struct RecurrentWeights {
  Tensor input, hidden;            ///< [gates H, I], [gates H, H]
  Tensor input_bias, hidden_bias;  ///< [gates H], or undefined
  Tensor projection{};             ///< of lstm: [P, H], which makes the new h of size P, or undefined
  /// Of weights that are quantized to int8: their scales (ops/detail/quantized.h).  There are no gradients then.
  Tensor input_scale{}, hidden_scale{}, projection_scale{};
};

/// One step.   x: [N, I]  h, c: [N, H]; c is of lstm alone  ->  the new h and c.
struct RecurrentState {
  Tensor h, c;
};
RecurrentState recurrent_step(Recurrence kind, const Tensor& x, const RecurrentState& state,
                              const RecurrentWeights& weights);

/// All steps of a layer in one direction, as one operation.   x: [T, N, I] with T > 0  state: as above  ->  the h of
/// each step, [T, N, H], and of lstm the last c.   Any order of gradient.
/// active: bool [T, N, 1], or undefined; the state of a sequence stays where it is false.
/// Elman 1990; lstm: Hochreiter and Schmidhuber 1997; gru: Cho et al. 2014, with PyTorch's place of the reset gate.
RecurrentState recurrent_layer(Recurrence kind, const Tensor& x, const RecurrentState& state,
                               const RecurrentWeights& weights, const Tensor& active = {});
/// The same of an lstm with projection, step by step: the h of each step, [T, N, P], and the last c.
RecurrentState projected_layer(const Tensor& x, RecurrentState state, const RecurrentWeights& weights,
                               const Tensor& active = {});

}  // namespace minnow::detail
