#pragma once

#include <cstddef>
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
///     for (const auto& e : training::History::read("runs/mnist/history.csv")) plot(e.step, e.value);
///
/// The end of the path is the format: ".csv" has the columns step, epoch, name, value; ".jsonl" an object with these
/// keys, in this order, in each line, in which a NaN is null and an infinity 1e999, which Python reads as one.  Not
/// thread-safe.
class History {
 public:
  /// In memory alone.
  History();
  /// Reads the entries of a file that is there, removes a line at its end that was cut off, and appends to it.  A
  /// relative path stays the same if the program changes its working directory.  ValueError for another ending; IoError
  /// if it cannot be read and written, or another History writes to it; FormatError, which names the line, for a file
  /// that is no history, which stays as it is.
  explicit History(std::string path, SourceLocation where = SourceLocation::current());
  ~History();
  History(History&&) noexcept;
  History& operator=(History&&) noexcept;

  /// The entries of a file, which may be written to; a last line that is cut off is left out.  Errors as the
  /// constructor.
  static std::vector<HistoryEntry> read(const std::string& path, SourceLocation where = SourceLocation::current());

  struct Place {
    std::int64_t step = 0, epoch = 0;
  };
  /// ValueError for an empty name or one that has control characters; IoError if it cannot be written: then it is in
  /// memory alone.
  void log(const std::string& name, double value, Place at, SourceLocation where = SourceLocation::current());

  const std::vector<HistoryEntry>& entries() const;
  std::vector<HistoryEntry> of(const std::string& name) const;
  /// Forgets all but the first entries, in the file too: where a run that was killed is continued from a checkpoint.
  void keep_first(std::size_t count, SourceLocation where = SourceLocation::current());
  /// Writes all entries to another file, of either format.  ValueError for its own.
  void save(const std::string& path, SourceLocation where = SourceLocation::current()) const;

 private:
  class File;
  std::vector<HistoryEntry> entries_;
  std::unique_ptr<File> file_;
};

}  // namespace minnow::training
