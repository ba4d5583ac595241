// Hooks on gradients.
#include <atomic>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/leaf_hooks.h>
#include <minnow/autograd/thread_state.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

using autograd::Node;
using autograd::Slot;
using autograd::ThreadState;

/// Hooks that wait for the gradients of leaves.
std::atomic<int> after_hooks = 0;

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

bool autograd::leaves_are_awaited() { return after_hooks > 0; }

std::vector<autograd::LeafHook> autograd::hooks_of(Slot& leaf) {
  const std::lock_guard lock(leaf.mutex);
  return leaf.hooks;
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
    throw AutogradError(message("the tensor is not a leaf: no gradient is accumulated", {{"self", x}},
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
