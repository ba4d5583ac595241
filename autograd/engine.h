#pragma once

#include <concepts>
#include <functional>
#include <vector>
#include <minnow/autograd/hook_handle.h>
#include <minnow/autograd/node.h>

namespace minnow {

struct GradOptions {
  bool retain_graph = false;
  bool create_graph = false;
  /// Give an undefined tensor for an input that the outputs do not depend on, instead of an AutogradError.
  bool allow_unused = false;
  /// The gradients of the outputs; empty: 1 for each, which must have one element.
  std::vector<Tensor> grad_outputs{};
};

/// The sum of d outputs / d inputs, one gradient for each input; grad() of no tensor changes.  Inputs may be leaves or
/// results.  AutogradError, with its index, for an input that does not require a gradient, or that the outputs do not
/// depend on (see allow_unused).
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options = {}, SourceLocation where = SourceLocation::current());
/// The gradient of one tensor with respect to another.  (A template, so that grad({y}, {x}) takes lists.)
template <std::derived_from<Tensor> Output, std::derived_from<Tensor> Input>
Tensor grad(const Output& output, const Input& input, const GradOptions& options = {},
            SourceLocation where = SourceLocation::current()) {
  return grad(std::vector<Tensor>{output}, std::vector<Tensor>{input}, options, where)[0];
}

/// Tensor::backward for several outputs at once: gradients are added to grad() of the leaves.  Thread-safe: graphs that
/// share leaves may run at the same time.
void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients = {},
              BackwardOptions options = {}, SourceLocation where = SourceLocation::current());

/// A hook on the gradient of x.  While the handle lives it is called once for each backward, with the complete
/// gradient. If it returns a defined tensor, that replaces the gradient: it must have the same shape, dtype and device
/// (ShapeError, DTypeError, DeviceError naming x and its forward line).  A hook may not call backward or grad
/// (AutogradError).
[[nodiscard]] HookHandle register_hook(const Tensor& x, autograd::Hook hook,
                                       SourceLocation where = SourceLocation::current());

/// A hook that is called after each backward has added to the gradient of x, a leaf: hook(x), with the sum in x.grad(),
/// as soon as that is complete.  A hook may not call backward or grad.  AutogradError for a tensor that is not a leaf
/// or requires no gradient.
[[nodiscard]] HookHandle register_post_accumulate_grad_hook(const Tensor& x, std::function<void(const Tensor& x)> hook,
                                                            SourceLocation where = SourceLocation::current());

/// From a hook: calls it at the end of the backward that runs on this thread.  At once if there is none.
namespace autograd {
void call_after_backward(std::function<void()> call);
}

}  // namespace minnow
