#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>
#include <minnow/data/dataset.h>
#include <minnow/tensor/in.h>

namespace minnow::data {

namespace detail {

/// Checks that the tensors are on the host and have equal first sizes, makes them contiguous; returns that size.
std::int64_t prepare_rows(std::span<Tensor> tensors, SourceLocation where);
/// Row i, a view.
Tensor row_of(const Tensor& tensor, std::int64_t i);
/// Copies rows of a contiguous tensor into the batch.
void gather_rows(const Tensor& tensor, std::span<const std::int64_t> indices, BatchBuffer& buffer, int field,
                 SourceLocation where);

}  // namespace detail

/// `TensorDataset(images, labels)`: sample i is an array of the rows i of N tensors, as views.  ValueError for an
/// undefined tensor, ShapeError for 0-dim tensors and different first sizes, DeviceError for tensors that are not on
/// the cpu (the data loader moves batches).
template <std::size_t N> class TensorDataset {
 public:
  explicit TensorDataset(std::array<Tensor, N> tensors, SourceLocation where = SourceLocation::current())
      : tensors_(std::move(tensors)), size_(detail::prepare_rows(tensors_, where)) {}
  template <std::convertible_to<Tensor>... Others>
  requires(sizeof...(Others) + 1 == N) TensorDataset(const In& first, const Others&... others)
      : TensorDataset(std::array<Tensor, N>{*first, others...}, first.where) {}

  std::int64_t size() const { return size_; }
  /// IndexError.
  std::array<Tensor, N> get(std::int64_t i, SourceLocation where = SourceLocation::current()) const {
    detail::check_index("TensorDataset::get", i, size_, where);
    std::array<Tensor, N> rows;
    for (std::size_t k = 0; k < N; ++k) rows[k] = detail::row_of(tensors_[k], i);
    return rows;
  }
  /// Writes these samples into a batch.  IndexError.
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer,
                 SourceLocation where = SourceLocation::current()) const {
    for (const auto i : indices) detail::check_index("TensorDataset::get_batch", i, size_, where);
    for (std::size_t k = 0; k < N; ++k) detail::gather_rows(tensors_[k], indices, buffer, static_cast<int>(k), where);
  }
  /// The tensors themselves, contiguous.
  const std::array<Tensor, N>& tensors() const { return tensors_; }

 private:
  std::array<Tensor, N> tensors_;
  std::int64_t size_ = 0;
};

template <std::convertible_to<Tensor>... Others>
TensorDataset(const Tensor&, const Others&...) -> TensorDataset<sizeof...(Others) + 1>;

}  // namespace minnow::data
