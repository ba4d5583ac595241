#include <minnow/tensor/io/detail/temporary.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <dirent.h>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace minnow::io::detail {
namespace {

constexpr std::string_view kPrefix = ".minnow-", kSuffix = ".tmp";
constexpr std::time_t kDay = 86400;

/// Identifies the running system (boot), whose processes see each other's locks, also across containers.
std::string system_mark() {
  char name[256] = {};
  const int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::read(fd, name, sizeof name - 1) <= 0) static_cast<void>(::gethostname(name, sizeof name - 1));
  if (fd >= 0) ::close(fd);
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : std::string_view(name)) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  char text[9];
  std::snprintf(text, sizeof text, "%08x", hash);
  return text;
}

/// The prefix of this system's temporary files.
const std::string& own_prefix() {
  static const auto* prefix = new std::string(std::string(kPrefix) + system_mark() + "-");
  return *prefix;
}

bool is_temporary(std::string_view name) { return name.starts_with(kPrefix) && name.ends_with(kSuffix); }

/// Whether the name, relative to `directory`, still refers to this file; `otherwise` if the system does not tell.
bool has_name(int fd, int directory, const char* name, bool otherwise) {
  struct stat opened = {}, named = {};
  if (::fstat(fd, &opened) != 0) return otherwise;
  if (::fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0) return otherwise && errno != ENOENT;
  return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Whether the file was left behind.  Takes its lock, so that no writer has it and no other process removes it.
bool is_abandoned(int fd, int directory, const char* name) {
  struct stat info = {};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || !has_name(fd, directory, name, false) || ::fstat(fd, &info) != 0)
    return false;
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return false;
  return std::string_view(name).starts_with(own_prefix()) || ::time(nullptr) - info.st_mtime > kDay;
}

}  // namespace

Temporary make_temporary(const std::string& directory, unsigned mode) {
  static std::atomic<unsigned> count{0};
  constexpr int kTries = 1000;
  Temporary file;
  for (int i = 0; i < kTries; ++i) {  // skips names left behind by killed processes
    file.path = directory + "/" + own_prefix() + std::to_string(::getpid()) + "-" + std::to_string(count++) +
                std::string(kSuffix);
    file.fd = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file.fd < 0 && (errno == EEXIST || errno == EINTR)) continue;
    if (file.fd < 0) return file;
    // Another process may sweep between the two calls: then it has the lock, or has removed the file.
    const bool taken = ::flock(file.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && has_name(file.fd, AT_FDCWD, file.path.c_str(), true)) return file;
    ::close(file.fd);
    file.fd = -1;
    errno = EEXIST;
  }
  return file;
}

void sweep_temporaries(const std::string& directory) noexcept try {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (!entries) return;
  const int folder = ::dirfd(entries.get());
  while (const dirent* entry = ::readdir(entries.get())) {
    if (!is_temporary(entry->d_name)) continue;
    const int fd = ::openat(folder, entry->d_name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (is_abandoned(fd, folder, entry->d_name)) ::unlinkat(folder, entry->d_name, 0);
    ::close(fd);
  }
} catch (const std::exception&) {  // out of memory: a later call removes the files
}

}  // namespace minnow::io::detail
