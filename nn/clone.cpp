#include <minnow/nn/clone.h>

#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/thread_state.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::nn::detail {
namespace {

Cloning*& active() { return ThreadState::current().cloning; }

}  // namespace

Tensor Cloning::copy_of(const Tensor& tensor) {
  Tensor copy = raw::clone(tensor);
  copy.set_name(tensor.name());
  if (tensor.is_leaf() && tensor.requires_grad()) copy.requires_grad_(true);
  if (!tensor.slot() || tensor.slot()->tied.empty()) return copy;
  const auto [first, is_new] = tied_.try_emplace(autograd::identity(tensor), copy);
  if (!is_new) tie(copy, first->second);
  return copy;
}

Cloning::Cloning(const Module& root, const std::type_info& type, SourceLocation where) : root_(root), where_(where) {
  if (typeid(root) != type)
    throw ValueError("clone: the module is a " + class_name(typeid(root)) + ", the reference to it says " +
                         class_name(type) + "\ncall clone() with a reference of the module's own type",
                     where);
  {
    const CallSite site("clone", where);
    add_clones(Access::shared(root));
  }
  outer_ = std::exchange(active(), this);
  active_ = true;
  try {
    const auto originals = states_;  // a copy: copying children must not change the list
    for (const auto& [state, clone] : originals) copy_children(*state);
  } catch (...) {
    deactivate();
    throw;
  }
  seen_.clear();
}

void Cloning::deactivate() {
  if (!active_) return;
  active_ = false;
  active() = outer_;
}

void Cloning::finish() {
  deactivate();
  check_seen(Access::state(root_), class_name(typeid(root_)));
}

void Cloning::add_clones(const std::shared_ptr<State>& state) {
  if (states_.contains(state.get())) return;
  auto clone = std::make_shared<State>();
  clone->training = state->training;
  clone->container = state->container;
  clone->path = state->path;
  clone->places = state->places;
  states_[state.get()] = clone;
  clones_.insert(clone.get());
  for (auto list : {&State::parameters, &State::buffers})
    for (const Entry& entry : (*state).*list) {
      auto [clone_of, is_new] = tensors_.try_emplace(entry.tensor.id());
      if (is_new) {
        clone_of->second = copy_of(entry.tensor);
        clones_.insert(clone_of->second.id());
      }
      ((*clone).*list).push_back({entry.name, clone_of->second, entry.persistent, entry.is_member});
    }
  for (const Derived& derived : state->derived) {
    auto [clone_of, is_new] = tensors_.try_emplace(derived.tensor.id());
    if (is_new) {
      clone_of->second = copy_of(derived.tensor);
      clones_.insert(clone_of->second.id());
    }
    clone->derived.push_back({derived.name, clone_of->second, {}});
  }
  for (const Child& child : state->children) add_clones(Access::shared(*child.module));
}

void Cloning::copy_children(const State& state) {
  State& clone = *states_.at(&state);
  for (const Child& child : state.children) {
    seen_.clear();
    clone.children.push_back({child.name, child.copy(*child.module), child.copy});
    Access::state(*clone.children.back().module).registered = true;
    const Module& module = *child.module;
    check_seen(Access::state(module), class_name(typeid(module)));
  }
}

void Cloning::check_seen(const State& state, const std::string& owner) const {
  const std::string path = state.path.empty() ? "" : "'" + state.path + "' ";
  if (!seen_.contains(&state))
    throw ValueError("clone: child " + path + "is not held by value in " + owner +
                         ", so that its copy would share it\ndeclare the member with the module's own type",
                     where_);
  const auto check = [&](const std::vector<Entry>& list, const char* what, const char* type) {
    for (const Entry& entry : list)
      if (entry.is_member && !seen_.contains(entry.tensor.id()))
        throw ValueError(std::string("clone: ") + what + " '" + entry.tensor.name() + "' of " + owner +
                             " is held as a plain Tensor, so that its copy would share it\ndeclare the member as " +
                             type,
                         where_);
  };
  if (!state.container) check(state.parameters, "parameter", "nn::Parameter");
  check(state.buffers, "buffer", "nn::Buffer");
  if (state.container) return;  // its children were checked when they were copied
  for (const Child& child : state.children)
    if (state.derived.empty() || child.name != "parametrizations") check_seen(Access::state(*child.module), owner);
}

Tensor Cloning::cloned(const Tensor& tensor) {
  if (clones_.contains(tensor.id())) return tensor;
  const auto found = tensors_.find(tensor.id());
  if (found == tensors_.end())
    throw ValueError("clone: the module holds a parameter or buffer of another module\n  it  " +
                         minnow::describe(tensor) + "\nregister the tensor in this module, or the module as a child",
                     where_);
  seen_.insert(tensor.id());
  return found->second;
}

Tensor RegisteredTensor::shared_or_cloned(const Tensor& tensor) {
  Cloning* cloning = active();
  return cloning && tensor.defined() ? cloning->cloned(tensor) : tensor;
}

std::shared_ptr<State> shared_or_cloned(const std::shared_ptr<State>& state) {
  Cloning* cloning = active();
  if (!cloning || cloning->clones_.contains(state.get())) return state;
  const auto found = cloning->states_.find(state.get());
  if (found == cloning->states_.end())
    throw ValueError(
        "clone: the module holds another module that is not registered\nregister it by "
        "child(\"name\", ...)",
        cloning->where_);
  cloning->seen_.insert(state.get());
  return found->second;
}

}  // namespace minnow::nn::detail
