#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <minnow/autograd/gradient_queue.h>

namespace minnow::autograd {

/// A gradient that grad() asks for: of a node's output, or of a leaf.
struct RequestedGradient {
  const Node* node;
  const Slot* leaf;
  std::uint32_t output;
  Tensor grad{};
};

/// What a backward does that an ordinary one does not: it looks for anomalies, if that is on, tells the thread's
/// observer which node runs, and finds requested gradients instead of adding to those of leaves.
class BackwardObserver {
 public:
  BackwardObserver();
  /// `stops`: does not go beyond what is requested, and calls none of its hooks.
  BackwardObserver(std::span<RequestedGradient> requested, bool stops);

  /// The gradient that backward was given for a result.
  void seeded(const Edge& edge, const Tensor& grad) const;
  /// Before the first node runs.
  void begin(const GradientQueue& queue);
  bool wants(const Edge& edge) const;
  /// Before the hooks: whether the entry is only to be stored, which it is then.
  bool ends_at(GradientQueue::Entry& entry) const;
  /// After them: whether the entry need not go on.
  bool takes(GradientQueue::Entry& entry) const;
  /// What a node has computed; `part`: Node::gives_part().  Gradients come out as their inputs were.
  void computed(Node& node, Gradients& gradients, std::span<const Tensor> incoming, bool part) const;
  /// A sum of several gradients.
  void summed(const Edge& edge, const Tensor& sum) const;
  void summed(const std::shared_ptr<Slot>& leaf) const;

 private:
  void store(GradientQueue::Entry& entry) const;

  const bool checks_;
  bool requests_ = false, stops_ = false;
  std::unordered_multimap<const void*, RequestedGradient*> requested_;  // by node or leaf
  std::unordered_set<const Node*> needed_;  // from which a requested gradient can be reached: the others need not run
};

}  // namespace minnow::autograd
