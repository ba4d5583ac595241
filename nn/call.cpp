// What is known of a module's call while it runs.
#include <algorithm>
#include <utility>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/warning.h>

namespace minnow::nn::detail {
namespace {

Call*& current() {
  thread_local Call* call = nullptr;
  return call;
}

StrayList*& collecting() {
  thread_local StrayList* list = nullptr;
  return list;
}

/// Whether a module or one below it has something to train.
bool is_trained(const State& state) {
  return std::any_of(state.parameters.begin(), state.parameters.end(),
                     [](const Entry& entry) { return entry.tensor.requires_grad(); }) ||
         std::any_of(state.children.begin(), state.children.end(),
                     [](const Child& child) { return is_trained(Access::state(*child.module)); });
}

void note_stray(const Module& module, const Module& caller) {
  StrayList* list = collecting();
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

Call::Call(const Module& module, SourceLocation where) : module_(module), where_(where), outer_(current()) {
  const State& state = Access::state(module);
  if (outer_ && !state.registered && !(state.parameters.empty() && state.children.empty()))
    note_stray(module, outer_->module_);
  current() = this;
}

Call::~Call() { current() = outer_; }

SourceLocation Call::site() { return current() ? current()->where_ : SourceLocation(); }

StrayList::StrayList() : outer_(std::exchange(collecting(), this)) {}
StrayList::~StrayList() { collecting() = outer_; }

void StrayList::add(Stray stray) {
  const bool known = std::any_of(found_.begin(), found_.end(), [&](const Stray& s) { return s.state == stray.state; });
  if (!known) found_.push_back(std::move(stray));
}

}  // namespace minnow::nn::detail
