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

/// A hook, with all inputs and outputs.
using CallHook = std::function<void(Module& module, std::span<const Tensor> inputs, std::span<const Tensor> outputs)>;

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
};

/// The state that the handles of one module share.
struct State {
  std::vector<Entry> parameters, buffers;
  std::vector<Child> children;
  bool training = true;
  /// The children are not members of the module's class (Sequential).
  bool container = false;
  /// It is a child of some module.
  bool registered = false;
  /// The names of its parents and of this module: "encoder.fc1".
  std::string path;
  std::vector<std::shared_ptr<const CallHook>> hooks;
};

}  // namespace detail

}  // namespace minnow::nn
