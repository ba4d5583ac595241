#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <minnow/data/loader.h>
#include <minnow/data/stream_loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::has;

/// Sample i: i % 7 + 1 numbers i, a matrix of i % 3 + 1 rows, and i.
struct Words {
  struct Sample {
    Tensor tokens, matrix;
    std::int64_t label;
  };
  std::int64_t size() const { return 50; }
  Sample get(std::int64_t i) const {
    return {full({i % 7 + 1}, i, int64), full({i % 3 + 1, 2}, static_cast<double>(i)), i};
  }
};

struct NamedPairs {
  struct Pair {
    Tensor a, b;
    std::int64_t label;
    struct Batch {
      Tensor a, b, label;
    };
  };
  std::int64_t size() const { return 4; }
  Pair get(std::int64_t i) const { return {full({2}, i), full({3}, -i), i}; }
};

TEST(Collate, ASampleWithANumberNamesTheFieldsOfItsBatch) {
  data::DataLoader loader(NamedPairs(), {.batch_size = 4});
  for (const auto& batch : loader) {
    EXPECT_EQ(batch.a.shape(), (Shape{4, 2}));
    EXPECT_EQ(batch.b.shape(), (Shape{4, 3}));
    EXPECT_TRUE(batch.label.equal(arange(4)));
  }
}

TEST(Collate, PadsToTheLongestOfABatch) {
  for (const bool left : {false, true})
    for (const char* device : {"cpu", "sim:0"})
      for (const int workers : {0, 2}) {
        data::DataLoader loader(Words(), {.batch_size = 4,
                                          .num_workers = workers,
                                          .device = device,
                                          .collate = data::pad_collate({.value = -1, .left = left})});
        std::int64_t i = 0;
        for (auto& [tokens, matrix, labels] : loader) {
          std::int64_t longest = 0, rows = 0;
          for (std::int64_t k = i; k < i + labels.size(0); ++k)
            longest = std::max(longest, k % 7 + 1), rows = std::max(rows, k % 3 + 1);
          ASSERT_EQ(tokens.shape(), Shape({labels.size(0), longest}));
          ASSERT_EQ(matrix.shape(), Shape({labels.size(0), rows, 2}));
          EXPECT_EQ(tokens.dtype(), int64);
          EXPECT_EQ(tokens.device(), Device(device));
          const Tensor t = tokens.cpu(), m = matrix.cpu();
          for (std::int64_t k = 0; k < t.size(0); ++k, ++i) {
            EXPECT_EQ(labels.cpu()(k).item<std::int64_t>(), i);
            for (std::int64_t at = 0; at < longest; ++at) {
              const std::int64_t own = i % 7 + 1;
              const bool inside = left ? at >= longest - own : at < own;
              EXPECT_EQ(t(k, at).item<std::int64_t>(), inside ? i : -1);
            }
            EXPECT_EQ(m(k, left ? rows - 1 : 0, 1).item(), static_cast<double>(i));
          }
        }
        EXPECT_EQ(i, 50);
      }
}

TEST(Collate, AFunctionOfTheUserMakesBatches) {
  const data::Collate flat = [](const std::vector<std::vector<Tensor>>& samples) {
    std::vector<std::int64_t> tokens, lengths, labels;
    for (const auto& sample : samples) {
      for (const auto token : sample[0].to_vector<std::int64_t>()) tokens.push_back(token);
      lengths.push_back(sample[0].numel());
      labels.push_back(sample[2].item<std::int64_t>());
    }
    return std::vector<Tensor>{tensor(tokens), tensor(lengths), tensor(labels)};
  };
  data::DataLoader loader(Words(), {.batch_size = 5, .collate = flat});
  for (auto& [tokens, lengths, labels] : loader) {
    EXPECT_EQ(tokens.size(0), sum(lengths).item<std::int64_t>());
    EXPECT_EQ(labels.size(0), 5);
  }
  // A dataset that makes whole batches is read by samples then.
  data::DataLoader rows(data::TensorDataset(arange(6)), {.batch_size = 3, .collate = data::pad_collate()});
  for (auto& [x] : rows) EXPECT_EQ(x.shape(), Shape({3}));
}

TEST(Collate, ErrorsNameTheFault) {
  const auto text = [](const data::Collate& collate, auto error, auto dataset) {
    return error_of<decltype(error)>([&] {
      for ([[maybe_unused]] auto& batch : data::DataLoader(dataset, {.batch_size = 2, .collate = collate})) {}
    });
  };
  const auto returns = [](std::vector<Tensor> fields) { return [fields](const auto&) { return fields; }; };
  EXPECT_TRUE(has(text(returns({}), ValueError(""), Words()), "returned 0 tensors, a sample has 3"));
  EXPECT_TRUE(has(text(returns({zeros({1}), Tensor(), zeros({1})}), ValueError(""), Words()), "field 1"));
  EXPECT_TRUE(has(text(returns({zeros({1}), zeros({1}), zeros({1}, "sim:0")}), DeviceError(""), Words()), "on sim:0"));
  struct Ranks {
    std::int64_t size() const { return 2; }
    Tensor get(std::int64_t i) const { return i == 0 ? zeros({2}) : zeros({2, 2}); }
  };
  struct Types {
    std::int64_t size() const { return 2; }
    Tensor get(std::int64_t i) const { return i == 0 ? zeros({2}) : zeros({2}, int64); }
  };
  EXPECT_TRUE(has(text(data::pad_collate(), data::BatchError(0, ""), Ranks()),
                  "ShapeError: pad_collate: field 0 changes its rank"));
  EXPECT_TRUE(has(text(data::pad_collate(), data::BatchError(0, ""), Types()),
                  "DTypeError: pad_collate: field 0 changes its dtype"));
  EXPECT_THROW(data::BucketSampler({1, 2}, 0), ValueError);
  EXPECT_THROW(data::BucketSampler({1, 2}, 1, 0), ValueError);
}

TEST(BucketSampler, TheOrderOfTheBatchesChangesWithTheEpoch) {
  std::vector<std::int64_t> lengths(100);
  std::iota(lengths.begin(), lengths.end(), 0);
  const data::BucketSampler sampler(lengths, 10, 10);  // one pool: the batches are the same in each epoch
  const auto first = sampler.indices(1, 0), second = sampler.indices(1, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::set(first.begin(), first.begin() + 10).size(), 10U);
  EXPECT_EQ(first, sampler.indices(1, 0));
}

TEST(BucketSampler, BatchesHaveSimilarLengthsAndAllSamples) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 1003; ++i) lengths.push_back(i * 7919 % 500);
  const data::BucketSampler sampler(lengths, 10, 20);
  const auto first = sampler.indices(1, 0);
  EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 1003U);
  EXPECT_EQ(first, sampler.indices(1, 0));
  EXPECT_NE(first, sampler.indices(1, 1));
  EXPECT_NE(first, sampler.indices(2, 0));
  double spread = 0;
  std::vector<std::int64_t> means;
  for (std::size_t b = 0; b < 100; ++b) {
    std::int64_t low = 1000, high = 0;
    for (std::size_t k = 10 * b; k < 10 * b + 10; ++k) {
      const std::int64_t length = lengths[static_cast<std::size_t>(first[k])];
      low = std::min(low, length), high = std::max(high, length);
    }
    spread += static_cast<double>(high - low) / 100;
    means.push_back(low);
  }
  EXPECT_LT(spread, 40);  // about 25; 410 in random batches
  EXPECT_FALSE(std::is_sorted(means.begin(), means.end()));
  EXPECT_EQ(data::BucketSampler({}, 4).indices(0, 0).size(), 0U);
  EXPECT_EQ(data::BucketSampler({3, 1}, 4).indices(0, 0).size(), 2U);
}

/// Counts up to an end that nobody knows before.
struct Counter {
  std::int64_t at, end;
  std::optional<std::pair<Tensor, std::int64_t>> next() {
    if (at == end) return std::nullopt;
    const std::int64_t i = at++;
    return std::pair{full({2}, static_cast<double>(i)), i};
  }
};

TEST(StreamLoader, BatchesAStreamOfUnknownSize) {
  for (const char* device : {"cpu", "sim:0"}) {
    data::StreamLoader loader(
        [](std::int64_t epoch) {
          return Counter{epoch * 100, epoch * 100 + 7};
        },
        {.batch_size = 3, .device = device});
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      std::vector<std::int64_t> seen, sizes;
      for (auto& [x, i] : loader) {
        EXPECT_EQ(x.shape(), Shape({i.size(0), 2}));
        EXPECT_EQ(x.device(), Device(device));
        for (const auto value : i.cpu().to_vector<std::int64_t>()) seen.push_back(value - epoch * 100);
        sizes.push_back(i.size(0));
      }
      EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
      EXPECT_EQ(sizes, (std::vector<std::int64_t>{3, 3, 1}));
    }
  }
  data::StreamLoader dropped([](std::int64_t) { return Counter{0, 7}; }, {.batch_size = 3, .drop_last = true});
  int batches = 0;
  for ([[maybe_unused]] auto& batch : dropped) ++batches;
  EXPECT_EQ(batches, 2);
  data::StreamLoader empty([](std::int64_t) { return Counter{0, 0}; });
  for ([[maybe_unused]] auto& batch : empty) FAIL();
  const auto open = [](std::int64_t) { return Counter{0, 0}; };
  EXPECT_THROW(data::StreamLoader(open, {.batch_size = 0}), ValueError);
}

}  // namespace
}  // namespace minnow
