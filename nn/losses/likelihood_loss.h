#pragma once

#include <minnow/nn/losses/loss.h>

// Negative log-likelihoods and divergences of elements.  Shapes are broadcast, with a warning as for mse_loss, where
// nothing else is said.  DTypeError unless an operand is floating-point.
namespace minnow::nn {

struct BCELossOptions {
  Tensor weight{};  ///< of each element; broadcast to x
  Reduction reduction = Reduction::mean;
};
/// Binary cross-entropy of probabilities x and y in [0, 1]: -w (y log x + (1 - y) log(1 - x)), where a logarithm is at
/// least -100.  NaN for x outside of [0, 1], for which PyTorch on a CPU throws: the check would wait for the device.
/// ShapeError unless the shapes are equal.  binary_cross_entropy_with_logits is more exact.
Tensor binary_cross_entropy(const In& x, const In& y, const BCELossOptions& options = {});

struct KLDivLossOptions {
  Reduction reduction = Reduction::mean;  ///< batchmean is the divergence as mathematics has it
  bool log_target = false;                ///< whether the target is a logarithm, too
};
/// Kullback-Leibler divergence of target from x (Kullback and Leibler 1951).   x: log-probabilities
/// target: probabilities, or their logarithms.
///   t (log t - x), 0 where t is 0;  log_target: e^t (t - x)
Tensor kl_div(const In& x, const In& target, const KLDivLossOptions& options = {});

struct GaussianNLLLossOptions {
  bool full = false;  ///< add log(2π) / 2
  double eps = 1e-6;  ///< positive: the least variance
  Reduction reduction = Reduction::mean;
};
/// Negative log-likelihood of target under normal distributions (Nix and Weigend 1994).   x: the means
/// var: the variances, of x's shape, broadcast to it, or without its last dimension
///   (log v + (x - target)² / v) / 2,  v = max(var, eps), whose gradient is taken as 1
/// NaN for a negative variance, for which PyTorch throws: the check would wait for the device.
Tensor gaussian_nll_loss(const In& x, const In& target, const In& var, const GaussianNLLLossOptions& options = {});

struct PoissonNLLLossOptions {
  bool log_input = true;  ///< whether x is the logarithm of the rate
  bool full = false;      ///< add Stirling's approximation of log(target!) where target > 1
  double eps = 1e-8;      ///< keeps log(x + eps) finite without log_input
  Reduction reduction = Reduction::mean;
};
/// Negative log-likelihood of target under Poisson distributions.
///   e^x - target x;  without log_input: x - target log(x + eps)
///   full: + target log target - target + log(2π target) / 2
Tensor poisson_nll_loss(const In& x, const In& target, const PoissonNLLLossOptions& options = {});

}  // namespace minnow::nn
