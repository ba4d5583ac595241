#include <minnow/autograd/node.h>

#include <algorithm>
#include <typeinfo>
#include <unordered_set>
#include <utility>
#include <minnow/autograd/anomaly.h>
#include <minnow/autograd/cast_node.h>
#include <minnow/autograd/thread_state.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/text.h>

namespace minnow::autograd {
namespace {

std::atomic<std::uint64_t> order_counter{1};
std::atomic<std::int64_t> hook_counter{1};
std::atomic<std::int64_t> node_count{0};

/// One for all nodes, since few have hooks.
std::mutex& hook_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

std::string wrong_count(const char* name, std::size_t returned, std::size_t inputs) {
  std::string text = std::string(name) + ": its gradient function returned " + std::to_string(returned) +
                     (returned == 1 ? " gradient for " : " gradients for ") + std::to_string(inputs) +
                     (inputs == 1 ? " input\n" : " inputs\n");
  if (inputs == 1) return text + "return one Tensor";
  return text + "return one for each input that record() was given, in their order: Gradients{g0, g1, ...}, with " +
         "Tensor() for an input that gets none";
}

}  // namespace

std::uint64_t next_order() { return order_counter.fetch_add(1, std::memory_order_relaxed); }
std::int64_t next_hook_id() { return hook_counter.fetch_add(1, std::memory_order_relaxed); }
std::int64_t live_nodes() { return node_count.load(); }

RunningNode::RunningNode(Node* node) : node_(node), outer_(std::exchange(ThreadState::current().running, this)) {}
RunningNode::~RunningNode() { ThreadState::current().running = outer_; }
Node* RunningNode::current() {
  const RunningNode* running = ThreadState::current().running;
  return running ? running->node_ : nullptr;
}
bool RunningNode::within(const Node* node) {
  for (const RunningNode* r = ThreadState::current().running; r; r = r->outer_)
    if (r->node_ == node) return true;
  return false;
}

Node::Node(const char* name, SourceLocation where)
    : name_(name), where_(CallSite::where_or(where)), opened_site_(CallSite::is_open()), order_(next_order()) {
  node_count.fetch_add(1, std::memory_order_relaxed);
}

Node::~Node() { node_count.fetch_sub(1, std::memory_order_relaxed); }

void Node::destroy(Node* node) noexcept {
  ThreadState& thread = ThreadState::current();
  node->next_to_destroy_ = thread.to_destroy;
  thread.to_destroy = node;
  if (thread.destroying) return;
  thread.destroying = true;
  while (Node* next = thread.to_destroy) {
    thread.to_destroy = next->next_to_destroy_;
    const std::weak_ptr<Node> block = next->weak_from_this();  // keeps the memory until the destructor has run
    next->~Node();
  }
  thread.destroying = false;
}

Gradients Node::run(std::span<const Tensor> grads, Needs needs, bool retain, SourceLocation backward_line) {
  const CallSite site = CallSite::instead(name_, where_);
  if (RunningNode::within(this))
    throw AutogradError(std::string(name_) +
                        ": its gradient function called backward on a graph that it is itself part of\n"
                        "compute what it needs anew, from detached inputs, and call backward or grad on that");
  const std::lock_guard lock(mutex_);
  if (released_)
    throw AutogradError(std::string(name_) + ": the graph was freed by an earlier backward, and runs again at " +
                        file_and_line(backward_line) +
                        "\npass {.retain_graph = true} to all but the last backward, or compute the loss again");
  Gradients gradients = gradients_of(grads, needs);
  if (gradients.size() != edges_.size()) throw AutogradError(wrong_count(name_, gradients.size(), edges_.size()));
  if (!retain && !is_reusable()) {
    release();
    released_ = true;
  }
  return gradients;
}

Gradients Node::gradients_of(std::span<const Tensor> grads, Needs needs) {
  const RunningNode running(this);
  if (opened_site_) return backward(grads, needs);
  const CallSite users = CallSite::none();
  return backward(grads, needs);
}

Tensor Node::part_of(const Tensor& whole) const { return whole; }

void Node::add_part(const Tensor& whole, const Tensor& grad, bool first) const {
  if (const Tensor part = part_of(whole); first) raw::copy_to(grad, part);
  else raw::binary_(raw::kBinary<kernels::Add>, part, grad);
}

std::int64_t Node::add_hook(std::uint32_t output, Hook hook) {
  const std::lock_guard lock(hook_mutex());
  hooks_.push_back({next_hook_id(), output, std::move(hook)});
  has_hooks_.store(true, std::memory_order_release);
  return hooks_.back().id;
}

void Node::remove_hook(std::int64_t id) {
  decltype(hooks_) removed;  // destroyed after the lock is released: a hook's destructor may call anything
  const std::lock_guard lock(hook_mutex());
  const auto it = std::find_if(hooks_.begin(), hooks_.end(), [id](const auto& hook) { return hook.id == id; });
  if (it == hooks_.end()) return;
  removed.push_back(std::move(*it));
  hooks_.erase(it);
}

void Node::run_hooks(std::span<Tensor> grads) {
  if (!has_hooks_.load(std::memory_order_acquire)) return;
  std::vector<OutputHook> hooks;
  {
    const std::lock_guard lock(hook_mutex());
    hooks = hooks_;
  }
  for (const OutputHook& h : hooks) {
    Tensor& grad = grads[h.output];
    if (!grad.defined()) continue;
    if (Tensor changed = h.hook(grad); changed.defined()) grad = std::move(changed);
  }
}

void JointNode::attach(std::span<Tensor> outputs) {
  outputs_ = static_cast<std::uint32_t>(outputs.size());
  ids_.reserve(outputs.size());
  for (std::uint32_t i = 0; i < outputs_; ++i) {
    Tensor& out = outputs[i];
    ids_.push_back(out.defined() ? out.id() : nullptr);
    if (!out.defined() || !out.is_floating_point()) continue;
    if (out.slot()) out = Tensor(out.storage(), out.dtype(), out.shape(), out.strides(), out.storage_offset());
    auto slot = std::make_shared<Slot>();
    slot->producer = shared_from_this();
    slot->produced_version = out.storage()->version();
    slot->output = i;
    out.set_slot(std::move(slot));
  }
}

std::uint32_t JointNode::place_of(const void* id) const {
  return static_cast<std::uint32_t>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin());
}

DType gradient_dtype(const Tensor& x) {
  Node* const producer = x.slot() ? x.slot()->producer.get() : nullptr;
  return producer && typeid(*producer) == typeid(CastNode) ? producer->edges()[0].dtype : x.dtype();
}

Edge edge_to(const Tensor& x) {
  const auto& slot = x.slot();
  if (!slot || (!slot->producer && !slot->requires_grad)) return {};
  if (slot->producer && slot->produced_version != x.storage()->version())
    throw AutogradError(message(std::string("an operand was overwritten through another tensor that shares its memory, "
                                            "after '") +
                                    slot->producer->name() + "' recorded it",
                                {{"operand", x}}, "write to a .clone(), or use the form that returns a new tensor"));
  return {slot->producer, slot->producer ? nullptr : slot, x.shape(), gradient_dtype(x), x.device(), slot->output};
}

std::vector<Tensor> leaves_of(const Tensor& x, std::size_t limit) {
  std::vector<Tensor> leaves;
  if (!x.slot() || !x.slot()->producer) return leaves;
  std::unordered_set<const void*> visited;
  std::vector<Node*> stack{x.slot()->producer.get()};
  while (!stack.empty() && leaves.size() < limit) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->edges()) {
      if (edge.node && visited.insert(edge.node.get()).second) stack.push_back(edge.node.get());
      if (!edge.leaf || leaves.size() == limit || !visited.insert(edge.leaf.get()).second) continue;
      if (auto owner = edge.leaf->owner.lock()) leaves.emplace_back(std::move(owner));
    }
  }
  return leaves;
}

}  // namespace minnow::autograd
