#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::nn {

class Module;

/// Called after a module's forward, with its input and output.
using ForwardHook = std::function<void(Module& module, const Tensor& input, const Tensor& output)>;

namespace detail {

struct State;

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
  /// Names of the owners and of this module: "encoder.fc1".
  std::string path;
  std::vector<std::shared_ptr<const ForwardHook>> hooks;
};

}  // namespace detail

}  // namespace minnow::nn
