// The hooks of modules.
#include <algorithm>
#include <iterator>
#include <minnow/autograd/joint.h>
#include <minnow/autograd/record.h>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::nn {

using detail::Access;
using detail::Hook;
using detail::State;

namespace {

/// A handle of a module, for hooks that run after the object which was called may be gone.
class Handle : public Module {
 public:
  explicit Handle(const Module& module) : Module(module), description_(module.describe()) {}
  std::string describe() const override { return description_; }

 private:
  std::string description_;
};

using Hooks = std::vector<std::shared_ptr<const Hook>>;

/// What the hooks of one backward know.
struct BackwardHooks {
  Handle module;
  Hooks hooks;
  std::vector<Tensor> grad_outputs{};
  bool has_inputs = false;  // an input requires a gradient

  void run(std::vector<Tensor>& grad_inputs) {
    const std::vector<Tensor> given = grad_inputs;
    {
      const CallSite users = CallSite::none();
      for (const auto& hook : hooks)
        if (hook->backward) hook->backward(module, grad_inputs, grad_outputs);
    }
    require_like(given, grad_inputs);
  }

  void run_before(std::vector<Tensor>& grads) {
    const std::vector<Tensor> given = grads;
    {
      const CallSite users = CallSite::none();
      for (const auto& hook : hooks)
        if (hook->before_backward) hook->before_backward(module, grads);
    }
    require_like(given, grads);
  }

 private:
  void require_like(const std::vector<Tensor>& given, const std::vector<Tensor>& changed) const {
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Tensor &before = given[i], &after = changed[i];
      if (!before.defined() || !after.defined()) continue;
      const bool same_shape = after.shape() == before.shape(), same_dtype = after.dtype() == before.dtype();
      if (same_shape && same_dtype && after.device() == before.device()) continue;
      const std::string text =
          message("a hook of " + module.describe() + " gave a gradient of another shape, dtype or device",
                  {{"gradient", before}, {"given", after}}, "give one like the gradient that it replaces");
      if (!same_shape) throw ShapeError(text);
      if (!same_dtype) throw DTypeError(text);
      throw DeviceError(text);
    }
  }
};

std::vector<autograd::Edge> edges_to(std::span<const Tensor> tensors) {
  std::vector<autograd::Edge> edges;
  for (const Tensor& t : tensors) edges.push_back(t.defined() ? autograd::edge_to(t) : autograd::Edge{});
  return edges;
}

constexpr const char* kName = "register_full_backward_hook";

}  // namespace

struct detail::HookedCall {
  Hooks hooks;
  std::shared_ptr<BackwardHooks> backward{};
};

void detail::require_hook(const char* op, bool empty, SourceLocation where) {
  if (empty) throw ValueError(std::string(op) + ": the hook is empty\npass a function", where);
}

HookHandle Module::add_hook(Hook hook) {
  auto shared = std::make_shared<const Hook>(std::move(hook));
  state_->hooks.push_back(shared);
  return HookHandle([weak = std::weak_ptr<State>(state_), shared] {
    if (const auto state = weak.lock()) std::erase(state->hooks, shared);
  });
}

/// A captured step is captured again when hooks were added or removed.
bool Module::has_hooks() const {
  const auto& hooks = state_->hooks;
  if (CaptureSession* session = CaptureSession::current(); session && session->is_first_use(&hooks))
    session->require([weak = std::weak_ptr(state_), before = hooks] {
      const auto state = weak.lock();
      return !state || state->hooks == before;
    });
  return !hooks.empty();
}

std::shared_ptr<detail::HookedCall> Module::before_forward(std::span<Tensor> inputs) const {
  auto call = std::make_shared<detail::HookedCall>(detail::HookedCall{state_->hooks});  // a hook may remove itself
  for (const auto& hook : call->hooks)
    if (hook->before) hook->before(const_cast<Module&>(*this), inputs);
  Hooks backward;
  std::copy_if(call->hooks.begin(), call->hooks.end(), std::back_inserter(backward),
               [](const auto& hook) { return hook->backward || hook->before_backward; });
  if (backward.empty() || !is_grad_enabled()) return call;
  call->backward = std::make_shared<BackwardHooks>(BackwardHooks{Handle(*this), std::move(backward)});
  if (!records(inputs)) return call;
  call->backward->has_inputs = true;
  // Those that require no gradient stay as they are.
  std::vector<Tensor> wanted(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && needs_grad(inputs[i])) wanted[i] = inputs[i];
  const auto run = [backward = call->backward](std::span<const Tensor> arrived, Needs) {
    std::vector<Tensor> grads(arrived.begin(), arrived.end());
    backward->run(grads);
    backward->grad_outputs.clear();
    return grads;
  };
  const auto seen = autograd::record_joint(kName, wanted, edges_to(wanted), run, detail::Call::line());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (seen[i].defined()) inputs[i] = seen[i];
  return call;
}

std::vector<Tensor> Module::call_with(std::vector<Tensor> inputs,
                                      const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f,
                                      SourceLocation where) const {
  const detail::Call call(*this, where);
  compute_weights();
  if (!has_hooks()) return f(inputs);
  const auto hooked = before_forward(inputs);
  std::vector<Tensor> outputs = f(inputs);
  after_forward(*hooked, inputs, outputs);
  return outputs;
}

void Module::after_forward(detail::HookedCall& call, std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  for (const auto& hook : call.hooks)
    if (hook->after) hook->after(const_cast<Module&>(*this), inputs, outputs);
  if (!call.backward || !records(outputs)) return;
  std::vector<Tensor> wanted(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].defined() && needs_grad(outputs[i])) wanted[i] = outputs[i];
  const auto run = [backward = call.backward, n = inputs.size()](std::span<const Tensor> arrived, Needs) {
    std::vector<Tensor> grads(arrived.begin(), arrived.end());
    backward->run_before(grads);
    backward->grad_outputs = grads;
    if (!backward->has_inputs) {
      std::vector<Tensor> none(n);
      backward->run(none);
      backward->grad_outputs.clear();
    }
    return grads;
  };
  const auto seen = autograd::record_joint(kName, wanted, edges_to(wanted), run, detail::Call::line());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (seen[i].defined()) outputs[i] = seen[i];
}

}  // namespace minnow::nn
