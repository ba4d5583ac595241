#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

struct SpectralNormOptions {
  std::int64_t n_power_iterations = 1;  ///< of each call in train mode
  double eps = 1e-12;
  int dim = 0;  ///< of the outputs; 1 for a ConvTranspose
};

namespace detail {

/// A module, or a reference to one.
template <class M>
concept ModuleOrReference = std::derived_from<std::remove_cvref_t<M>, Module>;

void weight_norm(const Module& module, std::string_view name, int dim, SourceLocation where);
void spectral_norm(const Module& module, std::string_view name, const SpectralNormOptions& options,
                   SourceLocation where);

}  // namespace detail

/// Replaces a parameter by a length and a direction (Salimans and Kingma 2016), as
/// torch.nn.utils.parametrizations.weight_norm, with its names: w = g v / ‖v‖, with g at
/// "parametrizations.weight.original0" and v at "...original1".  The norm is that of each slice along `dim`; of all of
/// w for -1.
///
///     nn::Linear layer(20, 40);
///     nn::weight_norm(layer);
///     nn::Sequential net(nn::weight_norm(nn::Linear(20, 40)), relu);
///
/// Returns the module.  Each call of it computes the weight anew where a gradient is recorded or g or v changed; read
/// from outside it is that of the last call.  Make optimizers after it.  ValueError for an unknown name, IndexError for
/// dim.
template <detail::ModuleOrReference M>
M weight_norm(M&& module, std::string_view name = "weight", int dim = 0,
              SourceLocation where = SourceLocation::current()) {
  detail::weight_norm(module, name, dim, where);
  return std::forward<M>(module);
}

/// Divides a parameter by its largest singular value (Miyato et al. 2018), as
/// torch.nn.utils.parametrizations.spectral_norm, with its names: the parameter at "parametrizations.weight.original",
/// the vectors of the power iteration at "parametrizations.weight.0._u" and "_v".  Each call in train mode improves
/// them; they have no gradient.  A vector is divided by its norm.  Returns the module.  Errors as for weight_norm;
/// ValueError for n_power_iterations below 1.
template <detail::ModuleOrReference M>
M spectral_norm(M&& module, std::string_view name = "weight", const SpectralNormOptions& options = {},
                SourceLocation where = SourceLocation::current()) {
  detail::spectral_norm(module, name, options, where);
  return std::forward<M>(module);
}

/// Makes the parameter of the last computed value a parameter again, under its own name; it requires a gradient.
/// ValueError if it is none that is computed.
void remove_parametrizations(const Module& module, std::string_view name = "weight",
                             SourceLocation where = SourceLocation::current());

}  // namespace minnow::nn
