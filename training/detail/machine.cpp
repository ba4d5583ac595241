#include <minnow/training/detail/machine.h>

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/utsname.h>
#include <thread>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/threads.h>

// MINNOW_BUILT_VERSION and MINNOW_BUILT_ONEDNN are from CMakeLists.txt.

namespace minnow::training::detail {
namespace {

/// What follows "name:" in a file of lines; empty if there is none.
std::string field_of(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(':');
    if (!line.starts_with(name) || at == std::string::npos) continue;
    return line.substr(std::min(line.find_first_not_of(" \t", at + 1), line.size()));
  }
  return "";
}

/// As a shell takes it.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`&|;<>()*?[]#~!{}") == std::string::npos;
    for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, "'\\''");
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

std::string megabytes(double bytes) { return fmt::format("{:.1f} MB", bytes / 1e6); }

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts(Device device, SourceLocation where) {
  utsname system{};
  uname(&system);
  const std::string model = field_of("/proc/cpuinfo", "model name");
  const auto resident = [](std::string_view name) {  // "123456 kB"
    const std::string text = field_of("/proc/self/status", name);
    return text.empty() ? "" : megabytes(std::strtod(text.c_str(), nullptr) * 1024);
  };
  std::vector<std::pair<std::string, std::string>> facts{
      {"command", command_line()},
      {"device", device.str()},
      {"processor", model.empty() ? system.machine : model},
      {"threads", fmt::format("{} of {} processors", num_threads(), std::thread::hardware_concurrency())},
      {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
      {"most memory of tensors", megabytes(static_cast<double>(max_memory(device, where)))},
      {"most resident memory", resident("VmHWM")},
      {"resident memory now", resident("VmRSS")},
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
