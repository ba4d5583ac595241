#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <opencv2/core/mat.hpp>
#include <optional>
#include <string>
#include <minnow/autograd/grad_mode.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/tensor.h>

// Tensors and images of OpenCV.  The header is for programs that have OpenCV; minnow itself does not use it.

namespace minnow {

namespace detail {

inline void require_image(const char* op, const cv::Mat& mat, SourceLocation where) {
  if (mat.dims > 2)
    throw ShapeError(std::string(op) + ": the cv::Mat has " + std::to_string(mat.dims) +
                         " dimensions\ngive an image: rows, columns and channels",
                     where);
}

inline std::optional<DType> dtype_of_depth(int depth) {
  switch (depth) {
    case CV_8U: return DType::uint8;
    case CV_8S: return DType::int8;
    case CV_16S: return DType::int16;
    case CV_32S: return DType::int32;
    case CV_32F: return DType::float32;
    case CV_64F: return DType::float64;
    case CV_16F: return DType::float16;
    default: return std::nullopt;  // CV_16U
  }
}
inline int depth_of_dtype(const char* op, DType dtype, SourceLocation where) {
  for (int depth = 0; depth <= CV_16F; ++depth)
    if (dtype_of_depth(depth) == dtype) return depth;
  throw DTypeError(std::string(op) + ": a cv::Mat has no elements of " + std::string(name_of(dtype)) +
                       "\nconvert the tensor: t.to(float32), t.to(uint8)",
                   where);
}

/// The plane of a tensor [C, H, W] that channel c of a Mat is: blue is the first of OpenCV's three or four.
inline int plane_of(int c, int channels, bool swaps) { return swaps && channels >= 3 && c < 3 ? 2 - c : c; }

template <class T> void read_planes(const cv::Mat& mat, bool swaps, float scale, float* to) {
  const int channels = mat.channels();
  const std::int64_t plane = std::int64_t{mat.rows} * mat.cols;
  for (int y = 0; y < mat.rows; ++y) {
    const T* const row = mat.ptr<T>(y);
    for (int c = 0; c < channels; ++c) {
      float* const line = to + plane_of(c, channels, swaps) * plane + std::int64_t{y} * mat.cols;
      for (int x = 0; x < mat.cols; ++x) line[x] = static_cast<float>(row[std::int64_t{x} * channels + c]) * scale;
    }
  }
}

}  // namespace detail

/// The memory of an image as a tensor [H, W, C], or [H, W] of one channel: without a copy, also where its rows have
/// padding.  The tensor keeps the memory alive; the channels are in OpenCV's order (BGR).  DTypeError for CV_16U, which
/// no dtype has; ShapeError for more dimensions.
[[nodiscard]] inline Tensor from_mat(const cv::Mat& mat, SourceLocation where = SourceLocation::current()) {
  detail::require_image("from_mat", mat, where);
  const std::optional<DType> dtype = detail::dtype_of_depth(mat.depth());
  if (!dtype)
    throw DTypeError(
        "from_mat: elements of uint16 have no dtype\nconvert it: mat.convertTo(m, CV_32F), or image_from_mat", where);
  const auto row =
      mat.rows > 1 ? static_cast<std::int64_t>(mat.step[0] / mat.elemSize1()) : std::int64_t{mat.cols} * mat.channels();
  Shape shape{mat.rows, mat.cols};
  Strides strides{row, mat.channels()};
  if (mat.channels() > 1) shape.push_back(mat.channels()), strides.push_back(1);
  return from_blob(static_cast<void*>(mat.data), shape, BlobOptions{dtype, strides, [kept = mat](void*) {}}, where);
}

struct MatImageOptions {
  bool rgb = true;                ///< whether the tensor's channels are RGB(A); the Mat's are BGR(A)
  std::optional<double> scale{};  ///< of the values; default: 1/255 of uint8, 1/65535 of uint16, else 1
};

/// An image as networks read it: float32 [C, H, W] in one pass.  DTypeError for elements that are not uint8, uint16,
/// float32 or float64; ShapeError for more dimensions.
[[nodiscard]] inline Tensor image_from_mat(const cv::Mat& mat, const MatImageOptions& options = {},
                                           SourceLocation where = SourceLocation::current()) {
  detail::require_image("image_from_mat", mat, where);
  const Tensor image = empty({mat.channels(), mat.rows, mat.cols}, float32, where);
  float* const to = image.data<float>();
  const auto read = [&](auto zero, double usual) {
    detail::read_planes<decltype(zero)>(mat, options.rgb, static_cast<float>(options.scale.value_or(usual)), to);
  };
  switch (mat.depth()) {
    case CV_8U: read(std::uint8_t{}, 1.0 / 255); break;
    case CV_16U: read(std::uint16_t{}, 1.0 / 65535); break;
    case CV_32F: read(float{}, 1); break;
    case CV_64F: read(double{}, 1); break;
    default:
      throw DTypeError("image_from_mat: the elements are not uint8, uint16, float32 or float64\nuse from_mat", where);
  }
  return image;
}

/// A new Mat with the values of a tensor [H, W] or [H, W, C], of any strides and device.  DTypeError for a dtype that
/// OpenCV does not have, ShapeError.
[[nodiscard]] inline cv::Mat to_mat(const Tensor& t, SourceLocation where = SourceLocation::current()) {
  const bool fits = (t.dim() == 2 || (t.dim() == 3 && t.size(2) >= 1 && t.size(2) <= CV_CN_MAX)) &&
                    t.size(0) <= INT32_MAX && t.size(1) <= INT32_MAX;
  if (!fits)
    throw ShapeError("to_mat: an image is [H, W] or [H, W, C]\n  tensor  " + t.shape().str() +
                         "\nof [C, H, W]: t.permute({1, 2, 0}), or mat_from_image",
                     where);
  const NoGradGuard no_grad;
  const int channels = t.dim() == 3 ? static_cast<int>(t.size(2)) : 1;
  cv::Mat mat(static_cast<int>(t.size(0)), static_cast<int>(t.size(1)),
              CV_MAKETYPE(detail::depth_of_dtype("to_mat", t.dtype(), where), channels));
  if (t.numel() > 0) from_mat(mat).reshape(t.shape()).copy_(t);
  return mat;
}

/// An image [C, H, W] of uint8, or floating-point in [0, 1], as a new Mat of uint8: rounded, and cut off at 0 and 255;
/// NaN becomes 0.  `rgb`: whether the channels are RGB(A); the Mat's are BGR(A).
[[nodiscard]] inline cv::Mat mat_from_image(const Tensor& image, bool rgb = true,
                                            SourceLocation where = SourceLocation::current()) {
  if (image.dim() != 3 || image.size(0) < 1 || image.size(0) > 4)
    throw ShapeError("mat_from_image: an image is [C, H, W] with 1 to 4 channels\n  tensor  " + image.shape().str(),
                     where);
  if (image.dtype() != uint8 && !is_floating_point(image.dtype()))
    throw DTypeError(
        "mat_from_image: an image has uint8 or floating-point values\n  tensor  " + std::string(name_of(image.dtype())),
        where);
  const NoGradGuard no_grad;
  const bool is_byte = image.dtype() == uint8;
  const Tensor values = image.to(float32).cpu().contiguous();
  const int channels = static_cast<int>(image.size(0)), rows = static_cast<int>(image.size(1)),
            columns = static_cast<int>(image.size(2));
  cv::Mat mat(rows, columns, CV_8UC(channels));
  const float* const from = values.data<const float>();
  for (int y = 0; y < rows; ++y)
    for (int c = 0; c < channels; ++c) {
      const float* const line = from + (std::int64_t{detail::plane_of(c, channels, rgb)} * rows + y) * columns;
      for (int x = 0; x < columns; ++x) {
        const float v = std::nearbyint(is_byte ? line[x] : line[x] * 255);
        mat.ptr<std::uint8_t>(y)[x * channels + c] = static_cast<std::uint8_t>(v > 0 ? std::min(v, 255.0F) : 0);
      }
    }
  return mat;
}

}  // namespace minnow
