#include <minnow/training/run.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::training {
namespace {

constexpr std::size_t kMostPending = 256;

EarlyStoppingOptions stopping_of(const RunOptions& o, SourceLocation where) {
  if (o.epochs < 0 || o.patience < 0)
    throw ValueError(fmt::format("Run: epochs is {} and patience {}\nthey must not be negative", o.epochs, o.patience),
                     where);
  if (o.keep < 1) throw ValueError(fmt::format("Run: keep must be at least 1, got {}\n2 is usual", o.keep), where);
  if (o.patience > 0 && o.watch.empty())
    throw ValueError("Run: patience needs a number to watch\ngive .watch = \"valid/loss\", and log it in each epoch",
                     where);
  return {.best = o.best, .patience = o.patience > 0 ? o.patience : std::numeric_limits<std::int64_t>::max()};
}

/// A number for what epochs are compared by (FNV-1a).
std::int64_t comparison_of(const RunOptions& o) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : o.watch + (o.best == Best::max ? '+' : '-'))
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<std::int64_t>(hash);
}

}  // namespace

Run::Run(const std::string& folder, const RunOptions& options, SourceLocation where)
    : options_(((void)stopping_of(options, where), options)),
      folder_(folder.empty() ? "" : std::filesystem::absolute(folder).string()),
      stopping_(stopping_of(options, where)),
      comparison_(comparison_of(options)) {
  if (folder.empty()) return;
  Checkpoint& c = checkpoint_.emplace(
      folder, CheckpointOptions{.keep = options.keep, .higher_is_better = options.best == Best::max}, where);
  history_ = History(folder_ + "/history.csv", where);
  c.add("run_epoch", epoch_, where).add("run_step", step_, where).add("run_passes", passes_, where);
  c.add("run_entries", entries_, where).add("run_comparison", comparison_, where);
  c.add("run_is_watched", is_watched_, where).add("run_watched", watched_, where);
  c.add("run_is_within", is_within_, where);
  c.add("run_stopping", stopping_, where);
}
Run::~Run() {
  try {
    write_pending({});
  } catch (const std::exception&) {  // the loop has thrown already, or the file is not there
  }
}

void Run::begin(SourceLocation where) {
  if (in_epoch_ && !stopped_)
    throw ValueError(
        fmt::format("Run: epoch {} has begun and was not ended: another loop over epochs() would repeat a part of it\n"
                    "make another Run{}",
                    epoch_,
                    folder_.empty() ? "" : " in '" + folder_ + "', which goes on from the end of the epoch before"),
        where);
  resume(where);
  if (options_.patience > 0 && stopping_.stops() && epoch_ < options_.epochs)
    minnow::detail::warn_once(
        fmt::format("Run: {} has ended by its patience: {} epochs without a better '{}' than {}\n"
                    "no epoch is run; give a .patience of more than {}, or another folder",
                    folder_.empty() ? "it" : "'" + folder_ + "'", stopping_.updates_without_improvement(),
                    options_.watch, stopping_.best(), stopping_.updates_without_improvement()),
        where);
}

void Run::resume(SourceLocation where) {
  if (!guard_) guard_.emplace();
  if (began_) return;
  const auto found = checkpoint_ ? checkpoint_->resume(where) : std::nullopt;
  if (found && comparison_ != comparison_of(options_))
    throw ValueError(
        "Run: '" + folder_ + "' was compared by another .watch or .best\ngive the same ones, or another folder", where);
  if (found && is_within_ == 0) newest_ = found->path;
  repeats_ = is_within_ != 0;
  is_within_ = 0;
  history_.keep_first(static_cast<std::size_t>(found ? entries_ : 0), where);
  began_ = true;
}

bool Run::is_over() {
  const bool over =
      stopped_ || interrupted() != 0 || epoch_ >= options_.epochs || (options_.patience > 0 && stopping_.stops());
  if (over) guard_.reset();
  return over;
}

void Run::save(std::optional<double> metric, bool background, SourceLocation where) {
  write_pending(where);
  if (!checkpoint_) return;
  entries_ = std::ssize(history_.entries());
  const std::string path = checkpoint_->save({.metric = metric, .background = background}, where);
  if (background) newest_ = path;
}

bool Run::begin_pass(const void* loader, bool is_part, SourceLocation where) {
  if (is_part && std::find(parts_.begin(), parts_.end(), loader) == parts_.end())
    throw ValueError(
        "Run: the loader is not a part of the run, which could not go on with it\ncall run.add(\"train\", "
        "loader) before the epochs",
        where);
  if (loops_ > 0)
    throw ValueError("Run: a loop over batches() is within another one\nuse batches_without_steps() for the inner one",
                     where);
  if (leave_epoch_) end_pass();  // the one before was left early
  if (pass_++ < passes_) return false;
  repeats_ = false;
  return true;
}
void Run::end_pass() {
  passes_ = pass_;
  leave_epoch_ = nullptr;
}
bool Run::stops_after_step(SourceLocation where) {
  if (interrupted() == 0) return false;
  is_within_ = 1;
  save(std::nullopt, false, where);  // before the program does anything else
  stopped_ = true;
  return true;
}

void Run::end_epoch(SourceLocation where) {
  if (stopped_) return;
  write_pending(where);
  if (leave_epoch_) leave_epoch_(), leave_epoch_ = nullptr;
  const bool watches = !options_.watch.empty(), watched = is_watched_ != 0;
  const double value = watched_;
  if (watched) stopping_.update(value);
  const std::int64_t number = epoch_++;
  in_epoch_ = false;
  pass_ = passes_ = is_watched_ = 0;
  save(watched && !std::isnan(value) ? std::optional(value) : std::nullopt, true, where);
  if (is_over() && checkpoint_) checkpoint_->wait(where);
  if (watches && !watched)
    throw ValueError(
        fmt::format("Run: epoch {} has not logged '{}', by which epochs are compared\ncall epoch.log(\"{}\", "
                    "...) in each epoch, or choose another .watch",
                    number, options_.watch, options_.watch),
        where);
}

void Run::log(const std::string& name, double value, SourceLocation where) {
  if (stopped_ || repeats_) return;
  write_ready(where);
  const HistoryEntry entry{step_, epoch_, name, value};
  if (pending_.empty()) write(entry, where);
  else pending_.push_back({entry, {}});  // the file has the order in which they were logged
}
void Run::log(const std::string& name, const Tensor& value, SourceLocation where) {
  value.require_defined("Run", where);
  if (value.numel() != 1)
    throw ShapeError(fmt::format("Run: '{}' has {} elements\nlog one number, e.g. its mean", name, value.numel()),
                     where);
  if (value.device().is_cpu()) return log(name, value.item<double>(), where);
  if (stopped_ || repeats_) return;
  if (pending_.size() >= kMostPending) write_pending(where);
  write_ready(where);
  pending_.push_back({{step_, epoch_, name}, raw::to_device({value.detach(), where}, Device(), true)});
}
void Run::write(const HistoryEntry& entry, SourceLocation where) {
  if (entry.name == options_.watch) watched_ = entry.value, is_watched_ = 1;
  history_.log(entry.name, entry.value, {.step = entry.step, .epoch = entry.epoch}, where);
}
/// Writes what costs no wait.
void Run::write_ready(SourceLocation where) {
  while (!pending_.empty() && (!pending_[0].value.defined() || pending_[0].value.storage()->is_ready()))
    write_first(where);
}
void Run::write_pending(SourceLocation where) {
  while (!pending_.empty()) write_first(where);
}
void Run::write_first(SourceLocation where) {
  const Pending first = std::move(pending_.front());
  pending_.pop_front();
  HistoryEntry entry = first.entry;
  if (first.value.defined()) entry.value = first.value.item<double>();
  write(entry, where);
}

void Run::report(const std::string& path, ReportOptions options, SourceLocation where) {
  if (options.title.empty()) options.title = std::filesystem::path(folder_).filename().string();
  training::report(path, history(where), options, where);
}

StateDict Run::best(const std::string& name, SourceLocation where) {
  if (!checkpoint_)
    throw ValueError("Run: it has no folder, from which the best epoch could be read\ngive one to the constructor",
                     where);
  checkpoint_->wait(where);
  std::string path = checkpoint_->best_path();
  if (path.empty()) path = newest_;
  if (path.empty() || !std::filesystem::exists(path)) path = checkpoint_->found_path(where);
  if (path.empty()) throw ValueError("Run: no epoch was saved yet\nan epoch is saved at its end", where);
  const std::string prefix = name + '.';
  StateDict part;
  for (const auto& [full, value] : load(path, Device(), where))
    if (full.starts_with(prefix)) part.set(full.substr(prefix.size()), value);
  if (part.empty())
    throw ValueError("Run: there is no part '" + name +
                         "' with tensors\ngive a name that add() was given, of a module or "
                         "a StateDict",
                     where);
  return part;
}

}  // namespace minnow::training
