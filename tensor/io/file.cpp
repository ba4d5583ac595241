#include <minnow/tensor/io/file.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/temporary.h>

namespace minnow::io {

const char* detail::hint_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return "check the path: all its directories must exist";
    case EACCES:
    case EPERM:
    case EROFS: return "check the permissions";
    case ENOSPC:
    case EDQUOT: return "free space on the disk, or choose another";
    case EFBIG: return "raise the limit of a file's size (ulimit -f), or choose another disk";
    case EMFILE: return "close files, or raise the limit of open ones (ulimit -n)";
    case ELOOP: return "the symbolic links form a loop: use the path of the file itself";
    default: return "choose another file, or try again";
  }
}

namespace {

/// The maximum of one system call.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

using detail::hint_of;

[[noreturn]] void refuse(const std::string& op, const std::string& path, const std::string& what, int error,
                         SourceLocation where) {
  std::string text = op + ": " + what + " '" + path + "'";
  if (error != 0) text += "\n  the system says: " + std::generic_category().message(error);
  throw IoError(text + "\n" + hint_of(error), where);
}

const char* describe_type(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

[[noreturn]] void refuse_kind(const std::string& op, const std::string& path, mode_t mode, SourceLocation where) {
  throw IoError(
      op + ": '" + path + "' is " + describe_type(mode) + "\n  expected  a regular file\npass the path of a file",
      where);
}

void refuse_nul(const std::string& op, const std::string& path, SourceLocation where) {
  if (path.empty()) throw IoError(op + ": the path is empty\npass the path of a file", where);
  if (path.find('\0') != std::string::npos)
    throw IoError(op + ": the path contains a zero byte\npass the path of a file", where);
}

/// Gives the new file the mode and, if the system permits it, the owner of the old one (only root can change the
/// owner).
void keep_owner_and_mode(int fd, const struct stat& old) {
  struct stat now = {};
  if (::fstat(fd, &now) != 0) return;
  mode_t mode = old.st_mode & 07777u;
  const bool owner = now.st_uid == old.st_uid || ::fchown(fd, old.st_uid, static_cast<gid_t>(-1)) == 0;
  const bool group = now.st_gid == old.st_gid || ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) == 0;
  if (!owner || !group) mode &= 01777u;                           // no set-user-id bits for another owner
  if (!group) mode = (mode & ~070u) | (mode & 070u & mode << 3);  // another group gets the permissions of others
  static_cast<void>(::fchmod(fd, mode));  // restores bits removed by the umask; fails on file systems without modes
}

}  // namespace

InputFile::InputFile(std::string op, std::string path, SourceLocation where)
    : op_(std::move(op)), path_(std::move(path)), where_(where) {
  refuse_nul(op_, path_, where_);
  do fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (fd_ < 0 && errno == EINTR);  // by a signal, on some file systems
  if (fd_ < 0) refuse(op_, path_, "cannot open", errno, where_);
  struct stat info = {};
  const int status = ::fstat(fd_, &info);
  const int error = errno;
  if (status == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(fd_);
  if (status != 0) refuse(op_, path_, "cannot examine", error, where_);
  refuse_kind(op_, path_, info.st_mode, where_);
}

InputFile::~InputFile() { ::close(fd_); }

std::size_t InputFile::read_some(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(fd_, bytes.data() + done, std::min(bytes.size() - done, kMaxTransfer),
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(op_, path_, "cannot read", errno, where_);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  const std::size_t got = read_some(offset, bytes);
  if (got < bytes.size())
    throw IoError(op_ + ": '" + path_ + "' ended at byte " + std::to_string(offset + got) + "\n  it had " +
                      std::to_string(size_) + " bytes when it was opened\nread it while no other process writes to it",
                  where_);
}

AtomicFile::AtomicFile(std::string op, std::string path, SourceLocation where)
    : op_(std::move(op)), path_(std::move(path)), target_(path_), where_(where) {
  refuse_nul(op_, path_, where_);
  struct stat info = {};
  const bool replaces = follow_links(info);
  if (replaces) {
    if (!S_ISREG(info.st_mode)) refuse_kind(op_, path_, info.st_mode, where_);
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail("not permitted to replace", errno);
  }
  const auto slash = target_.find_last_of('/');
  directory_ = slash == std::string::npos ? "." : target_.substr(0, slash + 1);
  if (slash != std::string::npos && slash + 1 == target_.size()) fail("cannot write", EISDIR);
  try {
    open_directory();
    create_temporary(replaces ? info.st_mode & 07777u : 0666u);
    if (replaces) keep_owner_and_mode(fd_, info);
  } catch (...) {
    release();
    throw;
  }
}

/// Whether the target exists, which then is no link.  As open() does, follows a link to a file that does not exist yet.
bool AtomicFile::follow_links(struct stat& info) {
  constexpr int kMaxLinks = 40;
  for (int links = 0;; ++links) {
    const bool exists = ::lstat(target_.c_str(), &info) == 0;
    if (exists && !S_ISLNK(info.st_mode)) return true;
    if (!exists && errno != ENOENT) fail("cannot write", errno);
    // What is found now another writer has just made, or it is a link of /proc to a file without a name.
    struct stat behind = {};
    if (!exists && ::stat(path_.c_str(), &behind) != 0) return false;
    if (links == kMaxLinks) fail("cannot follow the link", exists ? ELOOP : ENOENT);
    if (!exists) continue;
    char to[PATH_MAX];
    const ssize_t size = ::readlink(target_.c_str(), to, sizeof to);
    if (size < 0) fail("cannot follow the link", errno);
    target_.resize(to[0] == '/' ? 0 : target_.find_last_of('/') + 1);
    target_.append(to, static_cast<std::size_t>(size));
  }
}

void AtomicFile::create_temporary(unsigned mode) {
  detail::sweep_temporaries(directory_);
  detail::Temporary made = detail::make_temporary(directory_, mode);
  if (made.fd < 0) fail("cannot write", errno);
  fd_ = made.fd;
  temporary_ = std::move(made.path);
  lock_ = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (lock_ < 0) fail("cannot write", errno);
}

/// Opened before anything is written, so that errors are found while the old file is still there.
void AtomicFile::open_directory() {
  do folder_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (folder_ < 0 && errno == EINTR);
  if (folder_ < 0 && errno != EACCES) fail("cannot write", errno);
}

AtomicFile::~AtomicFile() { release(); }

void AtomicFile::release() noexcept {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  for (const int fd : {fd_, lock_, folder_})
    if (fd >= 0) ::close(fd);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    // Beyond this limit the system sends SIGXFSZ, which ends the process.
    rlimit limit = {};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && written_ >= limit.rlim_cur) fail("cannot write", EFBIG);
    const ssize_t count = ::write(fd_, bytes.data(), std::min(bytes.size(), kMaxTransfer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot write", errno);
    if (count == 0) fail("cannot write", EIO);  // nothing was written, without an error: do not retry forever
    written_ += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void AtomicFile::commit() {
  // Not retried: after a failed fsync the kernel may have dropped the bytes.
  if (::fsync(fd_) != 0) fail("cannot flush", errno);
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) fail("cannot close", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename the finished file to", errno);
  temporary_.clear();
  ::close(std::exchange(lock_, -1));
  sync_directory();
}

void AtomicFile::sync_directory() const {
  if (folder_ < 0 || ::fsync(folder_) == 0) return;
  const bool unsupported = errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  if (!unsupported) fail("cannot flush the directory of", errno);
}

void AtomicFile::fail(const std::string& what, int error) const { refuse(op_, path_, what, error, where_); }

std::vector<std::string> names_in(const std::string& folder, std::error_code& failed) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), &::closedir);
  errno = entries ? 0 : errno;
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    names.emplace_back(entry->d_name);
    errno = 0;
  }
  failed.assign(errno, std::generic_category());
  return names;
}

AppendFile::AppendFile(std::string op, std::string path, SourceLocation where)
    : AppendFile(std::move(op), std::move(path)) {
  refuse_nul(op_, path_, where);
  fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("cannot write", errno, where);
}

std::unique_ptr<AppendFile> AppendFile::make_new(std::string op, std::string path, SourceLocation where) {
  std::unique_ptr<AppendFile> file(new AppendFile(std::move(op), std::move(path)));
  refuse_nul(file->op_, file->path_, where);
  file->fd_ = ::open(file->path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file->fd_ < 0 && errno == EEXIST) return nullptr;
  if (file->fd_ < 0) file->fail("cannot make", errno, where);
  return file;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

bool AppendFile::lock() const { return ::flock(fd_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

void AppendFile::cut(std::uint64_t size, SourceLocation where) {
  if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) fail("cannot write", errno, where);
  size_ = size;
}

void AppendFile::append(std::string_view bytes, SourceLocation where) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t put = ::write(fd_, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put == 0 ? EIO : errno;
      if (done > 0) static_cast<void>(::ftruncate(fd_, static_cast<off_t>(size_)));
      fail("cannot write", error, where);
    }
    done += static_cast<std::size_t>(put);
  }
  size_ += bytes.size();
}

void AppendFile::flush(SourceLocation where) const {
  if (::fdatasync(fd_) != 0) fail("cannot flush", errno, where);
}

void AppendFile::fail(const char* what, int error, SourceLocation where) const {
  refuse(op_, path_, what, error, where);
}

}  // namespace minnow::io
