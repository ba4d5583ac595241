#include <minnow/autograd/joint.h>

#include <utility>
#include <minnow/autograd/record.h>
#include <minnow/tensor/create.h>

namespace minnow::autograd {
namespace {

/// The same memory as a new tensor, the output of `node`.
Tensor output_of(const std::shared_ptr<Node>& node, const Tensor& value) {
  Tensor out(value.storage(), value.dtype(), value.shape(), value.strides(), value.storage_offset());
  auto slot = std::make_shared<Slot>();
  slot->producer = node;
  slot->produced_version = value.storage()->version();
  out.set_slot(std::move(slot));
  return out;
}

template <class F> std::shared_ptr<Node> node_of(const char* name, SourceLocation where, std::vector<Edge> edges, F f) {
  auto node = make_node<FunctionNode<F>>(name, where, std::move(f));
  node->edges() = std::move(edges);
  return node;
}

}  // namespace

std::vector<Tensor> record_joint(const char* name, std::span<const Tensor> outputs, std::vector<Edge> inputs,
                                 JointGradient gradient, SourceLocation where) {
  std::vector<Tensor> results(outputs.begin(), outputs.end());
  std::vector<std::size_t> recorded;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].defined() && results[i].is_floating_point()) recorded.push_back(i);
  if (recorded.empty()) return results;
  const std::size_t n = results.size();
  if (recorded.size() == 1) {
    const std::size_t at = recorded[0];
    const auto node = node_of(name, where, std::move(inputs),
                              [gradient = std::move(gradient), n, at](const Tensor& grad, Needs needs) {
                                std::vector<Tensor> grads(n);
                                grads[at] = grad;
                                return gradient(std::move(grads), needs);
                              });
    results[at] = output_of(node, results[at]);
    return results;
  }
  // Each output is a node that puts its gradient aside and sends one without elements to the operation's node, which
  // therefore runs after all of them.
  const auto arrived = std::make_shared<std::vector<Tensor>>(n);
  const Tensor none = empty({0}, {.device = results[recorded[0]].device()});
  const auto joint =
      node_of(name, where, std::move(inputs), [gradient = std::move(gradient), arrived, n](const Tensor&, Needs needs) {
        return gradient(std::exchange(*arrived, std::vector<Tensor>(n)), needs);
      });
  const Edge edge{joint, nullptr, none.shape(), none.dtype(), none.device()};
  for (const std::size_t i : recorded) {
    const auto node = node_of(name, where, {edge}, [arrived, i, none](const Tensor& grad) {
      (*arrived)[i] = grad;
      return none;
    });
    results[i] = output_of(node, results[i]);
  }
  return results;
}

}  // namespace minnow::autograd
