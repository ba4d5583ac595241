#pragma once

#include <string>
#include <vector>
#include <minnow/nn/module/module.h>

namespace minnow::test {

/// The names of a module's parameters and buffers, in their order.
inline std::vector<std::string> state_names(const nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : module.state_dict()) names.push_back(name);
  return names;
}

}  // namespace minnow::test
