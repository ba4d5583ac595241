#include <minnow/autograd/joint.h>

#include <utility>
#include <minnow/autograd/record.h>

namespace minnow::autograd {

std::vector<Tensor> record_joint(const char* name, std::span<const Tensor> outputs, std::vector<Edge> inputs,
                                 JointGradient gradient, SourceLocation where) {
  std::vector<Tensor> results(outputs.begin(), outputs.end());
  const auto node = make_node<JointFunctionNode<JointGradient>>(name, where, std::move(gradient));
  node->edges() = std::move(inputs);
  node->attach(results);
  return results;
}

}  // namespace minnow::autograd
