#pragma once

#include <minnow/autograd/node.h>

namespace minnow::autograd {

/// The gradient of a cast under an Autocast guard.  Those of its output come in the dtype of its input, in which they
/// are summed, so that no operation needs to round them to a half first.  It keeps nothing, so that graphs which share
/// it may run one after the other.
class CastNode final : public Node {
 public:
  using Node::Node;
  bool is_reusable() const override { return true; }

 protected:
  Gradients backward(std::span<const Tensor> grads, Needs) override { return {grads[0]}; }
  void release() override {}
};

/// The dtype in which gradients of x are summed: its own, or that of what it was cast from.
DType gradient_dtype(const Tensor& x);

}  // namespace minnow::autograd
