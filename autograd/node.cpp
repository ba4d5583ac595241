#include <minnow/autograd/node.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow::autograd {
namespace {

std::atomic<std::uint64_t> order_counter{1};
std::atomic<std::int64_t> hook_counter{1};
std::atomic<std::int64_t> node_count{0};

thread_local RunningNode* running = nullptr;
thread_local Node* doomed = nullptr;  // those that this thread has yet to destroy, a list through next_doomed_
thread_local bool destroying = false;

/// Of all nodes: they are few that have hooks.
std::mutex& hook_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

/// A line of the library's own gradient functions says nothing to the user.
SourceLocation users_line(SourceLocation where) {
  const Node* node = RunningNode::current();
  if (!node) return where;
  static constexpr std::string_view kThisFile = SourceLocation::current().file;
  static constexpr std::string_view kFolder = kThisFile.substr(0, kThisFile.rfind('/') + 1);
  return std::string_view(where.file).starts_with(kFolder) ? node->where() : where;
}

std::string wrong_count(const char* name, std::size_t returned, std::size_t inputs) {
  std::string text = std::string(name) + ": its gradient function returned " + std::to_string(returned) +
                     (returned == 1 ? " gradient for " : " gradients for ") + std::to_string(inputs) +
                     (inputs == 1 ? " input\n" : " inputs\n");
  if (inputs == 1) return text + "return one Tensor";
  return text + "return one for each input that record() was given, in their order: Gradients{g0, g1, ...}, with " +
         "Tensor() for an input that gets none";
}

/// "train.cpp:42".
std::string str(SourceLocation where) {
  const std::string_view file = where.file;
  return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(where.line);
}

}  // namespace

std::uint64_t next_order() { return order_counter.fetch_add(1, std::memory_order_relaxed); }
std::int64_t next_hook_id() { return hook_counter.fetch_add(1, std::memory_order_relaxed); }
std::int64_t live_nodes() { return node_count.load(); }

RunningNode::RunningNode(Node* node) : node_(node), outer_(running) { running = this; }
RunningNode::~RunningNode() { running = outer_; }
Node* RunningNode::current() { return running ? running->node_ : nullptr; }
bool RunningNode::within(const Node* node) {
  for (const RunningNode* r = running; r; r = r->outer_)
    if (r->node_ == node) return true;
  return false;
}

Node::Node(const char* name, SourceLocation where) : name_(name), where_(users_line(where)), order_(next_order()) {
  node_count.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() { node_count.fetch_sub(1, std::memory_order_relaxed); }

void Node::destroy(Node* node) noexcept {
  node->next_doomed_ = doomed;
  doomed = node;
  if (destroying) return;
  destroying = true;
  while (Node* next = doomed) {
    doomed = next->next_doomed_;
    const std::weak_ptr<Node> block = next->weak_from_this();  // its memory goes after it
    next->~Node();
  }
  destroying = false;
}

Gradients Node::run(const Tensor& grad, Needs needs, bool retain, SourceLocation called) {
  if (RunningNode::within(this))
    throw AutogradError(std::string(name_) +
                            ": its gradient function called backward on a graph that it is itself part of\n"
                            "compute what it needs anew, from detached inputs, and call backward or grad on that",
                        where_);
  const std::lock_guard lock(mutex_);
  if (released_)
    throw AutogradError(std::string(name_) + ": the graph was freed by an earlier backward, and runs again at " +
                            str(called) +
                            "\npass {.retain_graph = true} to all but the last backward, or compute the loss again",
                        where_);
  const RunningNode scope(this);
  Gradients gradients = backward(grad, needs);
  if (gradients.size() != edges_.size())
    throw AutogradError(wrong_count(name_, gradients.size(), edges_.size()), where_);
  if (!retain) {
    release();
    released_ = true;
  }
  return gradients;
}

Tensor Node::part_of(const Tensor& whole) const { return whole; }

std::int64_t Node::add_hook(Hook hook) {
  const std::lock_guard lock(hook_mutex());
  hooks_.emplace_back(next_hook_id(), std::move(hook));
  has_hooks_.store(true, std::memory_order_release);
  return hooks_.back().first;
}

void Node::remove_hook(std::int64_t id) {
  decltype(hooks_) removed;  // destroyed without the lock: it may hold anything
  const std::lock_guard lock(hook_mutex());
  const auto it = std::find_if(hooks_.begin(), hooks_.end(), [id](const auto& hook) { return hook.first == id; });
  if (it == hooks_.end()) return;
  removed.push_back(std::move(*it));
  hooks_.erase(it);
}

Tensor Node::run_hooks(Tensor grad) {
  if (!has_hooks_.load(std::memory_order_acquire)) return grad;
  std::vector<std::pair<std::int64_t, Hook>> hooks;
  {
    const std::lock_guard lock(hook_mutex());
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
