#include <minnow/nn/resample.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

std::int64_t checked(const char* name, const char* what, std::int64_t factor, SourceLocation where) {
  if (factor < 1)
    throw ValueError(fmt::format("{}: {} must be positive, got {}\ngive 1 or more", name, what, factor), where);
  return factor;
}

}  // namespace

PixelShuffle::PixelShuffle(std::int64_t upscale_factor, SourceLocation where)
    : factor_(checked("PixelShuffle", "upscale_factor", upscale_factor, where)) {}
Tensor PixelShuffle::forward(const Tensor& x) {
  const CallSite site = called();
  return pixel_shuffle(x, factor_);
}
std::string PixelShuffle::describe() const { return fmt::format("PixelShuffle({})", factor_); }

PixelUnshuffle::PixelUnshuffle(std::int64_t downscale_factor, SourceLocation where)
    : factor_(checked("PixelUnshuffle", "downscale_factor", downscale_factor, where)) {}
Tensor PixelUnshuffle::forward(const Tensor& x) {
  const CallSite site = called();
  return pixel_unshuffle(x, factor_);
}
std::string PixelUnshuffle::describe() const { return fmt::format("PixelUnshuffle({})", factor_); }

Upsample::Upsample(const InterpolateOptions& options, SourceLocation where) : options_(options) {
  const double factor = options.scale_factor;
  if (!(factor >= 1 && factor == std::floor(factor)))
    throw ValueError(fmt::format("Upsample: scale_factor must be a whole number of 1 or more, got {}\n"
                                 "fractions are not supported",
                                 factor),
                     where);
}
Tensor Upsample::forward(const Tensor& x) {
  const CallSite site = called();
  return interpolate(x, options_);
}
std::string Upsample::describe() const { return fmt::format("Upsample({}, nearest)", options_.scale_factor); }

}  // namespace minnow::nn
