#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow::data {

/// Gives the indices of an epoch's samples, in their order.  They depend on (seed, epoch) alone.
template <class S>
concept Sampler = requires(const S& sampler, std::uint64_t seed, std::int64_t epoch) {
  { sampler.size() } -> std::convertible_to<std::int64_t>;
  { sampler.indices(seed, epoch) } -> std::convertible_to<std::vector<std::int64_t>>;
};

namespace detail {

/// The indices of an epoch; passes the user's line to an indices() that takes a SourceLocation.
template <Sampler S>
std::vector<std::int64_t> order_of(const S& sampler, std::uint64_t seed, std::int64_t epoch, SourceLocation where) {
  if constexpr (requires { sampler.indices(seed, epoch, where); }) return sampler.indices(seed, epoch, where);
  else return sampler.indices(seed, epoch);
}

}  // namespace detail

/// 0, 1, ..., size - 1 in every epoch.  ValueError for a negative size.
class SequentialSampler {
 public:
  explicit SequentialSampler(std::int64_t size, SourceLocation where = SourceLocation::current());
  std::int64_t size() const { return size_; }
  /// OutOfMemoryError.
  std::vector<std::int64_t> indices(std::uint64_t seed, std::int64_t epoch,
                                    SourceLocation where = SourceLocation::current()) const;

 private:
  std::int64_t size_;
};

/// Every index below `size` once, in a random order that changes from epoch to epoch.  ValueError for a
/// negative size.
class RandomSampler {
 public:
  explicit RandomSampler(std::int64_t size, SourceLocation where = SourceLocation::current());
  std::int64_t size() const { return size_; }
  /// OutOfMemoryError.
  std::vector<std::int64_t> indices(std::uint64_t seed, std::int64_t epoch,
                                    SourceLocation where = SourceLocation::current()) const;

 private:
  std::int64_t size_;
};

struct DistributedSamplerOptions {
  bool shuffle = true;
  /// Leave out the last samples where the ranks would get different numbers; otherwise the first ones of the epoch come
  /// again at its end.
  bool drop_last = false;
};

/// The part of a data set that one of several ranks trains on: every ranks-th index of an epoch's order, from `rank`
/// on, as many for each rank.  Batches of n on each rank are together the batch of n * ranks that one rank would have.
///
///     data::DataLoader loader(set, data::DistributedSampler(set.size(), dist::rank(), dist::size()), {.batch_size = 64});
///
/// ValueError for a negative size, and a rank that is not in [0, ranks).
class DistributedSampler {
 public:
  DistributedSampler(std::int64_t size, int rank, int ranks, const DistributedSamplerOptions& options = {},
                     SourceLocation where = SourceLocation::current());
  std::int64_t size() const;
  /// OutOfMemoryError.
  std::vector<std::int64_t> indices(std::uint64_t seed, std::int64_t epoch,
                                    SourceLocation where = SourceLocation::current()) const;

 private:
  std::int64_t size_;
  int rank_, ranks_;
  DistributedSamplerOptions options_;
};

/// `num_samples` indices, i with a probability proportional to weights[i]; with replacement an index may come again.
/// ValueError when a weight is negative or not finite, all are zero, or, without replacement, num_samples is more than
/// the number of positive weights.
class WeightedRandomSampler {
 public:
  WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples, bool replacement = true,
                        SourceLocation where = SourceLocation::current());
  std::int64_t size() const { return num_samples_; }
  /// OutOfMemoryError.
  std::vector<std::int64_t> indices(std::uint64_t seed, std::int64_t epoch,
                                    SourceLocation where = SourceLocation::current()) const;

 private:
  std::vector<double> weights_;
  std::vector<double> sums_;  // running sums of the weights
  std::int64_t num_samples_;
  bool replacement_;
};

/// Batches of samples of similar lengths, which need little padding: indices come in a random order in which every
/// `batch_size` neighbours, a batch of a loader of the same batch_size, have similar lengths.  Pools of `pool` batches
/// are drawn at random and sorted by length; their batches come in random order, a smaller one last.  ValueError for a
/// batch_size or pool below 1.
class BucketSampler {
 public:
  BucketSampler(std::vector<std::int64_t> lengths, std::int64_t batch_size, std::int64_t pool = 100,
                SourceLocation where = SourceLocation::current());
  std::int64_t size() const { return static_cast<std::int64_t>(lengths_.size()); }
  /// OutOfMemoryError.
  std::vector<std::int64_t> indices(std::uint64_t seed, std::int64_t epoch,
                                    SourceLocation where = SourceLocation::current()) const;

 private:
  std::vector<std::int64_t> lengths_;
  std::int64_t batch_size_, pool_;
};

}  // namespace minnow::data
