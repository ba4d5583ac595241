#pragma once

#include <minnow/nn/module/module.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/norms/local_response_norm.h>

namespace minnow::nn {

/// Channels become pixels: minnow::pixel_shuffle.   x: [..., C r², H, W]  ->  [..., C, H r, W r].
class PixelShuffle : public Module {
 public:
  /// ValueError unless upscale_factor is positive.
  explicit PixelShuffle(std::int64_t upscale_factor, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t factor_;
};

/// Pixels become channels: minnow::pixel_unshuffle.   x: [..., C, H r, W r]  ->  [..., C r², H, W].
class PixelUnshuffle : public Module {
 public:
  /// ValueError unless downscale_factor is positive.
  explicit PixelUnshuffle(std::int64_t downscale_factor, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t factor_;
};

/// x in another size: minnow::interpolate.   x: [N, C, H, W]  ->  [N, C, OH, OW], also of one or three spatial
/// dimensions.
class Upsample : public Module {
 public:
  /// ValueError unless either size or scale_factor is given, of positive numbers.
  explicit Upsample(const InterpolateOptions& options, SourceLocation where = SourceLocation::current());
  explicit Upsample(double scale_factor, SourceLocation where = SourceLocation::current())
      : Upsample(InterpolateOptions{.scale_factor = scale_factor}, where) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  InterpolateOptions options_;
};

/// The blocks of images as columns: minnow::unfold.   x: [N, C, H, W]  ->  [N, C KH KW, L].
class Unfold : public Module {
 public:
  /// ValueError unless sizes are positive and padding at least 0.
  explicit Unfold(Pair kernel_size, const UnfoldOptions& options = {},
                  SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Pair kernel_size_;
  UnfoldOptions options_;
};

/// Adds blocks to images: minnow::fold.   x: [N, C KH KW, L]  ->  [N, C, *output_size].
class Fold : public Module {
 public:
  /// ValueError unless sizes are positive and padding at least 0.
  Fold(Pair output_size, Pair kernel_size, const UnfoldOptions& options = {},
       SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Pair output_size_, kernel_size_;
  UnfoldOptions options_;
};

/// Mixes the channels of groups: minnow::channel_shuffle.   x: [N, C, ...].
class ChannelShuffle : public Module {
 public:
  /// ValueError unless groups is positive.
  explicit ChannelShuffle(std::int64_t groups, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t groups_;
};

/// Divides by the channels around: minnow::local_response_norm.   x: [N, C, ...].
class LocalResponseNorm : public Module {
 public:
  /// ValueError unless size is positive.
  explicit LocalResponseNorm(std::int64_t size, const LocalResponseNormOptions& options = {},
                             SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t size_;
  LocalResponseNormOptions options_;
};

}  // namespace minnow::nn
