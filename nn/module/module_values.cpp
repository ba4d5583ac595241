// Values of modules: moving, modes, listing.
#include <mutex>
#include <unordered_set>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/nn/detail/quantized.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::nn {

using detail::Access;
using detail::Child;
using detail::Entry;
using detail::join;
using detail::State;

namespace {

/// Calls f(name, tensor) for the parameters or buffers (`list`) of a module and its descendants, each tensor once.
template <class F>
void each_tensor(const State& state, const std::string& path, std::vector<Entry> State::*list,
                 std::unordered_set<const void*>& visited, const F& f) {
  if (!visited.insert(&state).second) return;
  for (const Entry& entry : state.*list)
    if (visited.insert(autograd::identity(entry.tensor)).second) f(join(path, entry.name), entry.tensor);
  for (const Child& child : state.children)
    each_tensor(Access::state(*child.module), join(path, child.name), list, visited, f);
}

template <class F> void each_tensor(const State& state, std::vector<Entry> State::*list, const F& f) {
  std::unordered_set<const void*> visited;
  each_tensor(state, "", list, visited, f);
}

void collect_modules(Module& module, const std::string& path, std::unordered_set<const void*>& visited,
                     std::vector<NamedModule>& out) {
  if (!visited.insert(&Access::state(module)).second) return;
  out.push_back({path, module});
  for (const Child& child : Access::state(module).children)
    collect_modules(*child.module, join(path, child.name), visited, out);
}

}  // namespace

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> list;
  each_tensor(*state_, &State::parameters, [&](const std::string&, const Tensor& t) { list.push_back(t); });
  return list;
}

std::vector<NamedTensor> Module::named_parameters() const {
  std::vector<NamedTensor> list;
  each_tensor(*state_, &State::parameters, [&](const std::string& name, const Tensor& t) {
    list.push_back({name, t});
  });
  return list;
}

std::vector<NamedTensor> Module::named_buffers() const {
  std::vector<NamedTensor> list;
  each_tensor(*state_, &State::buffers, [&](const std::string& name, const Tensor& t) { list.push_back({name, t}); });
  return list;
}

std::vector<NamedModule> Module::named_modules() const {
  std::vector<NamedModule> list;
  std::unordered_set<const void*> visited;
  collect_modules(const_cast<Module&>(*this), "", visited, list);
  return list;
}

std::vector<NamedModule> Module::named_children() const {
  std::vector<NamedModule> list;
  for (const Child& child : state_->children) list.push_back({child.name, *child.module});
  return list;
}

Module& Module::get_submodule(std::string_view path, SourceLocation where) const {
  auto* at = const_cast<Module*>(this);
  for (std::string_view rest = path; !rest.empty();) {
    const std::size_t dot = rest.find('.');
    const State& state = *at->state_;
    const Child* child = state.find(state.children, std::string(rest.substr(0, dot)));
    if (!child || dot + 1 == rest.size()) {
      std::string names;
      for (const Child& c : state.children) names += (names.empty() ? "'" : ", '") + c.name + "'";
      const std::string parent(path.substr(0, path.size() - rest.size()));
      throw IndexError("get_submodule: there is no '" + std::string(path) + "'\n  module    " +
                           (parent.empty() ? "" : "'" + parent.substr(0, parent.size() - 1) + "' ") + at->describe() +
                           "\n  children  " + (names.empty() ? "none" : names) +
                           "\nnamed_modules() lists the names of all modules",
                       where);
    }
    at = child->module.get();
    rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
  }
  return *at;
}

void detail::refuse_type(const char* op, std::string_view name, const Module& module, const std::type_info& type,
                         SourceLocation where) {
  throw ValueError(std::string(op) + ": module '" + std::string(name) + "' is " + module.describe() + ", not a " +
                       class_name(type) + "\ncall " + op + "() with the type of the module",
                   where);
}

std::int64_t Module::num_parameters() const {
  std::int64_t count = 0;
  for (const Tensor& p : parameters()) count += p.numel();
  return count;
}

Module& Module::apply(const std::function<void(Module&)>& f, SourceLocation where) {
  if (!f) throw ValueError("apply: the function is empty\npass a function of a module", where);
  const auto list = named_modules();
  // Modules are listed before their children, so that the reverse order visits children first.
  for (auto it = list.rbegin(); it != list.rend(); ++it) f(it->module);
  return *this;
}

bool Module::is_training() const {
  const bool training = state_->training;
  if (CaptureSession* session = CaptureSession::current(); session && session->is_first_use(state_.get()))
    session->require([weak = std::weak_ptr(state_), training] {
      const auto state = weak.lock();
      return !state || state->training == training;
    });
  return training;
}

Module& Module::train(bool on) {
  for (const auto& [name, module] : named_modules()) module.state_->training = on;
  return *this;
}

Module& Module::requires_grad_(bool on) {
  for (Tensor& p : parameters()) p.requires_grad_(on);
  return *this;
}

Module& Module::freeze(std::string_view prefix, SourceLocation where) {
  return set_requires_grad("freeze", prefix, false, where);
}
Module& Module::unfreeze(std::string_view prefix, SourceLocation where) {
  return set_requires_grad("unfreeze", prefix, true, where);
}

Module& Module::set_requires_grad(const char* op, std::string_view prefix, bool on, SourceLocation where) {
  const auto list = named_parameters();
  bool found = false;
  for (auto& [name, p] : list)
    if (name.starts_with(prefix)) {
      Tensor(p).requires_grad_(on);
      found = true;
    }
  if (found) return *this;
  std::string names;
  for (std::size_t i = 0; i < list.size() && i < 8; ++i) names += (i ? ", '" : "'") + list[i].name + "'";
  throw ValueError(std::string(op) + ": no parameter's name begins with '" + std::string(prefix) + "'\n  module      " +
                       describe() + "\n  parameters  " + (names.empty() ? "none" : names) +
                       (list.size() > 8 ? ", ..." : "") + "\nnamed_parameters() lists all names",
                   where);
}

void Module::zero_grad() {
  for (const Tensor& p : parameters()) p.set_grad(Tensor());
}

Module& Module::to(Device device, SourceLocation where) { return move_to(&device, nullptr, where); }
Module& Module::to(DType dtype, SourceLocation where) { return move_to(nullptr, &dtype, where); }
Module& Module::to(Device device, DType dtype, SourceLocation where) { return move_to(&device, &dtype, where); }

Module& Module::move_to(const Device* device, const DType* dtype, SourceLocation where) {
  const CallSite site("to", where);
  if (dtype && !is_floating_point(*dtype))
    throw DTypeError("to: the dtype of parameters must be floating-point\n  module  " + describe() + "\n  dtype   " +
                     std::string(name_of(*dtype)) + "\ngive one, e.g. float64");
  if (dtype && *dtype != DType::float32)
    if (const std::string layer = detail::quantized_layer(*this); !layer.empty())
      throw DTypeError("to: " + layer + " is quantized to int8 and computes in float32\n  module  " + describe() +
                       "\n  dtype   " + std::string(name_of(*dtype)) +
                       "\nconvert other modules by themselves, or the model before quantize_dynamic()");
  struct Move {
    Tensor tensor, value, grad;
  };
  const auto converted = [&](const Tensor& t) {
    return t.detach().to(device ? *device : t.device(), dtype && t.is_floating_point() ? *dtype : t.dtype());
  };
  std::vector<Move> moves;
  const auto plan = [&](const std::string&, const Tensor& t) {
    const Tensor grad = t.grad();
    moves.push_back({t, converted(t), grad.defined() ? converted(grad) : Tensor()});
  };
  each_tensor(*state_, &State::parameters, plan);
  each_tensor(*state_, &State::buffers, plan);
  for (const auto& [name, module] : named_modules())
    for (const detail::Derived& derived : module.state_->derived)
      moves.push_back({derived.tensor, converted(derived.tensor), {}});
  for (const Move& move : moves) {  // does not allocate and cannot fail
    move.tensor.set_data(move.value);
    const auto& slot = move.tensor.slot();
    if (slot)
      for (const auto& weak : slot->tied)
        if (auto tied = weak.lock()) Tensor(std::move(tied)).set_data(move.value);
    if (!move.grad.defined()) continue;
    const std::lock_guard lock(slot->mutex);
    slot->grad = move.grad;
  }
  return *this;
}

}  // namespace minnow::nn
