#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <typeinfo>
#include <vector>
#include <minnow/data/dataset.h>
#include <minnow/data/detail/collate.h>
#include <minnow/data/detail/epoch.h>
#include <minnow/data/detail/fields.h>
#include <minnow/data/detail/loader_state.h>
#include <minnow/data/loader_options.h>
#include <minnow/data/sampler.h>

namespace minnow::data {

/// Batches of a dataset: `for (auto& [images, labels] : loader)`; each loop is one epoch.  Each field is [batch, ...].
/// A batch has the sample's type where all its fields are tensors, else it is a tuple of tensors; or the type that the
/// sample says, so that fields keep their names beside a number:
///
///     struct Pair {
///       Tensor a, b;
///       std::int64_t label;
///       struct Batch { Tensor a, b, label; };
///     };
///
/// Order and augmentation depend on (seed, epoch, sample) alone: batches are equal, bit by bit, for any number of
/// workers.  Random operations that a dataset calls without a generator draw from one of the batch.  With a device,
/// batches are copied there from pinned memory while the step before computes.  A batch may be kept: its memory is used
/// again when no tensor holds it, after the work that was queued on the loop's stream until then (a program that uses a
/// batch on another stream must wait for that stream first).  An exception that the dataset throws, of any type,
/// reaches the loop as a SampleError with the index of the sample, that of a collate function as a BatchError; later
/// batches and epochs are not affected.  Thread-safety: several threads may loop over one loader at once.
template <class D> class DataLoader {
  // A static_assert, since the errors of a constraint would be long.
  static constexpr bool kHasSize = detail::HasSize<D>, kHasGet = detail::HasGet<D>, kIsDataset = Dataset<D>;
  static_assert(
      kHasSize,
      "a dataset is a class with `std::int64_t size() const` and `Sample get(std::int64_t i) const`: this one has "
      "no size() const");
  static_assert(!kHasSize || kHasGet, "a dataset has `Sample get(std::int64_t i) const`: this one has no get()");
  static_assert(!kHasSize || !kHasGet || kIsDataset,
                "the get() of a dataset is const, since the threads of a loader call it at the same time: "
                "`Sample get(std::int64_t i) const`");
  using Data = std::conditional_t<kIsDataset, D, detail::NotADataset>;

 public:
  using Sample = SampleOf<Data>;
  static_assert(detail::is_sample<Sample>(),
                "a sample is a tensor or number, or a tuple, pair, array or plain struct of up to six of them: no "
                "strings, no vectors (stack() makes a tensor of tensors)");
  using Batch = detail::BatchOf<std::conditional_t<detail::is_sample<Sample>(), Sample, Tensor>>;
  class Iterator;

  /// ValueError for options out of range, DeviceError for a device that cannot be used.
  explicit DataLoader(D dataset, const DataLoaderOptions& options = {},
                      SourceLocation where = SourceLocation::current())
      : DataLoader(std::move(dataset), options, nullptr, where) {}
  /// With this batch size, and default values of the other options.
  template <std::integral N>
  requires(!std::same_as<N, bool>) DataLoader(D dataset, N batch_size, SourceLocation where = SourceLocation::current())
      : DataLoader(std::move(dataset), {.batch_size = static_cast<std::int64_t>(batch_size)}, where) {}
  /// With the order of a sampler; ValueError if `shuffle` is set.  Starting an epoch is an IndexError if the sampler
  /// gives an index that the dataset does not have.
  template <Sampler S>
  DataLoader(D dataset, S sampler, DataLoaderOptions options = {}, SourceLocation where = SourceLocation::current())
      : DataLoader(
            std::move(dataset), options,
            [sampler, where](std::uint64_t seed, std::int64_t epoch) {
              return detail::order_of(sampler, seed, epoch, where);
            },
            where) {
    if (options.shuffle)
      throw ValueError("DataLoader: shuffle and a sampler exclude each other\nleave one of them out", where);
    samples_ = detail::checked_samples("the sampler", sampler.size(), where);
  }
  /// A loader that was moved from can be assigned to; its other functions throw ValueError.
  DataLoader(DataLoader&&) noexcept(std::is_nothrow_move_constructible_v<D>) = default;
  DataLoader& operator=(DataLoader&&) noexcept(std::is_nothrow_move_assignable_v<D>) = default;

  /// Batches in an epoch.
  std::int64_t size() const { return detail::batches_of(samples_, options()); }
  /// Samples in an epoch, including those of a last batch that drop_last skips.
  std::int64_t samples() const { return samples_; }
  const Data& dataset() const {
    core();
    return *dataset_;
  }
  const DataLoaderOptions& options() const { return core().options(); }
  /// The number of worker threads in an epoch.
  int num_workers() const { return workers_; }

  /// Starts the next epoch: 0 first, then 1, ...
  Iterator begin() {
    const LoaderPosition start = core().begin_epoch();
    std::vector<std::int64_t> order = order_(core_->seed(), start.epoch);
    for (const auto i : order) detail::check_index("DataLoader: sampler", i, dataset_->size(), core_->where());
    return Iterator(std::make_shared<Pass>(core_, std::move(order), start, workers_));
  }
  std::default_sentinel_t end() const { return {}; }

  /// The epoch that the last begin() started.
  std::int64_t epoch() const { return core().epoch(); }
  /// The next begin() starts this epoch.  ValueError below 0, and for 2^63 - 1.
  void set_epoch(std::int64_t epoch, SourceLocation where = SourceLocation::current()) {
    set_position({epoch, 0}, where);
  }
  /// The position after the last batch that a loop has had; set_position() continues there.
  LoaderPosition position() const { return core().position(); }
  void set_position(LoaderPosition position, SourceLocation where = SourceLocation::current()) {
    if (position.epoch == detail::kNoEpoch)
      throw ValueError("DataLoader: there is no epoch " + std::to_string(position.epoch) +
                           "\ngive a position that position() returned, or an epoch of 0 or more",
                       where);
    if (position.epoch < 0 || position.batch < 0)
      throw ValueError("DataLoader: position {epoch " + std::to_string(position.epoch) + ", batch " +
                           std::to_string(position.batch) +
                           "} is negative\ngive what position() said, or an epoch of 0 or more",
                       where);
    core().set_position(position);
  }
  /// Seed, position and what the batches depend on, as int64 of the same bits: "seed", "epoch", "batch", "samples",
  /// "batch_size", "drop_last", "shuffle".  Samplers have no other state.
  StateDict state_dict() const { return detail::loader_state(core(), samples_); }
  /// The next loop has the batches that were left, for any number of workers; those before are not read.  End running
  /// loops first.  ValueError if the loader has another number of samples or other options, or the values are not those
  /// of a loader; nothing has changed then.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current()) {
    detail::load_loader_state(core(), samples_, values, where);
  }
  /// Waits for copies that are running.
  LoaderStats stats() const { return core().stats(); }

 private:
  using Order = std::function<std::vector<std::int64_t>(std::uint64_t seed, std::int64_t epoch)>;

  detail::LoaderCore& core() const {
    if (!core_) throw ValueError("DataLoader: the loader was moved from\nuse the one that it was moved to", where_);
    return *core_;
  }

  /// A running epoch, and the batch that the loop has.
  struct Pass {
    Pass(const std::shared_ptr<detail::LoaderCore>& core, std::vector<std::int64_t> order, LoaderPosition start,
         int workers)
        : epoch(core, std::move(order), start, workers) {}

    void advance() {
      batch = Batch();
      const std::vector<Tensor>* tensors = epoch.next();
      done = tensors == nullptr;
      if (done) return;
      auto field = tensors->begin();
      std::apply([&](auto&... target) { ((target = *field++), ...); }, detail::tie_fields(batch));
    }

    detail::Epoch epoch;
    Batch batch;  // destroyed before the epoch, which owns its memory
    bool done = false;
  };

  DataLoader(D dataset, const DataLoaderOptions& options, Order order, SourceLocation where)
      : dataset_(std::make_shared<const Data>(std::move(dataset))),
        samples_(detail::checked_samples("the dataset", dataset_->size(), where)),
        core_(std::make_shared<detail::LoaderCore>(
            options,
            [data = dataset_, collate = options.collate, where](auto indices, std::uint64_t seed, LoaderPosition at,
                                                                BatchBuffer& buffer) {
              fill(*data, indices, SampleRandom{seed, at}, buffer, collate, where);
            },
            where)),
        order_(std::move(order)),
        workers_(options.num_workers),
        where_(where) {
    if (workers_ == kAuto) workers_ = BatchDataset<Data> ? 0 : detail::default_workers();
    if (order_) return;
    if (options.shuffle)
      order_ = [s = RandomSampler(samples_), where](auto seed, auto epoch) { return s.indices(seed, epoch, where); };
    else
      order_ = [s = SequentialSampler(samples_), where](auto seed, auto epoch) {
        return s.indices(seed, epoch, where);
      };
  }

  struct SampleRandom {
    std::uint64_t seed;
    LoaderPosition at;
    Random operator()(std::int64_t sample) const {
      return Random(seed, static_cast<std::uint64_t>(at.epoch), static_cast<std::uint64_t>(sample));
    }
  };

  /// Writes a batch, whole or sample by sample.  Exceptions become SampleErrors and BatchErrors.
  static void fill(const Data& data, std::span<const std::int64_t> indices, SampleRandom random_of, BatchBuffer& buffer,
                   const Collate& collate, SourceLocation where) {
    if (collate) {
      std::vector<std::vector<Tensor>> samples(indices.size());
      for (std::size_t row = 0; row < indices.size(); ++row)
        guarded(indices[row], where, [&] {
          Random random = random_of(indices[row]);
          if constexpr (detail::is_sample<Sample>())
            samples[row] = detail::field_tensors(sample_of(data, indices[row], random, where), where);
        });
      std::vector<Tensor> fields;
      try {
        fields = collate(samples);
      } catch (...) { detail::throw_batch_error(random_of.at.batch, where); }
      detail::put_fields(buffer, fields, detail::kFieldCount<Sample>, where);
      return;
    }
    if constexpr (BatchDataset<Data>) {
      try {
        batch_of(data, indices, buffer, where);
      } catch (...) {
        for (const auto i : indices) {
          guarded(i, where, [&] {
            Random random = random_of(i);
            (void)sample_of(data, i, random, where);
          });
        }
        detail::throw_batch_error(random_of.at.batch, where);
      }
      detail::check_batch(buffer.tensors(), detail::kFieldCount<Sample>, indices.size(), typeid(D), where);
    } else {
      const auto rows = static_cast<std::int64_t>(indices.size());
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t i = indices[static_cast<std::size_t>(row)];
        guarded(i, where, [&] {
          Random random = random_of(i);
          if constexpr (detail::is_sample<Sample>())
            detail::collate(buffer, row, rows, sample_of(data, i, random, where), where);
        });
      }
    }
  }

  template <class F> static void guarded(std::int64_t sample, SourceLocation where, F read) {
    try {
      read();
    } catch (...) { detail::throw_sample_error(sample, where); }
  }

  std::shared_ptr<const Data> dataset_;
  std::int64_t samples_;
  std::shared_ptr<detail::LoaderCore> core_;
  Order order_;
  int workers_;
  SourceLocation where_;  // the user's line that made the loader
};

/// An input iterator; copies share the position.
template <class D> class DataLoader<D>::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  Batch& operator*() const { return pass_->batch; }
  Batch* operator->() const { return &pass_->batch; }
  Iterator& operator++() {
    pass_->advance();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.pass_->done; }

 private:
  friend DataLoader;
  explicit Iterator(std::shared_ptr<Pass> pass) : pass_(std::move(pass)) { pass_->advance(); }

  std::shared_ptr<Pass> pass_;
};

}  // namespace minnow::data
