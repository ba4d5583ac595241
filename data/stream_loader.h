#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>
#include <minnow/data/detail/collate.h>
#include <minnow/data/detail/fields.h>
#include <minnow/data/loader_options.h>
#include <minnow/tensor/profile/observers.h>

namespace minnow::data {

struct StreamLoaderOptions {
  std::int64_t batch_size = 64;
  bool drop_last = false;
  /// Where batches go.
  Device device = {};
  /// As DataLoaderOptions::collate.
  Collate collate = {};
};

/// Batches of a stream of samples whose number is not known: lines of a log, records of a socket.  A stream is a class
/// with `std::optional<Sample> next()`, which gives nothing at the end; `open(epoch)` makes the stream of an epoch:
///
///     StreamLoader loader([](std::int64_t epoch) { return Lines("log.txt"); }, {.batch_size = 32});
///     for (auto& [x, y] : loader) ...
///
/// The loop's thread reads, in order.  Samples and batches are those of a DataLoader.  An exception of next() reaches
/// the loop as a SampleError with the number of samples before it in the epoch, that of a collate function as a
/// BatchError; an iterator continues after it.  Not thread-safe.
template <class Open> class StreamLoader {
  using Stream = std::invoke_result_t<Open&, std::int64_t>;
  using Sample = typename decltype(std::declval<Stream&>().next())::value_type;
  static_assert(
      detail::is_sample<Sample>(),
      "next() of a stream returns a std::optional of a sample: a tensor or number, or a tuple, pair, array or "
      "plain struct of up to six of them");

 public:
  using Batch = detail::BatchOf<Sample>;
  class Iterator;

  /// ValueError for a batch_size below 1.
  explicit StreamLoader(Open open, const StreamLoaderOptions& options = {},
                        SourceLocation where = SourceLocation::current())
      : open_(std::move(open)), options_(options), where_(where) {
    detail::check_stream_options(options.batch_size, where);
  }

  /// Opens the stream of the next epoch: 0 first, then 1, ...
  Iterator begin() {
    Stream stream = open_(epoch_);
    ++epoch_;
    return Iterator(*this, std::move(stream));
  }
  std::default_sentinel_t end() const { return {}; }
  /// The epoch that begin() starts next.
  std::int64_t epoch() const { return epoch_; }
  void set_epoch(std::int64_t epoch) { epoch_ = epoch; }

 private:
  Open open_;
  StreamLoaderOptions options_;
  SourceLocation where_;
  std::int64_t epoch_ = 0;
};

/// An input iterator; it must not outlive its loader.
template <class Open> class StreamLoader<Open>::Iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = Batch;
  using difference_type = std::ptrdiff_t;

  Batch& operator*() const { return state_->batch; }
  Batch* operator->() const { return &state_->batch; }
  Iterator& operator++() {
    advance();
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.state_->done; }

 private:
  friend StreamLoader;
  struct State {
    Stream stream;
    Batch batch{};
    std::vector<std::vector<Tensor>> samples{};  // of the batch that is being made
    std::int64_t read = 0, batches = 0;
    bool ended = false, done = false;
  };
  Iterator(const StreamLoader& loader, Stream stream)
      : loader_(&loader), state_(std::make_shared<State>(State{std::move(stream)})) {
    advance();
  }

  void advance() {
    const StreamLoaderOptions& options = loader_->options_;
    State& state = *state_;
    state.batch = Batch();
    const minnow::detail::OpenScope scope(minnow::detail::ScopeKind::wait, "wait for batch");
    while (!state.ended && static_cast<std::int64_t>(state.samples.size()) < options.batch_size) read_one(state);
    const std::vector<std::vector<Tensor>> samples = std::exchange(state.samples, {});
    state.done =
        samples.empty() || (options.drop_last && static_cast<std::int64_t>(samples.size()) < options.batch_size);
    if (state.done) return;
    const std::int64_t number = state.batches++;
    std::vector<Tensor> fields;
    try {
      fields =
          detail::stream_batch(samples, options.collate, detail::kFieldCount<Sample>, options.device, loader_->where_);
    } catch (...) { detail::throw_batch_error(number, loader_->where_, "StreamLoader"); }
    auto field = fields.begin();
    std::apply([&](auto&... target) { ((target = *field++), ...); }, detail::tie_fields(state.batch));
  }

  void read_one(State& state) {
    try {
      std::optional<Sample> sample = state.stream.next();
      if (sample) state.samples.push_back(detail::field_tensors(*sample, loader_->where_));
      else state.ended = true;
    } catch (...) { detail::throw_sample_error(state.read++, loader_->where_, "StreamLoader"); }
    ++state.read;
  }

  const StreamLoader* loader_;
  std::shared_ptr<State> state_;
};

}  // namespace minnow::data
