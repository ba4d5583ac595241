#pragma once

#include <string_view>
#include <minnow/tensor/random.h>
#include <minnow/tensor/tensor.h>

/// Initialization, as in torch.nn.init: each function overwrites its tensor, without recording, and returns it.  Random
/// numbers come from the given generator, or the default one, and are the same on every device.  DTypeError unless
/// floating-point.
namespace minnow::nn::init {

/// Uniform in [low, high).  ValueError unless low <= high.
Tensor uniform_(const Tensor& t, double low = 0, double high = 1, RandomGenerator* generator = nullptr,
                SourceLocation where = SourceLocation::current());
/// Normal with this mean and standard deviation.  ValueError for a negative std.
Tensor normal_(const Tensor& t, double mean = 0, double std = 1, RandomGenerator* generator = nullptr,
               SourceLocation where = SourceLocation::current());

struct TruncNormalOptions {
  double mean = 0, std = 1;
  double a = -2, b = 2;  ///< no value is outside of [a, b]
  RandomGenerator* generator = nullptr;
};
/// Normal, truncated to [a, b].  ValueError unless std is positive and a less than b.
Tensor trunc_normal_(const Tensor& t, TruncNormalOptions options = {},
                     SourceLocation where = SourceLocation::current());

/// Each element `value`.
Tensor constant_(const Tensor& t, double value, SourceLocation where = SourceLocation::current());
/// Each element 1.
Tensor ones_(const Tensor& t, SourceLocation where = SourceLocation::current());
/// Each element 0.
Tensor zeros_(const Tensor& t, SourceLocation where = SourceLocation::current());
/// 1 on the diagonal of a matrix, else 0.  ShapeError unless 2-d.
Tensor eye_(const Tensor& t, SourceLocation where = SourceLocation::current());
/// A convolution with this weight returns its input.  t: [O, I, ...] of 3 to 5 dimensions (else ShapeError), O
/// divisible by groups (else ValueError).
Tensor dirac_(const Tensor& t, std::int64_t groups = 1, SourceLocation where = SourceLocation::current());
/// The rows (or the columns, if fewer) are orthonormal, times gain.  t: [rows, ...], with the other dimensions
/// flattened to columns.  ShapeError below two dimensions, BackendError if there is no LAPACK.
Tensor orthogonal_(const Tensor& t, double gain = 1, RandomGenerator* generator = nullptr,
                   SourceLocation where = SourceLocation::current());
/// Normal with mean 0 and this std, where a fraction `sparsity` of every column is 0.  ShapeError unless 2-d,
/// ValueError unless sparsity is in [0, 1].
Tensor sparse_(const Tensor& t, double sparsity, double std = 0.01, RandomGenerator* generator = nullptr,
               SourceLocation where = SourceLocation::current());

/// fan_in and fan_out of a weight [out, in, ...]: in and out, times the product of the other sizes.  ShapeError below
/// two dimensions.
struct Fans {
  std::int64_t in, out;
};
/// Those of a weight.  ShapeError below two dimensions.
Fans fans(const Tensor& t, SourceLocation where = SourceLocation::current());

/// Glorot and Bengio 2010: variance gain² 2 / (in + out).
Tensor xavier_uniform_(const Tensor& t, double gain = 1, RandomGenerator* generator = nullptr,
                       SourceLocation where = SourceLocation::current());
Tensor xavier_normal_(const Tensor& t, double gain = 1, RandomGenerator* generator = nullptr,
                      SourceLocation where = SourceLocation::current());

/// The size of a weight that its scale follows: the number of inputs or of outputs of an element.
enum class FanMode { fan_in, fan_out };
struct KaimingOptions {
  double a = 0;  ///< negative slope, for leaky_relu
  FanMode mode = FanMode::fan_in;
  std::string_view nonlinearity = "leaky_relu";
  RandomGenerator* generator = nullptr;
};
/// He et al. 2015: variance calculate_gain(nonlinearity, a)² / fan.
Tensor kaiming_uniform_(const Tensor& t, KaimingOptions options = {}, SourceLocation where = SourceLocation::current());
Tensor kaiming_normal_(const Tensor& t, KaimingOptions options = {}, SourceLocation where = SourceLocation::current());

/// linear, conv1d, conv2d, conv3d, sigmoid: 1; tanh: 5 / 3; relu: √2; leaky_relu: √(2 / (1 + slope²)); selu: 3 / 4.
/// ValueError for other names.
double calculate_gain(std::string_view nonlinearity, double slope = 0.01,
                      SourceLocation where = SourceLocation::current());

}  // namespace minnow::nn::init
