#include <minnow/data/detail/input_file.h>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <minnow/tensor/error.h>

namespace minnow::data::detail {
namespace {

[[noreturn]] void refuse(const char* what, const std::string& path, int code, SourceLocation where) {
  throw IoError(std::string(Composed::name("read_idx")) + ": " + what + " '" + path + "'\n  the system says: " +
                    std::generic_category().message(code) + "\ncheck the path, and who may read there",
                where);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

InputFile::InputFile(const std::string& path, SourceLocation where) : path_(path), where_(where) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) refuse("cannot open", path, errno, where);
  struct stat info {};
  const int status = ::fstat(descriptor_, &info);
  const int code = errno;
  if (status == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(descriptor_);
  if (status != 0) refuse("cannot examine", path, code, where);
  throw IoError(std::string(Composed::name("read_idx")) + ": '" + path + "' is " + kind_of(info.st_mode) +
                    "\n  expected  a regular file\nname a file",
                where);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(descriptor_, out.data() + done, out.size() - done);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse("cannot read", path_, errno, where_);
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::rewind() {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) refuse("cannot go back in", path_, errno, where_);
}

}  // namespace minnow::data::detail
