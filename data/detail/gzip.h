#pragma once

#include <memory>
#include <vector>
#include <minnow/data/detail/byte_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::data::detail {

/// Decompresses a gzip file: the content of its members, one after the other.  Use it only after finish(), which
/// compares the last checksum.  FormatError for damaged, truncated or trailing bytes.
class GzipReader final : public ByteReader {
 public:
  explicit GzipReader(std::unique_ptr<io::InputFile> file);
  ~GzipReader() override;

  std::size_t read(std::span<std::uint8_t> out) override;
  void finish() override;
  std::uint64_t max_size() const override;

 private:
  struct Inflate;
  void refill();
  void next_member();
  [[noreturn]] void fail(const std::string& what) const;

  std::unique_ptr<io::InputFile> file_;
  std::uint64_t position_ = 0;  // in the file
  std::unique_ptr<Inflate> inflate_;
  std::vector<std::uint8_t> input_;
  bool ended_ = false;
};

}  // namespace minnow::data::detail
