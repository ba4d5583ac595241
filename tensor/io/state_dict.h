#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow {

/// Tensors by name, in the order in which they were put in: what modules and files exchange.
///
///     for (const auto& [name, tensor] : load("mnist.safetensors")) ...
///
/// Copying a dictionary shares its tensors.  Reading from several threads is safe.
class StateDict {
 public:
  using value_type = std::pair<std::string, Tensor>;
  using const_iterator = std::vector<value_type>::const_iterator;

  StateDict() = default;
  StateDict(std::initializer_list<value_type> items) {
    for (const auto& [name, tensor] : items) set(name, tensor);
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// nullptr when there is no such name.  Valid until the dictionary changes.
  const Tensor* find(std::string_view name) const;
  /// IndexError when there is no such name; the message lists the names that there are.
  const Tensor& at(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  /// The tensor of a name; an undefined one is put in where there was none.
  Tensor& operator[](std::string_view name);
  /// Puts a tensor in, or replaces the one of this name, which keeps its place.
  void set(std::string_view name, Tensor tensor) { (*this)[name] = std::move(tensor); }
  /// Whether there was such a name.
  bool erase(std::string_view name);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::vector<value_type> items_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> places_;
};

}  // namespace minnow
