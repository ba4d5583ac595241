#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>
#include <minnow/autograd/hook_handle.h>
#include <minnow/nn/detail/call.h>
#include <minnow/nn/module/parameter.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::nn {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct NamedModule {
  std::string name;  ///< "" for the module itself
  Module& module;
};

struct LoadOptions {
  /// Missing and unexpected names are errors.  Other shapes and dtypes always are, and values of which the module has
  /// no name at all.
  bool strict = true;
  /// Convert floating-point values to the parameter's floating-point dtype instead of refusing them.
  bool convert = false;
};

/// The names that load_state_dict() loaded, those that the values lack, and those that the module lacks.
struct LoadReport {
  std::vector<std::string> loaded, missing, unexpected;
};

// What hooks get, valid while they run.  What is assigned to a tensor that is not const replaces it.

/// A call of a module that begins.
struct ForwardPreCall {
  Module& module;
  std::span<Tensor> inputs;  ///< the tensors of all arguments
};
/// A call of a module that has ended.
struct ForwardCall {
  Module& module;
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;  ///< the tensors of the result
};
/// A call of a module whose backward has ended.
struct BackwardCall {
  Module& module;                 ///< another handle of the module
  std::span<Tensor> grad_inputs;  ///< undefined where there is none
  std::span<const Tensor> grad_outputs;
};
/// Called after a module's forward: [](nn::Module& module, const Tensor& input, const Tensor& output) {...}.  Of
/// several inputs or outputs it gets the first; of none an undefined tensor.
using ForwardHook = std::function<void(Module& module, const Tensor& input, const Tensor& output)>;
/// A hook that gets all inputs and outputs: [](const nn::ForwardCall& call) {...}.
using ForwardCallHook = std::function<void(const ForwardCall& call)>;
using minnow::HookHandle;

namespace detail {

class Cloning;
struct Access;
struct HookedCall;

template <class S> bool is_empty(const std::function<S>& hook) { return !hook; }
template <class F> bool is_empty(const F&) { return false; }
/// ValueError if it is empty.
void require_hook(const char* op, bool empty, SourceLocation where);

/// Calls f with the first of the tensors, or an undefined one; a defined result replaces it.
template <class F> void replace_first(std::span<Tensor> tensors, const F& f) {
  const Tensor first = tensors.empty() ? Tensor() : tensors[0];
  if constexpr (std::convertible_to<decltype(f(first)), Tensor>) {
    const Tensor result = f(first);
    if (result.defined() && !tensors.empty()) tensors[0] = result;
  } else {
    f(first);
  }
}

template <class M> std::shared_ptr<Module> copy_as(const Module& module) {
  return std::make_shared<M>(static_cast<const M&>(module));
}

/// ValueError: "get: module 'act' is Functional, not a Linear".
[[noreturn]] void refuse_type(const char* op, std::string_view name, const Module& module, const std::type_info& type,
                              SourceLocation where);
/// The module as an M.  ValueError when it is of another type.
template <class M> M& module_as(Module& module, const char* op, std::string_view name, SourceLocation where) {
  if (auto* typed = dynamic_cast<M*>(&module)) return *typed;
  refuse_type(op, name, module, typeid(M), where);
}

template <class...> inline constexpr bool kNever = false;
/// The arguments that Module::operator() takes.
template <class... A>
concept FewTensors = sizeof...(A) >= 1 && sizeof...(A) <= 4 && (std::convertible_to<A, const In&> && ...);

}  // namespace detail

/// Base of all layers and networks: a handle to named parameters, buffers and children.
///
///     struct Net : nn::Module {
///       nn::Linear hidden = child("hidden", nn::Linear(784, 128));
///       nn::Linear out = child("out", nn::Linear(128, 10));
///       Tensor forward(const Tensor& x) override { return out(relu(hidden(x))); }
///     };
///
/// Members are registered by their initializers; the names are the keys of the state dict ("hidden.weight").  A module
/// is a handle, like a shared pointer: copies share everything that is registered; clone() (nn/module/clone.h) makes a
/// deep copy.  Modules are not assignable; nn::replace(net.fc, nn::Linear(512, 4)) replaces a layer
/// (nn/module/replace.h).  A `const Net&` can be called, listed and saved: const is about the handle, not about what it
/// refers to. Thread-safety: several threads may call a module at once, as long as none changes it.  to(), train(),
/// load_state_dict(), hooks and steps of an optimizer change it; the caller orders these.
class Module {
 public:
  virtual ~Module();
  // Register in the initializer of the member:  nn::Linear fc = child("fc", nn::Linear(3, 4));
  // Replace a layer later:  nn::replace(net.fc, nn::Linear(3, 5));
  Module& operator=(const Module&) = delete;  // see the lines above

  /// Calls forward(), then the hooks.  Errors of the layers that forward() calls name the line of this call.
  Tensor operator()(const In& x) const;
  Tensor operator()(const In& x, const In& y) const;
  Tensor operator()(const In& x, const In& y, const In& z) const;
  Tensor operator()(const In& x, const In& y, const In& z, const In& w) const;
  template <class... A>  // a struct of masks is for an overload of the layer
  requires(!detail::FewTensors<A...> && !(std::is_aggregate_v<A> || ...)) Tensor operator()(const A&...) const {
    static_assert(detail::kNever<A...>,
                  "a Module is called with one to four tensors; for other arguments or results derive from "
                  "nn::ModuleOf<Result(Arguments...)>");
    return Tensor();
  }

  // What the module computes.  Override one; calling another throws ValueError.
  virtual Tensor forward(const Tensor& x);  // or derive from nn::ModuleOf<Result(Arguments...)>
  virtual Tensor forward(const Tensor& x, const Tensor& y);
  virtual Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z);
  virtual Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z, const Tensor& w);

  /// The class's name and options, as summary() and operator<< print them: "Linear(784, 128)".
  virtual std::string describe() const;
  /// The module and its descendants, one a line, indented, as PyTorch prints them.
  std::string to_string() const;

  // Tensors keep their identity when their values change, so that optimizers and members stay valid.

  /// Moves parameters, their gradients and buffers to a device.  Nothing has changed when it throws.
  Module& to(Device device, SourceLocation where = SourceLocation::current());
  /// Converts floating-point parameters, gradients and buffers to a dtype.  DTypeError unless it is floating-point.
  Module& to(DType dtype, SourceLocation where = SourceLocation::current());
  Module& to(Device device, DType dtype, SourceLocation where = SourceLocation::current());

  /// Sets train or eval mode of this module and its descendants: Dropout depends on it.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool is_training() const;

  /// Sets whether all parameters get gradients.
  Module& requires_grad_(bool on = true);
  Module& requires_grad_(const char* prefix) = delete;  // freeze(prefix), unfreeze(prefix)
  /// Stops, or starts again, the gradients of all parameters whose names begin with `prefix`: net.freeze("encoder.").
  /// Optimizers skip them.  ValueError if there is none.  (BatchNorm still updates its statistics in train mode.)
  Module& freeze(std::string_view prefix, SourceLocation where = SourceLocation::current());
  Module& unfreeze(std::string_view prefix, SourceLocation where = SourceLocation::current());
  /// Drops all gradients: grad() is undefined until the next backward.
  void zero_grad();

  // Contents, in the order of registration, a module before its children.  What is registered twice is listed once, by
  // its first name.

  std::vector<Tensor> parameters() const;
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  /// This module and its descendants.  Valid while this module lives.
  std::vector<NamedModule> named_modules() const;
  std::vector<NamedModule> named_children() const;
  /// The descendant of a path, "layer1.0.conv1"; "" is this module.  IndexError, which lists the names where it fails.
  Module& get_submodule(std::string_view path, SourceLocation where = SourceLocation::current()) const;
  /// The same as an M: net.get_submodule<nn::Linear>("head.fc").weight.  ValueError when it is of another type.
  template <std::derived_from<Module> M>
  M& get_submodule(std::string_view path, SourceLocation where = SourceLocation::current()) const {
    return detail::module_as<M>(get_submodule(path, where), "get_submodule", path, where);
  }
  /// Number of elements of all parameters.
  std::int64_t num_parameters() const;
  /// Calls f for all descendants, children before parents, then for this module.
  Module& apply(const std::function<void(Module&)>& f, SourceLocation where = SourceLocation::current());

  /// Parameters and persistent buffers by name, sharing memory with the module.  What is registered twice is listed
  /// by both names, as in PyTorch.
  StateDict state_dict() const;
  /// Copies values into parameters and buffers, which stay on their device.  ValueError, which lists all names that are
  /// missing, unexpected, or of another shape or dtype; nothing has changed when it throws.
  LoadReport load_state_dict(const StateDict& values, LoadOptions options = {},
                             SourceLocation where = SourceLocation::current());

  // Hooks are called as long as the returned handle lives, in the order of registration.  ValueError for an empty one.

  /// Calls hook before each forward: (module, input) or (const ForwardPreCall&).  A Tensor that it returns replaces the
  /// input, unless it is undefined.
  template <class F>
  requires std::invocable<F&, Module&, const Tensor&> || std::invocable<F&, const ForwardPreCall&>
  [[nodiscard]] HookHandle register_forward_pre_hook(F hook, SourceLocation where = SourceLocation::current()) {
    detail::require_hook("register_forward_pre_hook", detail::is_empty(hook), where);
    return add_hook({.before = [hook = std::move(hook)](Module& module, std::span<Tensor> inputs) mutable {
      if constexpr (std::invocable<F&, const ForwardPreCall&>) hook(ForwardPreCall{module, inputs});
      else detail::replace_first(inputs, [&](const Tensor& x) { return hook(module, x); });
    }});
  }
  /// Calls hook after each forward: (module, input, output) or (const ForwardCall&).  A Tensor that it returns replaces
  /// the output, unless it is undefined.
  template <class F>
  requires std::invocable<F&, Module&, const Tensor&, const Tensor&> || std::invocable<F&, const ForwardCall&>
  [[nodiscard]] HookHandle register_forward_hook(F hook, SourceLocation where = SourceLocation::current()) {
    detail::require_hook("register_forward_hook", detail::is_empty(hook), where);
    return add_hook({.after = [hook = std::move(hook)](Module& module, std::span<const Tensor> inputs,
                                                       std::span<Tensor> outputs) mutable {
      if constexpr (std::invocable<F&, const ForwardCall&>) hook(ForwardCall{module, inputs, outputs});
      else
        detail::replace_first(outputs, [&](const Tensor& y) {
          const Tensor none;
          return hook(module, inputs.empty() ? none : inputs[0], y);
        });
    }});
  }
  /// Calls hook in backward, when the gradients of the module's inputs are complete: (module, grad_input, grad_output)
  /// or (const BackwardCall&).  A Tensor that it returns replaces the gradient of the input, unless it is undefined; it
  /// needs the same shape, dtype and device.  If no input requires a gradient, it is called with the gradients of the
  /// outputs alone.  The module must not write to its inputs, nor its caller to its outputs.
  template <class F>
  requires std::invocable<F&, Module&, const Tensor&, const Tensor&> || std::invocable<F&, const BackwardCall&>
  [[nodiscard]] HookHandle register_full_backward_hook(F hook, SourceLocation where = SourceLocation::current()) {
    detail::require_hook("register_full_backward_hook", detail::is_empty(hook), where);
    return add_hook({.backward = [hook = std::move(hook)](Module& module, std::span<Tensor> grad_inputs,
                                                          std::span<const Tensor> grad_outputs) mutable {
      if constexpr (std::invocable<F&, const BackwardCall&>) hook(BackwardCall{module, grad_inputs, grad_outputs});
      else
        detail::replace_first(grad_inputs, [&](const Tensor& g) {
          const Tensor none;
          return hook(module, g, grad_outputs.empty() ? none : grad_outputs[0]);
        });
    }});
  }

  /// Calls hook in backward, before the gradients of the module's outputs are used: (module, grad_output).  A Tensor
  /// that it returns replaces the gradient of the (first) output, unless it is undefined; it needs the same shape,
  /// dtype and device.
  template <std::invocable<Module&, const Tensor&> F>
  [[nodiscard]] HookHandle register_full_backward_pre_hook(F hook, SourceLocation where = SourceLocation::current()) {
    detail::require_hook("register_full_backward_pre_hook", detail::is_empty(hook), where);
    return add_hook({.before_backward = [hook = std::move(hook)](Module& module, std::span<Tensor> grads) mutable {
      detail::replace_first(grads, [&](const Tensor& g) { return hook(module, g); });
    }});
  }

 protected:
  Module();
  Module(const Module& other);

  /// Registers a leaf by a name and sets requires_grad.  ValueError for a name that is empty, has a dot or is in use;
  /// DTypeError unless floating-point, AutogradError for the result of a recorded operation.
  Parameter parameter(std::string name, const Tensor& value, SourceLocation where = SourceLocation::current());
  /// Registers a tensor that is moved, but not trained; state_dict() has it if it is persistent.  ValueError as above.
  Buffer buffer(std::string name, const Tensor& value, bool persistent = true,
                SourceLocation where = SourceLocation::current());
  /// Registers a module by a name and returns it.  ValueError for the name as above, and for a module that contains
  /// this.
  template <std::derived_from<Module> M>
  M child(std::string name, M module, SourceLocation where = SourceLocation::current()) {
    register_child({std::move(name), std::make_shared<M>(module), &detail::copy_as<M>}, where);
    return module;
  }
  template <class T>
  requires(!std::derived_from<T, Module>) T child(const std::string&, T value) {
    static_assert(detail::kNever<T>, "child() registers a module; a tensor is registered by parameter() or buffer()");
    return value;
  }
  void register_child(detail::Child child, SourceLocation where);
  /// Puts a module in the place of the child of its name.
  void replace_child(detail::Child child, SourceLocation where);

  /// Says that children are not members of the class (Sequential, ModuleList).
  void hold_children() { state_->container = true; }
  const std::vector<detail::Child>& children() const { return state_->children; }

  /// For the forward() of a layer: while the result lives, errors of operations name the line that called the module,
  /// not the line of the operation.
  ///
  ///     Tensor forward(const Tensor& x) override {
  ///       const auto site = called();
  ///       return linear(x, weight, bias);
  ///     }
  [[nodiscard]] static detail::CallSite called() { return detail::CallSite(detail::Call::line()); }

  bool has_hooks() const;
  /// Runs the hooks before a call, and prepares those of backward.  The result is for after_forward().
  std::shared_ptr<detail::HookedCall> before_forward(std::span<Tensor> inputs) const;
  /// A call with these tensors and the hooks: f computes the results.
  std::vector<Tensor> call_with(std::vector<Tensor> inputs,
                                const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f,
                                SourceLocation where) const;
  void after_forward(detail::HookedCall& call, std::span<const Tensor> inputs, std::span<Tensor> outputs) const;
  /// Computes the weights that are computed before a call (weight_norm).
  void compute_weights() const {
    if (!state_->derived.empty()) compute_derived();
  }

 private:
  friend class detail::Cloning;
  friend struct detail::Access;

  template <class... T> Tensor call(SourceLocation where, const T&... x) const;
  [[noreturn]] void refuse_call(const char* arguments) const;
  HookHandle add_hook(detail::Hook hook);
  void compute_derived() const;
  Module& set_requires_grad(const char* op, std::string_view prefix, bool on, SourceLocation where);
  Module& move_to(const Device* device, const DType* dtype, SourceLocation where);
  void check_name(const char* what, const std::string& name, SourceLocation where) const;

  std::shared_ptr<detail::State> state_;
};

template <class Signature> class ModuleOf;

/// A module with other arguments or results than Module::forward():
///
///     struct Vae : nn::ModuleOf<std::tuple<Tensor, Tensor, Tensor>(Tensor)> {
///       nn::Linear encode = child("encode", nn::Linear(784, 40));
///       std::tuple<Tensor, Tensor, Tensor> forward(Tensor x) override;
///     };
///     auto [image, mean, log_variance] = vae(x);
///
/// Tensors are taken by value.  Hooks get the tensors of the arguments and the result, also those in tuples, pairs,
/// arrays, optionals and vectors.
template <class R, class... Args> class ModuleOf<R(Args...)> : public Module {
  static_assert(!std::is_reference_v<R>, "a module returns a value, not a reference");
  static_assert(std::same_as<R, Tensor> ||
                    !(sizeof...(Args) >= 1 && sizeof...(Args) <= 4 && (std::same_as<Args, const Tensor&> && ...)),
                "a ModuleOf takes its tensors by value: ModuleOf<Result(Tensor, Tensor)>");

 public:
  using Arguments = std::tuple<Args...>;

  virtual R forward(Args... args) = 0;
  using Module::forward;

  R operator()(Args... args, SourceLocation where = SourceLocation::current()) const {
    const detail::Call call(*this, where);
    this->compute_weights();
    if (!has_hooks()) return run(std::forward<Args>(args)...);
    std::vector<Tensor> inputs, outputs;
    (detail::collect_tensors(args, inputs), ...);
    const auto hooked = before_forward(inputs);
    std::size_t next = 0;
    (detail::assign_tensors(args, inputs, next), ...);
    if constexpr (std::is_void_v<R>) {
      run(std::forward<Args>(args)...);
      after_forward(*hooked, inputs, outputs);
    } else {
      R result = run(std::forward<Args>(args)...);
      detail::collect_tensors(result, outputs);
      after_forward(*hooked, inputs, outputs);
      next = 0;
      detail::assign_tensors(result, outputs, next);
      return result;
    }
  }

 private:
  R run(Args... args) const {
    R (ModuleOf::*const own)(Args...) = &ModuleOf::forward;
    return (const_cast<ModuleOf&>(*this).*own)(std::forward<Args>(args)...);
  }
};

/// Prints the module and its descendants, one a line, indented.
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace minnow::nn
