#include <minnow/autograd/engine.h>

#include <algorithm>
#include <optional>
#include <minnow/autograd/anomaly.h>
#include <minnow/autograd/backward_observer.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/autograd/gradient_sum.h>
#include <minnow/autograd/joint.h>
#include <minnow/autograd/leaf_hooks.h>
#include <minnow/autograd/thread_state.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/profile.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow {
namespace {

using autograd::BackwardObserver;
using autograd::Edge;
using autograd::GradientQueue;
using autograd::Node;
using autograd::RequestedGradient;
using autograd::ThreadState;

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

/// One backward, from outputs to leaves.  An ordinary one has no observer.
class BackwardPass {
 public:
  BackwardPass(bool retain, bool create, BackwardObserver* observer)
      : retain_(retain || create), create_(create), observer_(observer) {}

  void seed(const Tensor& output, const Tensor& grad) {
    const Edge edge = autograd::edge_to(output);
    if (observer_) observer_->seeded(edge, grad);
    accumulate(edge, grad);
  }
  void note_first_uses() { queue_.note_first_uses(); }
  void execute() {
    const AutoGradMode mode(create_);
    const WithoutAutocast dtypes_of_forward;
    if (observer_) observer_->begin(queue_);
    while (!queue_.empty()) {
      GradientQueue::Entry next = queue_.take();
      if (observer_ && observer_->ends_at(next)) continue;
      if (next.leaf) finish_leaf(next);
      else run_node(next);
    }
  }

 private:
  void accumulate(const Edge& edge, Tensor grad) {
    Tensor& sum = queue_.at(edge);
    if (autograd::add_gradient(sum, std::move(grad), create_) && observer_) observer_->summed(edge, sum);
  }

  void accumulate_part(const Edge& edge, const Node& node, const Tensor& grad) {
    Tensor& sum = queue_.at(edge);
    autograd::add_part(sum, node, edge, grad);
    if (observer_) observer_->summed(edge, sum);
  }

  void finish_leaf(GradientQueue::Entry& entry) {
    const std::vector<autograd::LeafHook> hooks = autograd::hooks_of(*entry.leaf);
    for (const autograd::LeafHook& hook : hooks)
      if (Tensor changed = hook.after ? Tensor() : hook.call(entry.grad); changed.defined()) entry.grad = changed;
    if (observer_ && observer_->takes(entry)) return;
    if (autograd::add_to_leaf(entry.leaf, std::move(entry.grad), create_) && observer_) observer_->summed(entry.leaf);
    for (const autograd::LeafHook& hook : hooks)
      if (hook.after) hook.call(Tensor());
  }

  void run_node(GradientQueue::Entry& entry) {
    Node& node = *entry.node;
    const std::span<Tensor> grads = entry.grads();
    node.run_hooks(grads);
    if (observer_ && observer_->takes(entry)) return;
    const auto& edges = node.edges();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(edges.size(), 64); ++i)
      if (wants(edges[i])) bits |= std::uint64_t{1} << i;
    autograd::Gradients gradients = node.run(grads, autograd::Needs(bits), retain_, CallSite::where());
    const bool part = !create_ && node.gives_part();
    if (observer_) observer_->computed(node, gradients, grads, part);
    std::fill(grads.begin(), grads.end(), Tensor());  // so that gradients which share its memory may be written to
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined() || !wants(edges[i])) continue;
      if (part) accumulate_part(edges[i], node, std::exchange(gradients[i], Tensor()));
      else accumulate(edges[i], autograd::fit_to_input(node, edges[i], std::move(gradients[i])));
    }
  }

  bool wants(const Edge& e) const { return e && (!observer_ || observer_->wants(e)); }

  const bool retain_, create_;
  BackwardObserver* const observer_;
  GradientQueue queue_;
};

void refuse_in_hook() {
  if (ThreadState::current().in_hook)
    throw AutogradError(message("it was called inside of a gradient hook, while that backward is still running", {},
                                "return the new gradient from the hook, or call it after that backward"));
}

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

/// "inputs[1]", so that errors say which of several; "input" of one.
std::string place(const char* name, std::size_t i, std::size_t count) {
  return count == 1 ? name : std::string(name) + "s[" + std::to_string(i) + "]";
}
std::string the(const std::string& place) { return place.back() == ']' ? place : "the " + place; }

/// The gradient that arrives at output i: the given one, checked, or 1.
Tensor seed_gradient(const std::vector<Tensor>& outputs, std::size_t i, const std::vector<Tensor>& gradients) {
  const Tensor& output = outputs[i];
  const Tensor given = i < gradients.size() ? gradients[i] : Tensor();
  const std::string its = place("output", i, outputs.size()), name = place("gradient", i, outputs.size());
  const detail::Operand shown{its.c_str(), output}, given_shown{name.c_str(), given};
  if (!output.defined() || !output.requires_grad()) {
    const bool inside = autograd::RunningNode::current() && !is_grad_enabled();
    throw AutogradError(message(
        the(its) + " depends on no tensor that requires a gradient", {shown},
        inside ? "a gradient function does not record: write `AutoGradMode on(true);` at its beginning, and call "
                 "requires_grad_() on an input"
               : "call requires_grad_() on an input, and compute outside of NoGradGuard"));
  }
  if (!given.defined()) {
    if (output.numel() != 1)
      throw AutogradError(message("the gradient of " + the(its) + " can be left out only if it has one element",
                                  {shown}, "reduce it, e.g. sum(output), or pass a gradient of its shape"));
    return ones_like(output);
  }
  require_same_device({shown, given_shown});
  if (given.shape() != output.shape())
    throw ShapeError(message("the gradient does not have the shape of " + the(its), {shown, given_shown},
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

}  // namespace

void backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& gradients, BackwardOptions options,
              SourceLocation where) {
  const profile::Range range("backward", detail::ScopeKind::backward);
  const CallSite site("backward", where);
  refuse_in_hook();
  refuse_in_checkpoint();
  require_seeds(outputs, gradients);
  std::optional<BackwardObserver> observer;
  if (is_anomaly_enabled() || calling_thread.observer) observer.emplace();
  BackwardPass run(options.retain_graph, options.create_graph, observer ? &*observer : nullptr);
  for (std::size_t i = 0; i < outputs.size(); ++i) run.seed(outputs[i], seed_gradient(outputs, i, gradients));
  if (autograd::leaves_are_awaited()) run.note_first_uses();
  const AfterBackward after;
  run.execute();
  after.run();
}

std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const GradOptions& options, SourceLocation where) {
  const profile::Range range("grad", detail::ScopeKind::backward);
  const CallSite site("grad", where);
  refuse_in_hook();
  require_seeds(outputs, options.grad_outputs);
  std::vector<RequestedGradient> requested;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    if (!input.defined() || !input.requires_grad()) {
      const std::string name = place("input", i, inputs.size());
      throw AutogradError(message(
          the(name) + (input.defined() ? " does not require a gradient" : " is undefined"), {{name.c_str(), input}},
          input.defined() ? "call requires_grad_() on it before it is used" : "assign to it first"));
    }
    const auto& slot = input.slot();
    requested.push_back({slot->producer.get(), slot->producer ? nullptr : slot.get(), slot->output});
  }
  BackwardObserver observer(requested, false);
  BackwardPass run(options.retain_graph, options.create_graph, &observer);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    run.seed(outputs[i], seed_gradient(outputs, i, options.grad_outputs));
  run.execute();
  std::vector<Tensor> gradients;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!requested[i].grad.defined() && !options.allow_unused) {
      const std::string name = place("input", i, inputs.size());
      throw AutogradError(message("the outputs do not depend on " + the(name), {{name.c_str(), inputs[i]}},
                                  "pass {.allow_unused = true} to get an undefined gradient for it"));
    }
    gradients.push_back(requested[i].grad);
  }
  return gradients;
}

std::vector<Tensor> autograd::gradients_up_to(const std::vector<Edge>& edges, std::span<const Tensor> outputs,
                                              std::span<const Tensor> gradients, bool create_graph) {
  std::vector<RequestedGradient> requested;
  requested.reserve(edges.size());
  for (const Edge& edge : edges) requested.push_back({edge.node.get(), edge.leaf.get(), edge.output});
  BackwardObserver observer(requested, true);
  BackwardPass run(create_graph, create_graph, &observer);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (gradients[i].defined() && outputs[i].defined() && outputs[i].requires_grad())
      run.seed(outputs[i], gradients[i]);
  run.execute();
  std::vector<Tensor> found;
  found.reserve(requested.size());
  for (RequestedGradient& r : requested) found.push_back(std::move(r.grad));
  return found;
}

}  // namespace minnow
