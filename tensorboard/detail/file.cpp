#include <minnow/tensorboard/detail/file.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/temporary.h>
#include <minnow/tensor/runtime/system.h>

namespace minnow::tensorboard {
namespace {

[[noreturn]] void fail(const std::string& folder, int error, SourceLocation where) {
  throw IoError("tensorboard::Writer: '" + folder + "' cannot be made\n  the system says: " +
                    std::generic_category().message(error) + "\n" + io::detail::hint_of(error),
                where);
}

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

Writer::File::File(const std::string& folder, SourceLocation where) {
  if (folder.find('\0') != std::string::npos)
    throw IoError("tensorboard::Writer: the path contains a zero byte\npass the path of a folder", where);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) fail(folder, failed.value(), where);
  static std::atomic<int> count = 0;
  constexpr int kTries = 100;  // of names: processes of two containers may have one number
  for (int i = 0; i < kTries && !file_; ++i) {
    const std::string name =
        fmt::format("events.out.tfevents.{:010}.{}.{}.{}", static_cast<std::int64_t>(detail::now()),
                    minnow::detail::host_name(), ::getpid(), count++);
    file_ = io::AppendFile::make_new("tensorboard::Writer", (std::filesystem::path(folder) / name).string(), where);
  }
  if (!file_) fail(folder, EEXIST, where);
}

void Writer::File::append(std::span<const std::string> all, SourceLocation where) {
  const std::string records = records_of(all);
  const std::lock_guard lock(mutex_);
  file_->append(records, where);
}

void Writer::File::append_hparams(std::span<const std::string> all, SourceLocation where) {
  const std::string records = records_of(all);
  const std::lock_guard lock(mutex_);
  if (has_hparams_)
    throw ValueError("add_hparams: this run has its hyperparameters\nmake a Writer of another folder for another run",
                     where);
  file_->append(records, where);
  has_hparams_ = true;
}

}  // namespace minnow::tensorboard
