#pragma once

#include <memory>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

// The sums that a backward keeps.  A first gradient is taken over; later ones are added in place, if a gradient may be
// written to: it is the only tensor of its memory, which is not the user's.  `recorded`: for create_graph.

/// Adds a gradient; false if it was the first.
bool add_gradient(Tensor& sum, Tensor grad, bool recorded);
/// Adds the gradient of a part of an input (Node::gives_part) to that part of a sum that only this pass holds.
void add_part(Tensor& sum, const Node& node, const Edge& edge, const Tensor& grad);
/// Adds to the grad() of a leaf, which may be of an earlier backward; false if there was none.  Errors if the leaf or
/// its grad() was moved or given other data since.
bool add_to_leaf(const std::shared_ptr<Slot>& leaf, Tensor grad, bool recorded);
/// A gradient as the input was: sums over broadcast dimensions, and converts to the input's dtype.
Tensor fit_to_input(const Node& node, const Edge& edge, Tensor grad);

}  // namespace minnow::autograd
