#include <minnow/nn/layers/batch_norm.h>

#include <fmt/format.h>
#include <minnow/autograd/checkpoint.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/norms/batch_norm.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

/// The number of channels.
std::int64_t checked(const char* name, std::int64_t channels, double eps, SourceLocation where) {
  if (channels < 1)
    throw ValueError(fmt::format("{}: the number of channels must be positive, got {}\nit is dimension 1 of the input",
                                 name, channels),
                     where);
  if (!(eps >= 0))
    throw ValueError(fmt::format("{}: eps must not be negative, got {}\nit is added to the variance", name, eps),
                     where);
  return channels;
}

const char* parts_text(const auto& options) {
  return !options.affine ? ", no weight" : !options.bias ? ", no bias" : "";
}

}  // namespace

BatchNorm::BatchNorm(const char* name, int least, int most, std::int64_t num_features, const BatchNormOptions& options,
                     SourceLocation where)
    : weight(options.affine ? parameter("weight", ones(checked(name, num_features, options.eps, where))) : Parameter()),
      bias(options.affine && options.bias ? parameter("bias", zeros(num_features)) : Parameter()),
      running_mean(options.track_running_stats
                       ? buffer("running_mean", zeros(checked(name, num_features, options.eps, where)))
                       : Buffer()),
      running_var(options.track_running_stats ? buffer("running_var", ones(num_features)) : Buffer()),
      num_batches_tracked(options.track_running_stats ? buffer("num_batches_tracked", zeros({}, DType::int64))
                                                      : Buffer()),
      name_(name),
      least_(least),
      most_(most),
      num_features_(checked(name, num_features, options.eps, where)),
      options_(options) {
  if (options.momentum && !(*options.momentum >= 0 && *options.momentum <= 1))
    throw ValueError(fmt::format("{}: momentum must be in [0, 1], got {}\nor std::nullopt for the mean of all batches",
                                 name, *options.momentum),
                     where);
}

Tensor BatchNorm::forward(const Tensor& x) {
  const CallSite site = called();
  const int dims = x.dim();
  if (dims < least_ || dims > most_)
    throw ShapeError(
        message(fmt::format("{}: the input must have {} dimensions", name_,
                            least_ == most_ ? std::to_string(least_) : fmt::format("{} to {}", least_, most_)),
                {{"x", x}}, "x is [N, C, ...]; BatchNorm1d, 2d and 3d differ in what follows"));
  double momentum = options_.momentum.value_or(0);
  const bool tracks = is_training() && running_mean.defined();
  if (tracks && autograd::is_recomputing())  // the first call has updated the statistics
    return batch_norm(x, {}, {}, weight, bias, {.training = true, .eps = options_.eps});
  if (tracks && !options_.momentum) momentum = 1.0 / (num_batches_tracked.item() + 1);
  const Tensor y =
      batch_norm(x, running_mean, running_var, weight, bias,
                 {.training = is_training() || !running_mean.defined(), .momentum = momentum, .eps = options_.eps});
  if (tracks) add_(num_batches_tracked, 1);  // not a batch that could not be normalized
  return y;
}

std::string BatchNorm::describe() const {
  return fmt::format("{}({}, eps {}, {}{}{})", name_, num_features_, options_.eps,
                     options_.momentum ? fmt::format("momentum {}", *options_.momentum) : "mean of all batches",
                     parts_text(options_), options_.track_running_stats ? "" : ", not tracking");
}

GroupNorm::GroupNorm(std::int64_t num_groups, std::int64_t num_channels, GroupNormOptions options, SourceLocation where)
    : weight(options.affine ? parameter("weight", ones(checked("GroupNorm", num_channels, options.eps, where)))
                            : Parameter()),
      bias(options.affine && options.bias ? parameter("bias", zeros(num_channels)) : Parameter()),
      num_groups_(num_groups),
      num_channels_(checked("GroupNorm", num_channels, options.eps, where)),
      options_(options) {
  if (num_groups < 1 || num_channels % num_groups != 0)
    throw ValueError(fmt::format("GroupNorm: {} channels are not divisible into {} groups\nnum_groups must divide "
                                 "num_channels",
                                 num_channels, num_groups),
                     where);
}

Tensor GroupNorm::forward(const Tensor& x) {
  const CallSite site = called();
  if (x.dim() >= 2 && x.size(1) != num_channels_)
    throw ShapeError(message(fmt::format("GroupNorm: the input must have {} channels", num_channels_), {{"x", x}},
                             "the channels are dimension 1 of x"));
  return group_norm(x, num_groups_, weight, bias, options_.eps);
}

std::string GroupNorm::describe() const {
  return fmt::format("GroupNorm({}, {}, eps {}{})", num_groups_, num_channels_, options_.eps, parts_text(options_));
}

InstanceNorm::InstanceNorm(std::int64_t num_features, InstanceNormOptions options, SourceLocation where)
    : weight(options.affine ? parameter("weight", ones(checked("InstanceNorm", num_features, options.eps, where)))
                            : Parameter()),
      bias(options.affine && options.bias ? parameter("bias", zeros(num_features)) : Parameter()),
      running_mean(options.track_running_stats
                       ? buffer("running_mean", zeros(checked("InstanceNorm", num_features, options.eps, where)))
                       : Buffer()),
      running_var(options.track_running_stats ? buffer("running_var", ones(num_features)) : Buffer()),
      num_batches_tracked(options.track_running_stats ? buffer("num_batches_tracked", zeros({}, DType::int64))
                                                      : Buffer()),
      num_features_(checked("InstanceNorm", num_features, options.eps, where)),
      options_(options) {
  if (!(options.momentum >= 0 && options.momentum <= 1))
    throw ValueError(fmt::format("InstanceNorm: momentum must be in [0, 1], got {}\n0.1 is usual", options.momentum),
                     where);
}

/// The channels of all samples are channels of one, each with a copy of the running statistics; the means of these
/// remain.
Tensor InstanceNorm::tracked(const Tensor& x) {
  const std::int64_t samples = x.size(0), channels = x.size(1);
  Shape as_one = x.shape();
  as_one[0] = 1;
  as_one[1] = samples * channels;
  const auto of_all = [&](const Tensor& t) { return t.defined() ? t.repeat({samples}) : t; };
  const Tensor means = of_all(running_mean), variances = of_all(running_var);
  const Tensor y = batch_norm(x.reshape(as_one), means, variances, of_all(weight), of_all(bias),
                              {.training = true, .momentum = options_.momentum, .eps = options_.eps});
  {
    const NoGradGuard no_grad;
    copy_(running_mean, mean(means.reshape({samples, channels}), 0));
    copy_(running_var, mean(variances.reshape({samples, channels}), 0));
  }
  return y.reshape(x.shape());
}

Tensor InstanceNorm::forward(const Tensor& x) {
  const CallSite site = called();
  if (x.dim() >= 2 && x.size(1) != num_features_)
    throw ShapeError(message(fmt::format("InstanceNorm: the input must have {} channels", num_features_), {{"x", x}},
                             "the channels are dimension 1 of x"));
  if (running_mean.defined() && !is_training())
    return batch_norm(x, running_mean, running_var, weight, bias, {.eps = options_.eps});
  // A call that is computed again in backward has updated the statistics already.
  if (running_mean.defined() && x.dim() > 2 && x.numel() > 0 && !autograd::is_recomputing()) return tracked(x);
  return instance_norm(x, weight, bias, options_.eps);
}

std::string InstanceNorm::describe() const {
  return fmt::format("InstanceNorm({}, eps {}{}{})", num_features_, options_.eps, parts_text(options_),
                     options_.track_running_stats ? ", tracking" : "");
}

}  // namespace minnow::nn
