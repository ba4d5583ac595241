// Checks of the batches that a user's dataset makes, of loader positions, and of objects that were moved from.

#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow::data {
namespace {

/// A dataset whose get_batch() calls a function.
struct Photographs {
  std::function<void(std::int64_t rows, BatchBuffer& buffer)> make;

  std::int64_t size() const { return 8; }
  std::pair<Tensor, Tensor> get(std::int64_t) const { return {zeros({2}), zeros({})}; }
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer) const {
    make(static_cast<std::int64_t>(indices.size()), buffer);
  }
};

template <class E, class Make> void expect_refused(const Make& make, const std::string& made, const std::string& hint) {
  for (const int workers : {0, 2}) {
    DataLoader loader{Photographs{make}, {.batch_size = 4, .num_workers = workers}};
    const unsigned line = __LINE__ - 1;
    const std::string text = test::error_of<E>([&] {
      for (const auto& [a, b] : progress(loader)) ADD_FAILURE() << a << b;
    });
    for (const std::string& part :
         {"DataLoader: get_batch of Photographs made " + made, hint, "checks_test.cpp:" + std::to_string(line)})
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(LoaderChecks, RowsAndFieldsOfABatch) {
  const auto float_field = [](BatchBuffer& buffer, int field, const Shape& shape) {
    buffer.make(field, DType::float32, shape);
  };
  expect_refused<ShapeError>(
      [&](std::int64_t rows, BatchBuffer& buffer) {
        float_field(buffer, 0, {rows + 1, 2});
        float_field(buffer, 1, {rows});
      },
      "a field without 4 rows, one for each sample of the batch",
      "  field 0  float32[5, 2] on cpu\n  field 1  float32[4] on cpu\nmake each field as [4, ...]");
  expect_refused<ShapeError>(
      [&](std::int64_t rows, BatchBuffer& buffer) {
        float_field(buffer, 0, {rows, 2});
        float_field(buffer, 1, {rows - 1});
      },
      "a field without 4 rows", "indices.size()");
  expect_refused<ShapeError>(
      [&](std::int64_t, BatchBuffer& buffer) {
        float_field(buffer, 0, {});
        float_field(buffer, 1, {});
      },
      "a field without 4 rows", "field 0  float32[] on cpu");
  expect_refused<ValueError>([&](std::int64_t rows, BatchBuffer& buffer) { float_field(buffer, 1, {rows}); },
                             "2 fields with gaps, a sample has 2",
                             "  field 0  not made\n  field 1  float32[4] on cpu\ncall buffer.make()");
  expect_refused<ValueError>([&](std::int64_t rows, BatchBuffer& buffer) { float_field(buffer, 0, {rows}); },
                             "1 fields, a sample has 2", "buffer.make()");
  expect_refused<ValueError>([&](std::int64_t, BatchBuffer&) {}, "0 fields, a sample has 2", "buffer.make()");
}

TEST(LoaderChecks, NoEpochAfterTheLargestNumber) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  DataLoader loader{TensorDataset(zeros({4, 2})), {.batch_size = 2, .num_workers = 0}};
  EXPECT_NE(test::error_of<ValueError>([&] { loader.set_epoch(kMost); }).find("there is no epoch 9223372036854775807"),
            std::string::npos);
  loader.set_epoch(kMost - 1);
  std::ostringstream out;
  for (const auto& [x] : progress(loader, {.out = &out})) EXPECT_EQ(x.size(0), 2);
  EXPECT_NE(out.str().find("epoch 9223372036854775807"), std::string::npos) << out.str();
  EXPECT_NE(test::error_of<ValueError>([&] { loader.begin(); }).find("no epoch after the last"), std::string::npos);
  loader.set_epoch(0);
  EXPECT_NO_THROW(loader.begin());
}

TEST(LoaderChecks, MovedFromLoaderIsAnError) {
  DataLoader loader{TensorDataset(zeros({4, 2})), {.batch_size = 2, .num_workers = 0}};
  const unsigned line = __LINE__ - 1;
  DataLoader to = std::move(loader);
  const auto refused = [&](auto f) {
    const std::string text = test::error_of<ValueError>(f);
    EXPECT_NE(text.find("DataLoader: the loader was moved from  (checks_test.cpp:" + std::to_string(line)),
              std::string::npos)
        << text;
  };
  refused([&] { loader.begin(); });
  refused([&] { static_cast<void>(loader.size()); });
  refused([&] { static_cast<void>(loader.dataset()); });
  refused([&] { static_cast<void>(loader.options()); });
  refused([&] { static_cast<void>(loader.epoch()); });
  refused([&] { loader.set_epoch(1); });
  refused([&] { static_cast<void>(loader.position()); });
  refused([&] { loader.set_position({}); });
  refused([&] { static_cast<void>(loader.stats()); });
  refused([&] { progress(loader).begin(); });
  EXPECT_EQ(loader.samples(), 4);
  EXPECT_EQ(loader.num_workers(), 0);
  loader = std::move(to);
  EXPECT_EQ(loader.size(), 2);
  refused([&] { to.begin(); });
}

TEST(LoaderChecks, DatasetsThatWereMovedFromDoNotCrash) {
  Random random(1);
  TensorDataset rows(arange(0, 4));
  const TensorDataset rows_kept = std::move(rows);
  EXPECT_THROW(rows.get(0), Error);
  Subset part(rows_kept, {1, 2});
  const Subset part_kept = std::move(part);
  EXPECT_EQ(part.size(), 0);
  EXPECT_THROW(part.get(0), IndexError);
  EXPECT_THROW(static_cast<void>(part.dataset()), ValueError);
  ConcatDataset both(part_kept, part_kept);
  const ConcatDataset both_kept = std::move(both);
  EXPECT_THROW(both.get(0), IndexError);
  EXPECT_EQ(both_kept.size(), 4);
  for (const bool replacement : {true, false}) {
    WeightedRandomSampler sampler({1, 2, 3}, 3, replacement);
    const WeightedRandomSampler kept = std::move(sampler);
    EXPECT_THROW(sampler.indices(1, 0), ValueError);
    EXPECT_EQ(kept.indices(1, 0).size(), 3u);
  }
  ImageDataset images(zeros({3, 2, 2}, {DType::uint8}), tensor({0, 1, 2}), 3);
  const ImageDataset images_kept = std::move(images);
  EXPECT_THROW(images.get(0), Error);
  EXPECT_THROW(static_cast<void>(images.size()), Error);
  ProgressBar bar(3, {});
  ProgressBar bar_kept = std::move(bar);
  EXPECT_NO_THROW(static_cast<void>(bar.line()));
}

TEST(LoaderChecks, ProgressCountsBatchesThatTheLoopMovesAway) {
  DataLoader loader{TensorDataset(zeros({5, 2})), {.batch_size = 2, .num_workers = 0}};
  std::vector<Tensor> taken;
  std::ostringstream out;
  for (auto& [x] : progress(loader, {.out = &out})) taken.push_back(std::move(x));
  EXPECT_EQ(taken.size(), 3u);
  EXPECT_NE(out.str().find("3/3"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace minnow::data
