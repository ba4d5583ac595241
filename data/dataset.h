#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <minnow/data/batch.h>
#include <minnow/data/random.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

/// A class with `size()` and `get(i)`, or `get(i, random)` for random augmentation.  A sample is a Tensor, or a tuple,
/// pair, array or plain struct of tensors and numbers.  The workers of a data loader call get() concurrently, so it
/// must be const and thread-safe.  `random` depends on (seed, epoch, sample) alone.  get() and get_batch() may take a
/// SourceLocation as their last parameter: the user's line, for errors.
template <class D>
concept Dataset = requires(const D& dataset, std::int64_t i, Random& random) {
  { dataset.size() } -> std::convertible_to<std::int64_t>;
  requires requires { dataset.get(i); } || requires {
    dataset.get(i, random);
  };
};

/// A dataset with `get_batch(indices, buffer)`, which writes many samples into tensors that it gets by `buffer.make()`.
template <class D>
concept BatchDataset = Dataset<D> &&
    requires(const D& dataset, std::span<const std::int64_t> indices, BatchBuffer& buffer) {
  dataset.get_batch(indices, buffer);
};

/// Sample i of any dataset.
template <Dataset D>
auto sample_of(const D& dataset, std::int64_t i, Random& random, SourceLocation where = SourceLocation::current()) {
  if constexpr (requires { dataset.get(i, random, where); }) return dataset.get(i, random, where);
  else if constexpr (requires { dataset.get(i, random); }) return dataset.get(i, random);
  else if constexpr (requires { dataset.get(i, where); }) return dataset.get(i, where);
  else return dataset.get(i);
}

/// Writes samples of any BatchDataset into a batch.
template <BatchDataset D>
void batch_of(const D& dataset, std::span<const std::int64_t> indices, BatchBuffer& buffer,
              SourceLocation where = SourceLocation::current()) {
  if constexpr (requires { dataset.get_batch(indices, buffer, where); }) dataset.get_batch(indices, buffer, where);
  else dataset.get_batch(indices, buffer);
}

/// The type of a dataset's samples.
template <Dataset D>
using SampleOf = decltype(sample_of(std::declval<const D&>(), std::int64_t{}, std::declval<Random&>()));

namespace detail {

/// IndexError unless 0 <= i < size.
inline void check_index(const char* op, std::int64_t i, std::int64_t size, SourceLocation where) {
  if (i >= 0 && i < size) return;
  throw IndexError(std::string(op) + ": index " + std::to_string(i) + " is out of range\n  size  " +
                       std::to_string(size) +
                       (size > 0 ? "\nindices go from 0 to " + std::to_string(size - 1) : "\nthe dataset is empty"),
                   where);
}

template <class D>
concept HasSize = requires(const D& dataset) {
  { dataset.size() } -> std::convertible_to<std::int64_t>;
};
/// A get(), const or not.
template <class D>
concept HasGet = requires(D& dataset, std::int64_t i, Random& random) {
  requires requires { dataset.get(i); } || requires {
    dataset.get(i, random);
  };
};

/// Replaces a type that is not a dataset, after a static_assert has said so, so that no other compiler errors follow.
struct NotADataset {
  template <class D> NotADataset(const D&);
  std::int64_t size() const;
  Tensor get(std::int64_t i) const;
};

}  // namespace detail
}  // namespace minnow::data
