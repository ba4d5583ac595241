#pragma once

#include <minnow/nn/detail/quantized.h>
#include <minnow/nn/module/clone.h>

namespace minnow::nn {

/// Quantizes a model to int8 for inference, as torch.ao.quantization.quantize_dynamic with per_channel_dynamic_qconfig:
/// every Linear, LSTM and GRU of the model and its descendants.  Weights become int8 with a scale for each output,
/// activations are rounded to 8 bits in each call, with one scale and one zero point for each row (PyTorch: for the
/// whole tensor), so that the samples of a batch do not depend on each other.
///
///     nn::quantize_dynamic_(net);                        // in place
///     save(net.state_dict(), "net.safetensors");         // a quarter of the size
///
///     Net net;                                           // elsewhere: quantize, then load
///     nn::quantize_dynamic_(net);
///     net.load_state_dict(load("net.safetensors"));
///
/// In the state dict `weight` becomes int8 and `weight_scale` (float32 [out_features]) stands beside it; biases stay
/// float32.  The model is in eval mode and none of its parameters requires a gradient: a quantized layer has no
/// gradient, and an input that requires one is an AutogradError.  x is float32; under an Autocast guard halves are
/// converted to it. Classes that are derived from these layers, MultiheadAttention's in_proj_weight and other layers
/// stay as they are.  On a processor that cannot add products of 8 bits exactly, activations have 7 bits (PyTorch's
/// reduce_range).  Where a row of x has NaN or infinity, that of the result is NaN.
/// ValueError if there is no such layer, for more than 65536 inputs, and for a weight that has NaN or infinity, that is
/// computed (weight_norm) or that other modules hold; DTypeError unless weights are float32; BackendError on CUDA,
/// where int8 layers do not run.  Nothing has changed when it throws.
inline void quantize_dynamic_(Module& model, SourceLocation where = SourceLocation::current()) {
  detail::quantize_layers("quantize_dynamic_", model, where);
}

/// The same of a clone() of the model, which stays as it is.
template <std::derived_from<Module> M>
[[nodiscard]] M quantize_dynamic(const M& model, SourceLocation where = SourceLocation::current()) {
  M quantized = clone(model, where);
  detail::quantize_layers("quantize_dynamic", quantized, where);
  return quantized;
}

}  // namespace minnow::nn
