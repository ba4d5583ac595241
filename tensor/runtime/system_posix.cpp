#include <minnow/tensor/runtime/system.h>

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace minnow::detail {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

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

std::int64_t status_bytes(std::string_view name) {  // "123456 kB"
  return std::atoll(field_of("/proc/self/status", name).c_str()) * 1024;
}

}  // namespace

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept {
  void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
  if (block && alignment >= kLargePage) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}
void free_aligned(void* block) noexcept { std::free(block); }

std::size_t physical_memory() noexcept {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(size) : 0;
}

int processors() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

std::string host_name() {
  char name[256] = "localhost";
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return name;
}

std::size_t terminal_columns() noexcept {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string system_name() {
  utsname system{};
  uname(&system);
  return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(file, word, '\0');) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`&|;<>()*?[]#~!{}") == std::string::npos;
    for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, "'\\''");
    if (!text.empty()) text += ' ';
    if (plain) text += word;
    else text.append("'").append(word).append("'");
  }
  return text;
}

ResidentMemory resident_memory() { return {status_bytes("VmRSS"), status_bytes("VmHWM")}; }

std::string processor_name() { return field_of("/proc/cpuinfo", "model name"); }

void at_thread_end(void (*f)(void*), void* value) {
  struct End {
    ~End() { f(value); }
    void (*f)(void*);
    void* value;
  };
  thread_local End end{f, value};
  end.f = f;
  end.value = value;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void at_fork_in_child(void (*f)()) { pthread_atfork(nullptr, nullptr, f); }

void sleep_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept {
  number.wait(old, std::memory_order_acquire);
}
void wake(std::atomic<std::uint32_t>& number) noexcept { number.notify_one(); }

void* open_library(const char* file, std::string* reason) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library && reason) {
    const char* text = dlerror();
    *reason = text ? text : file;
  }
  return library;
}

void* function_of(void* library, const char* name) { return dlsym(library, name); }

}  // namespace minnow::detail
