#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/tensor.h>
#include <minnow/training/checkpoint.h>
#include <minnow/training/early_stopping.h>
#include <minnow/training/history.h>
#include <minnow/training/interrupt.h>

namespace minnow::training {

struct RunOptions {
  std::int64_t epochs = 1;
  /// The name of a number that each epoch logs, by which epochs are compared; empty: the last one is the best.
  std::string watch{};
  Best best = Best::min;      ///< whether less of it is better, or more
  std::int64_t patience = 0;  ///< epochs without an improvement after which the run ends; 0: it does not
  int keep = 2;               ///< checkpoints that are kept besides the best
};

/// A training run in a folder: a Checkpoint after each epoch, a History in history.csv, EarlyStopping and an
/// InterruptGuard, around the loop that you write.
///
///     training::Run run("runs/mnist", {.epochs = 20, .watch = "valid/accuracy", .best = Best::max, .patience = 3});
///     run.add("model", net).add("adam", adam).add("train", train);
///     for (auto epoch : run.epochs()) {
///       for (auto& [x, y] : epoch.batches(train)) {
///         ...
///         epoch.log("train/loss", loss);
///       }
///       metrics::Accuracy accuracy;
///       for (auto& [x, y] : epoch.batches_without_steps(valid)) accuracy.update(net(x), y);
///       epoch.log("valid/accuracy", accuracy.value());
///     }
///     net.load_state_dict(run.best("model"));
///
/// Started again in the same folder, it goes on where its last checkpoint was, with the same bits as without the
/// interruption.  After Ctrl-C (or SIGTERM ...) the loops over batches end, what is logged then is not kept, and the
/// run saves and ends: interrupted() says so.  One program at a time uses a folder.  Not thread-safe.
class Run {
 public:
  class Epoch;
  class Epochs;

  /// Makes the folder if it is missing.  IoError; ValueError for options out of range.
  explicit Run(const std::string& folder, const RunOptions& options = {},
               SourceLocation where = SourceLocation::current());
  /// Waits for the last checkpoint; warns if it has failed.
  ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// What the run is made of, as Checkpoint::add: modules, optimizers, schedules, loaders, numbers, tensors.
  template <class T> Run& add(std::string name, T& part, SourceLocation where = SourceLocation::current()) {
    checkpoint_.add(std::move(name), part, where);
    return *this;
  }
  /// The epochs that are left, for a range loop.  Loads the newest checkpoint when the loop begins.  At the end of an
  /// epoch ValueError if it has not logged `watch`; errors of Checkpoint and History.
  Epochs epochs(SourceLocation where = SourceLocation::current());

  const History& history() const { return history_; }
  /// How many batches Epoch::batches() has given, in all.
  std::int64_t step() const { return step_; }
  /// The part of that name in the best epoch, or in the last one without `watch`.  ValueError if nothing was saved, or
  /// there is no such part.
  StateDict best(const std::string& name, SourceLocation where = SourceLocation::current());
  /// The best value of `watch`; NaN before the first epoch.
  double best_value() const { return stopping_.best(); }

 private:
  struct Pending {
    HistoryEntry at;
    Tensor value;
  };

  void begin(SourceLocation where);
  void end_epoch(SourceLocation where);
  bool is_over() const;
  void log(const std::string& name, double value, SourceLocation where);
  void log(const std::string& name, const Tensor& value, SourceLocation where);
  void write(const HistoryEntry& entry, SourceLocation where);
  void write_pending(SourceLocation where);
  /// Whether an interrupted epoch has had this loop over batches, which begins.
  bool begins_done_pass() { return pass_++ < passes_; }

  RunOptions options_;
  InterruptGuard guard_;
  Checkpoint checkpoint_;
  std::string newest_;  ///< the last checkpoint
  History history_;
  EarlyStopping stopping_;
  std::vector<Pending> pending_;  ///< values on a device
  std::optional<double> watched_{};
  bool began_ = false;
  std::int64_t epoch_ = 0, step_ = 0;
  std::int64_t pass_ = 0, passes_ = 0;  ///< loops over batches in this epoch: begun, and done
};

/// An epoch of a run.
class Run::Epoch {
 public:
  /// From 0 on.
  std::int64_t number() const { return run_->epoch_; }
  /// The batches of a loader that is a part of the run, each of which is a step.  Ends early after Ctrl-C.
  template <class Loader> auto batches(Loader& loader) const { return Batches<Loader>{&loader, run_}; }
  /// The same of data that is only looked at.
  template <class Loader> auto batches_without_steps(Loader& loader) const { return Batches<Loader>{&loader, nullptr}; }
  /// Puts a number into the history, at the current step; a tensor of one element is read later, so that a step does
  /// not wait for its device.  ShapeError unless it has one element.
  void log(const std::string& name, double value, SourceLocation where = SourceLocation::current()) const {
    run_->log(name, value, where);
  }
  void log(const std::string& name, const Tensor& value, SourceLocation where = SourceLocation::current()) const {
    run_->log(name, value, where);
  }

 private:
  friend class Epochs;
  explicit Epoch(Run* run) : run_(run) {}

  /// run: nullptr if they are no steps.
  template <class Loader> struct Batches {
    Loader* loader;
    Run* run;

    class Iterator {
     public:
      Iterator(Loader& loader, Run* run) : run_(run), last_(loader.end()) {
        if (interrupted() != 0 || (run && run->begins_done_pass())) return;
        at_.emplace(loader.begin());
        count();
      }
      decltype(auto) operator*() const { return **at_; }
      Iterator& operator++() {
        if (interrupted() != 0) {  // the loader stays at the batch that is done, from which a checkpoint goes on
          at_.reset();
        } else {
          ++*at_;
          count();
        }
        return *this;
      }
      bool operator==(std::default_sentinel_t) const { return !at_; }

     private:
      void count() {
        const bool ends = *at_ == last_;
        if (ends) at_.reset();
        if (run_) ++(ends ? run_->passes_ : run_->step_);
      }
      Run* run_;
      decltype(std::declval<Loader&>().end()) last_;
      std::optional<decltype(std::declval<Loader&>().begin())> at_{};
    };
    Iterator begin() const { return {*loader, run}; }
    std::default_sentinel_t end() const { return {}; }
  };

  Run* run_;
};

class Run::Epochs {
 public:
  class Iterator {
   public:
    Epoch operator*() const { return Epoch(run_); }
    Iterator& operator++() {
      run_->end_epoch(where_);
      return *this;
    }
    bool operator==(std::default_sentinel_t) const { return run_->is_over(); }

   private:
    friend class Epochs;
    Iterator(Run* run, SourceLocation where) : run_(run), where_(where) {}
    Run* run_;
    SourceLocation where_;
  };
  Iterator begin() const {
    run_->begin(where_);
    return {run_, where_};
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class Run;
  Epochs(Run* run, SourceLocation where) : run_(run), where_(where) {}
  Run* run_;
  SourceLocation where_;
};

inline Run::Epochs Run::epochs(SourceLocation where) { return {this, where}; }

}  // namespace minnow::training
