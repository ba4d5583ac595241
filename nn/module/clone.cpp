#include <minnow/nn/module/clone.h>

#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/thread_state.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::nn::detail {
namespace {

Cloning*& active() { return ThreadState::current().cloning; }

}  // namespace

Cloning::Cloning(const Module& root, const std::type_info& type, SourceLocation where)
    : where_(where), outer_(active()) {
  if (typeid(root) != type)
    throw ValueError("clone: the module is a " + class_name(typeid(root)) + ", the reference to it says " +
                         class_name(type) + "\ncall clone() with a reference of the module's own type",
                     where);
  const CallSite site("clone", where);
  add(Access::shared(root));
  active() = this;
}

Cloning::~Cloning() { active() = outer_; }

void Cloning::add(const std::shared_ptr<State>& state) {
  if (states_.contains(state.get())) return;
  auto clone = std::make_shared<State>();
  clone->training = state->training;
  clone->container = state->container;
  clone->path = state->path;
  clone->places = state->places;
  originals_.push_back(state);
  states_[state.get()] = states_[clone.get()] = clone;
  for (auto list : {&State::parameters, &State::buffers})
    for (const Entry& entry : (*state).*list)
      ((*clone).*list).push_back({entry.name, add(entry.tensor), entry.persistent, entry.is_member});
  for (const Derived& derived : state->derived) clone->derived.push_back({derived.name, add(derived.tensor), {}});
  for (const Child& child : state->children) add(Access::shared(*child.module));
}

Tensor Cloning::add(const Tensor& tensor) {
  if (const auto known = tensors_.find(tensor.id()); known != tensors_.end()) return known->second;
  Tensor copy = raw::clone(tensor);
  copy.set_name(tensor.name());
  if (tensor.is_leaf() && tensor.requires_grad()) copy.requires_grad_(true);
  tensors_[tensor.id()] = tensors_[copy.id()] = copy;
  if (!tensor.slot() || tensor.slot()->tied.empty()) return copy;
  const auto [first, is_new] = tied_.try_emplace(autograd::identity(tensor), copy);
  if (!is_new) tie(copy, first->second);
  return copy;
}

void Cloning::copy_children() {
  for (const auto& state : originals_)
    for (const Child& child : state->children) {
      seen_.clear();
      std::vector<Child>& copies = states_.at(state.get())->children;
      copies.push_back({child.name, child.copy(*child.module), child.copy});
      Access::state(*copies.back().module).registered = true;
      check_copy_of(*child.module);
    }
  seen_.clear();
}

void Cloning::check_copy_of(const Module& module) const {
  check_seen(Access::state(module), class_name(typeid(module)));
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

Tensor Cloning::clone_of(const Tensor& tensor) {
  const auto found = tensors_.find(tensor.id());
  if (found == tensors_.end())
    throw ValueError("clone: the module holds a parameter or buffer of another module\n  it  " +
                         minnow::describe(tensor) + "\nregister the tensor in this module, or the module as a child",
                     where_);
  seen_.insert(tensor.id());
  return found->second;
}

std::shared_ptr<State> Cloning::clone_of(const std::shared_ptr<State>& state) {
  const auto found = states_.find(state.get());
  if (found == states_.end())
    throw ValueError(
        "clone: the module holds another module that is not registered\nregister it by "
        "child(\"name\", ...)",
        where_);
  seen_.insert(state.get());
  return found->second;
}

Tensor RegisteredTensor::shared_or_cloned(const Tensor& tensor) {
  return active() && tensor.defined() ? active()->clone_of(tensor) : tensor;
}

std::shared_ptr<State> shared_or_cloned(const std::shared_ptr<State>& state) {
  return active() ? active()->clone_of(state) : state;
}

}  // namespace minnow::nn::detail
