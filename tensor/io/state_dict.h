#pragma once

#include <initializer_list>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <minnow/tensor/tensor.h>

namespace minnow {

/// Tensors by name, in the order of insertion.  Modules and files exchange them.
///
///     for (const auto& [name, tensor] : load("mnist.safetensors")) ...
///
/// Copying a dictionary shares its tensors; clone() copies them.  Threads may read it at the same time.
class StateDict {
 public:
  using value_type = std::pair<std::string, Tensor>;
  using const_iterator = std::list<value_type>::const_iterator;

  StateDict() = default;
  StateDict(const StateDict& other) {
    for (const auto& [name, tensor] : other) set(name, tensor);
  }
  StateDict(StateDict&& other) noexcept { swap(other); }
  StateDict& operator=(StateDict other) noexcept {
    swap(other);
    return *this;
  }
  StateDict(std::initializer_list<value_type> items) {
    for (const auto& [name, tensor] : items) set(name, tensor);
  }

  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const_iterator begin() const { return items_.begin(); }
  const_iterator end() const { return items_.end(); }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  /// nullptr if there is no such name.  Valid until the dictionary changes.
  const Tensor* find(std::string_view name) const;
  /// IndexError if there is no such name; the message lists the existing names.
  const Tensor& at(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  /// The tensor of a name; if there is none, an undefined one is inserted.
  Tensor& operator[](std::string_view name);
  /// Inserts a tensor, or replaces the one of this name at its position.
  void set(std::string_view name, Tensor tensor) { (*this)[name] = std::move(tensor); }
  /// Removes a name; returns whether it was there.
  bool erase(std::string_view name);

  /// A deep copy: each tensor has memory of its own, on its device.  OutOfMemoryError.
  StateDict clone(SourceLocation where = SourceLocation::current()) const;

 private:
  void swap(StateDict& other) noexcept {
    items_.swap(other.items_);
    index_.swap(other.index_);
  }

  std::list<value_type> items_;  // which erase() leaves where they are
  std::unordered_map<std::string_view, std::list<value_type>::iterator> index_;
};

}  // namespace minnow
