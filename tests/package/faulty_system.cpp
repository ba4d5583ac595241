// Preloaded into a program: makes system calls fail or stall, as MINNOW_FAULT says.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

bool fault(const char* name) {
  const char* wanted = std::getenv("MINNOW_FAULT");
  return wanted && std::strcmp(wanted, name) == 0;
}

/// Whether it is one of the library's temporary files.
bool is_temporary(int fd) {
  char link[64], path[4096] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  return readlink(link, path, sizeof path - 1) > 0 && std::strstr(path, "/.minnow-");
}

}  // namespace

extern "C" ssize_t write(int fd, const void* bytes, size_t count) {
  static auto* const real = reinterpret_cast<ssize_t (*)(int, const void*, size_t)>(dlsym(RTLD_NEXT, "write"));
  if (fault("write takes nothing") && is_temporary(fd)) return 0;
  if (fault("disk full") && is_temporary(fd)) {
    errno = ENOSPC;
    return -1;
  }
  return real(fd, bytes, count);
}

extern "C" int fsync(int fd) {
  static auto* const real = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "fsync"));
  if (fault("fsync stalls")) sleep(60);
  struct stat info = {};
  if (fault("folder fails") && fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    errno = EIO;
    return -1;
  }
  return real(fd);
}
