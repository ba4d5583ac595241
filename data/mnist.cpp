#include <minnow/data/mnist.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <minnow/data/detail/collection.h>
#include <minnow/data/idx.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data {
namespace {

namespace fs = std::filesystem;

using detail::Collection;
using detail::folders_of;
using detail::refuse_missing;
using detail::Tried;

constexpr std::int64_t kClasses = 10;

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
  const Tensor images = read_idx(image_file.string(), {.rank = 3, .dtype = DType::uint8, .content = "images"}, where);
  const Tensor labels = read_idx(label_file.string(), {.rank = 1, .dtype = DType::uint8, .content = "labels"}, where);
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
