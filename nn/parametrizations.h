#pragma once

#include <cstdint>
#include <string_view>
#include <minnow/nn/module.h>

namespace minnow::nn {

/// Replaces a parameter by a length and a direction (Salimans and Kingma 2016), as
/// torch.nn.utils.parametrizations.weight_norm, with its names: w = g v / ‖v‖, with g at
/// "parametrizations.weight.original0" and v at "...original1".  The norm is that of each slice along `dim`; of all of w for
/// -1.
///
///     nn::Linear layer(20, 40);
///     nn::weight_norm(layer);
///
/// Each call of the module computes the weight anew where a gradient is recorded or g or v changed; read from outside it is
/// that of the last call.  Make optimizers after it.  ValueError for an unknown name, IndexError for dim.
void weight_norm(const Module& module, std::string_view name = "weight", int dim = 0,
                 SourceLocation where = SourceLocation::current());

struct SpectralNormOptions {
  std::int64_t n_power_iterations = 1;  ///< of each call in train mode
  double eps = 1e-12;
  int dim = 0;  ///< of the outputs; 1 for a ConvTranspose
};
/// Divides a parameter by its largest singular value (Miyato et al. 2018), as
/// torch.nn.utils.parametrizations.spectral_norm, with its names: the parameter at "parametrizations.weight.original", the
/// vectors of the power iteration at "parametrizations.weight.0._u" and "_v".  Each call in train mode improves them; they
/// have no gradient.  A vector is divided by its norm.  Errors as for weight_norm; ValueError for n_power_iterations
/// below 1.
void spectral_norm(const Module& module, std::string_view name = "weight", SpectralNormOptions options = {},
                   SourceLocation where = SourceLocation::current());

/// Makes the parameter of the last computed value a parameter again, under its own name; it requires a gradient.
/// ValueError if it is none that is computed.
void remove_parametrizations(const Module& module, std::string_view name = "weight",
                             SourceLocation where = SourceLocation::current());

}  // namespace minnow::nn
