// What is known of a module's call while it runs.
#include <algorithm>
#include <utility>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/thread_state.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/warning.h>

namespace minnow::nn::detail {
namespace {

constinit thread_local ThreadState state;

/// Whether a module or one below it has something to train.
bool is_trained(const State& module) {
  return std::any_of(module.parameters.begin(), module.parameters.end(),
                     [](const Entry& entry) { return entry.tensor.requires_grad(); }) ||
         std::any_of(module.children.begin(), module.children.end(),
                     [](const Child& child) { return is_trained(Access::state(*child.module)); });
}

void note_stray(const Module& module, const Module& caller) {
  StrayList* list = state.strays;
  if ((!list && !is_grad_enabled()) || !is_trained(Access::state(module))) return;
  if (list) {
    list->add({Access::shared(module), module.describe(), caller.describe()});
    return;
  }
  std::vector<const void*> ids;
  for (const Tensor& parameter : module.parameters())
    if (parameter.requires_grad()) ids.push_back(parameter.id());
  minnow::detail::warn_later(
      caller.describe() + " calls a " + module.describe() +
          " that is not registered: its parameters are not in parameters() nor in state_dict(), and are neither "
          "trained, "
          "saved nor moved\nmake the member by child(\"name\", ...), or say that it is not trained by "
          "requires_grad_(false)",
      std::move(ids));
}

}  // namespace

ThreadState& ThreadState::current() noexcept { return state; }

Call::Call(const Module& module, SourceLocation where)
    : module_(module), where_(CallSite::where_or(where)), users_(CallSite::none()), outer_(state.call) {
  const State& called = Access::state(module);
  if (outer_ && !called.registered && !(called.parameters.empty() && called.children.empty()))
    note_stray(module, outer_->module_);
  state.call = this;
}

Call::~Call() { state.call = outer_; }

SourceLocation Call::line() { return state.call ? state.call->where_ : SourceLocation(); }

StrayList::StrayList() : outer_(std::exchange(state.strays, this)) {}
StrayList::~StrayList() { state.strays = outer_; }

void StrayList::add(Stray stray) {
  const bool known = std::any_of(found_.begin(), found_.end(), [&](const Stray& s) { return s.state == stray.state; });
  if (!known) found_.push_back(std::move(stray));
}

}  // namespace minnow::nn::detail
