#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

// The checksums (CRC-32, 8 hexadecimal digits) that a Checkpoint writes into the metadata of its safetensors files.
namespace minnow::io::detail {

std::string checksum(std::span<const std::byte> bytes);

/// The name in the metadata of the checksum of a tensor.
std::string checksum_key(std::string_view tensor);
inline constexpr std::string_view kHeaderChecksumKey = "crc32", kTensorChecksumKey = "crc32 ";

/// Sets the checksum of a header, which is that of the header where this checksum is "00000000", the value that
/// kHeaderChecksumKey must have; it is the first of the sorted names.
void set_header_checksum(std::string& header);
/// Of a header's text the checksum that it has, and the one that it should have; empty ones if it has none.
struct HeaderChecksum {
  std::string found, expected;
};
HeaderChecksum header_checksum(std::string header);

}  // namespace minnow::io::detail
