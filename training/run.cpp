#include <minnow/training/run.h>

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/load.h>

namespace minnow::training {
namespace {

constexpr std::size_t kMostPending = 256;

EarlyStoppingOptions stopping_of(const RunOptions& o) {
  return {.best = o.best, .patience = o.patience > 0 ? o.patience : std::numeric_limits<std::int64_t>::max()};
}

}  // namespace

Run::Run(const std::string& folder, const RunOptions& options, SourceLocation where)
    : options_(options),
      checkpoint_(folder, {.keep = options.keep, .higher_is_better = options.best == Best::max}, where),
      history_(folder + "/history.csv", where),
      stopping_(stopping_of(options)) {
  if (options.epochs < 0 || options.patience < 0)
    throw ValueError(
        fmt::format("Run: epochs is {} and patience {}\nthey must not be negative", options.epochs, options.patience),
        where);
  if (options.patience > 0 && options.watch.empty())
    throw ValueError("Run: patience needs a number to watch\ngive .watch = \"valid/loss\", and log it in each epoch",
                     where);
  checkpoint_.add("run_epoch", epoch_, where).add("run_step", step_, where).add("run_passes", passes_, where);
  checkpoint_.add("run_stopping", stopping_, where);
}

void Run::begin(SourceLocation where) {
  if (began_) return;
  const auto found = checkpoint_.resume(where);
  if (found) newest_ = found->path;
  history_.rewind(found ? step_ : -1, where);
  began_ = true;
}

bool Run::is_over() const {
  return interrupted() != 0 || epoch_ >= options_.epochs || (options_.patience > 0 && stopping_.stops());
}

void Run::end_epoch(SourceLocation where) {
  write_pending(where);
  if (interrupted() != 0) {
    newest_ = checkpoint_.save({}, where);
    return;
  }
  if (!options_.watch.empty()) {
    if (!watched_)
      throw ValueError(fmt::format("Run: epoch {} has not logged '{}', by which epochs are compared\ncall "
                                   "epoch.log(\"{}\", ...) in each epoch, or choose another .watch",
                                   epoch_, options_.watch, options_.watch),
                       where);
    stopping_.update(*watched_);
  }
  const std::optional<double> metric = watched_ && !std::isnan(*watched_) ? watched_ : std::nullopt;
  watched_.reset();
  ++epoch_, pass_ = passes_ = 0;
  newest_ = checkpoint_.save({.metric = metric, .background = true}, where);
  if (is_over()) checkpoint_.wait(where);
}

void Run::log(const std::string& name, double value, SourceLocation where) {
  if (interrupted() == 0) write({step_, epoch_, name, value}, where);
}
void Run::log(const std::string& name, const Tensor& value, SourceLocation where) {
  value.require_defined("Run", where);
  if (value.numel() != 1)
    throw ShapeError(fmt::format("Run: '{}' has {} elements\nlog one number, e.g. its mean", name, value.numel()),
                     where);
  if (value.device().is_cpu()) return log(name, value.item<double>(), where);
  if (interrupted() != 0) return;
  pending_.push_back({{step_, epoch_, name}, value.detach().clone()});
  if (pending_.size() >= kMostPending) write_pending(where);
}
void Run::write(const HistoryEntry& entry, SourceLocation where) {
  if (entry.name == options_.watch) watched_ = entry.value;
  history_.log(entry.name, entry.value, {.step = entry.step, .epoch = entry.epoch}, where);
}
void Run::write_pending(SourceLocation where) {
  std::vector<Pending> values;
  values.swap(pending_);
  for (Pending& p : values) {
    p.at.value = p.value.item<double>();
    write(p.at, where);
  }
}

StateDict Run::best(const std::string& name, SourceLocation where) {
  checkpoint_.wait(where);
  const std::string of_metric = checkpoint_.best_path(), &path = of_metric.empty() ? newest_ : of_metric;
  if (path.empty()) throw ValueError("Run: nothing was saved yet\nan epoch is saved at its end", where);
  const std::string prefix = name + '.';
  return load(path, {.prefix = prefix, .rename = {{prefix, ""}}}, where);
}

}  // namespace minnow::training
