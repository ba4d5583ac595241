#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <minnow/data/loader.h>
#include <minnow/data/progress.h>
#include <minnow/data/subset.h>
#include <minnow/data/synthetic_digits.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/safetensors.h>
#include "errors.h"

/// Bad inputs of datasets, samplers, loaders and files.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;
using namespace data;

TEST(Errors, Datasets) {
  const Tensor x = zeros({4, 2}), none, far = zeros({4}, {.device = "sim:0"}), bytes = zeros({3, 2, 2}, {DType::uint8});
  const Tensor labels = tensor({0, 1, 2});
  const TensorDataset rows(x);
  expect_errors({
      Misuse{"ValueError", "TensorDataset", "undefined tensor", [=] { TensorDataset(x, none); }},
      Misuse{"ShapeError", "TensorDataset", "float32[3] on cpu", [=] { TensorDataset(x, zeros({3})); }},
      Misuse{"ShapeError", "TensorDataset", "float32[] on cpu", [=] { TensorDataset(x, zeros({})); }},
      Misuse{"DeviceError", "TensorDataset", "float32[4] on sim:0", [=] { TensorDataset(x, far); }},
      Misuse{"DTypeError", "ImageDataset", "float32[4, 2] on cpu", [=] { ImageDataset(x, labels, 3); }},
      Misuse{"ShapeError", "ImageDataset", "int64[2] on cpu",
             [=] {
               ImageDataset(bytes, tensor({0, 1}), 3);
             }},
      Misuse{"IndexError", "ImageDataset", "label 2 of image 2", [=] { ImageDataset(bytes, labels, 2); }},
      Misuse{"ValueError", "ImageDataset", "got mean 0 and std 0",
             [=] {
               ImageDataset(bytes, labels, 3, {0, 0});
             }},
      Misuse{"ValueError", "ImageDataset", "undefined", [=] { ImageDataset(none, labels, 3); }},
      Misuse{"DeviceError", "ImageDataset", "on sim:0", [=] { ImageDataset(bytes.to("sim:0"), labels, 3); }},
      Misuse{"ValueError", "SyntheticDigits", "size must be at least 0, got -1", [] { SyntheticDigits(-1); }},
      Misuse{"OutOfMemoryError", "SyntheticDigits", "[4611686018427387904, 28, 28]",
             [] { SyntheticDigits(std::int64_t{1} << 62); }},
      Misuse{"ValueError", "SyntheticDigits", "first must be at least 0, got -1",
             [] { SyntheticDigits(2, {.first = -1}); }},
      Misuse{"ValueError", "SyntheticDigits", "got mean 0.11 and std 0", [] { SyntheticDigits(2, {.std = 0}); }},
      Misuse{"IndexError", "Subset", "index 4",
             [=] {
               Subset(rows, {0, 4});
             }},
      Misuse{"IndexError", "Subset", "index -1", [=] { Subset(rows, {-1}); }},
      Misuse{"IndexError", "Subset", "size  4",
             [=] {
               Subset(rows, {1, 2, 9});
             }},
      Misuse{"ValueError", "random_split", "add up to 3",
             [=] {
               random_split(rows, {1, 2});
             }},
      Misuse{"ValueError", "random_split", "more than 4",
             [=] {
               random_split(rows, {4, 2});
             }},
      Misuse{"ValueError", "random_split", "size must be at least 0, got -1",
             [=] {
               random_split(rows, {-1, 5});
             }},
  });
}

/// A dataset whose order does not fit in memory.
struct Endless {
  std::int64_t size() const { return kToEnd; }
  Tensor get(std::int64_t) const { return zeros({1}); }
};

/// A sampler with given indices.
struct Given {
  std::vector<std::int64_t> order;
  std::int64_t claimed = 1;
  std::int64_t size() const { return claimed; }
  std::vector<std::int64_t> indices(std::uint64_t, std::int64_t) const { return order; }
};

TEST(Errors, SamplersAndLoaders) {
  const TensorDataset rows(zeros({4, 2}));
  EXPECT_EQ(DataLoader(rows, {.batch_size = kToEnd}).size(), 1);  // large, not bad
  using Weights = std::vector<double>;
  DataLoader good(rows);
  expect_errors({
      Misuse{"ValueError", "SequentialSampler", "size must be at least 0, got -1", [] { SequentialSampler(-1); }},
      Misuse{"ValueError", "SequentialSampler", "got -92233", [] { SequentialSampler(-kToEnd); }},
      Misuse{"OutOfMemoryError", "SequentialSampler", "92233", [] { SequentialSampler(kToEnd).indices(0, 0); }},
      Misuse{"ValueError", "RandomSampler", "size must be at least 0, got -1", [] { RandomSampler(-1); }},
      Misuse{"ValueError", "RandomSampler", "got -92233", [] { RandomSampler(-kToEnd); }},
      Misuse{"OutOfMemoryError", "RandomSampler", "92233", [] { RandomSampler(kToEnd).indices(0, 0); }},
      Misuse{"ValueError", "WeightedRandomSampler", "num_samples must be at least 0, got -2",
             [] { WeightedRandomSampler(Weights{1}, -2); }},
      Misuse{"ValueError", "WeightedRandomSampler", "the sum of the weights must be finite",
             [] {
               WeightedRandomSampler(Weights{1e308, 1e308}, 1);
             }},
      Misuse{"OutOfMemoryError", "WeightedRandomSampler", "92233",
             [] { WeightedRandomSampler(Weights{1}, kToEnd).indices(0, 0); }},
      Misuse{"ValueError", "WeightedRandomSampler", "got -1 at index 1",
             [] {
               WeightedRandomSampler(Weights{1, -1}, 3);
             }},
      Misuse{"ValueError", "WeightedRandomSampler", "no weight is positive",
             [] {
               WeightedRandomSampler(Weights{0, 0}, 3);
             }},
      Misuse{"ValueError", "WeightedRandomSampler", "num_samples is 3",
             [] {
               WeightedRandomSampler(Weights{1, 1}, 3, false);
             }},
      Misuse{"ValueError", "WeightedRandomSampler", "at index 0", [] { WeightedRandomSampler(Weights{NAN}, 3); }},
      Misuse{"ValueError", "DataLoader", "batch_size must be 1 or more, got 0",
             [=] { DataLoader(rows, {.batch_size = 0}); }},
      Misuse{"ValueError", "DataLoader", "num_workers must be 0 to 256 or kAuto, got -2",
             [=] { DataLoader(rows, {.num_workers = -2}); }},
      Misuse{"ValueError", "DataLoader", "prefetch must be 0 to 65536 or kAuto, got -2",
             [=] { DataLoader(rows, {.prefetch = -2}); }},
      Misuse{"DeviceError", "DataLoader", "cuda:9 cannot be used",
             [=] { DataLoader(rows, {.device = Device(DeviceType::cuda, 9)}); }},
      Misuse{"ValueError", "DataLoader", "shuffle", [=] { DataLoader(rows, SequentialSampler(4), {.shuffle = true}); }},
      Misuse{"IndexError", "DataLoader: sampler", "index 4", [=] { DataLoader(rows, SequentialSampler(5)).begin(); }},
      Misuse{"ValueError", "DataLoader", "got -92233", [=] { DataLoader(rows, {.batch_size = -kToEnd}); }},
      Misuse{"ValueError", "DataLoader", "got 257", [=] { DataLoader(rows, {.num_workers = 257}); }},
      Misuse{"ValueError", "DataLoader", "got 65537", [=] { DataLoader(rows, {.prefetch = 65537}); }},
      Misuse{"DeviceError", "DataLoader", "sim:15 cannot be used",
             [=] { DataLoader(rows, {.device = Device(DeviceType::sim, 15)}); }},
      Misuse{"OutOfMemoryError", "SequentialSampler", "92233", [] { DataLoader(Endless{}).begin(); }},
      Misuse{"OutOfMemoryError", "RandomSampler", "92233", [] { DataLoader(Endless{}, {.shuffle = true}).begin(); }},
      Misuse{"IndexError", "DataLoader: sampler", "index -1", [=] { DataLoader(rows, Given{{-1}}).begin(); }},
      Misuse{"ValueError", "DataLoader", "size() of the sampler returned -1",
             [=] {
               DataLoader(rows, Given{{}, -1});
             }},
      Misuse{"ValueError", "DataLoader", "epoch -1", [&] { good.set_epoch(-1); }},
      Misuse{"ValueError", "DataLoader", "epoch -92233", [&] { good.set_epoch(-kToEnd); }},
      Misuse{"ValueError", "DataLoader", "epoch -1",
             [&] {
               good.set_position({-1, 0});
             }},
      Misuse{"ValueError", "DataLoader", "batch -1",
             [&] {
               good.set_position({0, -1});
             }},
      Misuse{"ValueError", "progress", "got -1", [&] { progress(good, {.interval = -1}); }},
      Misuse{"ValueError", "progress", "got nan", [&] { progress(good, {.interval = NAN}); }},
      Misuse{"ValueError", "progress", "got -1", [] { ProgressBar(-1, {}); }},
      Misuse{"ValueError", "progress", "got -inf", [] { ProgressBar(1, {.interval = -INFINITY}); }},
      Misuse{"ValueError", "show", "'loss'", [] { ProgressBar(1, {}).show("loss", Tensor()); }},
      Misuse{"ShapeError", "show", "float32[2] on cpu", [] { ProgressBar(1, {}).show("loss", zeros({2})); }},
      Misuse{"ShapeError", "show", "float32[0] on cpu", [&] { progress(good).show("loss", zeros({0})); }},
  });
}

TEST(Errors, Files) {
  const std::string folder = ::testing::TempDir(), here = folder + "/errors.safetensors";
  const Tensor x = zeros({2});
  expect_errors({
      Misuse{"ValueError", "save", "'w'",
             [=] {
               save({{"w", Tensor()}}, here);
             }},
      Misuse{"ValueError", "save", "'__metadata__'",
             [=] {
               save({{"__metadata__", x}}, here);
             }},
      Misuse{"ValueError", "save", "is not UTF-8",
             [=] {
               save({{"\xff", x}}, here);
             }},
      Misuse{"IoError", "save", "/nowhere/x",
             [=] {
               save({{"w", x}}, "/nowhere/x");
             }},
      Misuse{"IoError", "save", "the path is empty",
             [=] {
               save({{"w", x}}, "");
             }},
      Misuse{"IoError", "load", "/nowhere/x", [] { load("/nowhere/x"); }},
      Misuse{"IoError", "load", "a directory", [=] { load(folder); }},
      Misuse{"FormatError", "load", "/proc/self/exe", [] { load("/proc/self/exe"); }},
      Misuse{"IoError", "load_metadata", "/nowhere/x", [] { load_metadata("/nowhere/x"); }},
      Misuse{"IoError", "load_metadata", "a directory", [=] { load_metadata(folder); }},
      Misuse{"FormatError", "load_metadata", "/proc/self/exe", [] { load_metadata("/proc/self/exe"); }},
      Misuse{"IoError", "load", "the path is empty", [] { load(""); }},
      Misuse{"IoError", "SafetensorsFile", "/nowhere/x", [] { SafetensorsFile("/nowhere/x"); }},
      Misuse{"FormatError", "SafetensorsFile", "/proc/self/exe", [] { SafetensorsFile("/proc/self/exe"); }},
      Misuse{"ValueError", "save", "does not write",
             [=] {
               save({{"w", x}}, here + ".pt");
             }},
      Misuse{"ValueError", "save", "2 tensors",
             [=] {
               save({{"w", x}, {"v", x}}, here + ".npy");
             }},
      Misuse{"ValueError", "save", "max_shard_bytes -1",
             [=] {
               save({{"w", x}}, here, {.max_shard_bytes = -1});
             }},
      Misuse{"IoError", "load", "zero byte", [] { load(std::string("a\0b", 3)); }},
      Misuse{"ValueError", "save", "the metadata 'k' is not UTF-8",
             [=] {
               save({{"w", x}}, here, {{"k", "\xff"}});
             }},
      Misuse{"IoError", "save", "a directory",
             [=] {
               save({{"w", x}}, folder);
             }},
      Misuse{"IndexError", "StateDict", "'v'",
             [=] {
               (void)StateDict{{"w", x}}.at("v");
             }},
      Misuse{"IndexError", "StateDict", "'w'",
             [=] {
               (void)StateDict{{"w", x}}.at("");
             }},
      Misuse{"IndexError", "StateDict", "none", [] { (void)StateDict().at("w"); }},
  });
  save({{"w", x}}, here);
  expect_errors({
      Misuse{"DeviceError", "load", "cuda:9 cannot be used", [=] { load(here, Device(DeviceType::cuda, 9)); }},
      Misuse{"ValueError", "load", "begins with 'v'", [=] { load(here, {.prefix = "v"}); }},
      Misuse{"IndexError", "SafetensorsFile::load", "'w'", [=] { (void)SafetensorsFile(here).load("v"); }},
  });
  std::filesystem::remove(here);
}

}  // namespace
}  // namespace minnow
