#pragma once

#include <Eigen/Core>
#include <type_traits>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/tensor.h>

// Tensors and matrices of Eigen 3.  The header is for programs that have Eigen; minnow itself does not use it.

namespace minnow {

/// A matrix of Eigen over the memory of a tensor on the host, T or const T.
template <class T>
using EigenMap = Eigen::Map<
    std::conditional_t<std::is_const_v<T>,
                       const Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>,
                       Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>,
    Eigen::Unaligned, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;

/// [n, m] as a matrix, [n] as a column, without a copy and with any strides: `eigen_map<float>(w) *= 2` writes to w.
/// The map must not outlive the tensor.  ShapeError for other ranks; as data<T>(): DTypeError, DeviceError.
template <class T>
[[nodiscard]] EigenMap<T> eigen_map(const Tensor& t, SourceLocation where = SourceLocation::current()) {
  if (t.dim() != 1 && t.dim() != 2)
    throw ShapeError("eigen_map: a matrix has one or two dimensions\n  tensor  " + t.shape().str() +
                         "\nselect one: t(0), t.flatten(1)",
                     where);
  T* const data = t.template data<T>(where);
  const Strides& strides = t.strides();
  const Eigen::Index columns = t.dim() == 2 ? t.size(1) : 1, of_column = t.dim() == 2 ? strides[1] : 1;
  return EigenMap<T>(data, t.size(0), columns, {strides[0], of_column});
}

/// A copy of a matrix or an expression of Eigen: [rows, columns], or [n] of a vector type.  Does not compile for
/// elements that no dtype has, such as complex numbers.
template <class Derived>
[[nodiscard]] Tensor from_eigen(const Eigen::DenseBase<Derived>& matrix,
                                SourceLocation where = SourceLocation::current()) {
  using T = typename Derived::Scalar;
  const Tensor result = empty({matrix.rows(), matrix.cols()}, dtype_of<T>(), where);
  eigen_map<T>(result, where) = matrix.derived();
  return Derived::IsVectorAtCompileTime ? result.view({matrix.size()}) : result;
}

/// The memory of a matrix of Eigen as a tensor, without a copy: [rows, columns], or [n] of a vector type.  The matrix
/// must live as long as the tensor and what views it, and keep its size.
template <class Derived>
[[nodiscard]] Tensor share_eigen(Eigen::PlainObjectBase<Derived>& matrix,
                                 SourceLocation where = SourceLocation::current()) {
  if constexpr (Derived::IsVectorAtCompileTime) return from_blob(matrix.data(), {matrix.size()}, BlobOptions{}, where);
  else if constexpr (Derived::IsRowMajor)
    return from_blob(matrix.data(), {matrix.rows(), matrix.cols()}, BlobOptions{}, where);
  else return from_blob(matrix.data(), {matrix.rows(), matrix.cols()}, Strides{1, matrix.rows()}, where);
}
template <class Derived>
Tensor share_eigen(Eigen::PlainObjectBase<Derived>&&) = delete;  // it would be gone: from_eigen()

}  // namespace minnow
