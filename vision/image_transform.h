#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>
#include <minnow/data/transform.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/vision/annotated.h>

namespace minnow::vision {

// Functions of an image [C, H, W] or [H, W], or of a batch [N, C, H, W], which all get the same random numbers
// (PerImage gives each its own).  uint8, or float32 in [0, 1]; on the cpu.  They return a new tensor, or the image
// itself where nothing changes, and throw ValueError for options out of range (those of colours also for values far
// outside of [0, 1]: such an image is normalized already), and DTypeError, ShapeError or DeviceError for the image.
// Random numbers are those of the sample: the number of workers changes nothing.  Formulas are those of
// torchvision.transforms.v2; a lambda may stand for any of them.

/// That of interpolate(); the functions here take nearest and bilinear (ValueError for others).
using minnow::Interpolation;

/// A move of the image about its centre, as torchvision's affine().
struct AffineOptions {
  double degrees = 0;                        ///< clockwise
  std::array<double, 2> translate = {0, 0};  ///< pixels, to the right and down
  double scale = 1;
  std::array<double, 2> shear = {0, 0};  ///< degrees, along x and y
  Interpolation interpolation = Interpolation::nearest;
  double fill = 0;  ///< outside of the image
};
/// Turned, moved, scaled and sheared about its middle, as torchvision's affine(); the size stays.
Tensor affine(const Tensor& image, const AffineOptions& options, SourceLocation where = SourceLocation::current());
/// Counterclockwise, as torchvision's rotate(); the size stays.
Tensor rotate(const Tensor& image, double degrees, Interpolation interpolation = Interpolation::nearest,
              double fill = 0, SourceLocation where = SourceLocation::current());
/// To [..., height, width], bilinear (align_corners = false).  antialias: averages over the pixels that an output pixel
/// covers, where the image becomes smaller; torch.nn.functional.interpolate's antialias.
Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width, bool antialias = true,
              SourceLocation where = SourceLocation::current());
/// The window of this size at (top, left).  ShapeError where it is not within the image.
Tensor crop(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
            SourceLocation where = SourceLocation::current());
/// 0.2989 R + 0.587 G + 0.114 B in `channels` equal channels.
Tensor to_grayscale(const Tensor& image, std::int64_t channels = 1, SourceLocation where = SourceLocation::current());
/// image * factor.
Tensor adjust_brightness(const Tensor& image, double factor, SourceLocation where = SourceLocation::current());
/// image * factor + mean * (1 - factor), the mean of the grey image.
Tensor adjust_contrast(const Tensor& image, double factor, SourceLocation where = SourceLocation::current());
/// image * factor + grey * (1 - factor).
Tensor adjust_saturation(const Tensor& image, double factor, SourceLocation where = SourceLocation::current());
/// Turns the hue by a factor in [-0.5, 0.5] of a whole turn.
Tensor adjust_hue(const Tensor& image, double factor, SourceLocation where = SourceLocation::current());

/// The middle of the image: crop() as a transform.
struct CenterCrop {
  std::int64_t height = 224, width = 224;
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};
/// resize() as a transform.
struct Resize {
  std::int64_t height = 224, width = 224;
  bool antialias = true;
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};
/// to_grayscale() as a transform.
struct Grayscale {
  std::int64_t channels = 1;
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};
/// uint8 to float32: x / 255; float32 to uint8: x * 255.999, truncated.
struct ConvertImageDtype {
  DType dtype = DType::float32;
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};
/// float32: (x - mean) / std of each channel.
struct NormalizeChannels {
  std::vector<double> means, stds;
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};

/// Mirrors top and bottom with probability p.
struct RandomVerticalFlip {
  double p = 0.5;
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const;
};
/// By an angle in [-degrees, degrees].
struct RandomRotation {
  double degrees = 10;
  Interpolation interpolation = Interpolation::nearest;
  double fill = 0;
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const;
};
/// affine() by random numbers within these limits, as torchvision's.
struct RandomAffine {
  double degrees = 10;                       ///< in [-degrees, degrees]
  std::array<double, 2> translate = {0, 0};  ///< at most this part of width and height
  std::array<double, 2> scale = {1, 1};      ///< in [scale[0], scale[1]]
  double shear = 0;                          ///< along x, in [-shear, shear] degrees
  Interpolation interpolation = Interpolation::nearest;
  double fill = 0;
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const;
};
/// Writes `value` into a random rectangle with probability p (Zhong et al. 2017).
struct RandomErasing {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};  ///< its part of the area
  std::array<double, 2> ratio = {0.3, 3.3};    ///< of its height and width
  double value = 0;
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const;
};
/// A random window of this part of the area and ratio of width and height, resized.
struct RandomResizedCrop {
  std::int64_t height = 224, width = 224;
  std::array<double, 2> scale = {0.08, 1};
  std::array<double, 2> ratio = {3.0 / 4, 4.0 / 3};
  bool antialias = true;
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const;
  Annotated operator()(const Annotated& sample, data::Random& random,
                       SourceLocation where = SourceLocation::current()) const;

  /// The window {top, left, height, width} of an image of this size.
  std::array<std::int64_t, 4> window(std::int64_t in_height, std::int64_t in_width, data::Random& random,
                                     SourceLocation where = SourceLocation::current()) const;
};
/// Brightness, contrast and saturation by factors in [max(0, 1 - x), 1 + x], hue in [-hue, hue], in random order.
struct ColorJitter {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const;
};

/// Several transforms as one: `Compose(RandomHorizontalFlip{}, ColorJitter{.hue = 0.1}, ToFloat{})`.
template <class... F> class Compose {
 public:
  explicit Compose(F... functions) : functions_(std::move(functions)...) {}
  Tensor operator()(const Tensor& image, data::Random& random, SourceLocation where = SourceLocation::current()) const {
    Tensor out = image;
    std::apply(
        [&](const auto&... f) { ((out = data::detail::apply_transform(std::move(out), f, random, where)), ...); },
        functions_);
    return out;
  }

 private:
  std::tuple<F...> functions_;
};

namespace detail {

/// Image i of a batch.
Tensor image_of(const Tensor& batch, std::int64_t i, SourceLocation where);
/// [N, ...] of N tensors of one dtype and shape.
Tensor stack_images(const std::vector<Tensor>& images, SourceLocation where);

}  // namespace detail

/// Gives each image of a batch its own random numbers: `PerImage(RandomRotation{30})(batch, random)`.
template <class F> class PerImage {
 public:
  explicit PerImage(F function) : function_(std::move(function)) {}
  Tensor operator()(const Tensor& batch, data::Random& random, SourceLocation where = SourceLocation::current()) const {
    std::vector<Tensor> images;
    const std::uint64_t seed = random.bits();
    for (std::int64_t i = 0; i < (batch.defined() && batch.dim() > 0 ? batch.shape()[0] : 0); ++i) {
      data::Random own(seed, 0, static_cast<std::uint64_t>(i));
      images.push_back(data::detail::apply_transform(detail::image_of(batch, i, where), function_, own, where));
    }
    return images.empty() ? batch : detail::stack_images(images, where);
  }

 private:
  F function_;
};

/// A batch whose labels are probabilities, for cross_entropy().
struct MixedBatch {
  Tensor images;
  Tensor labels;  ///< float32 [N, classes]
};

/// mixup (Zhang et al. 2018): each image and its one-hot label becomes lambda * own + (1 - lambda) * those of the image
/// before it, the first with the last; lambda from Beta(alpha, alpha).  images: float32 [N, ...], labels: int64 [N].
/// IndexError for a label that is not in [0, classes), ValueError unless alpha is positive.
MixedBatch mixup(const Tensor& images, const Tensor& labels, std::int64_t classes, data::Random& random,
                 double alpha = 1, SourceLocation where = SourceLocation::current());
/// CutMix (Yun et al. 2019): a random rectangle of each image is that of the image before it; labels are mixed by the
/// areas.  images: float32 or uint8 [N, C, H, W].  The same errors.
MixedBatch cutmix(const Tensor& images, const Tensor& labels, std::int64_t classes, data::Random& random,
                  double alpha = 1, SourceLocation where = SourceLocation::current());

}  // namespace minnow::vision
