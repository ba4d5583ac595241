#pragma once

#include <string>
#include <minnow/nn/module.h>

namespace minnow::nn {

/// A table of the model's layers, their output shapes for an input of this shape, and their parameters:
///
///     std::cout << nn::summary(net, {1, 1, 28, 28});
///
/// Runs forward once with zeros of the parameters' dtype and device, in eval mode, without recording; modes are
/// restored.  Layers that forward() does not call show "-".  ShapeError for a negative size; else what forward() throws.
std::string summary(Module& model, const Shape& input, SourceLocation where = SourceLocation::current());

}  // namespace minnow::nn
