#include <minnow/tensor/io/detail/checksum.h>

#include <cstdio>
#include <utility>
#include <zlib.h>

namespace minnow::io::detail {
namespace {

constexpr std::string_view kStart = "{\"__metadata__\":{\"crc32\":\"", kNoSum = "00000000";

std::string checksum(const std::string& text) { return detail::checksum(std::as_bytes(std::span(text))); }

}  // namespace

std::string checksum(std::span<const std::byte> bytes) {
  const auto sum = static_cast<unsigned>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  char text[9];
  std::snprintf(text, sizeof text, "%08x", sum);
  return text;
}

std::string checksum_key(std::string_view tensor) { return std::string(kTensorChecksumKey).append(tensor); }

void set_header_checksum(std::string& header) { header.replace(kStart.size(), kNoSum.size(), checksum(header)); }

HeaderChecksum header_checksum(std::string header) {
  if (!header.starts_with(kStart) || header.size() < kStart.size() + kNoSum.size()) return {};
  std::string found = header.substr(kStart.size(), kNoSum.size());
  header.replace(kStart.size(), kNoSum.size(), kNoSum);
  return {std::move(found), checksum(header)};
}

}  // namespace minnow::io::detail
