#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>
#include <minnow/data/dataset.h>

namespace minnow::data {

namespace detail {

/// The numbers of an int64 vector.  DTypeError, ShapeError.
std::vector<std::int64_t> indices_of(const Tensor& indices, SourceLocation where);

}  // namespace detail

/// The samples of a dataset at these indices: `Subset(d, {0, 2})`, or of an int64 vector, `Subset(d, randperm(100))`.
/// Copies share the dataset.  IndexError for an index that the dataset does not have, ValueError for a null pointer,
/// DTypeError and ShapeError for other tensors.
template <Dataset D> class Subset {
 public:
  Subset(D dataset, std::vector<std::int64_t> indices, SourceLocation where = SourceLocation::current())
      : Subset(std::make_shared<const D>(std::move(dataset)), std::move(indices), where) {}
  Subset(std::shared_ptr<const D> dataset, std::vector<std::int64_t> indices,
         SourceLocation where = SourceLocation::current())
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    if (!dataset_) throw ValueError("Subset: the pointer to the dataset is null\ngive a dataset", where);
    for (const auto i : indices_) detail::check_index("Subset", i, dataset_->size(), where);
  }
  /// (A template, so that braces are a vector.)
  template <std::derived_from<Tensor> Indices>
  Subset(D dataset, const Indices& indices, SourceLocation where = SourceLocation::current())
      : Subset(std::move(dataset), detail::indices_of(indices, where), where) {}

  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  /// IndexError.
  SampleOf<D> get(std::int64_t i, Random& random, SourceLocation where = SourceLocation::current()) const {
    detail::check_index("Subset::get", i, size(), where);
    return sample_of(*dataset_, indices_[static_cast<std::size_t>(i)], random, where);
  }
  /// For a dataset that takes no random numbers.
  SampleOf<D> get(std::int64_t i, SourceLocation where = SourceLocation::current()) const requires
      requires(const D& d) {
    d.get(i);
  }
  {
    Random unused(0);
    return get(i, unused, where);
  }
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer,
                 SourceLocation where = SourceLocation::current()) const requires BatchDataset<D> {
    std::vector<std::int64_t> mapped;
    mapped.reserve(indices.size());
    for (const auto i : indices) {
      detail::check_index("Subset::get_batch", i, size(), where);
      mapped.push_back(indices_[static_cast<std::size_t>(i)]);
    }
    batch_of(*dataset_, mapped, buffer, where);
  }
  const std::vector<std::int64_t>& indices() const { return indices_; }
  /// ValueError when the subset was moved from.
  const D& dataset(SourceLocation where = SourceLocation::current()) const {
    if (!dataset_) throw ValueError("Subset: it was moved from\nuse the one that it was moved to", where);
    return *dataset_;
  }

 private:
  std::shared_ptr<const D> dataset_;
  std::vector<std::int64_t> indices_;
};

namespace detail {

/// 0 ... total - 1 in random order, split into parts.  ValueError unless the sizes are at least 0 and their sum is
/// total.
std::vector<std::vector<std::int64_t>> random_parts(std::int64_t total, std::span<const std::int64_t> sizes,
                                                    std::uint64_t seed, SourceLocation where);

}  // namespace detail

/// Splits a dataset into random parts of these sizes; the split depends on the seed alone:
/// `auto parts = random_split(d, {50000, 10000}, 1)`.  ValueError for a negative size, and unless the sum of the sizes
/// is the dataset's size.
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, const std::vector<std::int64_t>& sizes, std::uint64_t seed = 0,
                                    SourceLocation where = SourceLocation::current()) {
  const auto shared = std::make_shared<const D>(std::move(dataset));
  std::vector<Subset<D>> parts;
  for (auto& indices : detail::random_parts(shared->size(), sizes, seed, where))
    parts.emplace_back(shared, std::move(indices), where);
  return parts;
}

/// `ConcatDataset(a, b)`: the samples of several datasets of one type, one dataset after the other.
template <Dataset D> class ConcatDataset {
 public:
  explicit ConcatDataset(std::vector<D> parts) : parts_(std::move(parts)) {
    for (const auto& part : parts_) ends_.push_back(size() + static_cast<std::int64_t>(part.size()));
  }
  ConcatDataset(D a, D b) : ConcatDataset(std::vector<D>{std::move(a), std::move(b)}) {}

  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// IndexError.
  SampleOf<D> get(std::int64_t i, Random& random, SourceLocation where = SourceLocation::current()) const {
    detail::check_index("ConcatDataset::get", i, size(), where);
    const auto k = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
    return sample_of(parts_[k], i - (k > 0 ? ends_[k - 1] : 0), random, where);
  }
  /// For datasets that take no random numbers.
  SampleOf<D> get(std::int64_t i, SourceLocation where = SourceLocation::current()) const requires
      requires(const D& d) {
    d.get(i);
  }
  {
    Random unused(0);
    return get(i, unused, where);
  }

 private:
  std::vector<D> parts_;
  std::vector<std::int64_t> ends_;
};

}  // namespace minnow::data
