#pragma once

#include <functional>
#include <span>
#include <vector>
#include <minnow/autograd/node.h>

namespace minnow::autograd {

/// The gradients of a joint operation's inputs from those of its outputs, which are undefined where none arrived.
using JointGradient = std::function<Gradients(std::span<const Tensor> grads, Needs needs)>;

/// record() of several outputs whose number is known only at run time, with the edges to the inputs.  Outputs that are
/// in the graph already are returned as new tensors of the same memory.
std::vector<Tensor> record_joint(const char* name, std::span<const Tensor> outputs, std::vector<Edge> inputs,
                                 JointGradient gradient, SourceLocation where);

/// The gradients of `outputs` with respect to what `edges` lead to: no node or leaf behind them is run, and none of
/// their hooks.  `gradients` belong to the outputs; undefined ones are left out.  For parts of a backward that runs.
std::vector<Tensor> gradients_up_to(const std::vector<Edge>& edges, std::span<const Tensor> outputs,
                                    std::span<const Tensor> gradients, bool create_graph);

}  // namespace minnow::autograd
