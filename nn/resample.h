#pragma once

#include <minnow/nn/module.h>
#include <minnow/ops/resample.h>

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

/// Repeats pixels: minnow::interpolate.   x: [N, C, H, W]  ->  [N, C, H f, W f], also of one or three spatial
/// dimensions; f: scale_factor.
class Upsample : public Module {
 public:
  /// ValueError unless scale_factor is a whole number of 1 or more.
  explicit Upsample(const InterpolateOptions& options, SourceLocation where = SourceLocation::current());
  explicit Upsample(double scale_factor, SourceLocation where = SourceLocation::current())
      : Upsample(InterpolateOptions{.scale_factor = scale_factor}, where) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  InterpolateOptions options_;
};

}  // namespace minnow::nn
