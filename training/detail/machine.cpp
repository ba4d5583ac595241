#include <minnow/training/detail/machine.h>

#include <algorithm>
#include <fmt/format.h>
#include <thread>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/system.h>
#include <minnow/tensor/runtime/threads.h>

// MINNOW_BUILT_VERSION and MINNOW_BUILT_ONEDNN are from CMakeLists.txt.

namespace minnow::training::detail {
namespace {

std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts(Device device, SourceLocation where) {
  const std::string system = minnow::detail::system_name(), model = minnow::detail::processor_name();
  const minnow::detail::ResidentMemory memory = minnow::detail::resident_memory();
  const auto resident = [](std::int64_t bytes) { return bytes > 0 ? megabytes(static_cast<double>(bytes)) : ""; };
  std::vector<std::pair<std::string, std::string>> facts{
      {"command", minnow::detail::command_line()},
      {"device", device.str()},
      {"processor", model.empty() ? system.substr(system.rfind(' ') + 1) : model},
      {"threads", fmt::format("{} of {} processors", num_threads(), std::thread::hardware_concurrency())},
      {"system", system},
      {"most memory of tensors", megabytes(static_cast<double>(max_memory(device, where)))},
      {"most resident memory", resident(memory.most)},
      {"resident memory now", resident(memory.now)},
      {"minnow", MINNOW_BUILT_VERSION},
      {"oneDNN", MINNOW_BUILT_ONEDNN},
      {"compiler",
#ifdef __clang__
       "clang " __clang_version__
#else
       "g++ " __VERSION__
#endif
      }};
  std::erase_if(facts, [](const auto& row) { return row.second.empty(); });
  return facts;
}

}  // namespace minnow::training::detail
