// Files that make_files.py has written, read into tensors.

#include <filesystem>
#include <stdexcept>
#include <minnow/data/csv.h>
#include "workloads/workloads.h"

namespace bench {
namespace {

using namespace minnow;

Ready csv(const Settings& s) {
  return forward_only([path = (folder_of(s) / "table.csv").string()] {
    const data::Table table = data::read_csv(path);
    return table.tensor(table.names());
  });
}

}  // namespace

std::filesystem::path folder_of(const Settings& s) {
  if (s.files.empty()) throw std::runtime_error("--files names the folder that make_files.py has written");
  return s.files;
}

std::vector<Workload>& image_workloads() {
  static std::vector<Workload> all;
  return all;
}

std::vector<Workload> file_workloads() { return {{"csv_100k", csv, For::kCpu}}; }

}  // namespace bench
