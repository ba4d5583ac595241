#pragma once

#include <optional>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

struct BatchNormOptions {
  double eps = 1e-5;  ///< added to the variance
  std::optional<double> momentum =
      0.1;                          ///< running += momentum (of the batch - running); none: the mean of all batches
  bool affine = true;               ///< whether there are weight and bias
  bool track_running_stats = true;  ///< or else the statistics of x also in eval mode
  bool bias = true;                 ///< with affine: whether there is a bias
};

/// Batch normalization of [N, C, ...] (minnow::batch_norm): by the statistics of the batch in train mode, by running
/// ones in eval mode.  weight and bias [C] start as ones and zeros; the buffers are PyTorch's running_mean, running_var
/// and num_batches_tracked.
class BatchNorm : public Module {
 public:
  Parameter weight, bias;
  Buffer running_mean, running_var, num_batches_tracked;

  /// ShapeError unless x has a number of dimensions that the layer takes.
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 protected:
  /// For x of `least` to `most` dimensions.
  BatchNorm(const char* name, int least, int most, std::int64_t num_features, const BatchNormOptions& options,
            SourceLocation where);

 private:
  const char* name_;
  int least_, most_;
  std::int64_t num_features_;
  BatchNormOptions options_;
};

/// Of x: [N, C] or [N, C, L].
class BatchNorm1d : public BatchNorm {
 public:
  /// ValueError unless num_features is positive, eps 0 or more, and momentum in [0, 1].
  explicit BatchNorm1d(std::int64_t num_features, BatchNormOptions options = {},
                       SourceLocation where = SourceLocation::current())
      : BatchNorm("BatchNorm1d", 2, 3, num_features, options, where) {}
};
/// Of x: [N, C, H, W].
class BatchNorm2d : public BatchNorm {
 public:
  /// ValueError unless num_features is positive, eps 0 or more, and momentum in [0, 1].
  explicit BatchNorm2d(std::int64_t num_features, BatchNormOptions options = {},
                       SourceLocation where = SourceLocation::current())
      : BatchNorm("BatchNorm2d", 4, 4, num_features, options, where) {}
};
/// Of x: [N, C, D, H, W].
class BatchNorm3d : public BatchNorm {
 public:
  /// ValueError unless num_features is positive, eps 0 or more, and momentum in [0, 1].
  explicit BatchNorm3d(std::int64_t num_features, BatchNormOptions options = {},
                       SourceLocation where = SourceLocation::current())
      : BatchNorm("BatchNorm3d", 5, 5, num_features, options, where) {}
};

struct GroupNormOptions {
  double eps = 1e-5;   ///< added to the variance
  bool affine = true;  ///< whether there are weight and bias
  bool bias = true;    ///< with affine: whether there is a bias
};

/// Group normalization (minnow::group_norm).   x: [N, num_channels, ...]  ->  the same.  weight and bias [num_channels]
/// start as ones and zeros.
class GroupNorm : public Module {
 public:
  /// ValueError unless num_groups is positive and divides num_channels, and eps is 0 or more.
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels, GroupNormOptions options = {},
            SourceLocation where = SourceLocation::current());

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t num_groups_, num_channels_;
  GroupNormOptions options_;
};

struct InstanceNormOptions {
  double eps = 1e-5;                 ///< added to the variance
  double momentum = 0.1;             ///< running += momentum (of the samples - running)
  bool affine = false;               ///< whether there are weight and bias
  bool track_running_stats = false;  ///< whether eval mode normalizes by running statistics
  bool bias = true;                  ///< with affine: whether there is a bias
};

/// Instance normalization (minnow::instance_norm), in train and eval mode alike unless track_running_stats.
/// x: [N, C, L...]  ->  the same.  PyTorch's InstanceNorm1d, 2d and 3d.  The running statistics [C] move to the means
/// of those of the samples; num_batches_tracked stays 0, as in PyTorch.
class InstanceNorm : public Module {
 public:
  /// ValueError unless num_features is positive, eps 0 or more, and momentum in [0, 1].
  explicit InstanceNorm(std::int64_t num_features, InstanceNormOptions options = {},
                        SourceLocation where = SourceLocation::current());

  Parameter weight, bias;
  Buffer running_mean, running_var, num_batches_tracked;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Tensor tracked(const Tensor& x);

  std::int64_t num_features_;
  InstanceNormOptions options_;
};

}  // namespace minnow::nn
