#include <minnow/autograd/engine.h>

#include <algorithm>
#include <unordered_set>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradient_watch.h>
#include <minnow/autograd/thread_state.h>
#include <minnow/autograd/waiting.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
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
using autograd::Node;
using autograd::Slot;
using autograd::ThreadState;
using autograd::Waiting;

constexpr int kAdd = raw::kBinary<kernels::Add>;

/// What grad() asked for.
struct Capture {
  const Node* node;
  const Slot* leaf;
  Tensor grad;
};

/// One walk from outputs to leaves.
class Run {
 public:
  Run(bool retain, bool create) : retain_(retain || create), create_(create) {}

  void seed(const Tensor& output, const Tensor& grad) { deliver(autograd::edge_to(output), grad); }
  void capture(std::vector<Capture>* captures) { captures_ = captures; }
  void execute() {
    const GradMode mode(create_);
    if (captures_) mark_needed();
    while (!waiting_.empty()) {
      Waiting::Entry next = waiting_.take();
      if (next.leaf) finish_leaf(next);
      else run_node(next);
    }
  }

 private:
  /// Nobody else sees the memory, it is not the user's own, and no two elements share a place.
  static bool writable(const Tensor& grad) {
    return grad.is_unique() && grad.storage()->allocator() && is_dense(grad.shape(), grad.strides());
  }

  /// Adopts the first gradient that comes to a node or leaf, and adds each later one as it comes: in place where
  /// nobody else holds one of the two.
  void deliver(const Edge& edge, Tensor grad) {
    Tensor& sum = waiting_.at(edge).grad;
    if (!sum.defined()) {
      sum = std::move(grad);
      return;
    }
    require_alike(sum, grad.shape(), grad.dtype(), grad.device());
    if (create_) sum = add(sum, grad);
    else if (!writable(sum) && !writable(grad)) sum = raw::binary(kAdd, sum, grad);
    else {
      if (!writable(sum)) std::swap(sum, grad);
      raw::binary_(kAdd, sum, grad);
    }
  }

  /// The same for a gradient of a part only: it is added there, in a sum that is this run's own.
  void deliver_part(const Edge& edge, const Node& node, const Tensor& grad) {
    require_place(node, edge, grad);
    const CallSite site = CallSite::instead(node.name(), node.where());
    Tensor& sum = waiting_.at(edge).grad;
    const bool first = !sum.defined();
    if (first) sum = zeros(edge.shape, {edge.dtype, edge.device});
    require_alike(sum, edge.shape, edge.dtype, edge.device);
    if (!writable(sum)) sum = raw::clone(sum);
    const Tensor part = node.part_of(sum);
    if (first) raw::copy_to(grad, part);
    else raw::binary_(kAdd, part, grad);
  }

  /// What comes from the other uses must fit to what came first.
  static void require_alike(const Tensor& sum, const Shape& shape, DType dtype, Device device) {
    if (sum.shape() == shape && sum.dtype() == dtype && sum.device() == device) return;
    throw AutogradError(message("a tensor was changed between its uses: another gradient is " +
                                    std::string(name_of(dtype)) + shape.str() + " on " + device.str(),
                                {{"gradient", sum}}, "compute the loss again after Module::to() or set_data()"));
  }

  void finish_leaf(Waiting::Entry& p) {
    Slot& slot = *p.leaf;
    std::vector<std::pair<std::int64_t, autograd::Hook>> hooks;
    {
      const std::lock_guard lock(slot.mutex);
      if (!slot.hooks.empty()) hooks = slot.hooks;
    }
    for (const auto& [id, hook] : hooks)
      if (Tensor changed = hook(p.grad); changed.defined()) p.grad = changed;
    if (captures_) {
      store(p, nullptr, p.leaf.get());
      return;
    }
    require_fit(slot, p.grad);
    autograd::watch_gradient(p.leaf, autograd::GradientUse::read);
    const std::lock_guard lock(slot.mutex);
    if (!slot.grad.defined()) {
      if (CaptureSession* session = CaptureSession::current())  // given up, it has computed none
        session->on_abandon([leaf = std::weak_ptr(p.leaf)] {
          if (const auto held = leaf.lock()) held->grad = Tensor();
        });
      slot.grad = create_ || writable(p.grad) ? p.grad : p.grad.clone();
      return;
    }
    require_addable(slot, p.grad);
    if (create_) slot.grad = add(slot.grad, p.grad);
    else if (repeats(slot.grad)) slot.grad = raw::binary(kAdd, slot.grad, p.grad);
    else raw::binary_(kAdd, slot.grad, p.grad);
  }

  /// An expanded tensor: it cannot be written to.
  static bool repeats(const Tensor& x) {
    for (int d = 0; d < x.dim(); ++d)
      if (x.strides()[d] == 0 && x.shape()[d] > 1) return true;
    return false;
  }

  /// The gradient of an earlier backward, or one that was set, and the tensor may have changed since.
  static void require_addable(const Slot& slot, const Tensor& grad) {
    const Tensor& old = slot.grad;
    const bool placed = old.device() == grad.device(), typed = old.dtype() == grad.dtype();
    if (placed && typed && old.shape() == grad.shape()) return;
    const auto owner = slot.owner.lock();
    const std::string text =
        message(std::string("the tensor's old gradient is ") +
                    (placed ? typed ? "of another shape" : "of another dtype" : "on another device") +
                    " than the new one, which should be added to it",
                {{"tensor", owner ? Tensor(owner) : grad}, {"grad()", old}, {"gradient", grad}},
                "call zero_grad() after the tensor was moved or given other data");
    if (!placed) throw DeviceError(text);
    if (!typed) throw DTypeError(text);
    throw ShapeError(text);
  }

  /// A leaf that was moved or given other data since the forward pass cannot take the gradient of what it was.
  static void require_fit(const Slot& slot, const Tensor& grad) {
    const auto owner = slot.owner.lock();
    if (!owner) return;
    const bool placed = owner->view.device() == grad.device();
    if (placed && owner->view.shape() == grad.shape() && owner->view.dtype() == grad.dtype()) return;
    const std::string text = message("a tensor was changed after the forward pass that used it",
                                     {{"tensor", Tensor(owner)}, {"gradient", grad}},
                                     "compute the loss again after Module::to() or set_data()");
    if (!placed) throw DeviceError(text);
    throw AutogradError(text);
  }

  void store(const Waiting::Entry& p, const Node* node, const Slot* leaf) const {
    for (Capture& c : *captures_)
      if ((node && c.node == node) || (leaf && c.leaf == leaf)) c.grad = p.grad;
  }

  void run_node(Waiting::Entry& p) {
    p.grad = p.node->run_hooks(std::move(p.grad));
    if (captures_) {
      store(p, p.node.get(), nullptr);
      if (!needed_.contains(p.node.get())) return;
    }
    const auto& edges = p.node->edges();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(edges.size(), 64); ++i)
      if (wanted(edges[i])) bits |= std::uint64_t{1} << i;
    autograd::Gradients gradients = p.node->run(p.grad, autograd::Needs(bits), retain_, CallSite::where());
    p.grad = Tensor();  // so that a gradient which shares its memory may be written to
    const bool part = !create_ && p.node->gives_part();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || !wanted(edges[i])) continue;
      if (part) deliver_part(edges[i], *p.node, std::exchange(gradients[i], Tensor()));
      else deliver(edges[i], fit(*p.node, edges[i], std::move(gradients[i])));
    }
  }

  /// An input that was moved in place would get a gradient on its old device.
  static void require_place(const Node& node, const Edge& edge, const Tensor& grad) {
    const bool host_scalar = edge.shape.empty() && edge.device.is_cpu();  // allowed beside device operands
    if (grad.device() == edge.device || host_scalar) return;
    const CallSite site = CallSite::instead(node.name(), node.where());
    throw DeviceError(message("its gradient is on " + grad.device().str() + ", the input was on " + edge.device.str(),
                              {{"gradient", grad}}, "an input was moved in place after the operation was recorded"));
  }

  /// Sums over broadcast dimensions, and converts to the input's dtype.
  static Tensor fit(const Node& node, const Edge& edge, Tensor grad) {
    require_place(node, edge, grad);
    const bool alike = grad.device() == edge.device && grad.dtype() == edge.dtype;
    if (alike && grad.shape() == edge.shape) return grad;  // and no other handle
    const CallSite site = CallSite::instead(node.name(), node.where());
    if (grad.shape() != edge.shape) grad = sum_to(grad, edge.shape);
    return alike ? grad : grad.to(edge.device, edge.dtype);
  }

  bool wanted(const Edge& e) const {
    if (!e) return false;
    if (!captures_) return true;
    return e.node ? needed_.contains(e.node.get()) || captured(e.node.get(), nullptr) : captured(nullptr, e.leaf.get());
  }

  bool captured(const Node* node, const Slot* leaf) const {
    return std::any_of(captures_->begin(), captures_->end(),
                       [&](const Capture& c) { return (node && c.node == node) || (leaf && c.leaf == leaf); });
  }

  /// The nodes from which a captured tensor can be reached: others need not run.  By rising number, so that
  /// all that a node depends on is decided before it.
  void mark_needed() {
    std::vector<Node*> all;
    std::unordered_set<Node*> seen;
    std::vector<Node*> stack = waiting_.nodes();
    seen.insert(stack.begin(), stack.end());
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      all.push_back(node);
      for (const Edge& e : node->edges())
        if (e.node && seen.insert(e.node.get()).second) stack.push_back(e.node.get());
    }
    std::sort(all.begin(), all.end(), [](const Node* a, const Node* b) { return a->order() < b->order(); });
    for (Node* node : all)
      for (const Edge& e : node->edges())
        if (wanted(e)) needed_.insert(node);
  }

  bool retain_, create_;
  Waiting waiting_;
  std::vector<Capture>* captures_ = nullptr;
  std::unordered_set<const Node*> needed_;
};

/// A gradient hook of the user's runs on this thread: what it calls is named as it is elsewhere.
class HookScope {
 public:
  HookScope() : outer_(std::exchange(ThreadState::current().in_hook, true)), users_(CallSite::none()) {}
  ~HookScope() { ThreadState::current().in_hook = outer_; }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

 private:
  bool outer_;
  CallSite users_;
};

void refuse_in_hook() {
  if (ThreadState::current().in_hook)
    throw AutogradError(message("it was called inside of a gradient hook, whose backward is still under way", {},
                                "return the new gradient from the hook, or call it after that backward"));
}

/// A hook that is told where its tensor comes from when it returns a gradient that does not fit.
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
           "\nreturn a gradient like the one that came, or Tensor() to keep that";
  }

  autograd::Hook hook_;
  std::string tensor_;
  SourceLocation where_;  // the forward line, or for a leaf that of register_hook
};

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
    throw AutogradError(
        message("the output depends on no tensor that requires a gradient", {{"output", output}},
                inside ? "nothing is recorded inside of a gradient function: write `GradMode on(true);` before what is "
                         "computed there, and call requires_grad_() on an input"
                       : "call requires_grad_() on an input, and compute outside of NoGradGuard"));
  }
  if (!given.defined()) {
    if (output.numel() != 1)
      throw AutogradError(message("only a one-element output has a gradient of its own", {{"output", output}},
                                  "reduce it, e.g. sum(output), or pass a gradient of its shape"));
    return ones_like(output);
  }
  dispatch({{"output", output}, {"gradient", given}});
  if (given.shape() != output.shape())
    throw ShapeError(message("the gradient does not have the output's shape", {{"output", output}, {"gradient", given}},
                             "pass a gradient of the same shape"));
  return given.dtype() == output.dtype() ? given : given.to(output.dtype());
}

}  // namespace

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients, BackwardOptions options,
              SourceLocation where) {
  const profile::Range range("backward");
  const CallSite site("backward", where);
  refuse_in_hook();
  require_seeds(outputs, gradients);
  Run run(options.retain_graph, options.create_graph);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    run.seed(outputs[i], seed_gradient(outputs[i], i < gradients.size() ? gradients[i] : Tensor()));
  run.execute();
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options, SourceLocation where) {
  const CallSite site("grad", where);
  refuse_in_hook();
  require_seeds(outputs, options.grad_outputs);
  std::vector<Capture> captures;
  for (const Tensor& input : inputs) {
    if (!input.defined() || !input.requires_grad())
      throw AutogradError(message("an input does not require a gradient", {{"input", input}},
                                  "call requires_grad_() on it before it is used"));
    const auto& slot = input.slot();
    captures.push_back({slot->producer.get(), slot->producer ? nullptr : slot.get(), {}});
  }
  Run run(options.retain_graph, options.create_graph);
  run.capture(&captures);
  const auto& given = options.grad_outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    run.seed(outputs[i], seed_gradient(outputs[i], i < given.size() ? given[i] : Tensor()));
  run.execute();
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!captures[i].grad.defined() && !options.allow_unused)
      throw AutogradError(message("the outputs do not depend on an input", {{"input", inputs[i]}},
                                  "pass {.allow_unused = true} to get an undefined gradient for it"));
    gradients.push_back(captures[i].grad);
  }
  return gradients;
}

HookHandle register_hook(const Tensor& x, autograd::Hook hook, SourceLocation where) {
  const CallSite site("register_hook", where);
  x.require_defined("register_hook", where);
  if (!hook) throw ValueError(message("the hook is empty", {{"self", x}}, "pass a function"));
  if (!x.requires_grad())
    throw AutogradError(message("the tensor gets no gradient", {{"self", x}}, "call requires_grad_() first"));
  const std::shared_ptr<Slot> slot = x.slot();
  hook = CheckedHook(std::move(hook), x, where);
  if (slot->producer) {
    const std::int64_t id = slot->producer->add_hook(std::move(hook));
    return HookHandle([node = std::weak_ptr<Node>(slot->producer), id] {
      if (const auto alive = node.lock()) alive->remove_hook(id);
    });
  }
  const std::lock_guard lock(slot->mutex);
  const std::int64_t id = autograd::next_hook_id();
  slot->hooks.emplace_back(id, std::move(hook));
  return HookHandle([weak = std::weak_ptr<Slot>(slot), id] {
    if (const auto alive = weak.lock()) {
      const std::lock_guard guard(alive->mutex);
      std::erase_if(alive->hooks, [id](const auto& h) { return h.first == id; });
    }
  });
}

}  // namespace minnow
