#include <minnow/autograd/backward_observer.h>

#include <algorithm>
#include <minnow/autograd/anomaly.h>
#include <minnow/autograd/gradient_sum.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::autograd {
namespace {

const void* key_of(const Node* node, const Slot* leaf) { return node ? static_cast<const void*>(node) : leaf; }

Edge edge_of(const std::shared_ptr<Slot>& leaf, const Tensor& grad) {
  return {nullptr, leaf, grad.shape(), grad.dtype(), grad.device()};
}

}  // namespace

BackwardObserver::BackwardObserver() : checks_(is_anomaly_enabled()) {}

BackwardObserver::BackwardObserver(std::span<RequestedGradient> requested, bool stops) : BackwardObserver() {
  requests_ = true;
  stops_ = stops;
  for (RequestedGradient& r : requested) requested_.emplace(key_of(r.node, r.leaf), &r);
}

void BackwardObserver::seeded(const Edge& edge, const Tensor& grad) const {
  if (checks_) check_gradient_at(edge, grad, "the gradient that backward was given for its result", "");
}

void BackwardObserver::begin(const GradientQueue& queue) {
  if (!requests_ || stops_) return;
  std::vector<Node*> all = queue.all_nodes();  // in ascending order a node comes after all that it depends on
  std::sort(all.begin(), all.end(), [](const Node* a, const Node* b) { return a->order() < b->order(); });
  for (Node* node : all)
    if (std::any_of(node->edges().begin(), node->edges().end(), [&](const Edge& e) { return e && wants(e); }))
      needed_.insert(node);
}

bool BackwardObserver::wants(const Edge& e) const {
  if (!requests_ || stops_) return true;
  if (e.node && needed_.contains(e.node.get())) return true;
  const auto [first, last] = requested_.equal_range(key_of(e.node.get(), e.leaf.get()));
  return std::any_of(first, last, [&](const auto& r) { return r.second->output == e.output; });
}

bool BackwardObserver::ends_at(GradientQueue::Entry& entry) const {
  // All that leads to one output of a node is requested with it.
  const bool ends = stops_ && (entry.leaf || requested_.contains(entry.node.get()));
  if (ends) store(entry);
  return ends;
}

bool BackwardObserver::takes(GradientQueue::Entry& entry) const {
  if (checks_ && entry.leaf)
    check_gradient_at(edge_of(entry.leaf, entry.grad), entry.grad, "the gradient after the hooks of a leaf",
                      "a hook returned it");
  if (requests_ && !stops_) {
    store(entry);
    if (entry.leaf || !needed_.contains(entry.node.get())) return true;
  }
  if (entry.node && calling_thread.observer) calling_thread.observer->runs(entry.node->order());
  return false;
}

void BackwardObserver::store(GradientQueue::Entry& entry) const {
  const auto [first, last] = requested_.equal_range(key_of(entry.node.get(), entry.leaf.get()));
  for (auto r = first; r != last; ++r) r->second->grad = entry.grads()[r->second->output];
}

void BackwardObserver::computed(Node& node, Gradients& gradients, std::span<const Tensor> incoming, bool part) const {
  if (!checks_) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Edge& edge = node.edges()[i];
    if (!gradients[i].defined() || !edge || !wants(edge)) continue;
    if (!part) gradients[i] = fit_to_input(node, edge, std::move(gradients[i]));
    check_gradient(node, i, gradients[i], incoming);
  }
}

void BackwardObserver::summed(const Edge& edge, const Tensor& sum) const {
  if (checks_)
    check_gradient_at(edge, sum, "the sum of the gradients of its uses",
                      "each of them is finite: scale the loss, or use a dtype with a wider range");
}

void BackwardObserver::summed(const std::shared_ptr<Slot>& leaf) const {
  if (!checks_) return;
  const std::lock_guard lock(leaf->mutex);
  summed(edge_of(leaf, leaf->grad), leaf->grad);
}

}  // namespace minnow::autograd
