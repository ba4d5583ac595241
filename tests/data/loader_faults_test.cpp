// Datasets that throw, loops that are left early, loaders that many threads use: nothing hangs, leaks or is lost.

#include <minnow/data/loader.h>
#include <minnow/data/stream_loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/memory.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using data::BatchBuffer;
using data::DataLoader;
using data::DataLoaderOptions;
using test::has;

struct NotAnException {
  int code;
};

/// Kinds of what is thrown.
enum class Thrown { none, error, standard, memory, other, number };

void throw_it(Thrown kind) {
  switch (kind) {
    case Thrown::none: return;
    case Thrown::error: throw ShapeError("a broken record\nmend it");
    case Thrown::standard: throw std::runtime_error("a broken record");
    case Thrown::memory: throw std::bad_alloc();
    case Thrown::other: throw NotAnException{7};
    case Thrown::number: throw 7;
  }
}

/// Whether the nested exception is the one that was thrown.
bool holds(const std::exception& error, Thrown kind) {
  try {
    std::rethrow_if_nested(error);
  } catch (const ShapeError& e) {
    return kind == Thrown::error && has(e.what(), "a broken record");
  } catch (const std::runtime_error& e) {
    return kind == Thrown::standard && std::string(e.what()) == "a broken record";
  } catch (const std::bad_alloc&) { return kind == Thrown::memory; } catch (const NotAnException& e) {
    return kind == Thrown::other && e.code == 7;
  } catch (int i) { return kind == Thrown::number && i == 7; }
  return false;
}

constexpr Thrown kKinds[] = {Thrown::error, Thrown::standard, Thrown::memory, Thrown::other, Thrown::number};

/// Sample i is [i, i]; one of them throws.
struct Faulty {
  std::int64_t n = 22, bad = 13;
  Thrown kind = Thrown::none;
  std::int64_t size() const { return n; }
  Tensor get(std::int64_t i) const {
    if (i == bad) throw_it(kind);
    return full({2}, static_cast<double>(i));
  }
};

/// The same by whole batches; what it throws for the batch with the bad sample, get() throws too, or not.
struct FaultyBatches {
  Thrown kind = Thrown::none;
  bool whole_only = false;
  std::int64_t size() const { return 22; }
  Tensor get(std::int64_t i) const { return Faulty{.kind = whole_only ? Thrown::none : kind}.get(i); }
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer) const {
    const Tensor out = buffer.make(0, DType::float32, {static_cast<std::int64_t>(indices.size()), 2});
    for (std::size_t row = 0; row < indices.size(); ++row) {
      if (indices[row] == 13) throw_it(kind);
      for (std::size_t k = 0; k < 2; ++k) out.span<float>()[2 * row + k] = static_cast<float>(indices[row]);
    }
  }
};

struct BrokenTransform {
  Thrown kind;
  Tensor operator()(const Tensor& x) const {
    if (x.span<float>()[0] == 13) throw_it(kind);
    return x;
  }
};

/// Goes on after errors: the sums of the batches that could be read, and the number of errors.
template <class Loader, class Check> std::pair<std::vector<double>, int> read_all(Loader& loader, const Check& check) {
  std::vector<double> sums;
  int errors = 0;
  auto it = loader.begin();
  for (bool first = true; it != loader.end(); first = false) {
    try {
      if (!first) ++it;
      if (it != loader.end()) sums.push_back(sum(*it).item());
    } catch (const Error& error) {
      check(error);
      ++errors;
    }
  }
  return {sums, errors};
}

class LoaderFaults : public test::DeviceTest {
 protected:
  static DataLoaderOptions options(int workers) {
    return {.batch_size = 4, .num_workers = workers, .device = device()};
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LoaderFaults, test::all_devices(), test::device_test_name);

// Batch 3 holds sample 13.
const std::vector<double> kGoodSums = {12, 44, 76, 140, 82};

template <class E, class D>
void expect_one_fault(const D& dataset, DataLoaderOptions options, Thrown kind, std::int64_t number) {
  DataLoader loader(dataset, options);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto [sums, errors] = read_all(loader, [&](const Error& error) {
      const auto* typed = dynamic_cast<const E*>(&error);
      ASSERT_TRUE(typed) << error.what();
      if constexpr (std::is_same_v<E, data::SampleError>) EXPECT_EQ(typed->sample(), number);
      else EXPECT_EQ(typed->batch(), number);
      EXPECT_TRUE(holds(*typed, kind)) << error.what();
      EXPECT_TRUE(has(error.what(), "loader_faults_test.cpp:")) << error.what();
      EXPECT_TRUE((kind != Thrown::error && kind != Thrown::standard) || has(error.what(), "a broken record"));
    });
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(sums, kGoodSums);
    EXPECT_EQ(loader.position(), (data::LoaderPosition{epoch + 1, 0}));
  }
}

TEST_P(LoaderFaults, EveryExceptionReachesTheLoopWithItsSample) {
  for (const int workers : {0, 1, 3})
    for (const Thrown kind : kKinds) {
      SCOPED_TRACE(testing::Message() << workers << " workers, kind " << static_cast<int>(kind));
      DataLoaderOptions o = options(workers);
      expect_one_fault<data::SampleError>(Faulty{.kind = kind}, o, kind, 13);
      expect_one_fault<data::SampleError>(FaultyBatches{kind}, o, kind, 13);
      expect_one_fault<data::SampleError>(data::transform(Faulty{}, BrokenTransform{kind}), o, kind, 13);
      expect_one_fault<data::BatchError>(FaultyBatches{kind, true}, o, kind, 3);
      o.collate = [kind](const std::vector<std::vector<Tensor>>& samples) {
        std::vector<Tensor> rows;
        for (const auto& sample : samples) rows.push_back(BrokenTransform{kind}(sample[0]));
        return std::vector<Tensor>{stack(rows)};
      };
      expect_one_fault<data::BatchError>(Faulty{}, o, kind, 3);
    }
}

/// Fails once, after its first field, and leaves the second field out for ever after.
struct Forgetful {
  mutable std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
  std::int64_t size() const { return 8; }
  std::pair<Tensor, Tensor> get(std::int64_t) const { return {zeros({1}), zeros({1})}; }
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer) const {
    const Shape shape{static_cast<std::int64_t>(indices.size()), 1};
    buffer.make(0, DType::float32, shape);
    if ((*calls)++ > 0) return;
    buffer.make(1, DType::float32, shape);
    throw std::runtime_error("once");
  }
};

TEST(LoaderFault, FieldsOfAFailedBatchAreNotThoseOfTheNext) {
  DataLoader loader(Forgetful(), {.batch_size = 2, .num_workers = 0});
  EXPECT_THROW(loader.begin(), data::BatchError);
  EXPECT_TRUE(has(test::error_of<ValueError>([&] { loader.begin(); }), "made 1 fields"));
}

std::ptrdiff_t running_threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

TEST_P(LoaderFaults, AThousandStartsAndStopsLeaveNothing) {
  // Threads that have ended are in the list for a moment longer.
  const auto expect_threads = [](std::ptrdiff_t want) {
    for (int i = 0; i < 2000 && running_threads() > want; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(running_threads(), want);
  };
  std::ptrdiff_t threads = 0;
  std::int64_t storages = 0, bytes = 0, pinned = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < (round == 0 ? 3 : 500); ++i) {  // the first round starts what lives until the program ends
      DataLoader loader(Faulty{.kind = i % 5 == 0 ? Thrown::other : Thrown::none},
                        {.batch_size = 2, .num_workers = i % 4, .prefetch = i % 7 - 1, .device = device()});
      try {
        int left = i % 12;
        for (auto& batch : loader)
          if (left-- == 0 || !batch.defined()) break;
        auto it = loader.begin();  // left while its queue fills
        auto same = it;
        if (i % 3 == 0) std::this_thread::yield();
        if (i % 2 == 0) ++same;
        loader = DataLoader(Faulty{}, {.batch_size = 3});  // the iterator lives longer
        ++it;
      } catch (const data::SampleError&) {}
    }
    synchronize(device());
    if (round == 0) {
      threads = running_threads();
      storages = live_storages();
      bytes = memory_stats(device()).allocated;
      pinned = pinned_memory_stats().allocated;
    }
    expect_threads(threads);
    EXPECT_EQ(live_storages(), storages);
    EXPECT_EQ(memory_stats(device()).allocated, bytes);
    EXPECT_EQ(pinned_memory_stats().allocated, pinned);
  }
}

/// Draws from the default generator, as a program may that was not written for workers.
struct Drawing {
  std::int64_t size() const { return 40; }
  Tensor get(std::int64_t i) const { return dropout(randn({3}) + static_cast<double>(i), {.p = 0.5}); }
};

TEST_P(LoaderFaults, WhatADatasetDrawsItselfDoesNotDependOnWorkers) {
  const auto values = [&](int workers, std::uint64_t seed, bool collate, bool training) {
    DataLoaderOptions o = options(workers);
    o.seed = seed;
    o.shuffle = true;
    if (collate)
      o.collate = [](const auto& samples) {
        std::vector<Tensor> rows;
        for (const auto& sample : samples) rows.push_back(sample[0]);
        return std::vector<Tensor>{stack(rows) * rand({3})};
      };
    DataLoader loader(Drawing(), o);
    std::vector<std::vector<float>> all;
    for (int epoch = 0; epoch < 2; ++epoch)
      for (auto& x : loader) {
        all.push_back(x.cpu().to_vector<float>());
        if (training) all.back().push_back(rand({1}).item<float>());
      }
    return all;
  };
  for (const bool collate : {false, true}) {
    manual_seed(1);
    const auto want = values(0, 5, collate, true);
    ASSERT_EQ(want.size(), 20U);
    EXPECT_NE(want[0], want[10]);
    EXPECT_NE(values(0, 5, collate, false), values(0, 6, collate, false));
    for (const int workers : {0, 1, 2, 3}) {
      manual_seed(1);
      EXPECT_EQ(values(workers, 5, collate, true), want) << workers;
    }
  }
}

TEST_P(LoaderFaults, SeveralThreadsLoopOverOneLoader) {
  DataLoader loader(Faulty{.n = 60, .kind = Thrown::other}, options(2));
  std::atomic<int> errors = 0, batches = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int epoch = 0; epoch < 4; ++epoch) {
        const auto [sums, failed] = read_all(
            loader, [&](const Error& error) { EXPECT_EQ(dynamic_cast<const data::SampleError&>(error).sample(), 13); });
        errors += failed;
        batches += static_cast<int>(sums.size());
        if (t == 0) {
          for (auto& batch : loader)
            if (batch.defined()) break;
          loader.stats();
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 12);
  EXPECT_EQ(batches, 12 * 14);
}

/// 0, 1, ... 9; item 5 throws, once.
struct FailingStream {
  Thrown kind;
  float at = 0;
  std::optional<Tensor> next() {
    if (at == 10) return std::nullopt;
    const float i = at++;
    if (i == 5) throw_it(kind);
    return full({1}, i);
  }
};

TEST_P(LoaderFaults, AStreamGoesOnAfterWhatCouldNotBeRead) {
  for (const Thrown kind : kKinds) {
    data::StreamLoader loader([&](std::int64_t) { return FailingStream{kind}; }, {.batch_size = 4, .device = device()});
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto [sums, errors] = read_all(loader, [&](const Error& error) {
        EXPECT_EQ(dynamic_cast<const data::SampleError&>(error).sample(), 5);
        EXPECT_TRUE(holds(error, kind) && has(error.what(), "StreamLoader: sample 5")) << error.what();
      });
      EXPECT_EQ(errors, 1);
      EXPECT_EQ(sums, (std::vector<double>{0 + 1 + 2 + 3, 4 + 6 + 7 + 8, 9}));  // without 5 alone
      EXPECT_EQ(loader.epoch(), epoch + 1);
    }
    const auto collate = [&](const std::vector<std::vector<Tensor>>& samples) {
      if (samples[0][0].item() == 4) throw_it(kind);
      std::vector<Tensor> rows;
      for (const auto& sample : samples) rows.push_back(sample[0]);
      return std::vector<Tensor>{stack(rows)};
    };
    data::StreamLoader collated([&](std::int64_t) { return FailingStream{Thrown::none}; },
                                {.batch_size = 4, .device = device(), .collate = collate});
    const auto [sums, errors] = read_all(collated, [&](const Error& error) {
      EXPECT_EQ(dynamic_cast<const data::BatchError&>(error).batch(), 1);
      EXPECT_TRUE(holds(error, kind) && has(error.what(), "StreamLoader: batch 1")) << error.what();
    });
    EXPECT_EQ(errors, 1);
    EXPECT_EQ(sums, (std::vector<double>{0 + 1 + 2 + 3, 8 + 9}));
  }
}

TEST(LoaderFault, AStreamThatCouldNotBeOpenedIsOpenedAgain) {
  int opened = 0;
  data::StreamLoader loader([&](std::int64_t epoch) {
    if (opened++ == 0) throw std::runtime_error("not there");
    return FailingStream{Thrown::none, static_cast<float>(epoch)};
  });
  EXPECT_THROW(loader.begin(), std::runtime_error);
  EXPECT_EQ(loader.epoch(), 0);
  for (auto& x : loader) EXPECT_EQ(x.shape(), Shape({10, 1}));
  EXPECT_EQ(loader.epoch(), 1);
}

TEST_P(LoaderFaults, AStreamIsLeftEarly) {
  const std::int64_t storages = live_storages();
  for (int i = 0; i < 100; ++i) {
    data::StreamLoader loader([&](std::int64_t) { return FailingStream{i % 2 ? Thrown::number : Thrown::none}; },
                              {.batch_size = 3, .device = device()});
    try {
      int left = i % 4;
      for (auto& x : loader)
        if (left-- == 0 || !x.defined()) break;
    } catch (const data::SampleError&) {}
  }
  synchronize(device());
  EXPECT_EQ(live_storages(), storages);
}

}  // namespace
}  // namespace minnow
