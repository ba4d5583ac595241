#pragma once

#include <string>
#include <minnow/nn/module/module.h>
#include <minnow/tensor/io/save.h>

namespace minnow {

/// Writes state_dict() to a file, as save() of a StateDict; net.load_state_dict(load(path)) reads it.
template <std::derived_from<nn::Module> M>
void save(const M& module, const std::string& path, const Metadata& metadata = {},
          SourceLocation where = SourceLocation::current()) {
  save(module.state_dict(), path, metadata, where);
}

}  // namespace minnow
