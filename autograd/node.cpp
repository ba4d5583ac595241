#include <minnow/autograd/node.h>

#include <unordered_set>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow::autograd {
namespace {

std::atomic<std::uint64_t> order_counter{1};
std::atomic<std::int64_t> hook_counter{1};
std::atomic<std::int64_t> node_count{0};

}  // namespace

std::uint64_t next_order() { return order_counter.fetch_add(1, std::memory_order_relaxed); }
std::int64_t next_hook_id() { return hook_counter.fetch_add(1, std::memory_order_relaxed); }
std::int64_t live_nodes() { return node_count.load(); }

Node::Node(const char* name, SourceLocation where) : name_(name), where_(where), order_(next_order()) {
  node_count.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() {
  node_count.fetch_sub(1, std::memory_order_relaxed);
  // A long chain would be destroyed by recursion, one stack frame a node: take it apart by a loop instead.
  std::vector<std::shared_ptr<Node>> chain;
  const auto adopt = [&chain](std::vector<Edge>& edges) {
    for (Edge& e : edges)
      if (e.node && e.node.use_count() == 1) chain.push_back(std::move(e.node));
  };
  adopt(edges_);
  while (!chain.empty()) {
    const std::shared_ptr<Node> last = std::move(chain.back());
    chain.pop_back();
    adopt(last->edges_);
  }
}

Gradients Node::run(const Tensor& grad, Needs needs, bool retain) {
  const std::lock_guard lock(mutex_);
  if (released_)
    throw AutogradError(std::string(name_) +
                            ": the graph was freed by an earlier backward\n"
                            "pass {.retain_graph = true} to all but the last backward, or compute the loss again",
                        where_);
  Gradients gradients = backward(grad, needs);
  if (gradients.size() > edges_.size())
    throw AutogradError(std::string(name_) + ": its gradient function returned " + std::to_string(gradients.size()) +
                            " gradients for " + std::to_string(edges_.size()) +
                            " inputs\nreturn one for each input, undefined where it is not needed",
                        where_);
  if (!retain) {
    release();
    released_ = true;
  }
  return gradients;
}

std::int64_t Node::add_hook(Hook hook) {
  const std::lock_guard lock(mutex_);
  hooks_.emplace_back(next_hook_id(), std::move(hook));
  return hooks_.back().first;
}

void Node::remove_hook(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(hooks_, [id](const auto& hook) { return hook.first == id; });
}

Tensor Node::run_hooks(Tensor grad) {
  std::vector<std::pair<std::int64_t, Hook>> hooks;
  {
    const std::lock_guard lock(mutex_);
    if (hooks_.empty()) return grad;
    hooks = hooks_;
  }
  for (const auto& [id, hook] : hooks)
    if (Tensor changed = hook(grad); changed.defined()) grad = std::move(changed);
  return grad;
}

Edge edge_to(const char* op, const In& x) {
  const auto& slot = x->slot();
  if (!slot || (!slot->producer && !slot->requires_grad)) return {};
  if (slot->producer && slot->produced_version != x->storage()->version())
    throw AutogradError(message(op,
                                std::string("an operand was overwritten through another tensor that shares its memory, "
                                            "after '") +
                                    slot->producer->name() + "' recorded it",
                                {{"operand", *x}}, "write to a .clone(), or use the form that returns a new tensor"),
                        x.where);
  return {slot->producer, slot->producer ? nullptr : slot, x->shape(), x->dtype(), x->device()};
}

std::vector<Tensor> leaves_of(const Tensor& x, std::size_t most) {
  std::vector<Tensor> leaves;
  if (!x.slot() || !x.slot()->producer) return leaves;
  std::unordered_set<const void*> met;
  std::vector<Node*> stack{x.slot()->producer.get()};
  while (!stack.empty() && leaves.size() < most) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->edges()) {
      if (edge.node && met.insert(edge.node.get()).second) stack.push_back(edge.node.get());
      if (!edge.leaf || leaves.size() == most || !met.insert(edge.leaf.get()).second) continue;
      if (auto owner = edge.leaf->owner.lock()) leaves.emplace_back(std::move(owner));
    }
  }
  return leaves;
}

}  // namespace minnow::autograd
