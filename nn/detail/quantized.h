#pragma once

#include <minnow/nn/module/module.h>

namespace minnow::nn::detail {

/// The scales of a weight of the module that is quantized to int8, or undefined.
Tensor scale_of(const Module& module, const Tensor& weight);
/// A name of a quantized layer among the module and its descendants; empty if there is none.
std::string quantized_layer(const Module& module);
void quantize_layers(const char* op, Module& model, SourceLocation where);

}  // namespace minnow::nn::detail
