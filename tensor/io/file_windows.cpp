#include <minnow/tensor/io/file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <io.h>
#include <system_error>
#include <vector>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/temporary.h>
// After the others: its macros are names that they use.
#include <windows.h>

// Instead of file.cpp and detail/temporary.cpp.  Names are UTF-8, which std::filesystem converts.  Files are shared
// with other readers and may be renamed while they are open.

namespace minnow::io {

const char* detail::hint_of(int error) {
  switch (error) {
    case ENOENT: return "check the path: all its directories must exist";
    case EACCES: return "check the permissions, and that no other program has the file open";
    case ENOSPC: return "free space on the disk, or choose another";
    default: return "choose another file, or try again";
  }
}

namespace {

namespace fs = std::filesystem;

/// The maximum of one system call.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;
/// Where the byte is that a lock is on: behind all content, which others may read.
constexpr DWORD kLockHigh = 0x40000000;

[[noreturn]] void refuse(const std::string& op, const std::string& path, const std::string& what, int error,
                         SourceLocation where) {
  throw IoError(op + ": " + what + " '" + path + "'\n  the system says: " + std::generic_category().message(error) +
                    "\n" + detail::hint_of(error),
                where);
}

void check_path(const std::string& op, const std::string& path, SourceLocation where) {
  if (path.empty() || path.find('\0') != std::string::npos)
    throw IoError(
        op + (path.empty() ? ": the path is empty" : ": the path contains a zero byte") + "\npass the path of a file",
        where);
  std::error_code failed;
  if (fs::is_directory(path, failed))
    throw IoError(op + ": '" + path + "' is a directory\n  expected  a regular file\npass the path of a file", where);
}

int last_error() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_INVALID_NAME: return EINVAL;
    default: return EIO;
  }
}

/// A descriptor; -1 if the system refuses, with the reason in `error`.
int open_file(const std::string& path, DWORD access, DWORD share, DWORD how, int& error) {
  const HANDLE handle =
      CreateFileW(fs::path(path).c_str(), access, share, nullptr, how, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) {
    error = last_error();
    return -1;
  }
  const int fd = _open_osfhandle(reinterpret_cast<std::intptr_t>(handle), _O_BINARY);
  if (fd < 0) {
    error = errno;
    CloseHandle(handle);
  }
  return fd;
}

HANDLE handle_of(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// Returns 0, or what failed.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    DWORD count = 0;
    const auto most = static_cast<DWORD>(std::min(bytes.size(), kMaxTransfer));
    if (!WriteFile(handle_of(fd), bytes.data(), most, &count, nullptr)) return last_error();
    if (count == 0) return EIO;
    bytes.remove_prefix(count);
  }
  return 0;
}

bool is_temporary(const std::string& name) { return name.starts_with(".minnow-") && name.ends_with(".tmp"); }

/// Renames an open file, so that nobody can remove it in between.
bool rename_open(int fd, const std::string& to) {
  const std::wstring name = fs::absolute(to).wstring();
  std::vector<std::byte> space(sizeof(FILE_RENAME_INFO) + name.size() * sizeof(wchar_t));
  auto* const info = reinterpret_cast<FILE_RENAME_INFO*>(space.data());
  info->FileNameLength = static_cast<DWORD>(name.size() * sizeof(wchar_t));
  std::copy(name.begin(), name.end(), info->FileName);
  const auto done = [&](int kind) {
    return SetFileInformationByHandle(handle_of(fd), static_cast<FILE_INFO_BY_HANDLE_CLASS>(kind), info,
                                      static_cast<DWORD>(space.size())) != 0;
  };
  // FileRenameInfoEx (Windows 10 on NTFS): also a file that somebody has open is replaced; he keeps the old one.
  constexpr int kRenameInfoEx = 22;
  constexpr DWORD kReplaceIfExists = 1, kPosixSemantics = 2, flags = kReplaceIfExists | kPosixSemantics;
  std::memcpy(info, &flags, sizeof flags);
  if (done(kRenameInfoEx)) return true;
  if (GetLastError() != ERROR_INVALID_PARAMETER && GetLastError() != ERROR_NOT_SUPPORTED) return false;
  info->ReplaceIfExists = TRUE;
  return done(FileRenameInfo);
}

}  // namespace

/// Those that a writer has open cannot be removed.
void detail::sweep_temporaries(const std::string& directory) noexcept try {
  std::error_code failed;
  for (fs::directory_iterator entry(directory, failed), end; !failed && entry != end; entry.increment(failed))
    if (is_temporary(entry->path().filename().string())) DeleteFileW(entry->path().c_str());
} catch (const std::exception&) {  // out of memory: a later call removes the files
}

InputFile::InputFile(std::string op, std::string path, SourceLocation where)
    : op_(std::move(op)), path_(std::move(path)), where_(where) {
  check_path(op_, path_, where_);
  int error = 0;
  fd_ = open_file(path_, GENERIC_READ, kShared, OPEN_EXISTING, error);
  if (fd_ < 0) refuse(op_, path_, "cannot open", error, where_);
  LARGE_INTEGER size{};
  if (GetFileType(handle_of(fd_)) == FILE_TYPE_DISK && GetFileSizeEx(handle_of(fd_), &size)) {
    size_ = static_cast<std::uint64_t>(size.QuadPart);
    return;
  }
  ::_close(fd_);
  throw IoError(op_ + ": '" + path_ + "' is a device\n  expected  a regular file\npass the path of a file", where_);
}

InputFile::~InputFile() { ::_close(fd_); }

std::size_t InputFile::read_some(std::uint64_t offset, std::span<std::byte> bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset + done);
    at.OffsetHigh = static_cast<DWORD>((offset + done) >> 32);
    DWORD got = 0;
    const auto most = static_cast<DWORD>(std::min(bytes.size() - done, kMaxTransfer));
    if (!ReadFile(handle_of(fd_), bytes.data() + done, most, &got, &at) && GetLastError() != ERROR_HANDLE_EOF)
      refuse(op_, path_, "cannot read", last_error(), where_);
    if (got == 0) break;
    done += got;
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
  check_path(op_, path_, where_);
  std::error_code failed;
  if (fs::is_symlink(target_, failed)) target_ = fs::weakly_canonical(target_, failed).string();
  const DWORD attributes = GetFileAttributesW(fs::path(target_).c_str());
  if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_READONLY))
    fail("not permitted to replace", EACCES);
  directory_ = fs::path(target_).parent_path().string();
  if (directory_.empty()) directory_ = ".";
  detail::sweep_temporaries(directory_);
  static std::atomic<unsigned> count{0};
  int error = EEXIST;
  while (fd_ < 0 && error == EEXIST) {
    temporary_ =
        directory_ + "/.minnow-" + std::to_string(GetCurrentProcessId()) + "-" + std::to_string(count++) + ".tmp";
    fd_ = open_file(temporary_, GENERIC_WRITE | DELETE, 0, CREATE_NEW, error);
  }
  if (fd_ >= 0) return;
  temporary_.clear();
  fail("cannot write", error);
}

AtomicFile::~AtomicFile() { release(); }

void AtomicFile::release() noexcept {
  if (fd_ >= 0) ::_close(fd_);
  if (!temporary_.empty()) DeleteFileW(fs::path(temporary_).c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const int error = write_all(fd_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (error != 0) fail("cannot write", error);
  written_ += bytes.size();
}

void AtomicFile::commit() {
  if (!FlushFileBuffers(handle_of(fd_))) fail("cannot flush", last_error());
  if (!rename_open(fd_, target_)) fail("cannot rename the finished file to", last_error());
  temporary_.clear();
}

void AtomicFile::fail(const std::string& what, int error) const { refuse(op_, path_, what, error, where_); }

std::vector<std::string> names_in(const std::string& folder, std::error_code& failed) {
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    names.push_back(entry->path().filename().string());
  return names;
}

AppendFile::AppendFile(std::string op, std::string path, SourceLocation where)
    : AppendFile(std::move(op), std::move(path)) {
  check_path(op_, path_, where);
  int error = 0;
  fd_ = open_file(path_, GENERIC_READ | GENERIC_WRITE, kShared, OPEN_ALWAYS, error);
  if (fd_ < 0) fail("cannot write", error, where);
}

std::unique_ptr<AppendFile> AppendFile::make_new(std::string op, std::string path, SourceLocation where) {
  std::unique_ptr<AppendFile> file(new AppendFile(std::move(op), std::move(path)));
  check_path(file->op_, file->path_, where);
  int error = 0;
  file->fd_ = open_file(file->path_, GENERIC_READ | GENERIC_WRITE, kShared, CREATE_NEW, error);
  if (file->fd_ < 0 && error == EEXIST) return nullptr;
  if (file->fd_ < 0) file->fail("cannot make", error, where);
  return file;
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::_close(fd_);
}

bool AppendFile::lock() const {
  OVERLAPPED at{};
  at.OffsetHigh = kLockHigh;
  return LockFileEx(handle_of(fd_), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at);
}

void AppendFile::cut(std::uint64_t size, SourceLocation where) {
  LARGE_INTEGER end{};
  end.QuadPart = static_cast<LONGLONG>(size);
  if (!SetFilePointerEx(handle_of(fd_), end, nullptr, FILE_BEGIN) || !SetEndOfFile(handle_of(fd_)))
    fail("cannot write", last_error(), where);
  size_ = size;
}

void AppendFile::append(std::string_view bytes, SourceLocation where) {
  if (const int error = write_all(fd_, bytes); error != 0) {
    LARGE_INTEGER end{};
    end.QuadPart = static_cast<LONGLONG>(size_);
    if (SetFilePointerEx(handle_of(fd_), end, nullptr, FILE_BEGIN)) SetEndOfFile(handle_of(fd_));
    fail("cannot write", error, where);
  }
  size_ += bytes.size();
}

void AppendFile::flush(SourceLocation where) const {
  if (!FlushFileBuffers(handle_of(fd_))) fail("cannot flush", last_error(), where);
}

void AppendFile::fail(const char* what, int error, SourceLocation where) const {
  refuse(op_, path_, what, error, where);
}

}  // namespace minnow::io
