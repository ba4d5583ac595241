#pragma once

#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include <minnow/data/detail/fields.h>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

struct ProgressOptions {
  /// Printed before the bar; by default "epoch N".
  std::string label = {};
  /// The stream that is written to; nullptr: std::cout.
  std::ostream* out = nullptr;
  /// Whether the stream is a terminal; by default detected.  On a terminal one line is redrawn; elsewhere a plain line
  /// is written at each interval, and one at the end.
  std::optional<bool> terminal = std::nullopt;
  /// Seconds between two updates of the line; by default 0.1 on a terminal, 10 elsewhere.
  std::optional<double> interval = std::nullopt;
};

/// One line about a loop: label, bar, batch i of n, values, images per second, time left.  Not thread-safe.
class ProgressBar {
 public:
  /// ValueError for a negative number of batches or a negative interval.
  ProgressBar(std::int64_t batches, ProgressOptions options, SourceLocation where = SourceLocation::current());
  /// Ends the line if a loop was left early.
  ~ProgressBar();
  ProgressBar(ProgressBar&& other) noexcept;
  ProgressBar& operator=(ProgressBar&&) = delete;

  /// Starts at batch `done`: those before are not part of the speed.
  void start(std::string_view default_label, std::int64_t done = 0);
  /// Counts a batch of `samples` samples.
  void step(std::int64_t samples);
  /// Writes the last state and ends the line.
  void finish();

  /// Shows a value, from the next update of the line on: `show("loss", loss)`.  A tensor of one element is kept, and
  /// read when the line is written, so that steps do not wait for the device.  ValueError for an undefined tensor,
  /// ShapeError unless it has one element.
  ProgressBar& show(std::string_view name, double value);
  ProgressBar& show(std::string_view name, const Tensor& value, SourceLocation where = SourceLocation::current());

  /// The current line; it has a bar on a terminal only.
  std::string line() const;
  double images_per_second() const;

 private:
  struct Value {
    std::string name;
    double number = 0;
    Tensor tensor;
  };

  Value& value_of(std::string_view name);
  void draw(bool last);
  double elapsed() const;

  ProgressOptions options_;
  std::string label_;
  std::ostream* out_;
  bool terminal_;
  double interval_;
  std::int64_t total_;
  std::int64_t first_ = 0, done_ = 0, samples_ = 0;
  bool active_ = false;
  std::size_t drawn_ = 0;              // characters of the line on the terminal
  double start_ = 0, last_drawn_ = 0;  // seconds, of a clock that only goes on
  std::vector<Value> values_;
};

/// A data loader whose loops show their progress: see progress().  Loader is a reference for one that has a name.
template <class Loader> class Progress {
 public:
  Progress(Loader&& loader, ProgressOptions options, SourceLocation where)
      : loader_(std::forward<Loader>(loader)), bar_(loader_.size(), std::move(options), where) {}

  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = std::remove_cvref_t<decltype(*std::declval<Loader&>().begin())>;
    using difference_type = std::ptrdiff_t;

    decltype(auto) operator*() const { return *at_; }
    Iterator& operator++() {
      bar_->step(samples_);
      ++at_;
      count_samples();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t end) { return it.at_ == end; }

   private:
    friend Progress;
    Iterator(std::remove_reference_t<Loader>& loader, ProgressBar* bar) : at_(loader.begin()), bar_(bar) {
      if constexpr (requires { loader.is_over(); })
        if (loader.is_over()) return;  // of a run that was interrupted: nothing to show
      std::int64_t skipped = 0;        // by a loader that continues in the middle of an epoch
      if constexpr (requires { loader.position().batch; })
        skipped = at_ == std::default_sentinel ? loader.size() : loader.position().batch - 1;
      bar_->start("epoch " + std::to_string(loader.epoch() + 1), skipped);
      count_samples();
    }

    /// Counts the samples of the batch now: the loop may move the batch away.
    void count_samples() {
      if (at_ == std::default_sentinel) return bar_->finish();
      const auto& first = std::get<0>(detail::tie_fields(*at_));
      samples_ = first.dim() > 0 ? first.shape()[0] : 1;
    }

    decltype(std::declval<Loader&>().begin()) at_;
    ProgressBar* bar_;
    std::int64_t samples_ = 0;
  };

  /// Starts the loader's next epoch.
  Iterator begin() { return Iterator(loader_, &bar_); }
  std::default_sentinel_t end() const { return {}; }

  /// `bar.show("loss", loss)` within the loop.
  template <class Value>
  Progress& show(std::string_view name, const Value& value, SourceLocation where = SourceLocation::current()) {
    if constexpr (std::is_base_of_v<Tensor, Value>) bar_.show(name, value, where);
    else bar_.show(name, static_cast<double>(value));
    return *this;
  }
  double images_per_second() const { return bar_.images_per_second(); }

 private:
  Loader loader_;
  ProgressBar bar_;
};

/// Shows the progress of loops over a data loader, which must outlive the result, or over the batches of a
/// training::Run:
///
///     for (auto& [images, labels] : progress(train)) ...
///     auto bar = progress(epoch.batches(train));
///     for (auto& [images, labels] : bar) { ...; bar.show("loss", loss); }
template <class Loader>
Progress<Loader> progress(Loader&& loader, ProgressOptions options = {},
                          SourceLocation where = SourceLocation::current()) {
  return Progress<Loader>(std::forward<Loader>(loader), std::move(options), where);
}

}  // namespace minnow::data

namespace minnow {
using data::progress;
}  // namespace minnow
