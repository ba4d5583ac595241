#pragma once

#include <cstdint>
#include <deque>
#include <functional>
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
#include <minnow/training/report.h>

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
///     if (interrupted()) return 128 + interrupted();
///     net.load_state_dict(run.best("model"));
///
/// Started again in the same folder, it goes on where its last checkpoint was, with the same bits as without the
/// interruption.  After Ctrl-C (or SIGTERM ...) the loop over batches() saves when its batch is done, and the epochs
/// end: what the program does after that is not part of the run, and nothing is logged.  In other places the epoch goes
/// on to its end first.  What an epoch gathers in variables (a mean of losses) must be a part of the run to be whole
/// after an interruption within it.  One Run at a time uses a folder; with "" instead of one nothing is saved.  Not
/// thread-safe.
class Run {
 public:
  class Epoch;
  class Epochs;

  /// Makes the folder if it is missing.  IoError, also if another Run uses it; ValueError for options out of range.
  explicit Run(const std::string& folder, const RunOptions& options = {},
               SourceLocation where = SourceLocation::current());
  /// Waits for the last checkpoint; warns if it has failed.
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// What the run is made of, as Checkpoint::add: modules, optimizers, schedules, loaders, numbers, tensors.
  template <class T> Run& add(std::string name, T& part, SourceLocation where = SourceLocation::current()) {
    if (checkpoint_) checkpoint_->add(std::move(name), part, where);
    parts_.push_back(&part);
    return *this;
  }
  /// The epochs that are left, for a range loop; none, with a warning, if the run has ended by its patience.  Loads the
  /// newest checkpoint when the first loop begins: ValueError if that run had another `watch` or `best`.  A loop that
  /// `break` or an exception leaves has not ended its epoch: another one is a ValueError, and another Run in the folder
  /// goes on from the end of the epoch before.  At the end of an epoch ValueError, after it was saved, if it has not
  /// logged `watch`; errors of Checkpoint and History.
  Epochs epochs(SourceLocation where = SourceLocation::current());

  /// Waits for values on a device that were logged.
  const History& history(SourceLocation where = SourceLocation::current()) {
    write_pending(where);
    return history_;
  }
  /// training::report() of its history; its title is the folder's name if the options have none.
  void report(const std::string& path, ReportOptions options = {}, SourceLocation where = SourceLocation::current());
  /// How many batches Epoch::batches() has given, in all.
  std::int64_t step() const { return step_; }
  /// The tensors of a part of that name in the best epoch, or in the last one without `watch`; before epochs() in that
  /// which the folder has.  ValueError without a folder, if no epoch was saved, or the part has no tensors.
  StateDict best(const std::string& name, SourceLocation where = SourceLocation::current());
  /// The best value of `watch`; NaN before the first epoch.
  double best_value() const { return stopping_.best(); }

 private:
  struct Pending {
    HistoryEntry entry;
    Tensor value;  ///< its copy on the host, which may not be complete; undefined: the entry has it
  };

  void begin(SourceLocation where);
  void resume(SourceLocation where);
  void save(std::optional<double> metric, bool background, SourceLocation where);
  void end_epoch(SourceLocation where);
  bool is_over();
  void log(const std::string& name, double value, SourceLocation where);
  void log(const std::string& name, const Tensor& value, SourceLocation where);
  void write(const HistoryEntry& entry, SourceLocation where);
  void write_ready(SourceLocation where);
  void write_first(SourceLocation where);
  void write_pending(SourceLocation where);
  // Of a loop over batches that are steps.  begin_pass: false if an interrupted epoch has had it.
  bool begin_pass(const void* loader, bool is_part, SourceLocation where);
  void end_pass();
  bool stops_after_step(SourceLocation where);

  RunOptions options_;
  const std::string folder_;               ///< empty: nothing is saved
  std::optional<InterruptGuard> guard_{};  ///< of the loop over epochs
  std::optional<Checkpoint> checkpoint_{};
  std::vector<const void*> parts_{};
  std::string newest_{};  ///< the checkpoint of the last epoch
  History history_;
  EarlyStopping stopping_;
  std::deque<Pending> pending_{};         ///< values on a device, and what was logged after them
  std::function<void()> leave_epoch_{};   ///< of the loader whose loop has begun and has not come to its end
  bool began_ = false, stopped_ = false;  ///< stopped: saved after a signal
  bool in_epoch_ = false;                 ///< has begun and was not ended
  bool repeats_ = false;                  ///< what an epoch that goes on has done before
  int loops_ = 0;                         ///< over steps, that exist
  std::int64_t pass_ = 0;                 ///< of the loops in this epoch
  // Parts of the checkpoint.
  std::int64_t epoch_ = 0, step_ = 0, passes_ = 0, entries_ = 0, comparison_ = 0, is_watched_ = 0, is_within_ = 0;
  double watched_ = 0;
};

/// An epoch of a run.
class Run::Epoch {
 public:
  /// From 0 on.
  std::int64_t number() const { return run_->epoch_; }
  /// The batches of a loader that is a part of the run, each of which is a step; saves and ends early after Ctrl-C.
  /// ValueError for a loader that could be a part and is none (what has no state_dict() begins again when a run goes
  /// on), and for a loop within another one.
  template <class Loader> auto batches(Loader& loader, SourceLocation where = SourceLocation::current()) const {
    return Batches<Loader>{&loader, run_, true, where};
  }
  /// The same of data that is only looked at.
  template <class Loader>
  auto batches_without_steps(Loader& loader, SourceLocation where = SourceLocation::current()) const {
    return Batches<Loader>{&loader, run_, false, where};
  }
  /// Puts a number into the history, at the current step.  A step does not wait for a tensor of one element on another
  /// device: it is written, and what was logged after it, when a later batch finds it computed.  ShapeError unless it
  /// has one element.
  void log(const std::string& name, double value, SourceLocation where = SourceLocation::current()) const {
    run_->log(name, value, where);
  }
  void log(const std::string& name, const Tensor& value, SourceLocation where = SourceLocation::current()) const {
    run_->log(name, value, where);
  }

 private:
  friend class Epochs;
  explicit Epoch(Run* run) : run_(run) {}

  template <class Loader> struct Batches {
    Loader* loader;
    Run* run;
    bool steps;
    SourceLocation where;

    class Iterator {
     public:
      explicit Iterator(const Batches& of) : of_(of), last_(of.loader->end()) {
        if (of.run->stopped_) return;
        if (of.steps) {
          constexpr bool kIsPart = requires { of.loader->load_state_dict(of.loader->state_dict()); };
          if (!of.run->begin_pass(of.loader, kIsPart, of.where)) return;
        }
        at_.emplace(of.loader->begin());
        if (of.steps) loops_ = ++of.run->loops_ > 0;
        if constexpr (requires { of.loader->set_epoch(of.loader->epoch() + 1); })
          if (of.steps) of.run->leave_epoch_ = [l = of.loader] { l->set_epoch(l->epoch() + 1); };
        count();
      }
      ~Iterator() {
        if (loops_) --of_.run->loops_;
      }
      Iterator(const Iterator&) = delete;
      Iterator& operator=(const Iterator&) = delete;

      decltype(auto) operator*() const { return **at_; }
      Iterator& operator++() {
        if (of_.steps && of_.run->stops_after_step(of_.where)) {
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
        of_.run->write_ready(of_.where);
        const bool ends = *at_ == last_;
        if (ends) at_.reset();
        if (!of_.steps) return;
        if (ends) of_.run->end_pass();
        else ++of_.run->step_;
      }
      const Batches of_;
      decltype(std::declval<Loader&>().end()) last_;
      std::optional<decltype(std::declval<Loader&>().begin())> at_{};
      bool loops_ = false;
    };
    Iterator begin() const { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }

    // What progress() asks.
    std::int64_t size() const { return loader->size(); }
    std::int64_t epoch() const { return run->epoch_; }
    auto position() const requires requires { loader->position(); }
    { return loader->position(); }
    bool is_over() const { return run->stopped_; }
  };

  Run* run_;
};

class Run::Epochs {
 public:
  class Iterator {
   public:
    Epoch operator*() const {
      run_->in_epoch_ = true;
      return Epoch(run_);
    }
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
