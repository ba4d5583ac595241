#pragma once

#include <cstdint>
#include <cudnn.h>
#include <library_types.h>
#include <vector>

namespace emulator {

/// A four-dimensional array: images [n, c, h, w] or filters [k, c, r, s].
struct Block4 {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::int64_t dim[4] = {0, 0, 0, 0};
  std::int64_t stride[4] = {0, 0, 0, 0};

  std::int64_t count() const { return dim[0] * dim[1] * dim[2] * dim[3]; }
  /// Elements from the first to behind the last.
  std::int64_t extent() const;
  std::size_t bytes() const;
  /// Sets the strides of its format, without gaps.
  void pack();
  /// Whether its strides are those of NHWC, or of NCHW.
  bool is_packed(cudnnTensorFormat_t as) const;
};

/// Padding, stride and dilation of a convolution.
struct Movement {
  std::int64_t padding[2] = {0, 0}, step[2] = {1, 1}, dilation[2] = {1, 1};
  std::int64_t groups = 1;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

enum class Direction { forward, data, filter };

/// x, y and w are dense arrays in the order of their dimensions; the result is added to the output of the direction.  T
/// is the type of the sums, float or double.
template <class T>
void convolve(Direction direction, const Movement& movement, const Block4& x_shape, const Block4& w_shape,
              const Block4& y_shape, std::vector<T>& x, std::vector<T>& w, std::vector<T>& y);

/// The elements in the order of dimensions; `tf32`: rounded to TF32.
template <class T> std::vector<T> dense(const Block4& shape, const void* data, bool tf32 = false);
/// data = alpha values + beta data; data is not read if beta is 0.
template <class T> void blend(const Block4& shape, void* data, const std::vector<T>& values, double alpha, double beta);

cudaDataType_t number_type(cudnnDataType_t type);

}  // namespace emulator
