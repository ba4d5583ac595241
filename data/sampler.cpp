#include <minnow/data/sampler.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <minnow/data/random.h>
#include <minnow/data/subset.h>
#include <minnow/tensor/error.h>

namespace minnow::data {
namespace {

constexpr std::uint64_t kOrder = 0x6f72646572;  // "order": other random numbers than those of the samples

void check_size(const char* op, const char* name, std::int64_t size, SourceLocation where) {
  if (size >= 0) return;
  throw ValueError(
      std::string(op) + ": " + name + " must be at least 0, got " + std::to_string(size) + "\nit counts samples",
      where);
}

/// A list of `size` indices.
std::vector<std::int64_t> list_of(const char* op, std::int64_t size, SourceLocation where) {
  try {
    return std::vector<std::int64_t>(static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {}
  throw OutOfMemoryError(
      std::string(op) + ": the order of " + std::to_string(size) + " samples does not fit in memory\nsplit the dataset",
      where);
}

std::vector<std::int64_t> count_up(const char* op, std::int64_t size, SourceLocation where) {
  std::vector<std::int64_t> order = list_of(op, size, where);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

std::vector<std::int64_t> shuffled(const char* op, std::int64_t size, Random random, SourceLocation where) {
  std::vector<std::int64_t> order = count_up(op, size, where);
  for (std::int64_t i = size - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  return order;
}

Random order_of(std::uint64_t seed, std::int64_t epoch) {
  return Random(seed ^ kOrder, static_cast<std::uint64_t>(epoch));
}

}  // namespace

SequentialSampler::SequentialSampler(std::int64_t size, SourceLocation where) : size_(size) {
  check_size("SequentialSampler", "size", size, where);
}

std::vector<std::int64_t> SequentialSampler::indices(std::uint64_t, std::int64_t, SourceLocation where) const {
  return count_up("SequentialSampler", size_, where);
}

RandomSampler::RandomSampler(std::int64_t size, SourceLocation where) : size_(size) {
  check_size("RandomSampler", "size", size, where);
}

std::vector<std::int64_t> RandomSampler::indices(std::uint64_t seed, std::int64_t epoch, SourceLocation where) const {
  return shuffled("RandomSampler", size_, order_of(seed, epoch), where);
}

DistributedSampler::DistributedSampler(std::int64_t size, int rank, int ranks, const DistributedSamplerOptions& options,
                                       SourceLocation where)
    : size_(size), rank_(rank), ranks_(ranks), options_(options) {
  check_size("DistributedSampler", "size", size, where);
  if (rank < 0 || rank >= ranks)
    throw ValueError(fmt::format("DistributedSampler: rank {} of {} does not exist\nranks go from 0 to ranks - 1: pass "
                                 "dist::rank() and dist::size()",
                                 rank, ranks),
                     where);
}

std::int64_t DistributedSampler::size() const {
  const std::int64_t whole = size_ / ranks_;
  return options_.drop_last || size_ % ranks_ == 0 ? whole : whole + 1;
}

std::vector<std::int64_t> DistributedSampler::indices(std::uint64_t seed, std::int64_t epoch,
                                                      SourceLocation where) const {
  const std::vector<std::int64_t> all = options_.shuffle
                                            ? shuffled("DistributedSampler", size_, order_of(seed, epoch), where)
                                            : SequentialSampler(size_, where).indices(seed, epoch, where);
  std::vector<std::int64_t> own = list_of("DistributedSampler", size(), where);
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = all[(i * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(rank_)) % all.size()];
  return own;
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, std::int64_t num_samples, bool replacement,
                                             SourceLocation where)
    : weights_(std::move(weights)), num_samples_(num_samples), replacement_(replacement) {
  check_size("WeightedRandomSampler", "num_samples", num_samples, where);
  std::int64_t positive = 0;
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (!std::isfinite(weights_[i]) || weights_[i] < 0)
      throw ValueError(fmt::format("WeightedRandomSampler: weights must be finite and at least 0, got {} at index {}\n"
                                   "probabilities are proportional to them",
                                   weights_[i], i),
                       where);
    positive += weights_[i] > 0 ? 1 : 0;
    sums_.push_back(sum += weights_[i]);
  }
  if (!std::isfinite(sum))
    throw ValueError("WeightedRandomSampler: the sum of the weights must be finite\ngive smaller weights", where);
  if (num_samples > 0 && positive == 0)
    throw ValueError("WeightedRandomSampler: no weight is positive\nat least one must be", where);
  if (!replacement && num_samples > positive)
    throw ValueError("WeightedRandomSampler: num_samples is " + std::to_string(num_samples) +
                         " without replacement, but only " + std::to_string(positive) +
                         " weights are positive\ndraw fewer, or with replacement",
                     where);
}

std::vector<std::int64_t> WeightedRandomSampler::indices(std::uint64_t seed, std::int64_t epoch,
                                                         SourceLocation where) const {
  if (num_samples_ > 0 && weights_.empty())
    throw ValueError("WeightedRandomSampler: it was moved from\nuse the one that it was moved to", where);
  Random random = order_of(seed, epoch);
  std::vector<std::int64_t> drawn = list_of("WeightedRandomSampler", num_samples_, where);
  drawn.clear();
  if (replacement_) {
    for (std::int64_t k = 0; k < num_samples_; ++k) {
      // upper_bound skips zero weights; the min is for a product that was rounded up to the sum.
      const auto at = std::upper_bound(sums_.begin(), sums_.end(), random.uniform() * sums_.back());
      auto i = std::min(at - sums_.begin(), static_cast<std::ptrdiff_t>(sums_.size()) - 1);
      while (weights_[static_cast<std::size_t>(i)] == 0) --i;
      drawn.push_back(i);
    }
    return drawn;
  }
  // The order of exponential variables with rates w_i is a weighted draw without replacement.
  std::vector<std::pair<double, std::int64_t>> times;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i] > 0)
      times.emplace_back(-std::log(1.0 - random.uniform()) / weights_[i], static_cast<std::int64_t>(i));
  std::sort(times.begin(), times.end());
  for (std::int64_t k = 0; k < num_samples_; ++k) drawn.push_back(times[static_cast<std::size_t>(k)].second);
  return drawn;
}

std::vector<std::int64_t> detail::indices_of(const Tensor& indices, SourceLocation where) {
  const std::string operand = "\n  indices  " + describe(indices) + "\ngive an int64 vector, such as randperm(n)";
  if (!indices.defined() || indices.dtype() != DType::int64)
    throw DTypeError("Subset: the indices must be int64" + operand, where);
  if (indices.dim() != 1) throw ShapeError("Subset: the indices must have one dimension" + operand, where);
  return indices.to_vector<std::int64_t>(where);
}

std::vector<std::vector<std::int64_t>> detail::random_parts(std::int64_t total, std::span<const std::int64_t> sizes,
                                                            std::uint64_t seed, SourceLocation where) {
  std::int64_t sum = 0;
  for (const auto size : sizes) {
    check_size("random_split", "size", size, where);
    if (size > total - sum) sum = total + 1;  // avoids overflow
    else sum += size;
    if (sum > total) break;
  }
  if (sum != total)
    throw ValueError("random_split: the sizes add up to " +
                         (sum > total ? "more than " + std::to_string(total) : std::to_string(sum)) +
                         ", the dataset has " + std::to_string(total) +
                         " samples\nthe sum of the sizes must be the dataset's size",
                     where);
  const std::vector<std::int64_t> order = shuffled("random_split", total, Random(seed), where);
  std::vector<std::vector<std::int64_t>> parts;
  auto at = order.begin();
  for (const auto size : sizes) {
    parts.emplace_back(at, at + size);
    at += size;
  }
  return parts;
}

BucketSampler::BucketSampler(std::vector<std::int64_t> lengths, std::int64_t batch_size, std::int64_t pool,
                             SourceLocation where)
    : lengths_(std::move(lengths)), batch_size_(batch_size), pool_(pool) {
  if (batch_size < 1 || pool < 1)
    throw ValueError(fmt::format("BucketSampler: batch_size and pool must be at least 1, got {} and {}\nthey count "
                                 "samples and batches",
                                 batch_size, pool),
                     where);
}

std::vector<std::int64_t> BucketSampler::indices(std::uint64_t seed, std::int64_t epoch, SourceLocation where) const {
  Random random = order_of(seed, epoch);
  const std::vector<std::int64_t> order = shuffled("BucketSampler", size(), random, where);
  std::vector<std::int64_t> sorted = order;
  const std::int64_t full = size() / batch_size_;
  const std::int64_t span = pool_ < full ? pool_ * batch_size_ : size();
  for (std::int64_t begin = 0; begin < size(); begin += span)
    std::stable_sort(sorted.begin() + begin, sorted.begin() + std::min(begin + span, size()),
                     [&](std::int64_t a, std::int64_t b) {
                       return lengths_[static_cast<std::size_t>(a)] < lengths_[static_cast<std::size_t>(b)];
                     });
  // Other random numbers than those of the order.
  const std::vector<std::int64_t> batches =
      shuffled("BucketSampler", full, Random(seed ^ kOrder, static_cast<std::uint64_t>(epoch), 1), where);
  std::vector<std::int64_t> out;
  out.reserve(sorted.size());
  for (const std::int64_t b : batches)
    out.insert(out.end(), sorted.begin() + b * batch_size_, sorted.begin() + (b + 1) * batch_size_);
  out.insert(out.end(), sorted.begin() + full * batch_size_, sorted.end());
  return out;
}

}  // namespace minnow::data
