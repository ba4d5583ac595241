#include <minnow/data/image_dataset.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/stream_copy.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/rounded.h>

namespace minnow::data {
namespace {

using minnow::detail::kernels::mul_add;

/// Takes plain pointers so that the compiler vectorizes the loop.
void normalize(const std::uint8_t* __restrict in, float* __restrict out, std::int64_t n, float scale, float shift) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = mul_add(static_cast<float>(in[i]), scale, shift);
}

/// The same, to a batch that another thread will read.
void normalize_to_batch(const std::uint8_t* in, float* out, std::int64_t n, float scale, float shift) {
  constexpr std::int64_t kBlock = 1024;
  alignas(64) float block[kBlock];
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t m = std::min(kBlock, n - i);
    normalize(in + i, block, m, scale, shift);
    detail::copy_past_cache(block, out + i, static_cast<std::size_t>(m) * sizeof(float));
  }
}

constexpr const char* kUndefined = "\nit was default-constructed, moved from, or is a gradient that was never computed";
constexpr const char* kMove = "\ncall .cpu(), and let the loader move batches: {.device = ...}";

/// The function that the user called: this constructor, or e.g. mnist().
std::string name() { return std::string(CallSite::op_or("ImageDataset")) + ": "; }

Tensor check_images(const Tensor& images, SourceLocation where) {
  const std::string operand = "\n  images  " + describe(images);
  if (!images.defined()) throw ValueError(name() + "images are undefined" + operand + kUndefined, where);
  if (!images.device().is_cpu()) throw DeviceError(name() + "images must be on the cpu" + operand + kMove, where);
  if (images.dtype() != DType::uint8)
    throw DTypeError(name() + "images must be uint8" + operand + "\nfor others use TensorDataset", where);
  if (images.dim() != 3 && images.dim() != 4)
    throw ShapeError(name() + "images must have 3 or 4 dimensions" + operand + "\nthey are [N, H, W] or [N, C, H, W]",
                     where);
  Tensor dense = images;
  if (!dense.is_contiguous()) {
    dense = detail::host_tensor(DType::uint8, images.shape(), where);
    detail::copy_host(images, dense);
  }
  Shape shape = images.shape();
  if (shape.rank() == 3) shape.insert(1, 1);
  return Tensor(dense.storage(), DType::uint8, shape, contiguous_strides(shape), dense.storage_offset());
}

/// The labels as int64, each below `classes`.
Tensor check_labels(const Tensor& labels, std::int64_t count, std::int64_t classes, SourceLocation where) {
  const std::string operand = "\n  labels  " + describe(labels);
  if (!labels.defined()) throw ValueError(name() + "labels are undefined" + operand + kUndefined, where);
  if (!labels.device().is_cpu()) throw DeviceError(name() + "labels must be on the cpu" + operand + kMove, where);
  if (labels.dtype() != DType::uint8 && labels.dtype() != DType::int64)
    throw DTypeError(name() + "labels must be uint8 or int64" + operand + "\nconvert them: .to(int64)", where);
  if (labels.dim() != 1 || labels.shape()[0] != count)
    throw ShapeError(name() + "there must be one label for each of " + std::to_string(count) + " images" + operand +
                         "\nlabels are [" + std::to_string(count) + "] here",
                     where);
  const Tensor dense = detail::host_tensor(labels.dtype(), labels.shape(), where);
  detail::copy_host(labels, dense);
  const Tensor out = detail::host_tensor(DType::int64, labels.shape(), where);
  auto* value = out.data<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    value[i] = labels.dtype() == DType::uint8 ? dense.data<std::uint8_t>()[i] : dense.data<std::int64_t>()[i];
    if (value[i] < 0 || value[i] >= classes)
      throw IndexError(name() + "label " + std::to_string(value[i]) + " of image " + std::to_string(i) +
                           " must be in [0, " + std::to_string(classes) + ")" + operand +
                           "\nthe number of classes is " + std::to_string(classes),
                       where);
  }
  return out;
}

}  // namespace

ImageDataset::ImageDataset(const Tensor& images, const Tensor& labels, std::int64_t classes,
                           Normalization normalization, SourceLocation where)
    : images_(check_images(images, where)),
      labels_(check_labels(labels, images_.shape()[0], classes, where)),
      classes_(classes) {
  std::vector<double> means = normalization.means, stds = normalization.stds;
  const std::int64_t channels = images_.shape()[1];
  if (means.empty() && stds.empty()) {
    means = {normalization.mean};
    stds = {normalization.std};
  } else if (static_cast<std::int64_t>(means.size()) != channels || means.size() != stds.size()) {
    throw ValueError(fmt::format("{}{} means and {} stds for {} channels\ngive one of each for each channel", name(),
                                 means.size(), stds.size(), channels),
                     where);
  } else if (normalization.on_device) {
    throw ValueError(name() +
                         "means and stds of channels do not work on the device\ngive one mean and std, or leave "
                         "on_device out",
                     where);
  }
  for (std::size_t c = 0; c < means.size(); ++c) {
    if (!std::isfinite(means[c]) || !std::isfinite(stds[c]) || stds[c] <= 0)
      throw ValueError(fmt::format("{}mean must be finite, std finite and positive, got mean {} and std {}\npixels "
                                   "become (byte / 255 - mean) / std",
                                   name(), means[c], stds[c]),
                       where);
    scales_.push_back(static_cast<float>(1 / (255 * stds[c])));
    shifts_.push_back(static_cast<float>(-means[c] / stds[c]));
  }
  on_device_ = normalization.on_device;
}

LabeledImages ImageDataset::get(std::int64_t i, SourceLocation where) const {
  detail::check_index("ImageDataset::get", i, size(), where);
  const Shape shape = detail::row_shape(images_.shape());
  const std::int64_t pixels = shape.numel();
  const Tensor image = detail::host_tensor(DType::float32, shape, where);
  const Tensor label(labels_.storage(), DType::int64, Shape(), Strides(), i);
  const std::int64_t plane = pixels / static_cast<std::int64_t>(scales_.size());
  for (std::size_t c = 0; c < scales_.size(); ++c) {
    const std::int64_t first = static_cast<std::int64_t>(c) * plane;
    normalize(images_.data<std::uint8_t>() + i * pixels + first, image.data<float>() + first, plane, scales_[c],
              shifts_[c]);
  }
  return {image, label};
}

void ImageDataset::get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer, SourceLocation where) const {
  for (const auto i : indices) detail::check_index("ImageDataset::get_batch", i, size(), where);
  Shape shape = images_.shape();
  shape[0] = static_cast<std::int64_t>(indices.size());
  const bool later = on_device_ && buffer.goes_to_device();
  const Tensor images =
      later ? buffer.make_bytes(0, shape, scales_[0], shifts_[0], where) : buffer.make(0, DType::float32, shape, where);
  const Tensor labels = buffer.make(1, DType::int64, {shape[0]}, where);
  const std::int64_t pixels = detail::row_shape(shape).numel();
  const std::int64_t plane = pixels / static_cast<std::int64_t>(scales_.size());
  const auto* bytes = images_.data<std::uint8_t>();
  const auto* classes = labels_.data<std::int64_t>();
  auto* label = labels.data<std::int64_t>();
  auto* floats = later ? nullptr : images.data<float>();
  auto* copies = later ? images.data<std::uint8_t>() : nullptr;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (const std::size_t next = k + detail::kRowsAhead; next < indices.size())
      detail::prefetch_row(bytes + indices[next] * pixels, static_cast<std::size_t>(pixels));
    const auto* from = bytes + indices[k] * pixels;
    const std::int64_t at = static_cast<std::int64_t>(k) * pixels;
    if (later) detail::copy_past_cache(from, copies + at, static_cast<std::size_t>(pixels));
    for (std::size_t c = 0; c < scales_.size() && !later; ++c) {
      const std::int64_t first = static_cast<std::int64_t>(c) * plane;
      normalize_to_batch(from + first, floats + at + first, plane, scales_[c], shifts_[c]);
    }
    label[k] = classes[indices[k]];
  }
  detail::finish_copies();
}

}  // namespace minnow::data
