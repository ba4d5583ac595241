#pragma once

#include <version>

#if defined(__cpp_lib_mdspan) || __has_include(<mdspan>)
#include <array>
#include <cstddef>
#include <cstdint>
#include <mdspan>
#include <span>
#include <string>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/tensor.h>

// Tensors and std::mdspan of C++23, where the standard library has it: libc++ from 17 on, libstdc++ from 15 on.

namespace minnow {

template <class T, std::size_t kRank>
using TensorSpan = std::mdspan<T, std::dextents<std::int64_t, kRank>, std::layout_stride>;

/// The elements of a tensor on the host, without a copy and with any strides, T or const T: `mdspan<float, 2>(w)[i,
/// j]`. It must not outlive the tensor.  ShapeError for another rank, and where elements are repeated (expand()), which
/// a std::mdspan cannot say; as data<T>(): DTypeError, DeviceError.
template <class T, std::size_t kRank>
[[nodiscard]] TensorSpan<T, kRank> mdspan(const Tensor& t, SourceLocation where = SourceLocation::current()) {
  if (t.dim() != static_cast<int>(kRank))
    throw ShapeError("mdspan: the tensor has " + std::to_string(t.dim()) + " dimensions, not " + std::to_string(kRank) +
                         "\n  tensor  " + t.shape().str(),
                     where);
  std::array<std::int64_t, kRank> sizes{}, strides{};
  for (std::size_t d = 0; d < kRank; ++d) {
    sizes[d] = t.size(static_cast<int>(d));
    // Of one element, or of none, the stride is not used, and must be positive.
    strides[d] = sizes[d] > 1 && t.numel() > 0 ? t.strides()[static_cast<int>(d)] : 1;
    if (strides[d] == 0)
      throw ShapeError("mdspan: dimension " + std::to_string(d) + " repeats its elements\n  tensor  " +
                           t.shape().str() + "\ncopy them first: t.contiguous()",
                       where);
  }
  return TensorSpan<T, kRank>(t.template data<T>(where),
                              std::layout_stride::mapping(std::dextents<std::int64_t, kRank>(sizes),
                                                          std::span<const std::int64_t, kRank>(strides)));
}

/// The memory of a std::mdspan as a tensor, without a copy.  It must live as long as the tensor and what views it.
template <class T, class Extents, class Layout>
[[nodiscard]] Tensor share_mdspan(const std::mdspan<T, Extents, Layout>& elements,
                                  SourceLocation where = SourceLocation::current()) {
  Shape sizes;
  Strides strides;
  for (std::size_t d = 0; d < Extents::rank(); ++d) {
    sizes.push_back(static_cast<std::int64_t>(elements.extent(d)));
    strides.push_back(static_cast<std::int64_t>(elements.stride(d)));
  }
  return from_blob(elements.data_handle(), sizes, strides, where);
}

}  // namespace minnow
#endif
