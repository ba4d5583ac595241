#include <minnow/tensor/runtime/system.h>

#include <cstdlib>
#include <filesystem>
#include <malloc.h>
#include <memory>
#include <system_error>
#include <minnow/tensor/runtime/copies.h>
// After the others: its macros are names that they use.
#include <windows.h>
// Needs the types of windows.h.
#include <psapi.h>

namespace minnow::detail {
namespace {

std::string utf8(const wchar_t* text) {
  const int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<std::size_t>(size > 0 ? size : 1), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, out.data(), size, nullptr, nullptr);
  out.pop_back();  // the zero
  return out;
}

struct End {
  void (*f)(void*);
  void* value;
};

void WINAPI call_end(void* end) {
  const std::unique_ptr<End> given(static_cast<End*>(end));
  given->f(given->value);
}

}  // namespace

void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept { return _aligned_malloc(bytes, alignment); }
void free_aligned(void* block) noexcept { _aligned_free(block); }

std::size_t physical_memory() noexcept {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) ? static_cast<std::size_t>(status.ullTotalPhys) : 0;
}

int processors() noexcept {
  DWORD_PTR own = 0, all = 0;
  return GetProcessAffinityMask(GetCurrentProcess(), &own, &all) && own ? __builtin_popcountll(own) : 1;
}

std::string host_name() {
  char name[256] = "localhost";
  DWORD size = sizeof name;
  return GetComputerNameA(name, &size) ? name : "localhost";
}

std::size_t terminal_columns() noexcept {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  if (!GetConsoleScreenBufferInfo(GetStdHandle(STD_OUTPUT_HANDLE), &info)) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

std::string system_name() { return "Windows x86_64"; }

std::string command_line() { return utf8(GetCommandLineW()); }

void at_thread_end(void (*f)(void*), void* value) {
  static const DWORD key = FlsAlloc(&call_end);
  auto end = std::make_unique<End>(End{f, value});
  const std::unique_ptr<End> before(static_cast<End*>(FlsGetValue(key)));
  FlsSetValue(key, end.release());
}

std::string environment(const char* name) {
  const wchar_t* value = _wgetenv(std::filesystem::path(name).c_str());
  return value ? utf8(value) : std::string();
}

ResidentMemory resident_memory() {
  PROCESS_MEMORY_COUNTERS counters{};
  if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) return {};
  return {static_cast<std::int64_t>(counters.WorkingSetSize), static_cast<std::int64_t>(counters.PeakWorkingSetSize)};
}

std::string processor_name() {
  char name[256] = "";
  DWORD size = sizeof name;
  RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "ProcessorNameString",
               RRF_RT_REG_SZ, nullptr, name, &size);
  return name;
}

void at_fork_in_child(void (*)()) {}

void sleep_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept {
  WaitOnAddress(const_cast<std::atomic<std::uint32_t>*>(&number), &old, sizeof old, INFINITE);
}
void wake(std::atomic<std::uint32_t>& number) noexcept { WakeByAddressAll(&number); }

void* open_library(const char* file, std::string* reason) {
  const HMODULE library = LoadLibraryW(std::filesystem::path(file).c_str());
  if (!library && reason)
    *reason = std::string(file) + ": " + std::system_category().message(static_cast<int>(GetLastError()));
  return library;
}

void* function_of(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void warn_of_copies() noexcept {}  // each DLL has what it links; nothing tells of the others

}  // namespace minnow::detail
