#pragma once

#include <minnow/autograd/node.h>

namespace minnow::autograd {

/// An operation that reads elements of its only input by an index, such as rows of an embedding.  Without create_graph
/// its gradient function gives the gradient of these elements, which is added to theirs in the gradient of the input:
/// no tensor of the input's size is made for each use.
class IndexedNode : public Node {
 public:
  using Node::Node;
  bool gives_part() const final { return true; }
  void add_part(const Tensor& whole, const Tensor& grad, bool) const final { add_to(whole, grad); }
  /// `grad`: what the gradient function gave.  It is added in the order of the index.
  virtual void add_to(const Tensor& sum, const Tensor& grad) const = 0;

 protected:
  void release() final {}  // add_to() still needs the index
};

}  // namespace minnow::autograd
