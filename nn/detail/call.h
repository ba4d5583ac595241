#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>
#include <minnow/nn/detail/state.h>
#include <minnow/tensor/call_site.h>

namespace minnow::nn::detail {

using minnow::detail::CallSite;

/// A call of a module, while it runs.  forward() and hooks may be the user's: operations there have their own names and
/// lines, unless the layer asks for the line of its call.  Notes a module that is called by another one, has something to
/// train, and is nobody's child.
class Call {
 public:
  Call(const Module& module, SourceLocation where);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// The line that called the module whose forward() runs.
  static SourceLocation line();

 private:
  const Module& module_;
  SourceLocation where_;
  CallSite users_;
  Call* outer_;
};

/// A module that was called and is nobody's child.
struct Stray {
  std::shared_ptr<State> state;
  std::string module, caller;
};

/// Collects such modules in place of the warning, while it lives.
class StrayList {
 public:
  StrayList();
  ~StrayList();
  StrayList(const StrayList&) = delete;
  StrayList& operator=(const StrayList&) = delete;

  /// Each module once.
  void add(Stray stray);
  const std::vector<Stray>& found() const { return found_; }

 private:
  std::vector<Stray> found_;
  StrayList* outer_;
};

template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

/// The tensors in an argument or a result: in tuples, pairs, arrays, optionals and vectors, too.
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

}  // namespace minnow::nn::detail
