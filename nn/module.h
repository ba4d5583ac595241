#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>
#include <minnow/nn/detail/state.h>
#include <minnow/nn/parameter.h>
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
  /// Missing and unexpected names are errors.  Shapes and dtypes always are.
  bool strict = true;
  /// Convert floating values to the parameter's floating dtype instead of refusing them.
  bool convert = false;
};

/// What load_state_dict() did, by names.
struct LoadReport {
  std::vector<std::string> loaded, missing, unexpected;
};

/// Ends a hook's calls when destroyed.
class HookHandle {
 public:
  HookHandle() = default;
  HookHandle(std::weak_ptr<detail::State> state, std::shared_ptr<const ForwardHook> hook)
      : state_(std::move(state)), hook_(std::move(hook)) {}
  HookHandle(HookHandle&&) noexcept = default;
  HookHandle& operator=(HookHandle&& other) noexcept;
  ~HookHandle() { remove(); }
  void remove() noexcept;

 private:
  std::weak_ptr<detail::State> state_;
  std::shared_ptr<const ForwardHook> hook_;
};

namespace detail {

class Cloning;
struct Access;

template <class M> std::shared_ptr<Module> copy_as(const Module& module) {
  return std::make_shared<M>(static_cast<const M&>(module));
}

}  // namespace detail

/// Base of all layers and networks: a handle to named parameters, buffers and children.
///
///     struct Net : nn::Module {
///       nn::Linear hidden = child("hidden", nn::Linear(784, 128));
///       nn::Linear out = child("out", nn::Linear(128, 10));
///       Tensor forward(const Tensor& x) override { return out(relu(hidden(x))); }
///     };
///
/// Registering is the member's own initialiser; the names are the keys of the state dict ("hidden.weight").  Copying
/// and moving share everything that is registered; clone() (nn/clone.h) copies.  Modules are not assignable.
/// Calling a module from several threads at once is safe as long as nothing changes it: to(), train(), loading,
/// hooks and steps of an optimizer need the caller's order.
class Module {
 public:
  virtual ~Module() = default;
  Module& operator=(const Module&) = delete;

  /// forward(x), and the hooks.
  Tensor operator()(const In& x);
  /// What the module computes.  A module with other arguments declares its own operator() instead.
  virtual Tensor forward(const Tensor& x);

  /// The class's name and options, as summary() and operator<< print them: "Linear(784, 128)".
  virtual std::string describe() const;

  // Values.  Handles keep their identity, so that optimizers and members stay valid.

  /// Moves parameters, their gradients and buffers.  Nothing has changed when it throws.
  Module& to(Device device, SourceLocation where = SourceLocation::current());
  /// Converts floating parameters, gradients and buffers.  DTypeError unless dtype is floating.
  Module& to(DType dtype, SourceLocation where = SourceLocation::current());
  Module& to(Device device, DType dtype, SourceLocation where = SourceLocation::current());

  /// Sets the mode of this module and of all below it: dropout and normalisation depend on it.
  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool is_training() const;

  /// Whether all parameters get gradients.
  Module& requires_grad_(bool on = true);
  /// Drops all gradients: grad() is undefined until the next backward.
  void zero_grad();

  // Contents, in the order of registration, owners before children; what is registered twice comes once, under its
  // first name.

  std::vector<Tensor> parameters() const;
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  /// This module and all below it.  Valid while this handle lives.
  std::vector<NamedModule> named_modules();
  std::vector<NamedModule> named_children() const;
  /// Number of elements of all parameters.
  std::int64_t num_parameters() const;
  /// Calls f for all modules below this one, children first, then for this one.
  Module& apply(const std::function<void(Module&)>& f, SourceLocation where = SourceLocation::current());

  /// Parameters and persistent buffers by name, sharing memory with the module.  What is registered twice comes under
  /// both names, as in PyTorch.
  StateDict state_dict() const;
  /// Copies values into parameters and buffers, which stay on their device.  One ValueError lists all that is missing,
  /// unexpected, or of another shape or dtype; nothing has changed when it throws.
  LoadReport load_state_dict(const StateDict& values, LoadOptions options = {},
                             SourceLocation where = SourceLocation::current());

  /// Calls hook after each forward of this module while the handle lives.
  [[nodiscard]] HookHandle register_forward_hook(ForwardHook hook, SourceLocation where = SourceLocation::current());

 protected:
  Module();
  Module(const Module& other);

  /// Registers a leaf, which then requires gradients, under a name without dots that is new here (else ValueError).
  /// DTypeError unless floating, AutogradError for the result of a recorded operation.
  Parameter parameter(std::string name, const Tensor& value, SourceLocation where = SourceLocation::current());
  /// Registers a tensor that is saved and moved, but not trained; the state dict leaves it out unless persistent.
  Buffer buffer(std::string name, const Tensor& value, bool persistent = true,
                SourceLocation where = SourceLocation::current());
  /// Registers a module and returns it.
  template <std::derived_from<Module> M>
  M child(std::string name, M module, SourceLocation where = SourceLocation::current()) {
    register_child({std::move(name), std::make_shared<M>(module), &detail::copy_as<M>}, where);
    return module;
  }
  void register_child(detail::Child child, SourceLocation where);

  /// The children live in the state only (Sequential, ModuleList).
  void hold_children() { state_->container = true; }
  const std::vector<detail::Child>& children() const { return state_->children; }

  /// The line of the user's program that called this module, for the operations in forward().
  SourceLocation where() const;

 private:
  friend class detail::Cloning;
  friend struct detail::Access;

  Module& move_to(const Device* device, const DType* dtype, SourceLocation where);
  void check_name(const char* what, const std::string& name, SourceLocation where) const;

  std::shared_ptr<detail::State> state_;
};

/// The module and all below it, one a line, indented.
std::ostream& operator<<(std::ostream& out, const Module& module);

}  // namespace minnow::nn
