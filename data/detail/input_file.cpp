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

std::string system_text(int code) { return std::generic_category().message(code); }

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe (FIFO)";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw IoError("cannot open '" + path.string() + "': " + system_text(errno));
  struct stat info {};
  const int status = ::fstat(descriptor_, &info);
  const int code = errno;
  if (status == 0 && S_ISREG(info.st_mode)) {
    size_ = static_cast<std::uint64_t>(info.st_size);
    return;
  }
  ::close(descriptor_);
  if (status != 0) throw IoError("cannot examine '" + path.string() + "': " + system_text(code));
  throw IoError("'" + path.string() + "' is " + kind_of(info.st_mode) + ", expected a regular file");
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(descriptor_, out.data() + done, out.size() - done);
    if (got == 0) break;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw IoError("cannot read '" + path_.string() + "': " + system_text(errno));
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void InputFile::rewind() {
  if (::lseek(descriptor_, 0, SEEK_SET) != 0)
    throw IoError("cannot read '" + path_.string() + "' again: " + system_text(errno));
}

}  // namespace minnow::data::detail
