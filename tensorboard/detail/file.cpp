#include <minnow/tensorboard/detail/file.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/temporary.h>

namespace minnow::tensorboard {
namespace {

constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit) table[byte] = table[byte] >> 1 ^ (table[byte] & 1 ? 0x82f63b78 : 0);
  }
  return table;
}();

template <class T> void append_number(std::string& to, T number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  to.append(bytes, sizeof(number));
}

std::string records_of(std::span<const std::string> all) {
  std::string records;
  for (const std::string& data : all) {
    std::string length;
    append_number(length, static_cast<std::uint64_t>(data.size()));
    records += length;
    append_number(records, detail::masked_checksum(length));
    records += data;
    append_number(records, detail::masked_checksum(data));
  }
  return records;
}

}  // namespace

std::uint32_t detail::masked_checksum(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff];
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

double detail::now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Writer::File::File(const std::string& folder, SourceLocation where) : path_(folder) {
  if (folder.find('\0') != std::string::npos)
    throw IoError("tensorboard::Writer: the path contains a zero byte\npass the path of a folder", where);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) fail("cannot be made", failed.value(), where);
  char host[256] = "localhost";
  (void)::gethostname(host, sizeof(host) - 1);
  static std::atomic<int> count = 0;
  constexpr int kTries = 100;  // of names: processes of two containers may have one number
  for (int i = 0; i < kTries && fd_ < 0 && (i == 0 || errno == EEXIST); ++i) {
    const std::string name = fmt::format("events.out.tfevents.{:010}.{}.{}.{}",
                                         static_cast<std::int64_t>(detail::now()), host, ::getpid(), count++);
    path_ = (std::filesystem::path(folder) / name).string();
    fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) fail("cannot be made", errno, where);
}

Writer::File::~File() { ::close(fd_); }

void Writer::File::append(std::span<const std::string> all, SourceLocation where) {
  const std::string records = records_of(all);
  const std::lock_guard lock(mutex_);
  write(records, where);
}

void Writer::File::append_hparams(std::span<const std::string> all, SourceLocation where) {
  const std::string records = records_of(all);
  const std::lock_guard lock(mutex_);
  if (has_hparams_)
    throw ValueError("add_hparams: this run has its hyperparameters\nmake a Writer of another folder for another run",
                     where);
  write(records, where);
  has_hparams_ = true;
}

void Writer::File::write(const std::string& records, SourceLocation where) {
  for (std::size_t done = 0; done < records.size();) {
    const ssize_t put = ::write(fd_, records.data() + done, records.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const int error = put == 0 ? EIO : errno;
      if (done > 0) (void)::ftruncate(fd_, size_);  // half a record would hide those behind it
      fail("cannot be written", error, where);
    }
    done += static_cast<std::size_t>(put);
  }
  size_ += static_cast<std::int64_t>(records.size());
}

void Writer::File::flush(SourceLocation where) const {
  if (::fdatasync(fd_) != 0) fail("cannot be written to the disk", errno, where);
}

void Writer::File::fail(const std::string& what, int error, SourceLocation where) const {
  throw IoError("tensorboard::Writer: '" + path_ + "' " + what + "\n  the system says: " +
                    std::generic_category().message(error) + "\n" + io::detail::hint_of(error),
                where);
}

}  // namespace minnow::tensorboard
