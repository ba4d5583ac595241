#pragma once

// System calls that fail.  For one source of the program, which CMake links with --wrap for the functions below.

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace minnow {
namespace {

enum class Fault { none, error, short_count, nothing };

/// What happens to the calls of this thread.
struct Plan {
  Fault fault = Fault::none;
  int error = 0;
  std::size_t at = 0;     // the number of the call
  std::size_t calls = 0;  // so far
  std::string failed;     // its name
  bool renamed = false;
  std::string appears{};  // a file that another writer makes just before the next stat()
};
Plan* plan = nullptr;

/// Whether this call fails; errno is set then.
bool fails(const char* name) {
  if (!plan || plan->fault != Fault::error || plan->calls++ != plan->at) return false;
  plan->failed = name;
  errno = plan->error;
  return true;
}

/// The bytes that a read or write may take: all, half of them, or none.
std::size_t allowed(const char* name, std::size_t bytes) {
  if (!plan || (plan->fault != Fault::short_count && plan->fault != Fault::nothing)) return bytes;
  if (plan->fault == Fault::short_count) {  // of every call
    plan->failed = name;
    return std::min(bytes, 1 + bytes / 3);
  }
  if (plan->calls++ != plan->at) return bytes;
  plan->failed = name;
  return 0;
}

}  // namespace
}  // namespace minnow

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names.
extern "C" {
int __real_open(const char* path, int flags, ...);
int __real_openat(int folder, const char* path, int flags, ...);
int __real_close(int fd);
ssize_t __real_read(int fd, void* bytes, size_t count);
ssize_t __real_pread(int fd, void* bytes, size_t count, off_t offset);
ssize_t __real_write(int fd, const void* bytes, size_t count);
int __real_fsync(int fd);
int __real_rename(const char* from, const char* to);
int __real_fstat(int fd, struct stat* info);
int __real_lstat(const char* path, struct stat* info);
int __real_stat(const char* path, struct stat* info);
int __real_fstatat(int folder, const char* path, struct stat* info, int flags);
int __real_flock(int fd, int operation);
int __real_fcntl(int fd, int command, ...);
int __real_fchown(int fd, uid_t owner, gid_t group);
int __real_fchmod(int fd, mode_t mode);
int __real_faccessat(int folder, const char* path, int mode, int flags);
DIR* __real_opendir(const char* path);

int __wrap_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return minnow::fails("open") ? -1 : __real_open(path, flags, mode);
}
int __wrap_openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return minnow::fails("openat") ? -1 : __real_openat(folder, path, flags, mode);
}
int __wrap_close(int fd) {  // the descriptor is closed all the same, as by Linux
  const bool fails = minnow::fails("close");
  const int error = errno, result = __real_close(fd);
  if (!fails) return result;
  errno = error;
  return -1;
}
ssize_t __wrap_read(int fd, void* bytes, size_t count) {
  return minnow::fails("read") ? -1 : __real_read(fd, bytes, minnow::allowed("read", count));
}
ssize_t __wrap_pread(int fd, void* bytes, size_t count, off_t offset) {
  return minnow::fails("pread") ? -1 : __real_pread(fd, bytes, minnow::allowed("pread", count), offset);
}
ssize_t __wrap_write(int fd, const void* bytes, size_t count) {
  return minnow::fails("write") ? -1 : __real_write(fd, bytes, minnow::allowed("write", count));
}
int __wrap_fsync(int fd) { return minnow::fails("fsync") ? -1 : __real_fsync(fd); }
int __wrap_rename(const char* from, const char* to) {
  if (minnow::fails("rename")) return -1;
  const int result = __real_rename(from, to);
  if (minnow::plan && result == 0) minnow::plan->renamed = true;
  return result;
}
int __wrap_fstat(int fd, struct stat* info) { return minnow::fails("fstat") ? -1 : __real_fstat(fd, info); }
int __wrap_lstat(const char* path, struct stat* info) { return minnow::fails("lstat") ? -1 : __real_lstat(path, info); }
int __wrap_stat(const char* path, struct stat* info) {
  if (minnow::plan && !minnow::plan->appears.empty())
    __real_close(__real_open(std::exchange(minnow::plan->appears, {}).c_str(), O_WRONLY | O_CREAT, 0600));
  return minnow::fails("stat") ? -1 : __real_stat(path, info);
}
int __wrap_fstatat(int folder, const char* path, struct stat* info, int flags) {
  return minnow::fails("fstatat") ? -1 : __real_fstatat(folder, path, info, flags);
}
int __wrap_flock(int fd, int operation) { return minnow::fails("flock") ? -1 : __real_flock(fd, operation); }
int __wrap_fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  const long argument = va_arg(more, long);  // NOLINT(google-runtime-int): as the kernel
  va_end(more);
  return minnow::fails("fcntl") ? -1 : __real_fcntl(fd, command, argument);
}
int __wrap_fchown(int fd, uid_t owner, gid_t group) {
  return minnow::fails("fchown") ? -1 : __real_fchown(fd, owner, group);
}
int __wrap_fchmod(int fd, mode_t mode) { return minnow::fails("fchmod") ? -1 : __real_fchmod(fd, mode); }
int __wrap_faccessat(int folder, const char* path, int mode, int flags) {
  return minnow::fails("faccessat") ? -1 : __real_faccessat(folder, path, mode, flags);
}
DIR* __wrap_opendir(const char* path) { return minnow::fails("opendir") ? nullptr : __real_opendir(path); }
}
// NOLINTEND(bugprone-reserved-identifier)
