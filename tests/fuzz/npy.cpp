#include <minnow/data/file_dataset.h>
#include <minnow/tensor/io/npy.h>
#include "fuzz.h"

using namespace minnow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  Tensor loaded;
  if (!fuzz::accepts(file, fuzz::text(data, size), [&](const std::string& path) { loaded = load_npy(path); })) {
    fuzz::require(
        !fuzz::accepts(file, fuzz::text(data, size), [](const std::string& path) { data::FileTensor::npy(path); }),
        "FileTensor refuses what load_npy refuses");
    return 0;
  }
  const std::string saved = fuzz::folder() + "/x.npy";
  save_npy(loaded, saved);
  fuzz::require(fuzz::same(load_npy(saved), loaded), "the same tensor");
  fuzz::accepts(file, fuzz::text(data, size), [&](const std::string& path) {
    const data::FileTensor rows = data::FileTensor::npy(path);
    fuzz::require(rows.shape() == loaded.shape() && rows.dtype() == loaded.dtype(), "the same shape");
    if (rows.size() == 0 || loaded.numel() == 0) return;
    const Tensor row = rows.row(rows.size() - 1);
    const auto bytes = static_cast<std::size_t>(row.nbytes());
    const auto* elements = static_cast<const char*>(loaded.raw_data());
    fuzz::require(std::memcmp(row.raw_data(), elements + static_cast<std::size_t>(loaded.nbytes()) - bytes, bytes) == 0,
                  "the last row");
  });
  return 0;
}
