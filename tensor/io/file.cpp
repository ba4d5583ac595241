#include <minnow/tensor/io/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <minnow/tensor/error.h>

namespace minnow::io {
namespace {

/// Linux transfers at most this much in one call.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

const char* mend_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return "check the path; folders are not made on the way";
    case EACCES:
    case EPERM:
    case EROFS: return "check who may read and write there";
    case ENOSPC:
    case EDQUOT: return "make room on the disk, or choose another";
    default: return "choose another file, or try again";
  }
}

[[noreturn]] void refuse(const std::string& op, const std::string& path, const std::string& what, int error,
                         SourceLocation where) {
  std::string text = op + ": " + what + " '" + path + "'";
  if (error != 0) text += "\n  the system says: " + std::generic_category().message(error);
  throw IoError(text + "\n" + mend_of(error), where);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_kind(const std::string& op, const std::string& path, mode_t mode, SourceLocation where) {
  throw IoError(op + ": '" + path + "' is " + kind_of(mode) + "\n  expected  a regular file\nname a file", where);
}

void refuse_nul(const std::string& op, const std::string& path, SourceLocation where) {
  if (path.empty()) throw IoError(op + ": the path is empty\nname a file", where);
  if (path.find('\0') != std::string::npos) throw IoError(op + ": the path contains a zero byte\nname a file", where);
}

}  // namespace

InputFile::InputFile(std::string op, std::string path, SourceLocation where)
    : op_(std::move(op)), path_(std::move(path)), where_(where) {
  refuse_nul(op_, path_, where_);
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) refuse(op_, path_, "cannot open", errno, where_);
  struct stat info = {};
  const int status = ::fstat(fd_, &info);
  const int error = errno;
  if (status == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(fd_);
  if (status != 0) refuse(op_, path_, "cannot look at", error, where_);
  refuse_kind(op_, path_, info.st_mode, where_);
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(fd_, bytes.data(), std::min(bytes.size(), kMaxTransfer), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(op_, path_, "cannot read", errno, where_);
    if (got == 0)
      throw IoError(op_ + ": '" + path_ + "' ended at byte " + std::to_string(offset) + "\n  it had " +
                        std::to_string(size_) + " bytes when it was opened\nread it when nobody writes to it",
                    where_);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

AtomicFile::AtomicFile(std::string op, std::string path, SourceLocation where)
    : op_(std::move(op)), path_(std::move(path)), target_(path_), where_(where) {
  refuse_nul(op_, path_, where_);
  struct stat info = {};
  bool replaces = false;
  if (::lstat(target_.c_str(), &info) == 0) {
    if (S_ISLNK(info.st_mode)) {
      const std::unique_ptr<char, void (*)(void*)> real(::realpath(target_.c_str(), nullptr), &std::free);
      if (!real) fail("cannot follow the link", errno);
      target_ = real.get();
      if (::stat(target_.c_str(), &info) != 0) fail("cannot look at", errno);
    }
    if (!S_ISREG(info.st_mode)) refuse_kind(op_, path_, info.st_mode, where_);
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail("may not replace", errno);
    replaces = true;
  } else if (errno != ENOENT) {
    fail("cannot write", errno);
  }
  const auto slash = target_.find_last_of('/');
  directory_ = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  if (slash != std::string::npos && slash + 1 == target_.size()) fail("cannot write", EISDIR);
  create_temporary(replaces ? info.st_mode & 07777u : 0666u, replaces);
}

void AtomicFile::create_temporary(unsigned mode, bool keep_mode) {
  static std::atomic<unsigned> count{0};
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries; ++i) {  // names left behind by a process that was killed are passed over
    temporary_ = directory_ + "/.minnow-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".tmp";
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("cannot write", error);
  }
  if (keep_mode) static_cast<void>(::fchmod(fd_, mode));  // the umask took bits; a file system without modes keeps none
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd_, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void AtomicFile::commit() {
  // After a failed fsync the kernel may have dropped the bytes: never tried again.
  if (::fsync(fd_) != 0) fail("cannot flush", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail("cannot close", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename the finished file to", errno);
  temporary_.clear();
  sync_directory();
}

void AtomicFile::sync_directory() const {
  const int fd = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;  // a directory that may be written but not read: the rename is done
  const int status = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  const bool unsupported = error == EINVAL || error == ENOTSUP || error == EROFS;
  if (status != 0 && !unsupported) fail("cannot flush the directory of", error);
}

void AtomicFile::fail(const std::string& what, int error) const { refuse(op_, path_, what, error, where_); }

}  // namespace minnow::io
