#include <minnow/data/detail/byte_reader.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <minnow/data/detail/gzip.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/file.h>

namespace minnow::data::detail {
namespace {

class PlainReader final : public ByteReader {
 public:
  explicit PlainReader(std::unique_ptr<io::InputFile> file) : file_(std::move(file)) {}

  std::size_t read(std::span<std::uint8_t> out) override {
    const std::size_t got = file_->read_some(done_, std::as_writable_bytes(out));
    done_ += got;
    return got;
  }
  void finish() override {
    std::uint8_t extra = 0;
    if (file_->read_some(done_, std::as_writable_bytes(std::span(&extra, 1))) == 0) return;
    throw FormatError(std::string(CallSite::op_or("read_idx")) + ": '" + file_->path() + "' is too long\n  found     " +
                          std::to_string(std::max(file_->size(), done_ + 1)) + " bytes\n  expected  " +
                          std::to_string(done_) +
                          " by its header\nthe file is damaged: delete it and download it again",
                      file_->where());
  }
  std::uint64_t max_size() const override { return file_->size(); }

 private:
  std::unique_ptr<io::InputFile> file_;
  std::uint64_t done_ = 0;
};

}  // namespace

std::unique_ptr<ByteReader> open_bytes(const std::string& path, SourceLocation where) {
  auto file = std::make_unique<io::InputFile>(std::string(CallSite::op_or("read_idx")), path, where);
  std::array<std::uint8_t, 16> first{};
  const auto head = std::span(first).first(file->read_some(0, std::as_writable_bytes(std::span(first))));
  if (head.size() >= 2 && head[0] == 0x1f && head[1] == 0x8b) return std::make_unique<GzipReader>(std::move(file));
  if (path.ends_with(".gz"))
    throw FormatError(std::string(CallSite::op_or("read_idx")) + ": '" + path +
                          "' is not gzip, but its name ends in .gz\n  found     " + show_bytes(head) +
                          "\n  expected  1f 8b\nthe download may have failed: delete the file and download it again",
                      where);
  return std::make_unique<PlainReader>(std::move(file));
}

std::string show_bytes(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return "an empty file";
  const auto printable = [](std::uint8_t c) { return std::isprint(c) || std::isspace(c); };
  if (bytes.size() >= 4 && std::all_of(bytes.begin(), bytes.end(), printable)) {
    std::string text;
    for (const auto c : bytes) text += std::isspace(c) ? ' ' : static_cast<char>(c);
    const bool html = text.find('<') <= text.find_first_not_of(' ');
    return "the text '" + text + (html ? "...', a web page" : "...'");
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto c : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    if (!text.empty()) text += ' ';
    text += kDigits[c >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

}  // namespace minnow::data::detail
