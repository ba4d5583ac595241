#pragma once

#include <concepts>
#include <vector>
#include <minnow/autograd/hook_handle.h>
#include <minnow/autograd/node.h>

namespace minnow {

struct GradOptions {
  bool retain_graph = false;
  bool create_graph = false;
  /// Give an undefined tensor for an input that the outputs do not depend on, instead of an AutogradError.
  bool allow_unused = false;
  /// The gradients that arrive at the outputs; empty: ones, for one-element outputs.
  std::vector<Tensor> grad_outputs{};
};

/// d outputs / d inputs, without touching any grad().  Inputs may be leaves or not.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options = {}, SourceLocation where = SourceLocation::current());
/// Of one tensor to one other.  (A template, so that braces, grad({y}, {x}), are lists.)
template <std::derived_from<Tensor> Output, std::derived_from<Tensor> Input>
Tensor grad(const Output& output, const Input& input, const GradOptions& options = {},
            SourceLocation where = SourceLocation::current()) {
  return grad(std::vector<Tensor>{output}, std::vector<Tensor>{input}, options, where)[0];
}

/// backward for several outputs at once.  Thread-safe: graphs that share leaves may run at the same time.
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients = {},
              BackwardOptions options = {}, SourceLocation where = SourceLocation::current());

/// A hook on the gradient of x, called once for each backward with the whole gradient while the handle lives; what it
/// returns, if defined, replaces it: it must have the same shape, dtype and device (ShapeError, DTypeError, DeviceError
/// naming x and its forward line).  A hook may not call backward or grad (AutogradError).
[[nodiscard]] HookHandle register_hook(const Tensor& x, autograd::Hook hook,
                                       SourceLocation where = SourceLocation::current());

}  // namespace minnow
