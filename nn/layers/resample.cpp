#include <minnow/nn/layers/resample.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/nn/detail/extents.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::nn {
namespace {

using detail::Extents;
using detail::text;

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
  const auto refuse = [&](const std::string& why) {
    throw ValueError("Upsample: " + why + "\ngive .size or .scale_factor, one number or one for each dimension", where);
  };
  const int sizes = options.size.count, factors = options.scale_factor.count;
  if ((sizes == 0) == (factors == 0)) refuse("needs either size or scale_factor");
  if (sizes + factors > 3) refuse(fmt::format("{} numbers for at most 3 dimensions", sizes + factors));
  for (int d = 0; d < sizes; ++d)
    if (options.size.values[d] < 1) refuse(fmt::format("size must be positive, got {}", options.size.values[d]));
  for (int d = 0; d < factors; ++d)
    if (const double factor = options.scale_factor.values[d]; !(factor > 0 && std::isfinite(factor)))
      refuse(fmt::format("scale_factor must be positive, got {}", factor));
}
Tensor Upsample::forward(const Tensor& x) {
  const CallSite site = called();
  return interpolate(x, options_);
}
std::string Upsample::describe() const {
  constexpr const char* kModes[] = {"nearest", "nearest_exact", "linear", "bilinear", "bicubic", "trilinear", "area"};
  std::string shown;
  for (int d = 0; d < options_.scale_factor.count; ++d)
    shown += fmt::format("{}{}", d ? "x" : "", options_.scale_factor.values[d]);
  for (int d = 0; d < options_.size.count; ++d)
    shown += fmt::format("{}{}", d ? "x" : "size ", options_.size.values[d]);
  return fmt::format("Upsample({}, {}{})", shown, kModes[static_cast<int>(options_.mode)],
                     options_.align_corners ? ", align_corners" : "");
}

namespace {

void check(const char* name, Pair kernel, const UnfoldOptions& o, SourceLocation where) {
  const Extents k = kernel, stride = o.stride, padding = o.padding, dilation = o.dilation;
  if (!k.at_least(1) || !stride.at_least(1) || !dilation.at_least(1) || !padding.at_least(0))
    throw ValueError(fmt::format("{}: kernel_size, stride and dilation must be positive, padding at least 0\n"
                                 "kernel_size {}, stride {}, padding {}, dilation {} were given",
                                 name, text(k), text(stride), text(padding), text(dilation)),
                     where);
}

std::string options_text(const UnfoldOptions& o) {
  std::string shown;
  if (!Extents(o.dilation).all_equal(1)) shown += ", dilation " + text(o.dilation);
  if (!Extents(o.padding).all_equal(0)) shown += ", padding " + text(o.padding);
  if (!Extents(o.stride).all_equal(1)) shown += ", stride " + text(o.stride);
  return shown + ")";
}

}  // namespace

Unfold::Unfold(Pair kernel_size, const UnfoldOptions& options, SourceLocation where)
    : kernel_size_(kernel_size), options_(options) {
  check("Unfold", kernel_size, options, where);
}
Tensor Unfold::forward(const Tensor& x) {
  const CallSite site = called();
  return unfold(x, kernel_size_, options_);
}
std::string Unfold::describe() const { return "Unfold(" + text(kernel_size_) + options_text(options_); }

Fold::Fold(Pair output_size, Pair kernel_size, const UnfoldOptions& options, SourceLocation where)
    : output_size_(output_size), kernel_size_(kernel_size), options_(options) {
  check("Fold", kernel_size, options, where);
  if (!Extents(output_size).at_least(1))
    throw ValueError(
        fmt::format("Fold: output_size must be positive, got {}\ngive height and width", text(output_size)), where);
}
Tensor Fold::forward(const Tensor& x) {
  const CallSite site = called();
  return fold(x, output_size_, kernel_size_, options_);
}
std::string Fold::describe() const {
  return "Fold(" + text(output_size_) + ", kernel " + text(kernel_size_) + options_text(options_);
}

ChannelShuffle::ChannelShuffle(std::int64_t groups, SourceLocation where)
    : groups_(checked("ChannelShuffle", "groups", groups, where)) {}
Tensor ChannelShuffle::forward(const Tensor& x) {
  const CallSite site = called();
  return channel_shuffle(x, groups_);
}
std::string ChannelShuffle::describe() const { return fmt::format("ChannelShuffle({})", groups_); }

LocalResponseNorm::LocalResponseNorm(std::int64_t size, const LocalResponseNormOptions& options, SourceLocation where)
    : size_(checked("LocalResponseNorm", "size", size, where)), options_(options) {}
Tensor LocalResponseNorm::forward(const Tensor& x) {
  const CallSite site = called();
  return local_response_norm(x, size_, options_);
}
std::string LocalResponseNorm::describe() const {
  return fmt::format("LocalResponseNorm({}, alpha {}, beta {}, k {})", size_, options_.alpha, options_.beta,
                     options_.k);
}

}  // namespace minnow::nn
