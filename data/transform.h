#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <minnow/data/dataset.h>
#include <minnow/data/detail/fields.h>

namespace minnow::data {

// Functions of one image on the host, [H, W] or [C, H, W]; each returns a tensor and does not change the image.  When
// applied they throw ValueError for options out of range, and DTypeError, ShapeError or DeviceError for the image.

/// uint8 to float32: y = x / 255.  A float32 image in [0, 1] passes unchanged; ValueError for one far outside, which is
/// normalized already.
struct ToFloat {
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};

/// float32: y = (x - mean) / std.
struct Normalize {
  double mean = 0;
  double std = 1;
  Tensor operator()(const Tensor& image, SourceLocation where = SourceLocation::current()) const;
};

/// Pads each side by `padding` zeros and crops a window of the image's own size at a random position.  uint8 or
/// float32.
struct RandomCrop {
  std::int64_t padding = 4;
  Tensor operator()(const Tensor& image, Random& random, SourceLocation where = SourceLocation::current()) const;
};

/// Shifts the image by up to `pixels` in each direction; new pixels are `fill`.  uint8 or float32.
struct RandomShift {
  std::int64_t pixels = 2;
  double fill = 0;
  Tensor operator()(const Tensor& image, Random& random, SourceLocation where = SourceLocation::current()) const;
};

/// Mirrors left and right with probability p; else returns the image itself.  uint8 or float32.
struct RandomHorizontalFlip {
  double p = 0.5;
  Tensor operator()(const Tensor& image, Random& random, SourceLocation where = SourceLocation::current()) const;
};

namespace detail {

/// f(args...), or f(args..., where) if f takes a SourceLocation.
template <class F, class... Args> auto call_at(SourceLocation where, const F& f, Args&&... args) {
  if constexpr (std::invocable<const F&, Args..., SourceLocation>) return f(std::forward<Args>(args)..., where);
  else return f(std::forward<Args>(args)...);
}

/// Applies f to the sample if f takes one, else to its first field; with random numbers if f takes them.
template <class Sample, class F> auto apply_transform(Sample sample, const F& f, Random& random, SourceLocation where) {
  if constexpr (std::invocable<const F&, Sample, Random&>) {
    return call_at(where, f, std::move(sample), random);
  } else if constexpr (std::invocable<const F&, Sample>) {
    return call_at(where, f, std::move(sample));
  } else {
    auto& first = std::get<0>(tie_fields(sample));
    using First = std::remove_reference_t<decltype(first)>;
    if constexpr (std::invocable<const F&, const First&, Random&>)
      first = call_at(where, f, std::as_const(first), random);
    else first = call_at(where, f, std::as_const(first));
    return sample;
  }
}

}  // namespace detail

/// A dataset whose samples are transformed by functions, one after the other.  A function takes the sample or its first
/// field (the image); then optionally a Random&, which depends on the seed, the epoch and the sample's index; then
/// optionally a SourceLocation, the user's line for errors.
template <Dataset D, class... F> class Transformed {
 public:
  Transformed(D dataset, F... functions) : dataset_(std::move(dataset)), functions_(std::move(functions)...) {}

  std::int64_t size() const { return dataset_.size(); }
  auto get(std::int64_t i, Random& random, SourceLocation where = SourceLocation::current()) const {
    return step<0>(sample_of(dataset_, i, random, where), random, where);
  }
  const D& dataset() const { return dataset_; }

 private:
  template <std::size_t K, class Sample> auto step(Sample sample, Random& random, SourceLocation where) const {
    if constexpr (K == sizeof...(F)) {
      return sample;
    } else {
      return step<K + 1>(detail::apply_transform(std::move(sample), std::get<K>(functions_), random, where), random,
                         where);
    }
  }

  D dataset_;
  std::tuple<F...> functions_;
};

/// `transform(mnist("train"), RandomShift{.pixels = 2}, [](Tensor image) { ... })`.  Samples of an ImageDataset are
/// normalized before; `ImageDataset(set.images(), set.labels(), set.classes())` leaves them in [0, 1], for transforms
/// of colours and a normalization of your own.
template <Dataset D, class... F> Transformed<D, F...> transform(D dataset, F... functions) {
  return Transformed<D, F...>(std::move(dataset), std::move(functions)...);
}

}  // namespace minnow::data
