#include <minnow/data/mnist.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <minnow/data/idx.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kClasses = 10;

struct Collection {
  std::string name;                  // "mnist", as the function that reads it
  std::vector<std::string> folders;  // relative to a root
  bool own_files_only = false;       // $MINNOW_DATA itself may hold MNIST's files, which have the same names
  std::string hint;
};

const Collection& digits() {
  static const auto* set = new Collection{"mnist",
                                          {"mnist", "MNIST/raw"},
                                          false,
                                          "`./run mnist` downloads the files; or set MINNOW_DATA to their "
                                          "folder; data::SyntheticDigits needs no files"};
  return *set;
}

const Collection& clothes() {
  static const auto* set =
      new Collection{"fashion_mnist",
                     {"fashion-mnist", "fashion_mnist", "FashionMNIST/raw"},
                     true,
                     "put the four files of FashionMNIST into one of these folders, or give their folder as .root"};
  return *set;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool names_fashion(const fs::path& path) {
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  std::string text = folder.filename().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text.find("fashion") != std::string::npos;
}

std::vector<fs::path> folders_of(const Collection& set, const fs::path& root) {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& base, bool include_base) {
    if (include_base) folders.push_back(base);
    for (const auto& folder : set.folders) folders.push_back(base / folder);
  };
  if (!root.empty()) {
    add(root, true);
  } else if (const fs::path shared = variable("MINNOW_DATA"); !shared.empty()) {
    add(shared, !set.own_files_only || names_fashion(shared));
  } else {
    fs::path cache = variable("XDG_CACHE_HOME");  // its specification says to ignore relative paths
    if (!cache.is_absolute()) cache = fs::path(variable("HOME")) / ".cache";
    if (cache.is_absolute()) folders.push_back(cache / "minnow" / set.folders.front());
  }
  return folders;
}

/// A path that was tried, and why it cannot be read, unless it does not exist.
struct Tried {
  fs::path path;
  std::string reason;
};

/// The first file, in any of its spellings, in the first folder that has one.  Appends every path that was tried.
fs::path find(const std::vector<fs::path>& folders, const std::string& part, const std::string& rank,
              std::vector<Tried>& tried) {
  for (const auto& folder : folders)
    for (const char* dot : {"-", "."})
      for (const char* end : {"", ".gz"}) {
        const fs::path path = folder / (part + dot + rank + "-ubyte" + end);
        std::error_code code, ignored;
        if (fs::exists(path, code)) return path;
        if (!code && fs::is_symlink(fs::symlink_status(path, ignored)))
          tried.push_back({path, "a link to a file that is not there"});
        else tried.push_back({path, code ? code.message() : ""});
      }
  return {};
}

[[noreturn]] void refuse_missing(const Collection& set, const std::string& what, const std::vector<Tried>& tried,
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

ImageDataset load(const Collection& set, std::string_view split, const fs::path& root, Normalization normalization,
                  SourceLocation where) {
  const CallSite site(set.name.c_str(), where);
  if (split != "train" && split != "test")
    throw ValueError(set.name + ": unknown split '" + std::string(split) + "'\nexpected \"train\" or \"test\"", where);
  const std::string part = split == "train" ? "train" : "t10k";
  const std::vector<fs::path> folders = folders_of(set, root);
  std::vector<Tried> tried;
  const std::string of_split = " of the " + std::string(split) + " split";
  const fs::path image_file = find(folders, part + "-images", "idx3", tried);
  if (image_file.empty()) refuse_missing(set, "images" + of_split, tried, where);
  tried.clear();
  const fs::path label_file = find(folders, part + "-labels", "idx1", tried);
  if (label_file.empty()) refuse_missing(set, "labels" + of_split, tried, where);
  const Tensor images = read_idx(image_file, {.rank = 3, .dtype = DType::uint8, .content = "images"}, where);
  const Tensor labels = read_idx(label_file, {.rank = 1, .dtype = DType::uint8, .content = "labels"}, where);
  const auto refuse = [&](const std::string& what) {
    throw FormatError(set.name + ": " + what + "\n  images  " + image_file.string() + "  " + images.shape().str() +
                          "\n  labels  " + label_file.string() + "  " + labels.shape().str() +
                          "\ndownload both files again",
                      where);
  };
  if (images.numel() == 0) refuse("there are no images, or they have no pixels");
  if (images.shape()[0] != labels.shape()[0]) refuse("the files have different numbers of samples");
  const auto bytes = labels.span<std::uint8_t>();
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t c) { return c >= kClasses; });
  if (wrong != bytes.end())
    refuse("label " + std::to_string(*wrong) + " of sample " + std::to_string(wrong - bytes.begin()) +
           " must be below " + std::to_string(kClasses));
  return ImageDataset(images, labels, kClasses, normalization, where);
}

}  // namespace

ImageDataset mnist(std::string_view split, MnistOptions options, SourceLocation where) {
  return load(digits(), split, options.root, {options.mean, options.std, options.normalize_on_device}, where);
}

ImageDataset fashion_mnist(std::string_view split, FashionMnistOptions options, SourceLocation where) {
  return load(clothes(), split, options.root, {options.mean, options.std, options.normalize_on_device}, where);
}

std::vector<std::string> mnist_folders(const std::string& root) {
  std::vector<std::string> folders;
  for (const fs::path& folder : folders_of(digits(), root)) folders.push_back(folder.string());
  return folders;
}

}  // namespace minnow::data
