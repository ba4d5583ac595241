#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>
#include <minnow/nn/detail/state.h>
#include <minnow/tensor/runtime/call_site.h>

namespace minnow::nn::detail {

using minnow::detail::CallSite;

/// A call of a module, while it runs.  forward() and hooks may be the user's code, so operations in them are reported
/// by their own names and lines, unless the layer takes the line of its call (Module::called()).  Reports a module that
/// is called by another one and has parameters to train, but is not registered.  Tells the thread's ScopeObserver.
class Call {
 public:
  Call(const Module& module, SourceLocation where);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// The line that called the module whose forward() runs.
  static SourceLocation line();
  /// The path in the state dict of the module whose forward() runs, "layers.0.attention"; its type if it has none, as a
  /// root; empty outside of modules.
  static std::string path();

 private:
  void enter_scope() const;
  /// "Conv2d", of a call.
  static std::string type_of(const void* call);

  const Module& module_;
  SourceLocation where_;
  CallSite user_site_;  // no operation: those in forward() are outermost
  Call* outer_;
};

/// A module that was called by another one and is not registered.
struct Unregistered {
  std::shared_ptr<State> state;
  std::string module, caller;
};

/// Collects such modules, instead of the warning, while it lives.
class UnregisteredList {
 public:
  UnregisteredList();
  ~UnregisteredList();
  UnregisteredList(const UnregisteredList&) = delete;
  UnregisteredList& operator=(const UnregisteredList&) = delete;

  /// Each module once.
  void add(Unregistered module);
  const std::vector<Unregistered>& modules() const { return modules_; }

 private:
  std::vector<Unregistered> modules_;
  UnregisteredList* outer_;
};

template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

/// Appends the tensors of an argument or a result, also those in tuples, pairs, arrays, optionals and vectors.
template <class T> void collect_tensors(const T& value, std::vector<Tensor>& out) {
  if constexpr (std::is_base_of_v<Tensor, T>) {
    out.push_back(value);
  } else if constexpr (TupleLike<T>) {
    std::apply([&](const auto&... part) { (collect_tensors(part, out), ...); }, value);
  } else if constexpr (requires { value.has_value(), *value; }) {
    if (value.has_value()) collect_tensors(*value, out);
  } else if constexpr (requires {
                         typename T::value_type;
                         value.begin() != value.end();
                       }) {
    if constexpr (!std::is_arithmetic_v<typename T::value_type>)
      for (const auto& part : value) collect_tensors(part, out);
  }
}

/// Puts the tensors, in the order of collect_tensors(), into an argument or a result.  `next` counts them.
template <class T> void assign_tensors(T& value, std::span<const Tensor> tensors, std::size_t& next) {
  if constexpr (std::is_base_of_v<Tensor, T>) {
    if constexpr (std::is_same_v<Tensor, T>) value = tensors[next];
    ++next;
  } else if constexpr (TupleLike<T>) {
    std::apply([&](auto&... part) { (assign_tensors(part, tensors, next), ...); }, value);
  } else if constexpr (requires { value.has_value(), *value; }) {
    if (value.has_value()) assign_tensors(*value, tensors, next);
  } else if constexpr (requires {
                         typename T::value_type;
                         value.begin() != value.end();
                       }) {
    if constexpr (!std::is_arithmetic_v<typename T::value_type>)
      for (auto& part : value) assign_tensors(part, tensors, next);
  }
}

}  // namespace minnow::nn::detail
