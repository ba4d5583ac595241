#pragma once

#include <filesystem>
#include <string>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow::data::detail {

/// A collection of data whose files are looked for.
struct Collection {
  std::string name;                  // "mnist", as the function that reads it
  std::vector<std::string> folders;  // relative to a root
  bool own_files_only = false;       // $MINNOW_DATA itself may hold MNIST's files, which have the same names
  std::string hint;
};

/// The folders in which its files may be, in order: those of `root`, else of $MINNOW_DATA, else of the user's cache.
std::vector<std::filesystem::path> folders_of(const Collection& set, const std::filesystem::path& root);

/// A path that was tried, and why it cannot be read, unless it does not exist.
struct Tried {
  std::filesystem::path path;
  std::string reason;
};

/// IoError for a file that was not found: `what` is its content.
[[noreturn]] void refuse_missing(const Collection& set, const std::string& what, const std::vector<Tried>& tried,
                                 SourceLocation where);

}  // namespace minnow::data::detail
