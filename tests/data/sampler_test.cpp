#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <minnow/data/loader.h>
#include <minnow/data/sampler.h>
#include <minnow/data/subset.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/tensor/create.h>

namespace minnow {
namespace {

using Indices = std::vector<std::int64_t>;

/// Pearson's chi-squared statistic of counts against probabilities.
double chi_square(const std::vector<double>& counts, const std::vector<double>& shares) {
  double total = 0, statistic = 0;
  for (const double c : counts) total += c;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double want = shares[i] * total;
    statistic += (counts[i] - want) * (counts[i] - want) / want;
  }
  return statistic;
}

TEST(SamplerStatistics, RandomOrderIsUniform) {
  constexpr std::int64_t kSize = 5, kEpochs = 4000;
  std::vector<double> counts(kSize * kSize);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Indices order = data::RandomSampler(kSize).indices(11, epoch);
    for (std::int64_t place = 0; place < kSize; ++place)
      ++counts[static_cast<std::size_t>(place * kSize + order[static_cast<std::size_t>(place)])];
  }
  // 16 degrees of freedom: exceeds 45 with probability 1e-4.
  EXPECT_LT(chi_square(counts, std::vector<double>(25, 1.0 / 25)), 45);
}

TEST(SamplerStatistics, WeightedDrawsFollowTheWeights) {
  const data::WeightedRandomSampler sampler({1, 0, 2, 3, 4, 0}, 50'000);
  std::vector<double> counts(6);
  for (const auto i : sampler.indices(3, 0)) ++counts.at(static_cast<std::size_t>(i));
  EXPECT_EQ(counts[1] + counts[5], 0);
  // 3 degrees of freedom: exceeds 21 with probability 1e-4.
  EXPECT_LT(chi_square({counts[0], counts[2], counts[3], counts[4]}, {0.1, 0.2, 0.3, 0.4}), 21);
  EXPECT_NE(sampler.indices(3, 0), sampler.indices(3, 1));
  EXPECT_NE(sampler.indices(3, 0), sampler.indices(4, 0));
}

TEST(SamplerStatistics, DrawsWithoutReplacementFollowTheWeights) {
  const data::WeightedRandomSampler sampler({1, 3, 6}, 2, false);
  std::vector<double> first(3), pairs(9);
  for (std::int64_t epoch = 0; epoch < 20'000; ++epoch) {
    const Indices drawn = sampler.indices(5, epoch);
    ASSERT_EQ(drawn.size(), 2U);
    ASSERT_NE(drawn[0], drawn[1]);
    ++first[static_cast<std::size_t>(drawn[0])];
    ++pairs[static_cast<std::size_t>(3 * drawn[0] + drawn[1])];
  }
  EXPECT_LT(chi_square(first, {0.1, 0.3, 0.6}), 19);
  EXPECT_LT(chi_square({pairs[3], pairs[5]}, {1.0 / 7, 6.0 / 7}), 15);  // after 1: 0 and 2 as 1 to 6
  EXPECT_LT(chi_square({pairs[6], pairs[7]}, {1.0 / 4, 3.0 / 4}), 15);  // after 2: 0 and 1 as 1 to 3
}

TEST(SamplerStatistics, LoaderUsesTheIndicesOfItsSampler) {
  const data::TensorDataset ten(arange(10));
  const data::WeightedRandomSampler sampler({0, 0, 1, 0, 0, 0, 0, 9, 0, 0}, 1000);
  for (const int workers : {0, 2}) {
    data::DataLoader loader(ten, sampler, {.batch_size = 64, .num_workers = workers, .seed = 9});
    EXPECT_EQ(loader.samples(), 1000);
    Indices shown;
    for (auto& [x] : loader)
      for (const auto i : x.span<std::int64_t>()) shown.push_back(i);
    EXPECT_EQ(shown, sampler.indices(9, 0));
    EXPECT_NEAR(static_cast<double>(std::count(shown.begin(), shown.end(), 7)), 900, 40);
  }
}

TEST(RandomSplit, PartsHaveTheirSizesAndMixTheWholeSet) {
  const data::TensorDataset set(arange(1000));
  const auto parts = data::random_split(set, {600, 0, 300, 100}, 5);
  ASSERT_EQ(parts.size(), 4U);
  std::set<std::int64_t> seen;
  const std::int64_t sizes[] = {600, 0, 300, 100};
  for (std::size_t k = 0; k < 4; ++k) {
    ASSERT_EQ(parts[k].size(), sizes[k]);
    double sum = 0;
    for (std::int64_t i = 0; i < parts[k].size(); ++i) {
      const std::int64_t sample = parts[k].get(i)[0].item<std::int64_t>();
      EXPECT_EQ(sample, parts[k].indices()[static_cast<std::size_t>(i)]);
      seen.insert(sample);
      sum += static_cast<double>(sample);
    }
    // Each part's mean is that of the set: 289 / sqrt(n) is its std.
    if (sizes[k]) { EXPECT_NEAR(sum / static_cast<double>(sizes[k]), 499.5, 4 * 289 / std::sqrt(sizes[k])) << k; }
  }
  EXPECT_EQ(seen.size(), 1000U);
  EXPECT_EQ(data::random_split(data::TensorDataset(arange(0)), {0, 0}).size(), 2U);
}

TEST(DistributedSampler, RanksShareAnEpoch) {
  for (const std::int64_t size : {0, 1, 3, 12, 50})
    for (const int ranks : {1, 2, 3, 4, 7})
      for (const bool shuffle : {false, true})
        for (const bool drop_last : {false, true}) {
          const data::DistributedSampler first(size, 0, ranks, {.shuffle = shuffle, .drop_last = drop_last});
          EXPECT_EQ(first.size(), drop_last ? size / ranks : (size + ranks - 1) / ranks);
          std::vector<Indices> of_ranks;
          for (int rank = 0; rank < ranks; ++rank)
            of_ranks.push_back(data::DistributedSampler(size, rank, ranks, {.shuffle = shuffle, .drop_last = drop_last})
                                   .indices(5, 3));
          // Together: the order of one rank, its first samples again where some are missing.
          const Indices whole =
              shuffle ? data::RandomSampler(size).indices(5, 3) : data::SequentialSampler(size).indices(5, 3);
          for (const Indices& own : of_ranks) ASSERT_EQ(static_cast<std::int64_t>(own.size()), first.size());
          for (std::size_t i = 0; i < static_cast<std::size_t>(first.size()) * of_ranks.size(); ++i)
            EXPECT_EQ(of_ranks[i % of_ranks.size()][i / of_ranks.size()], whole[i % whole.size()]);
        }
  EXPECT_NE(data::DistributedSampler(50, 0, 2).indices(1, 0), data::DistributedSampler(50, 0, 2).indices(1, 1));
  for (const int rank : {-1, 2}) EXPECT_THROW(data::DistributedSampler(5, rank, 2), ValueError);
  EXPECT_THROW(data::DistributedSampler(-5, 0, 2), ValueError);
  EXPECT_THROW(data::DistributedSampler(5, 0, 0), ValueError);
}

}  // namespace
}  // namespace minnow
