#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::nn {

class Module;

namespace detail {

struct State;

/// A hook: one of these is set.  What it assigns replaces inputs, outputs and gradients of inputs.
struct Hook {
  std::function<void(Module& module, std::span<Tensor> inputs)> before{};
  std::function<void(Module& module, std::span<const Tensor> inputs, std::span<Tensor> outputs)> after{};
  std::function<void(Module& module, std::span<Tensor> grad_inputs, std::span<const Tensor> grad_outputs)> backward{};
  std::function<void(Module& module, std::span<Tensor> grad_outputs)> before_backward{};
};

/// A child: a module, and how to copy a module of its type.
struct Child {
  std::string name;
  std::shared_ptr<Module> module;
  std::shared_ptr<Module> (*copy)(const Module&);
};

struct Entry {
  std::string name;
  Tensor tensor;
  bool persistent = true;
  bool is_member = true;  ///< of the module's class
};

/// A tensor of a layer that a module below "parametrizations" computes before each call (weight_norm).
struct Derived {
  std::string name;
  Tensor tensor;
  std::vector<std::uint64_t> computed_from{};  ///< memory and versions of what it was computed from without recording
};

/// The state that the handles of one module share.
struct State {
  std::vector<Entry> parameters, buffers;
  std::vector<Child> children;
  std::vector<Derived> derived;
  bool training = true;
  /// The children are not members of the module's class (Sequential).
  bool container = false;
  /// The objects that share this state, for replace(): members, copies that parents hold, the user's.
  std::vector<Module*> handles;
  std::mutex handles_mutex;
  /// It is a child of some module.
  bool registered = false;
  /// The names of its parents and of this module: "encoder.fc1".
  std::string path;
  std::vector<std::shared_ptr<const Hook>> hooks;
  /// Where names stand in their lists: all of them, or too few; empty after a list has lost one.
  std::unordered_map<std::string, std::size_t> places;

  std::size_t names() const { return parameters.size() + buffers.size() + children.size(); }
  /// The item of one of the three lists, or nullptr.
  template <class Item> const Item* find(const std::vector<Item>& items, const std::string& name) const {
    const auto place = places.find(name);
    if (place != places.end() && place->second < items.size() && items[place->second].name == name)
      return &items[place->second];
    if (places.size() == names()) return nullptr;
    for (const Item& item : items)
      if (item.name == name) return &item;
    return nullptr;
  }
};

}  // namespace detail

}  // namespace minnow::nn
