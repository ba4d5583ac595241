#pragma once

#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <unistd.h>
#include <minnow/minnow.h>

/// Appends JSON objects to a file, one a line.  Each line is on the disk when append() returns.
class JsonLog {
 public:
  /// IoError when the file cannot be opened.
  explicit JsonLog(std::string path) : path_(std::move(path)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd_ < 0) fail();
    ::fcntl(fd_, F_SETFL, O_APPEND);  // opening a pipe does not wait for its reader, writing does
  }
  ~JsonLog() { ::close(fd_); }
  JsonLog(const JsonLog&) = delete;
  JsonLog& operator=(const JsonLog&) = delete;

  /// IoError when the line cannot be written.
  void append(const nlohmann::json& object) {
    const std::string line = object.dump() + '\n';
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t put = ::write(fd_, line.data() + done, line.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put == 0) errno = EIO;
      if (put <= 0) fail();
      done += static_cast<std::size_t>(put);
    }
    if (::fdatasync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail();  // pipes and devices have no disk
  }

 private:
  [[noreturn]] void fail() const {
    const int error = errno;
    throw minnow::IoError("--log: cannot write '" + path_ +
                          "'\n  the system says: " + std::generic_category().message(error) + '\n' +
                          (error == ENOENT ? "create its folder, or give another file" : "give another file"));
  }

  std::string path_;
  int fd_ = -1;
};
