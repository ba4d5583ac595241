// Files that make_files.py has written, read into tensors.

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <minnow/data/csv.h>
#include <minnow/data/image.h>
#include <minnow/data/loader.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

std::filesystem::path folder_of(const Settings& s) {
  if (s.files.empty()) throw std::runtime_error("--files names the folder that make_files.py has written");
  return s.files;
}

Ready csv(const Settings& s) {
  return forward_only([path = (folder_of(s) / "table.csv").string()] {
    const data::Table table = data::read_csv(path);
    return table.tensor(table.names());
  });
}

/// A folder of images, one after the other.
Ready png(const Settings& s) {
  const data::ImageFolder folder = data::image_folder((folder_of(s) / "images").string());
  return forward_only([folder] {
    Tensor last;
    for (const std::string& path : folder.paths()) last = data::read_image(path);
    return last;
  });
}

/// The same through a loader with two workers.
Ready png_loader(const Settings& s) {
  const auto loader = std::make_shared<data::DataLoader<data::ImageFolder>>(
      data::image_folder((folder_of(s) / "images").string()),
      data::DataLoaderOptions{.batch_size = s.quick ? 2 : 8, .num_workers = 2});
  return forward_only([loader] {
    Tensor last;
    for (const auto& [images, labels] : *loader) last = images;
    return last;
  });
}

}  // namespace

std::vector<Workload> file_workloads() {
  return {{"csv_100k", csv, For::kCpu}, {"png", png, For::kCpu}, {"png_loader", png_loader, For::kCpu}};
}

}  // namespace bench
