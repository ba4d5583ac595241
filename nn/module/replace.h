#pragma once

#include <concepts>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

namespace detail {

/// All handles of a module; while it lives, so does the state that they share.
struct Handles {
  std::shared_ptr<State> state;
  std::vector<Module*> list;
};
/// Those of `layer`, which is to become a handle of `with`, whose names this sets.  ValueError if that cannot be.
Handles handles_to_replace(const Module& layer, const Module& with, const std::type_info& type, SourceLocation where);

}  // namespace detail

/// Puts another layer of its type in the place of a layer, in all modules that contain it.
///
///     nn::replace(net.fc, nn::Linear(512, 4));
///     nn::replace(net.get_submodule<nn::Linear>("head.fc"), nn::Linear(512, 4));
///
/// Every handle of the former layer (the member, copies, those of modules above) becomes one of `with`, under the same
/// name, so that parameters(), state_dict(), to() and clone() have the new one.  What has taken parameters before (an
/// optimizer, a CapturedStep, an average) still has those of the former layer: make it again.  `with` stays on its
/// device.  Not while the layer is called.  A module of another type goes into a container: sequential.replace(4,
/// module). ValueError if `with` contains the layer.
template <std::derived_from<Module> M>
void replace(M& layer, const std::type_identity_t<M>& with, SourceLocation where = SourceLocation::current()) {
  static_assert(std::copy_constructible<M>, "replace() takes a layer by a reference of its own type, not as a Module");
  const detail::Handles handles = detail::handles_to_replace(layer, with, typeid(M), where);
  std::vector<M> copies(handles.list.size(), with);  // what may throw comes before the first change
  for (std::size_t i = 0; i < copies.size(); ++i) {
    auto* handle = dynamic_cast<M*>(handles.list[i]);
    std::destroy_at(handle);
    std::construct_at(handle, std::move(copies[i]));
  }
}

}  // namespace minnow::nn
