#include <minnow/autograd/engine.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <unordered_set>
#include <minnow/autograd/anomaly.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradient_queue.h>
#include <minnow/autograd/gradient_watch.h>
#include <minnow/autograd/indexed_node.h>
#include <minnow/autograd/joint.h>
#include <minnow/autograd/thread_state.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/calling_thread.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/profile.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

using autograd::Edge;
using autograd::GradientQueue;
using autograd::Node;
using autograd::Slot;
using autograd::ThreadState;

constexpr int kAdd = raw::kBinary<kernels::Add>;

/// Hooks that wait for the gradients of leaves.
std::atomic<int> after_hooks = 0;

/// A gradient that grad() asked for, of a node's output or of a leaf.
struct Requested {
  const Node* node;
  const Slot* leaf;
  std::uint32_t output;
  Tensor grad{};
};

/// Gradients are computed in the dtypes of the forward pass, whatever guards there are.
class WithoutAutocast {
 public:
  WithoutAutocast() : before_(std::exchange(calling_thread.autocast, {})) {}
  ~WithoutAutocast() { calling_thread.autocast = before_; }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  AutocastMode before_;
};

/// One backward, from outputs to leaves.
class BackwardPass {
 public:
  BackwardPass(bool retain, bool create) : retain_(retain || create), create_(create) {}

  void seed(const Tensor& output, const Tensor& grad) {
    const Edge edge = autograd::edge_to(output);
    if (checks_) autograd::check_gradient_at(edge, grad, "the gradient that backward was given for its result", "");
    accumulate(edge, grad);
  }
  void request(std::vector<Requested>* requested) {
    requested_ = requested;
    for (Requested& c : *requested) wanted_.emplace(key_of(c.node, c.leaf), &c);
  }
  /// Does not go beyond what is requested, and calls none of its hooks.
  void stop_at_requested() { stops_ = true; }
  void execute() {
    const AutoGradMode mode(create_);
    const WithoutAutocast dtypes_of_forward;
    if (requested_ && !stops_) mark_needed();
    if (!requested_ && after_hooks > 0) note_first_uses();
    while (!queue_.empty()) {
      GradientQueue::Entry next = queue_.take();
      if (next.leaf) finish_leaf(next);
      else run_node(next);
    }
  }

 private:
  /// Whether `grad` may be written to: it is the only tensor of its memory, which is not the user's, and no two of its
  /// elements share memory.
  static bool may_write(const Tensor& grad) {
    return grad.is_unique() && grad.storage()->allocator() && is_dense(grad.shape(), grad.strides());
  }

  /// Takes over the first gradient that reaches a node or leaf and adds each later one, in place if one of the two may
  /// be written to.
  void accumulate(const Edge& edge, Tensor grad) {
    Tensor& sum = queue_.at(edge);
    if (!sum.defined()) {
      sum = std::move(grad);
      return;
    }
    require_same_geometry(sum, grad.shape(), grad.dtype(), grad.device());
    if (create_) sum = add(sum, grad);
    else if (!may_write(sum) && !may_write(grad)) sum = raw::binary(kAdd, sum, grad);
    else {
      if (!may_write(sum)) std::swap(sum, grad);
      raw::binary_(kAdd, sum, grad);
    }
    if (checks_) check_sum(edge, sum);
  }

  /// The same for the gradient of a part of the input: it is added to that part of a sum that only this pass holds.
  void accumulate_part(const Edge& edge, const Node& node, const Tensor& grad) {
    require_device(node, edge, grad);
    const CallSite site = CallSite::instead(node.name(), node.where());
    Tensor& sum = queue_.at(edge);
    const bool first = !sum.defined();
    if (first) sum = zeros(edge.shape, {edge.dtype, edge.device});
    require_same_geometry(sum, edge.shape, edge.dtype, edge.device);
    if (!may_write(sum)) sum = raw::clone(sum);
    if (const auto* indexed = dynamic_cast<const autograd::IndexedNode*>(&node)) indexed->add_to(sum, grad);
    else if (const Tensor part = node.part_of(sum); first) raw::copy_to(grad, part);
    else raw::binary_(kAdd, part, grad);
    if (checks_) check_sum(edge, sum);
  }

  /// A later gradient must have the first one's shape, dtype and device.
  static void require_same_geometry(const Tensor& sum, const Shape& shape, DType dtype, Device device) {
    if (sum.shape() == shape && sum.dtype() == dtype && sum.device() == device) return;
    throw AutogradError(message("a tensor was changed between its uses: another gradient is " +
                                    std::string(name_of(dtype)) + shape.str() + " on " + device.str(),
                                {{"gradient", sum}}, "compute the loss again after Module::to() or set_data()"));
  }

  void finish_leaf(GradientQueue::Entry& entry) {
    if (stops_) {
      store(entry);
      return;
    }
    Slot& slot = *entry.leaf;
    std::vector<autograd::LeafHook> hooks;
    {
      const std::lock_guard lock(slot.mutex);
      if (!slot.hooks.empty()) hooks = slot.hooks;
    }
    for (const autograd::LeafHook& hook : hooks)
      if (Tensor changed = hook.after ? Tensor() : hook.call(entry.grad); changed.defined()) entry.grad = changed;
    if (checks_ && !hooks.empty())
      autograd::check_gradient_at(edge_of(entry), entry.grad, "the gradient after the hooks of a leaf",
                                  "a hook returned it");
    if (requested_) {
      store(entry);
      return;
    }
    require_leaf_unchanged(slot, entry.grad);
    autograd::watch_gradient(entry.leaf, autograd::GradientUse::read);
    const Tensor sum = add_to_leaf(entry);
    for (const autograd::LeafHook& hook : hooks)
      if (hook.after) hook.call(sum);
  }

  /// Adds to the gradient of a leaf, and gives the sum.
  Tensor add_to_leaf(GradientQueue::Entry& entry) {
    Slot& slot = *entry.leaf;
    const std::lock_guard lock(slot.mutex);
    if (!slot.grad.defined()) {
      if (CaptureSession* session = CaptureSession::current())  // an abandoned capture has computed no gradient
        session->on_abandon([leaf = std::weak_ptr(entry.leaf)] {
          if (const auto held = leaf.lock()) held->grad = Tensor();
        });
      slot.grad = may_write(entry.grad) ? entry.grad : entry.grad.clone();
      return slot.grad;
    }
    require_addable(slot, entry.grad);
    if (create_) slot.grad = add(slot.grad, entry.grad);
    else if (is_expanded(slot.grad.shape(), slot.grad.strides())) slot.grad = raw::binary(kAdd, slot.grad, entry.grad);
    else raw::binary_(kAdd, slot.grad, entry.grad);
    if (checks_) check_sum(edge_of(entry), slot.grad);
    return slot.grad;
  }

  static Edge edge_of(const GradientQueue::Entry& leaf) {
    return {nullptr, leaf.leaf, leaf.grad.shape(), leaf.grad.dtype(), leaf.grad.device()};
  }

  static void check_sum(const Edge& edge, const Tensor& sum) {
    autograd::check_gradient_at(edge, sum, "the sum of the gradients of its uses",
                                "each of them is finite: scale the loss, or use a dtype with a wider range");
  }

  /// The leaf's gradient is of an earlier backward or was set, and the leaf may have changed since.
  static void require_addable(const Slot& slot, const Tensor& grad) {
    const Tensor& old = slot.grad;
    const bool same_device = old.device() == grad.device(), same_dtype = old.dtype() == grad.dtype();
    if (same_device && same_dtype && old.shape() == grad.shape()) return;
    const auto owner = slot.owner.lock();
    const std::string text =
        message(std::string("the tensor's gradient is ") +
                    (same_device ? same_dtype ? "of another shape" : "of another dtype" : "on another device") +
                    " than the new one, which is added to it",
                {{"tensor", owner ? Tensor(owner) : grad}, {"grad()", old}, {"gradient", grad}},
                "call zero_grad() after the tensor was moved or given other data");
    if (!same_device) throw DeviceError(text);
    if (!same_dtype) throw DTypeError(text);
    throw ShapeError(text);
  }

  /// A leaf that was moved or given other data since the forward pass cannot take a gradient of its former value.
  static void require_leaf_unchanged(const Slot& slot, const Tensor& grad) {
    const auto owner = slot.owner.lock();
    if (!owner) return;
    const bool same_device = owner->view.device() == grad.device();
    if (same_device && owner->view.shape() == grad.shape() && owner->view.dtype() == grad.dtype()) return;
    const std::string text = message("a tensor was changed after the forward pass that used it",
                                     {{"tensor", Tensor(owner)}, {"gradient", grad}},
                                     "compute the loss again after Module::to() or set_data()");
    if (!same_device) throw DeviceError(text);
    throw AutogradError(text);
  }

  void store(GradientQueue::Entry& entry) const {
    const auto [first, last] = wanted_.equal_range(key_of(entry.node.get(), entry.leaf.get()));
    for (auto c = first; c != last; ++c) c->second->grad = entry.grads()[c->second->output];
  }

  void run_node(GradientQueue::Entry& entry) {
    if (stops_ && ends_at(entry.node.get())) {
      store(entry);
      return;
    }
    const std::span<Tensor> grads = entry.grads();
    entry.node->run_hooks(grads);
    if (requested_ && !stops_) {
      store(entry);
      if (!needed_.contains(entry.node.get())) return;
    }
    const auto& edges = entry.node->edges();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(edges.size(), 64); ++i)
      if (wanted(edges[i])) bits |= std::uint64_t{1} << i;
    autograd::Gradients gradients = entry.node->run(grads, autograd::Needs(bits), retain_, CallSite::where());
    const bool part = !create_ && entry.node->gives_part();
    if (checks_) check_gradients(*entry.node, gradients, grads, part);
    std::fill(grads.begin(), grads.end(), Tensor());  // so that gradients which share its memory may be written to
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || !wanted(edges[i])) continue;
      if (part) accumulate_part(edges[i], *entry.node, std::exchange(gradients[i], Tensor()));
      else accumulate(edges[i], fit_to_input(*entry.node, edges[i], std::move(gradients[i])));
    }
  }

  void check_gradients(Node& node, autograd::Gradients& gradients, std::span<const Tensor> incoming, bool part) const {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || !wanted(node.edges()[i])) continue;
      if (!part) gradients[i] = fit_to_input(node, node.edges()[i], std::move(gradients[i]));
      autograd::check_gradient(node, i, gradients[i], incoming);
    }
  }

  /// An input that was moved to another device after it was recorded cannot take the gradient.
  static void require_device(const Node& node, const Edge& edge, const Tensor& grad) {
    const bool host_scalar = edge.shape.empty() && edge.device.is_cpu();  // allowed beside device operands
    if (grad.device() == edge.device || host_scalar) return;
    const CallSite site = CallSite::instead(node.name(), node.where());
    throw DeviceError(message("its gradient is on " + grad.device().str() + ", the input was on " + edge.device.str(),
                              {{"gradient", grad}},
                              "an input was moved after the operation was recorded: compute the loss again"));
  }

  /// Sums over broadcast dimensions, and converts to the input's dtype.
  static Tensor fit_to_input(const Node& node, const Edge& edge, Tensor grad) {
    require_device(node, edge, grad);
    const bool same_type = grad.device() == edge.device && grad.dtype() == edge.dtype;
    if (same_type && grad.shape() == edge.shape) return grad;  // without a second handle, so that it may be written to
    const CallSite site = CallSite::instead(node.name(), node.where());
    if (grad.shape() != edge.shape) grad = sum_to(grad, edge.shape);
    return same_type ? grad : grad.to(edge.device, edge.dtype);
  }

  bool wanted(const Edge& e) const {
    if (!e) return false;
    if (!requested_ || stops_) return true;
    if (e.node && needed_.contains(e.node.get())) return true;
    const auto [first, last] = wanted_.equal_range(key_of(e.node.get(), e.leaf.get()));
    return std::any_of(first, last, [&](const auto& c) { return c.second->output == e.output; });
  }

  /// Of a pass that stops at what is requested: all that leads to one output of a node is requested with it.
  bool ends_at(const Node* node) const { return wanted_.contains(node); }
  static const void* key_of(const Node* node, const Slot* leaf) { return node ? static_cast<const void*>(node) : leaf; }

  /// The nodes that this pass may reach, in no order.
  std::vector<Node*> all_nodes() const {
    std::vector<Node*> all;
    std::unordered_set<Node*> seen;
    std::vector<Node*> stack = queue_.nodes();
    seen.insert(stack.begin(), stack.end());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      all.push_back(node);
      for (const Edge& e : node->edges())
        if (e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
    }
    return all;
  }

  /// Hooks hear of a leaf's gradient while the nodes behind it still wait.
  void note_first_uses() {
    std::unordered_map<std::uint64_t, std::uint64_t> first;
    for (Node* node : all_nodes())
      for (const Edge& e : node->edges()) {
        if (!e.leaf) continue;
        const auto [use, is_new] = first.try_emplace(e.leaf->order, node->order());
        if (!is_new) use->second = std::min(use->second, node->order());
      }
    queue_.set_first_uses(std::move(first));
  }

  /// The nodes from which a requested gradient can be reached: the others need not run.  In ascending order, so that
  /// a node comes after all that it depends on.
  void mark_needed() {
    std::vector<Node*> all = all_nodes();
    std::sort(all.begin(), all.end(), [](const Node* a, const Node* b) { return a->order() < b->order(); });
    for (Node* node : all)
      for (const Edge& e : node->edges())
        if (wanted(e)) needed_.insert(node);
  }

  bool retain_, create_;
  bool stops_ = false;
  const bool checks_ = is_anomaly_enabled();
  GradientQueue queue_;
  std::vector<Requested>* requested_ = nullptr;
  std::unordered_multimap<const void*, Requested*> wanted_;  // the same by node or leaf
  std::unordered_set<const Node*> needed_;
};

/// While a gradient hook of the user runs on this thread: errors name what the hook calls, not `backward`.
class HookScope {
 public:
  HookScope() : outer_(std::exchange(ThreadState::current().in_hook, true)), no_site_(CallSite::none()) {}
  ~HookScope() { ThreadState::current().in_hook = outer_; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

 private:
  bool outer_;
  CallSite no_site_;
};

void refuse_in_hook() {
  if (ThreadState::current().in_hook)
    throw AutogradError(message("it was called inside of a gradient hook, while that backward is still running", {},
                                "return the new gradient from the hook, or call it after that backward"));
}

/// A hook and a description of its tensor, for the error if it returns a gradient of another shape, dtype or device.
class CheckedHook {
 public:
  CheckedHook(autograd::Hook hook, const Tensor& x, SourceLocation registered)
      : hook_(std::move(hook)), tensor_(describe(x)), where_(registered) {
    if (const auto& producer = x.slot()->producer) {
      where_ = producer->where();
      tensor_ += "   result of '" + std::string(producer->name()) + "'";
    }
  }

  Tensor operator()(const Tensor& grad) const {
    Tensor changed;
    {
      const HookScope scope;
      changed = hook_(grad);
    }
    if (!changed.defined()) return changed;
    const CallSite site = CallSite::instead("register_hook", where_);
    if (changed.shape() != grad.shape()) throw ShapeError(text("shape", grad, changed));
    if (changed.dtype() != grad.dtype()) throw DTypeError(text("dtype", grad, changed));
    if (changed.device() != grad.device()) throw DeviceError(text("device", grad, changed));
    return changed;
  }

 private:
  std::string text(const char* what, const Tensor& grad, const Tensor& changed) const {
    return std::string("register_hook: a hook returned a gradient of another ") + what + "\n  tensor    " + tensor_ +
           "\n  gradient  " + describe(grad) + "\n  returned  " + describe(changed) +
           "\nreturn a gradient of the same shape, dtype and device, or Tensor() to keep the one that it was given";
  }

  autograd::Hook hook_;
  std::string tensor_;
  SourceLocation where_;  // of the forward operation; of register_hook for a leaf
};

/// backward() adds to the gradients of leaves, which a function that runs twice would do twice.
void refuse_in_checkpoint() {
  if (ThreadState::current().checkpoint.runs)
    throw AutogradError(message("it was called by the function of checkpoint(), which runs again in backward", {},
                                "call it outside; grad() gives gradients without adding them to grad() of leaves"));
}

void require_seeds(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients) {
  if (gradients.size() > outputs.size())
    throw ValueError(message("there are more gradients than outputs\n  outputs    " + std::to_string(outputs.size()) +
                                 "\n  gradients  " + std::to_string(gradients.size()),
                             {}, "give one for each output, or none for outputs of one element"));
}

/// The gradient that arrives at an output: the given one, checked, or 1.
Tensor seed_gradient(const Tensor& output, const Tensor& given) {
  if (!output.defined() || !output.requires_grad()) {
    const bool inside = autograd::RunningNode::current() && !is_grad_enabled();
    throw AutogradError(message(
        "the output depends on no tensor that requires a gradient", {{"output", output}},
        inside ? "a gradient function does not record: write `AutoGradMode on(true);` at its beginning, and call "
                 "requires_grad_() on an input"
               : "call requires_grad_() on an input, and compute outside of NoGradGuard"));
  }
  if (!given.defined()) {
    if (output.numel() != 1)
      throw AutogradError(message("the gradient of an output can be left out only if it has one element",
                                  {{"output", output}},
                                  "reduce it, e.g. sum(output), or pass a gradient of its shape"));
    return ones_like(output);
  }
  dispatch({{"output", output}, {"gradient", given}});
  if (given.shape() != output.shape())
    throw ShapeError(message("the gradient does not have the output's shape", {{"output", output}, {"gradient", given}},
                             "pass a gradient of the same shape"));
  return given.dtype() == output.dtype() ? given : given.to(output.dtype());
}

/// What hooks ask to be called at the end of the backward of this scope.
class AfterBackward {
 public:
  AfterBackward() : outer_(std::exchange(ThreadState::current().after_backward, &calls_)) {}
  ~AfterBackward() { ThreadState::current().after_backward = outer_; }
  AfterBackward(const AfterBackward&) = delete;
  AfterBackward& operator=(const AfterBackward&) = delete;

  void run() const {
    for (const auto& call : calls_) call();
  }

 private:
  std::vector<std::function<void()>> calls_;
  std::vector<std::function<void()>>* outer_;
};

HookHandle hook_on_leaf(const std::shared_ptr<Slot>& slot, autograd::Hook hook, bool after) {
  const std::lock_guard lock(slot->mutex);
  const std::int64_t id = autograd::next_hook_id();
  slot->hooks.push_back({id, std::move(hook), after});
  if (after) ++after_hooks;
  return HookHandle([weak = std::weak_ptr<Slot>(slot), id, after] {
    if (after) --after_hooks;
    if (const auto alive = weak.lock()) {
      const std::lock_guard guard(alive->mutex);
      std::erase_if(alive->hooks, [id](const autograd::LeafHook& h) { return h.id == id; });
    }
  });
}

void require_hook(const Tensor& x, bool empty) {
  if (empty) throw ValueError(message("the hook is empty", {{"self", x}}, "pass a function"));
  if (!x.requires_grad())
    throw AutogradError(
        message("the tensor does not require a gradient", {{"self", x}}, "call requires_grad_() first"));
}

}  // namespace

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients, BackwardOptions options,
              SourceLocation where) {
  const profile::Range range("backward");
  const CallSite site("backward", where);
  refuse_in_hook();
  refuse_in_checkpoint();
  require_seeds(outputs, gradients);
  BackwardPass run(options.retain_graph, options.create_graph);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    run.seed(outputs[i], seed_gradient(outputs[i], i < gradients.size() ? gradients[i] : Tensor()));
  const AfterBackward after;
  run.execute();
  after.run();
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options, SourceLocation where) {
  const CallSite site("grad", where);
  refuse_in_hook();
  require_seeds(outputs, options.grad_outputs);
  std::vector<Requested> requested;
  for (const Tensor& input : inputs) {
    if (!input.defined() || !input.requires_grad())
      throw AutogradError(message("an input does not require a gradient", {{"input", input}},
                                  "call requires_grad_() on it before it is used"));
    const auto& slot = input.slot();
    requested.push_back({slot->producer.get(), slot->producer ? nullptr : slot.get(), slot->output});
  }
  BackwardPass run(options.retain_graph, options.create_graph);
  run.request(&requested);
  const auto& given = options.grad_outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    run.seed(outputs[i], seed_gradient(outputs[i], i < given.size() ? given[i] : Tensor()));
  run.execute();
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!requested[i].grad.defined() && !options.allow_unused)
      throw AutogradError(message("the outputs do not depend on an input", {{"input", inputs[i]}},
                                  "pass {.allow_unused = true} to get an undefined gradient for it"));
    gradients.push_back(requested[i].grad);
  }
  return gradients;
}

std::vector<Tensor> autograd::gradients_up_to(const std::vector<Edge>& edges, std::span<const Tensor> outputs,
                                              std::span<const Tensor> gradients, bool create_graph) {
  std::vector<Requested> requested;
  requested.reserve(edges.size());
  for (const Edge& edge : edges) requested.push_back({edge.node.get(), edge.leaf.get(), edge.output});
  BackwardPass run(create_graph, create_graph);
  run.request(&requested);
  run.stop_at_requested();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (gradients[i].defined() && outputs[i].defined() && outputs[i].requires_grad())
      run.seed(outputs[i], gradients[i]);
  run.execute();
  std::vector<Tensor> found;
  found.reserve(requested.size());
  for (Requested& r : requested) found.push_back(std::move(r.grad));
  return found;
}

HookHandle register_hook(const Tensor& x, autograd::Hook hook, SourceLocation where) {
  const CallSite site("register_hook", where);
  x.require_defined("register_hook", where);
  require_hook(x, !hook);
  const std::shared_ptr<Slot>& slot = x.slot();
  hook = CheckedHook(std::move(hook), x, where);
  if (slot->producer) {
    const std::int64_t id = slot->producer->add_hook(slot->output, std::move(hook));
    return HookHandle([node = std::weak_ptr<Node>(slot->producer), id] {
      if (const auto alive = node.lock()) alive->remove_hook(id);
    });
  }
  return hook_on_leaf(slot, std::move(hook), false);
}

HookHandle register_post_accumulate_grad_hook(const Tensor& x, std::function<void(const Tensor&)> hook,
                                              SourceLocation where) {
  const CallSite site("register_post_accumulate_grad_hook", where);
  x.require_defined("register_post_accumulate_grad_hook", where);
  require_hook(x, !hook);
  if (!x.is_leaf())
    throw AutogradError(message("the tensor is no leaf: no gradient is accumulated", {{"self", x}},
                                "register_hook() is called with the gradient of a result"));
  return hook_on_leaf(
      x.slot(),
      [hook = std::move(hook), weak = std::weak_ptr(x.slot()->owner)](const Tensor&) {
        const HookScope scope;
        if (const auto owner = weak.lock()) hook(Tensor(owner));
        return Tensor();
      },
      true);
}

void autograd::call_after_backward(std::function<void()> call) {
  if (auto* calls = ThreadState::current().after_backward) calls->push_back(std::move(call));
  else call();
}

}  // namespace minnow
