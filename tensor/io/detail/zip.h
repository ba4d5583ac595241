#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <minnow/tensor/io/file.h>

namespace minnow::io::detail {

/// An entry of a zip archive's directory.
struct ZipMember {
  std::string name;
  int method = 0;  ///< 0: stored, 8: deflated
  std::uint64_t crc = 0, packed = 0, size = 0, offset = 0;
};

/// The members of an archive, all with different names; together they are not larger than the file, and each may be as
/// large as it says.  Throws Refusal (json_reader.h).
std::vector<ZipMember> read_zip_directory(const InputFile& file);

/// Reads a member of `out.size()` bytes, its size, and compares its checksum.  Throws Refusal.
void read_zip_member(const InputFile& file, const ZipMember& member, std::span<std::byte> out);

}  // namespace minnow::io::detail
