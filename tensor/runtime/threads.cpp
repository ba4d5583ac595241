#include <minnow/tensor/runtime/threads.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#ifdef _OPENMP
#include <omp.h>
#endif
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/system.h>

namespace minnow {
namespace {

detail::ThreadSettings openmp_settings() {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
#ifdef _OPENMP
  return {wanted,
          omp_get_max_threads(),
          omp_get_thread_limit(),
          omp_get_max_active_levels(),
          omp_get_num_procs(),
          detail::cpu_quota()};
#else
  const int processors = detail::processors(), given = wanted ? std::atoi(wanted) : 0;
  return {wanted, given > 0 ? given : processors, std::numeric_limits<int>::max(), 1, processors, detail::cpu_quota()};
#endif
}

std::atomic<int>& setting() {
  static auto* threads = [] {  // never destroyed: destructors of globals may call operations
    // A forked child has only the calling thread.
    detail::at_fork_in_child([] { setting().store(1, std::memory_order_relaxed); });
    return new std::atomic<int>(detail::first_num_threads(openmp_settings()));
  }();
  return *threads;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return std::move(text).str();
}

/// Removes the number at the start of the text and returns it.
std::optional<double> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return static_cast<double>(value);
}

/// "150000 100000" is 1.5; 0 for "max 100000", for -1 (no quota), and for other texts.
double quota_of(std::string_view text) {
  const auto quota = take_number(text), period = take_number(text);
  return quota && period && *quota > 0 && *period > 0 ? *quota / *period : 0;
}

/// The smallest quota of a cgroup and its parents.  In a container its path may not exist; then the mount point is the
/// group.
template <class Read> double smallest_quota(std::string path, const Read& read) {
  double least = 0;
  for (;;) {
    const double here = read(path);
    if (here > 0 && (least == 0 || here < least)) least = here;
    const std::size_t slash = path.find_last_of('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

bool has_controller(std::string_view list, std::string_view name) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (list.substr(begin, end - begin) == name) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

namespace detail {

double cpu_quota(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  double least = 0;
  std::istringstream groups(read_file(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(groups, line);) {  // "ID:controllers:path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    while (!path.empty() && path.back() == '/') path.pop_back();
    double here = 0;
    if (controllers.empty()) {
      here = smallest_quota(path, [&](const std::string& group) {
        const double unified = quota_of(read_file(mount + group + "/cpu.max"));
        return unified > 0 ? unified : quota_of(read_file(mount + "/unified" + group + "/cpu.max"));
      });
    } else if (has_controller(controllers, "cpu")) {
      here = smallest_quota(path, [&](const std::string& group) {
        for (const std::string& name : {controllers, std::string("cpu"), std::string("cpu,cpuacct")}) {
          const std::string folder = mount + "/" + name + group;
          const double quota =
              quota_of(read_file(folder + "/cpu.cfs_quota_us") + " " + read_file(folder + "/cpu.cfs_period_us"));
          if (quota > 0) return quota;
        }
        return 0.0;
      });
    }
    if (here > 0 && (least == 0 || here < least)) least = here;
  }
  return least;
}

int first_num_threads(const ThreadSettings& s) {
  std::string_view text = s.omp_num_threads != nullptr ? s.omp_num_threads : "";
  const auto wanted = take_number(text);
  int threads = std::max(1, s.openmp);
  if (!wanted || *wanted < 1) {  // OpenMP has the number of processors, or a smaller one that the program set
    const bool given = s.openmp < s.processors;
    threads = std::min(threads, std::max(1, s.processors));
    if (!given && s.quota > 0) threads = static_cast<int>(std::min<double>(threads, std::ceil(s.quota)));
  }
  if (s.openmp_levels == 0) threads = 1;
  return std::clamp(std::min(threads, s.openmp_limit), 1, max_threads());
}

}  // namespace detail

int num_threads() { return detail::calling_thread.serial_regions > 0 ? 1 : setting().load(std::memory_order_relaxed); }

int max_threads() {
  constexpr int kEach = 8, kLeast = 64;
  static const int most = std::max(kLeast, kEach * static_cast<int>(std::thread::hardware_concurrency()));
  return most;
}

void set_num_threads(int threads, SourceLocation where) {
  if (threads < 1)
    throw ValueError(
        "set_num_threads: the number must be at least 1, got " + std::to_string(threads) + "\npass 1 or more", where);
  if (threads > max_threads())
    throw ValueError("set_num_threads: " + std::to_string(threads) +
                         " threads are more than this machine can use\ngive " +
                         std::to_string(std::max(1U, std::thread::hardware_concurrency())) +
                         ", the number of its processors, or at most " + std::to_string(max_threads()),
                     where);
  setting().store(threads, std::memory_order_relaxed);
}

SerialRegion::SerialRegion() { ++detail::calling_thread.serial_regions; }
SerialRegion::~SerialRegion() { --detail::calling_thread.serial_regions; }

}  // namespace minnow
