#include <gtest/gtest.h>
#include <minnow/data/image_dataset.h>
#include <minnow/data/loader.h>
#include <minnow/data/subset.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Bad inputs of get(), get_batch(), transforms, collation and BatchBuffer.
namespace minnow {
namespace {

using test::expect_errors;
using test::kHuge;
using test::kUndefined;
using test::Misuse;
using namespace data;

using Indices = std::vector<std::int64_t>;

ImageDataset images() { return {zeros({4, 2, 2}, {DType::uint8}), zeros({4}, {DType::int64}), 3}; }

TEST(Errors, Samples) {
  const TensorDataset rows(zeros({4, 2})), none(zeros({0, 2}));
  const ImageDataset set = images();
  const Subset part(rows, {3, 1});
  const ConcatDataset both(rows, rows);
  const auto changed = transform(rows, ToFloat{});
  Random random(1);
  expect_errors({
      Misuse{"IndexError", "TensorDataset::get", "index 4", [=] { rows.get(4); }},
      Misuse{"IndexError", "TensorDataset::get", "size  4", [=] { rows.get(-1); }},
      Misuse{"IndexError", "TensorDataset::get", "the dataset is empty", [=] { none.get(0); }},
      Misuse{"IndexError", "ImageDataset::get", "index 4", [=] { set.get(4); }},
      Misuse{"IndexError", "ImageDataset::get", "index -1", [=] { set.get(-1); }},
      Misuse{"IndexError", "ImageDataset::get", "from 0 to 3", [=] { set.get(kHuge); }},
      Misuse{"IndexError", "Subset::get", "index 2", [=] { part.get(2); }},
      Misuse{"IndexError", "Subset::get", "size  2", [=] { part.get(-1); }},
      Misuse{"IndexError", "Subset::get", "index 3", [&] { part.get(3, random); }},
      Misuse{"IndexError", "ConcatDataset::get", "index 8", [=] { both.get(8); }},
      Misuse{"IndexError", "ConcatDataset::get", "size  8", [=] { both.get(-1); }},
      Misuse{"IndexError", "ConcatDataset::get", "from 0 to 7", [&] { both.get(kHuge, random); }},
      Misuse{"IndexError", "TensorDataset::get", "index 4", [&] { changed.get(4, random); }},
      Misuse{"IndexError", "TensorDataset::get", "index -1", [&] { changed.get(-1, random); }},
      Misuse{"IndexError", "TensorDataset::get", "from 0 to 3", [&] { changed.get(kHuge, random); }},
      Misuse{"ValueError", "Subset", "null", [] { Subset(std::shared_ptr<const TensorDataset<1>>(), {}); }},
  });
}

TEST(Errors, GetBatch) {
  const TensorDataset rows(zeros({4, 2}));
  const ImageDataset set = images();
  const Subset part(rows, {3, 1});
  BatchBuffer buffer;
  const Indices beyond{0, 4}, before{-1}, wild{kHuge};
  expect_errors({
      Misuse{"IndexError", "TensorDataset::get_batch", "index 4", [&] { rows.get_batch(beyond, buffer); }},
      Misuse{"IndexError", "TensorDataset::get_batch", "index -1", [&] { rows.get_batch(before, buffer); }},
      Misuse{"IndexError", "TensorDataset::get_batch", "size  4", [&] { rows.get_batch(wild, buffer); }},
      Misuse{"IndexError", "ImageDataset::get_batch", "index 4", [&] { set.get_batch(beyond, buffer); }},
      Misuse{"IndexError", "ImageDataset::get_batch", "index -1", [&] { set.get_batch(before, buffer); }},
      Misuse{"IndexError", "ImageDataset::get_batch", "size  4", [&] { set.get_batch(wild, buffer); }},
      Misuse{"IndexError", "Subset::get_batch", "index 4", [&] { part.get_batch(beyond, buffer); }},
      Misuse{"IndexError", "Subset::get_batch", "index -1", [&] { part.get_batch(before, buffer); }},
      Misuse{"IndexError", "Subset::get_batch", "size  2", [&] { part.get_batch(wild, buffer); }},
      Misuse{"ValueError", "BatchBuffer::make", "got -1", [&] { buffer.make(-1, float32, {2}); }},
      Misuse{"ValueError", "BatchBuffer::make", "got 1024", [&] { buffer.make(1024, float32, {2}); }},
      Misuse{"ValueError", "BatchBuffer::make_bytes", "stays on the host", [&] { buffer.make_bytes(0, {2}, 1, 0); }},
      Misuse{"ShapeError", "BatchBuffer::make", "[2, -1]",
             [&] {
               buffer.make(0, float32, {2, -1});
             }},
      Misuse{"OutOfMemoryError", "BatchBuffer::make", "[1099511627776, 1099511627776]",
             [&] {
               buffer.make(0, float32, {kHuge, kHuge});
             }},
  });
  EXPECT_TRUE(buffer.tensors().empty());  // no incomplete batch
}

TEST(Errors, Transforms) {
  const Tensor none, x = zeros({3, 4}), line = zeros({4}), bytes = zeros({3, 4}, {DType::uint8});
  const Tensor ints = zeros({3, 4}, {DType::int64}), far = zeros({3, 4}, {.device = "sim:0"});
  constexpr const char* kFar = "float32[3, 4] on sim:0";
  constexpr const char* kInts = "int64[3, 4] on cpu";
  Random random(1);
  expect_errors({
      Misuse{"ValueError", "ToFloat", kUndefined, [=] { ToFloat{}(none); }},
      Misuse{"DeviceError", "ToFloat", kFar, [=] { ToFloat{}(far); }},
      Misuse{"DTypeError", "ToFloat", kInts, [=] { ToFloat{}(ints); }},
      Misuse{"ValueError", "Normalize", kUndefined, [=] { Normalize{}(none); }},
      Misuse{"ValueError", "Normalize", "got mean 0 and std 0", [=] { Normalize{.std = 0}(x); }},
      Misuse{"DeviceError", "Normalize", kFar, [=] { Normalize{}(far); }},
      Misuse{"DTypeError", "Normalize", "uint8[3, 4] on cpu", [=] { Normalize{}(bytes); }},
      Misuse{"ValueError", "RandomCrop", kUndefined, [&] { RandomCrop{}(none, random); }},
      Misuse{"ValueError", "RandomCrop", "padding must be in [0, 2147483648], got -1",
             [&] { RandomCrop{-1}(x, random); }},
      Misuse{"DeviceError", "RandomCrop", kFar, [&] { RandomCrop{}(far, random); }},
      Misuse{"ShapeError", "RandomCrop", "float32[4] on cpu", [&] { RandomCrop{}(line, random); }},
      Misuse{"DTypeError", "RandomCrop", kInts, [&] { RandomCrop{}(ints, random); }},
      Misuse{"ValueError", "RandomShift", kUndefined, [&] { RandomShift{}(none, random); }},
      Misuse{"ValueError", "RandomShift", "got -1", [&] { RandomShift{.pixels = -1}(x, random); }},
      Misuse{"ValueError", "RandomShift", "got 92233", [&] { RandomShift{.pixels = kToEnd}(x, random); }},
      Misuse{"ValueError", "RandomShift", "got 256", [&] { RandomShift{.fill = 256}(bytes, random); }},
      Misuse{"DeviceError", "RandomShift", kFar, [&] { RandomShift{}(far, random); }},
      Misuse{"ShapeError", "RandomShift", "float32[4] on cpu", [&] { RandomShift{}(line, random); }},
      Misuse{"DTypeError", "RandomShift", kInts, [&] { RandomShift{}(ints, random); }},
      Misuse{"ValueError", "RandomHorizontalFlip", kUndefined, [&] { RandomHorizontalFlip{}(none, random); }},
      Misuse{"ValueError", "RandomHorizontalFlip", "p must be in [0, 1], got 1.5",
             [&] { RandomHorizontalFlip{1.5}(x, random); }},
      Misuse{"DeviceError", "RandomHorizontalFlip", kFar, [&] { RandomHorizontalFlip{}(far, random); }},
      Misuse{"ShapeError", "RandomHorizontalFlip", "float32[4] on cpu", [&] { RandomHorizontalFlip{}(line, random); }},
      Misuse{"DTypeError", "RandomHorizontalFlip", kInts, [&] { RandomHorizontalFlip{}(ints, random); }},
  });
}

TEST(Errors, TransformedDatasets) {
  const TensorDataset lines(zeros({4, 2})), ints(zeros({4, 2, 2}, {DType::int64}));
  Random random(1);
  expect_errors({
      Misuse{"ShapeError", "RandomHorizontalFlip", "float32[2] on cpu",
             [&] { transform(lines, RandomHorizontalFlip{}).get(0, random); }},
      Misuse{"DTypeError", "ToFloat", "int64[2, 2] on cpu", [&] { transform(ints, ToFloat{}).get(0, random); }},
      Misuse{"ValueError", "Normalize", "std -1",
             [&] { transform(lines, ToFloat{}, Normalize{.std = -1}).get(1, random); }},
      Misuse{"SampleError", "DataLoader", "ShapeError: RandomHorizontalFlip:",
             [&] { DataLoader(transform(lines, RandomHorizontalFlip{})).begin(); }},
  });
}

/// Samples that differ from the first ones from number 2 on.
struct Odd {
  std::function<Tensor(std::int64_t)> sample;
  std::int64_t size() const { return 4; }
  Tensor get(std::int64_t i) const { return sample(i); }
};

/// A dataset with a given size, whose get_batch() writes fewer fields than a sample has.
struct Liar {
  std::int64_t samples = 4;
  std::int64_t size() const { return samples; }
  std::array<Tensor, 2> get(std::int64_t) const { return {zeros({2}), zeros({2})}; }
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer) const {
    buffer.make(0, float32, {static_cast<std::int64_t>(indices.size())});
  }
};

TEST(Errors, DifferentSamplesInABatch) {
  const auto odd = [](const Tensor& other) {
    return Odd{[other](std::int64_t i) { return i < 2 ? zeros({2}) : other; }};
  };
  for (const int workers : {0, 2}) {
    const DataLoaderOptions four{.batch_size = 4, .num_workers = workers};
    expect_errors({
        Misuse{"SampleError", "DataLoader", "ShapeError: collate: field 0 changes its shape",
               [=] { DataLoader(odd(zeros({3})), four).begin(); }},
        Misuse{"SampleError", "DataLoader", "DTypeError: collate: field 0 changes its dtype",
               [=] { DataLoader(odd(arange(2)), four).begin(); }},
        Misuse{"SampleError", "DataLoader", "DeviceError: collate: samples must be on the cpu",
               [=] { DataLoader(odd(zeros({2}, {.device = "sim:0"})), four).begin(); }},
        Misuse{"SampleError", "DataLoader", "ValueError: collate: field 0 is an undefined tensor",
               [=] { DataLoader(odd(Tensor()), four).begin(); }},
        Misuse{"SampleError", "DataLoader", "sample 2 could not be read",
               [=] { DataLoader(odd(Tensor()), four).begin(); }},
        Misuse{"ValueError", "DataLoader", "made 1 fields, a sample has 2", [=] { DataLoader(Liar{}, four).begin(); }},
    });
  }
  expect_errors({Misuse{"ValueError", "DataLoader", "returned -1", [] { DataLoader(Liar{-1}); }}});
}

}  // namespace
}  // namespace minnow
