// The calls of modules that run on a thread, and modules that are called but not registered.
#include <algorithm>
#include <utility>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/thread_state.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::nn::detail {
namespace {

constinit thread_local ThreadState state;

/// Whether a module or a descendant has a parameter that requires a gradient.
bool is_trained(const State& module) {
  return std::any_of(module.parameters.begin(), module.parameters.end(),
                     [](const Entry& entry) { return entry.tensor.requires_grad(); }) ||
         std::any_of(module.children.begin(), module.children.end(),
                     [](const Child& child) { return is_trained(Access::state(*child.module)); });
}

void note_unregistered(const Module& module, const Module& caller) {
  UnregisteredList* list = state.unregistered;
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
          " that is not registered: its parameters are not in parameters() and state_dict(), and are not trained, "
          "saved or moved\nregister it by child(\"name\", ...), or call requires_grad_(false) on it if it is not to be "
          "trained",
      std::move(ids));
}

}  // namespace

ThreadState& ThreadState::current() noexcept { return state; }

Call::Call(const Module& module, SourceLocation where)
    : module_(module), where_(CallSite::where_or(where)), user_site_(CallSite::none()), outer_(state.call) {
  const State& called = Access::state(module);
  if (outer_ && !called.registered && !(called.parameters.empty() && called.children.empty()))
    note_unregistered(module, outer_->module_);
  state.call = this;
  if (minnow::detail::calling_thread.scopes) [[unlikely]]
    enter_scope();
}

/// Apart, so that calls which nobody observes do not prepare it.
[[gnu::noinline]] void Call::enter_scope() const {
  const State& called = Access::state(module_);
  minnow::detail::calling_thread.scopes->enter({.key = this,
                                                .kind = minnow::detail::ScopeKind::module,
                                                .name = called.path.c_str(),
                                                .where = where_,
                                                .type = &typeid(module_),
                                                .type_name = type_of,
                                                .module = &called,
                                                .records = is_grad_enabled()});
}

Call::~Call() {
  if (minnow::detail::calling_thread.scopes) [[unlikely]]
    minnow::detail::calling_thread.scopes->leave(this);
  state.call = outer_;
}

std::string Call::type_of(const void* call) {
  const std::string text = static_cast<const Call*>(call)->module_.describe();
  return text.substr(0, text.find('('));
}

std::string Call::path() {
  if (!state.call) return {};
  const std::string& path = Access::state(state.call->module_).path;
  return path.empty() ? type_of(state.call) : path;
}

SourceLocation Call::line() { return state.call ? state.call->where_ : SourceLocation(); }

UnregisteredList::UnregisteredList() : outer_(std::exchange(state.unregistered, this)) {}
UnregisteredList::~UnregisteredList() { state.unregistered = outer_; }

void UnregisteredList::add(Unregistered module) {
  const bool known =
      std::any_of(modules_.begin(), modules_.end(), [&](const Unregistered& m) { return m.state == module.state; });
  if (!known) modules_.push_back(std::move(module));
}

}  // namespace minnow::nn::detail
