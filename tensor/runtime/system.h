#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

// What differs between operating systems, but for files (tensor/io/file.h): system_posix.cpp and system_windows.cpp.

namespace minnow::detail {

/// Memory at a multiple of `alignment`, a power of two; nullptr if there is none.
void* allocate_aligned(std::size_t alignment, std::size_t bytes) noexcept;
void free_aligned(void* block) noexcept;

/// Of this machine, in bytes; 0 if the system does not tell.
std::size_t physical_memory() noexcept;
/// That this process may run on.
int processors() noexcept;
std::string host_name();
/// Of the terminal that standard output is; 0 if it is none.
std::size_t terminal_columns() noexcept;
/// "Linux 6.1.0 x86_64".
std::string system_name();
/// The command line that started this program, as a shell takes it; empty if it is not known.
std::string command_line();
struct ResidentMemory {
  std::int64_t now = 0, most = 0;  ///< in bytes; 0: not known
};
ResidentMemory resident_memory();
/// As the system calls the processor; empty if it does not tell.
std::string processor_name();

/// A variable of the environment, in UTF-8; empty if it is not set.
std::string environment(const char* name);

/// Calls f in every child that is forked from now on; never where processes do not fork.
void at_fork_in_child(void (*f)());

/// Sleeps while the number is `old`, until wake() of it; may return early.  std::atomic's own wait loses wakes on
/// Windows (g++ 12 has no futex there).
void sleep_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept;
void wake(std::atomic<std::uint32_t>& number) noexcept;

/// Calls f(value) when this thread ends, and nothing that was given here for it before.  (mingw may free an object that
/// is thread_local before it destroys it.)
void at_thread_end(void (*f)(void*), void* value);

/// Whether a function that is called when a thread ends may wait for another one to end.  Windows holds a lock then
/// that the other needs.
#ifdef _WIN32
inline constexpr bool kMayJoinAtThreadEnd = false;
#else
inline constexpr bool kMayJoinAtThreadEnd = true;
#endif

/// A shared library, opened; nullptr if it cannot be, and then `reason` says why.  It is never closed.
void* open_library(const char* file, std::string* reason = nullptr);
/// The address of its function; nullptr if it has none of this name.
void* function_of(void* library, const char* name);

}  // namespace minnow::detail
