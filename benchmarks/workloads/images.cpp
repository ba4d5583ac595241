// Files of images that make_files.py has written.  Compiled where minnow::vision is built.

#include <memory>
#include <minnow/data/loader.h>
#include <minnow/vision/image.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

/// A folder of images, one after the other.
Ready png(const Settings& s) {
  const vision::ImageFolder folder = vision::image_folder((folder_of(s) / "images").string());
  return forward_only([folder] {
    Tensor last;
    for (const std::string& path : folder.paths()) last = vision::read_image(path);
    return last;
  });
}

/// The same through a loader with two workers.
Ready png_loader(const Settings& s) {
  const auto loader = std::make_shared<data::DataLoader<vision::ImageFolder>>(
      vision::image_folder((folder_of(s) / "images").string()),
      data::DataLoaderOptions{.batch_size = s.quick ? 2 : 8, .num_workers = 2});
  return forward_only([loader] {
    Tensor last;
    for (const auto& [images, labels] : *loader) last = images;
    return last;
  });
}

[[maybe_unused]] const bool added = [] {
  image_workloads() = {{"png", png, For::kCpu}, {"png_loader", png_loader, For::kCpu}};
  return true;
}();

}  // namespace
}  // namespace bench
