#include <minnow/data/detail/collection.h>

#include <algorithm>
#include <cctype>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/system.h>

namespace minnow::data::detail {
namespace {

namespace fs = std::filesystem;
using minnow::detail::environment;

bool names_fashion(const fs::path& path) {
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  std::string text = folder.filename().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("fashion") != std::string::npos;
}

}  // namespace

std::vector<fs::path> folders_of(const Collection& set, const fs::path& root) {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& base, bool include_base) {
    if (include_base) folders.push_back(base);
    for (const auto& folder : set.folders) folders.push_back(base / folder);
  };
  if (!root.empty()) {
    add(root, true);
  } else if (const fs::path shared = environment("MINNOW_DATA"); !shared.empty()) {
    add(shared, !set.own_files_only || names_fashion(shared));
  } else {
    fs::path cache = environment("XDG_CACHE_HOME");  // its specification says to ignore relative paths
    if (!cache.is_absolute()) cache = fs::path(environment("HOME")) / ".cache";
    if (!cache.is_absolute()) cache = environment("LOCALAPPDATA");  // Windows has no HOME
    if (cache.is_absolute()) folders.push_back(cache / "minnow" / set.folders.front());
  }
  return folders;
}

void refuse_missing(const Collection& set, const std::string& what, const std::vector<Tried>& tried,
                    SourceLocation where) {
  bool only_missing = true;
  std::string paths;
  for (const auto& [path, reason] : tried) {
    paths += "\n  " + path.string() + (reason.empty() ? "" : ": " + reason);
    only_missing = only_missing && reason.empty();
  }
  if (tried.empty()) paths = " nothing: neither HOME nor XDG_CACHE_HOME names a folder";
  throw IoError(set.name + ": the " + what + (only_missing ? " were not found" : " cannot be read") + "; tried" +
                    paths + "\n" + (only_missing ? set.hint : "make the paths with a reason readable; or " + set.hint),
                where);
}

}  // namespace minnow::data::detail
