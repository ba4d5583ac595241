#include <minnow/nn/module/module.h>

#include <algorithm>
#include <ostream>
#include <typeinfo>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/cloning.h>
#include <minnow/nn/module/replace.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {

using detail::Access;
using detail::Child;
using detail::Entry;
using detail::join;
using detail::State;

namespace {

/// Whether a tree has a module (its state) or a tensor (its id) under this name.
bool has(const State& root, std::string_view path, const void* what) {
  if (!root.path.empty()) {
    if (!path.starts_with(root.path + ".")) return false;
    path.remove_prefix(root.path.size() + 1);
  }
  for (const State* at = &root;;) {
    const std::size_t dot = path.find('.');
    const std::string name(path.substr(0, dot));
    const Child* child = at->find(at->children, name);
    if (dot == std::string_view::npos) {
      for (const auto* entries : {&at->parameters, &at->buffers})
        if (const Entry* entry = at->find(*entries, name); entry && entry->tensor.id() == what) return true;
      return child && &Access::state(*child->module) == what;
    }
    if (!child) return false;
    at = &Access::state(*child->module);
    path.remove_prefix(dot + 1);
  }
}

/// Sets the paths of a module that is new in the tree of `root`, and the names of its tensors, recursively; what is
/// registered twice keeps the first name.
void name_tree(const State& root, State& state, std::string path) {
  if (has(root, state.path, &state)) return;
  state.path = std::move(path);
  for (auto* entries : {&state.parameters, &state.buffers})
    for (Entry& entry : *entries)
      if (!has(root, entry.tensor.name(), entry.tensor.id())) entry.tensor.set_name(join(state.path, entry.name));
  for (const Child& child : state.children) name_tree(root, Access::state(*child.module), join(state.path, child.name));
}

/// Notes the place of the last item of a list; of all items, if some are not noted.
void note_place(State& state, const std::string& name, std::size_t place) {
  if (state.places.size() + 1 == state.names()) {
    state.places.emplace(name, place);
    return;
  }
  state.places.clear();
  const auto note = [&](const auto& items) {
    for (std::size_t i = 0; i < items.size(); ++i) state.places.emplace(items[i].name, i);
  };
  note(state.parameters), note(state.buffers), note(state.children);
}

void add_handle(State& state, Module* handle) {
  const std::lock_guard lock(state.handles_mutex);
  state.handles.push_back(handle);
}

bool reaches(const State& from, const State& target) {
  if (&from == &target) return true;
  return std::any_of(from.children.begin(), from.children.end(),
                     [&](const Child& child) { return reaches(Access::state(*child.module), target); });
}

}  // namespace

Module::Module() : state_(std::make_shared<State>()) { add_handle(*state_, this); }
Module::Module(const Module& other) : state_(detail::shared_or_cloned(other.state_)) { add_handle(*state_, this); }
Module::~Module() {
  const std::lock_guard lock(state_->handles_mutex);
  const auto own = std::find(state_->handles.rbegin(), state_->handles.rend(), this);
  *own = state_->handles.back();
  state_->handles.pop_back();
}

template <class... T> Tensor Module::call(SourceLocation where, const T&... x) const {
  const detail::Call call(*this, where);
  auto& self = const_cast<Module&>(*this);
  compute_weights();
  if (!has_hooks()) return self.forward(x...);
  std::array<Tensor, sizeof...(x)> inputs{x...};
  const auto hooked = before_forward(inputs);
  Tensor output = std::apply([&](const auto&... input) { return self.forward(input...); }, inputs);
  after_forward(*hooked, inputs, {&output, 1});
  return output;
}

Tensor Module::operator()(const In& x) const { return call(x.where, *x); }
Tensor Module::operator()(const In& x, const In& y) const { return call(x.where, *x, *y); }
Tensor Module::operator()(const In& x, const In& y, const In& z) const { return call(x.where, *x, *y, *z); }
Tensor Module::operator()(const In& x, const In& y, const In& z, const In& w) const {
  return call(x.where, *x, *y, *z, *w);
}

void Module::refuse_call(const char* arguments) const {
  throw ValueError(
      "forward: " + describe() + " has no forward(" + arguments +
          ")\ncall the module with the arguments that it takes, or override this signature: the parameters "
          "are const Tensor&, and the function is not const",
      detail::Call::line());
}

Tensor Module::forward(const Tensor&) { refuse_call("const Tensor&"); }
Tensor Module::forward(const Tensor&, const Tensor&) { refuse_call("const Tensor&, const Tensor&"); }
Tensor Module::forward(const Tensor&, const Tensor&, const Tensor&) {
  refuse_call("const Tensor&, const Tensor&, const Tensor&");
}
Tensor Module::forward(const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  refuse_call("const Tensor&, const Tensor&, const Tensor&, const Tensor&");
}

std::string Module::describe() const { return detail::class_name(typeid(*this)); }

void Module::check_name(const char* what, const std::string& name, SourceLocation where) const {
  const auto fail = [&](const std::string& why) {
    throw ValueError(std::string(what) + ": " + why + "\n  module  " + describe() + "\ngive another name", where);
  };
  if (name.empty()) fail("the name is empty");
  if (name.find('.') != std::string::npos)
    fail("the name '" + name + "' contains a dot, which separates modules in the state dict");
  if (state_->find(state_->parameters, name)) fail("there is a parameter '" + name + "' already");
  if (state_->find(state_->buffers, name)) fail("there is a buffer '" + name + "' already");
  if (state_->find(state_->children, name)) fail("there is a child '" + name + "' already");
}

Parameter Module::parameter(std::string name, const Tensor& value, SourceLocation where) {
  check_name("parameter", name, where);
  if (!value.defined())
    throw ValueError("parameter: the value of '" + name +
                         "' is undefined\nfor an optional parameter use a default-constructed nn::Parameter",
                     where);
  if (!value.is_floating_point())
    throw DTypeError("parameter: '" + name + "' is not floating-point\n  value  " + minnow::describe(value) +
                         "\nregister it by buffer(), or convert it: .to(float32)",
                     where);
  if (!value.is_leaf())
    throw AutogradError("parameter: the value of '" + name + "' is the result of a recorded operation\n  value  " +
                            minnow::describe(value) + "\ncall .detach() on it",
                        where);
  Tensor tensor = value;
  tensor.requires_grad_(true, where);
  if (tensor.name().empty()) tensor.set_name(join(state_->path, name));
  state_->parameters.push_back({name, tensor});
  note_place(*state_, name, state_->parameters.size() - 1);
  return Parameter(tensor);
}

Buffer Module::buffer(std::string name, const Tensor& value, bool persistent, SourceLocation where) {
  check_name("buffer", name, where);
  if (!value.defined())
    throw ValueError("buffer: the value of '" + name + "' is undefined\ngive it initial values", where);
  Tensor tensor = value.detach();
  tensor.set_name(join(state_->path, name));
  state_->buffers.push_back({name, tensor, persistent});
  note_place(*state_, name, state_->buffers.size() - 1);
  return Buffer(tensor);
}

void Module::register_child(Child child, SourceLocation where) {
  check_name("child", child.name, where);
  if (reaches(Access::state(*child.module), *state_))
    throw ValueError("child: '" + child.name + "' contains the module that it would be a child of\n  module  " +
                         describe() + "\nregister another module",
                     where);
  Access::state(*child.module).registered = true;
  State& added = Access::state(*child.module);
  const std::string name = child.name;
  state_->children.push_back(std::move(child));
  try {
    note_place(*state_, name, state_->children.size() - 1);
    name_tree(*state_, added, join(state_->path, name));
  } catch (...) {  // out of memory: names that were set stay
    state_->children.pop_back();
    state_->places.clear();
    throw;
  }
}

void Module::replace_child(Child child, SourceLocation where) {
  const Child* old = state_->find(state_->children, child.name);
  State& added = Access::state(*child.module);
  if (reaches(added, *state_))
    throw ValueError("replace: the new '" + child.name + "' contains the module whose child it would be\n  module  " +
                         describe() + "\ngive another module",
                     where);
  name_tree(*state_, added, join(state_->path, child.name));
  added.registered = true;
  state_->children[static_cast<std::size_t>(old - state_->children.data())] = std::move(child);
}

detail::Handles detail::handles_to_replace(const Module& layer, const Module& with, const std::type_info& type,
                                           SourceLocation where) {
  Handles handles{Access::shared(layer), {}};
  State &old = *handles.state, &added = Access::state(with);
  const auto fail = [&](const std::string& what, const std::string& hint) {
    throw ValueError(
        "replace: " + what + "\n  layer  " + layer.describe() + "\n  with   " + with.describe() + "\n" + hint, where);
  };
  if (&old == &added) return handles;
  if (reaches(added, old)) fail("the new layer contains the former one", "make it of other modules, or of clones");
  {
    const std::lock_guard lock(old.handles_mutex);
    handles.list = old.handles;
  }
  for (const Module* handle : handles.list)
    if (typeid(*handle) != type || typeid(with) != type)
      fail("the layer must be replaced by one of its own type",
           "pass it by a reference of its type, not of a base class");
  {
    const std::lock_guard lock(added.handles_mutex);
    added.handles.reserve(added.handles.size() + 2 * handles.list.size());  // replace() cannot fail halfway
  }
  if (old.registered && !added.registered) {
    name_tree(added, added, old.path);
    added.registered = true;
  }
  return handles;
}

namespace {

std::string tree(const Module& module, const std::string& indent) {
  std::string text = module.describe();
  const auto children = module.named_children();
  if (children.empty()) return text;
  text += "(\n";
  for (const auto& [name, child] : children) text += indent + "  (" + name + "): " + tree(child, indent + "  ") + "\n";
  return text + indent + ")";
}

}  // namespace

std::string Module::to_string() const { return tree(*this, ""); }

std::ostream& operator<<(std::ostream& out, const Module& module) {
  write_text(out, module.to_string());
  return out;
}

}  // namespace minnow::nn
