#pragma once

#include <string>
#include <typeinfo>
#include <minnow/nn/module.h>
#include <minnow/tensor/text.h>

namespace minnow::nn::detail {

/// Access to the state of a module, for the sources of nn.
struct Access {
  static State& state(const Module& module) { return *module.state_; }
  static const std::shared_ptr<State>& shared(const Module& module) { return module.state_; }
};

/// "encoder" and "fc1": "encoder.fc1".
inline std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

/// "Conv2d", without namespaces.
inline std::string class_name(const std::type_info& type) { return minnow::detail::type_name(type); }

}  // namespace minnow::nn::detail
