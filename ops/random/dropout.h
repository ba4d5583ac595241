#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

struct DropoutOptions {
  double p = 0.5;        ///< probability that an element becomes 0
  bool training = true;  ///< false: the result is x itself
};

/// Sets elements to 0 with probability p and scales the others by 1 / (1 - p) (Srivastava et al. 2014), of the shape of
/// x; so is the gradient.  The mask depends on the default generator only: it is the same on every device.  ValueError
/// unless p is in [0, 1], DTypeError unless x is floating-point.
[[nodiscard]] Tensor dropout(const In& x, const DropoutOptions& options = {});

/// The same for whole channels of sequences (Tompson et al. 2015).   x: [N, C, L]; of dropout2d [N, C, H, W], of
/// dropout3d [N, C, D, H, W].  ShapeError for another number of dimensions.
[[nodiscard]] Tensor dropout1d(const In& x, const DropoutOptions& options = {});
/// dropout1d, of images [N, C, H, W].
[[nodiscard]] Tensor dropout2d(const In& x, const DropoutOptions& options = {});
/// dropout1d, of volumes [N, C, D, H, W].
[[nodiscard]] Tensor dropout3d(const In& x, const DropoutOptions& options = {});

/// Sets elements to the limit of selu for -infinity, with probability p, and scales and shifts all, so that mean 0 and
/// variance 1 stay (Klambauer et al. 2017); the shape of x.
[[nodiscard]] Tensor alpha_dropout(const In& x, const DropoutOptions& options = {});

}  // namespace minnow
