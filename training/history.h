#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow::training {

/// A number that a training run has logged.
struct HistoryEntry {
  std::int64_t step = 0, epoch = 0;
  std::string name{};
  double value = 0;
};

/// Named numbers by step and epoch, in memory and, if it has a file, there too: each as one line, which other programs
/// can read at once, and which is there after the process was killed.
///
///     training::History history("runs/mnist/history.csv");
///     history.log("train/loss", loss.item(), {.step = step, .epoch = epoch});
///     for (const auto& e : history.of("train/loss")) plot(e.step, e.value);
///
/// The end of the path is the format: ".csv" has the columns step, epoch, name, value; ".jsonl" an object with these
/// keys in each line, in which a NaN is null and an infinity 1e999, which readers take for one.  Not thread-safe.
class History {
 public:
  /// In memory alone.
  History();
  /// Reads the entries of a file that is there, without a line at its end that was cut off, and appends to it.
  /// ValueError for another ending; IoError if it cannot be read and written; FormatError, which names the line, for a
  /// file that is no history.
  explicit History(std::string path, SourceLocation where = SourceLocation::current());
  ~History();
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;

  struct Place {
    std::int64_t step = 0, epoch = 0;
  };
  /// ValueError for an empty name or one that has control characters; IoError if it cannot be written: then it is in
  /// memory alone.
  void log(const std::string& name, double value, Place at, SourceLocation where = SourceLocation::current());

  const std::vector<HistoryEntry>& entries() const;
  std::vector<HistoryEntry> of(const std::string& name) const;
  /// Forgets what was logged after a step, in the file too: where a run that was killed is continued from a checkpoint.
  void rewind(std::int64_t step, SourceLocation where = SourceLocation::current());
  /// Writes all entries to another file, of either format.
  void save(const std::string& path, SourceLocation where = SourceLocation::current()) const;

 private:
  class File;
  std::vector<HistoryEntry> entries_;
  std::unique_ptr<File> file_;
};

}  // namespace minnow::training
