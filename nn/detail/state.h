#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::nn {

class Module;

namespace detail {

struct State;

/// What hooks are kept as.
using CallHook = std::function<void(Module& module, std::span<const Tensor> inputs, std::span<const Tensor> outputs)>;

/// A child, by a handle of its own type on the heap.
struct Child {
  std::string name;
  std::shared_ptr<Module> module;
  std::shared_ptr<Module> (*copy)(const Module&);
};

struct Entry {
  std::string name;
  Tensor tensor;
  bool persistent = true;
};

/// What the handles of one module share.
struct State {
  std::vector<Entry> parameters, buffers;
  std::vector<Child> children;
  bool training = true;
  /// The children live here only, not in members of the module's struct (Sequential).
  bool container = false;
  /// Some module has it as a child.
  bool registered = false;
  /// Names of the owners and of this module: "encoder.fc1".
  std::string path;
  std::vector<std::shared_ptr<const CallHook>> hooks;
};

}  // namespace detail

}  // namespace minnow::nn
