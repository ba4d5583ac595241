#pragma once

#include <string>
#include <typeinfo>
#include <minnow/nn/module/module.h>
#include <minnow/tensor/text.h>

namespace minnow::nn::detail {

/// Access to the state of a module, for the sources of nn.
struct Access {
  static State& state(const Module& module) { return *module.state_; }
  static const std::shared_ptr<State>& shared(const Module& module) { return module.state_; }
  static void register_child(const Module& module, Child child, SourceLocation where) {
    const_cast<Module&>(module).register_child(std::move(child), where);
  }
  static void compute_derived(const Module& module) { module.compute_derived(); }
};

/// Makes a leaf and all that is tied to it one with another leaf.
void tie(const Tensor& tensor, const Tensor& to);

/// "encoder" and "fc1": "encoder.fc1".
inline std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

/// "Conv2d", without namespaces.
inline std::string class_name(const std::type_info& type) { return minnow::detail::type_name(type); }

}  // namespace minnow::nn::detail
