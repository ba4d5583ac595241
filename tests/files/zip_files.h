#pragma once

// .npy files and zip archives of which every field can be wrong.

#include <optional>

#include "hostile.h"

namespace minnow::test {

inline std::string npy(std::string dictionary, const std::string& data) {
  dictionary.append((64 - (11 + dictionary.size()) % 64) % 64, ' ');
  dictionary += '\n';
  return "\x93NUMPY\1" + std::string(1, '\0') + little(dictionary.size(), 2) + dictionary + data;
}

/// A member; what is not given is as it should be.
struct Zip {
  std::string name, content;
  int method = 0;                  // what the headers say
  std::optional<int> stored_as{};  // 0 or 8: what the data is
  int flags = 0;
  std::optional<std::uint64_t> crc{}, size{}, packed{}, offset{};
  std::optional<std::string> local_name{};
  std::optional<std::size_t> name_length{}, local_name_length{};
  std::string central_extra{}, local_extra{};
  std::uint64_t central_signature = 0x02014b50;
};

/// The end of an archive.
struct ZipEnd {
  std::optional<std::uint64_t> count{}, count_here{}, directory_size{}, directory_offset{}, locator{};
  int disk = 0;
  std::string comment{};
};

/// Sizes above 32 bits are written into a zip64 field of the directory.
inline std::string zip_of(const std::vector<Zip>& members, const ZipEnd& end = {}) {
  constexpr std::uint64_t kNone = 0xffffffff;
  std::string out, directory;
  for (const Zip& m : members) {
    const std::string data = m.stored_as.value_or(m.method) == 8 ? deflated(m.content, -15) : m.content;
    const std::uint64_t size = m.size.value_or(m.content.size()), packed = m.packed.value_or(data.size());
    const auto fields = [&](std::size_t name_length, std::size_t extra) {
      return little(20, 2) + little(static_cast<std::uint64_t>(m.flags), 2) +
             little(static_cast<std::uint64_t>(m.method), 2) + little(0, 4) +
             little(m.crc.value_or(checksum(m.content)), 4) + little(std::min(packed, kNone), 4) +
             little(std::min(size, kNone), 4) + little(name_length, 2) + little(extra, 2);
    };
    std::string extra = m.central_extra;
    if (size > kNone) extra += little(1, 2) + little(8, 2) + little(size, 8);
    directory += little(m.central_signature, 4) + little(20, 2) +
                 fields(m.name_length.value_or(m.name.size()), extra.size()) + std::string(10, '\0') +
                 little(m.offset.value_or(out.size()), 4) + m.name + extra;
    const std::string local = m.local_name.value_or(m.name);
    out += little(0x04034b50, 4) + fields(m.local_name_length.value_or(local.size()), m.local_extra.size()) + local +
           m.local_extra + data;
  }
  const std::size_t place = out.size();
  out += directory;
  if (end.locator) out += little(0x07064b50, 4) + little(0, 4) + little(*end.locator, 8) + little(1, 4);
  const std::uint64_t count = end.count.value_or(members.size());
  return out + little(0x06054b50, 4) + little(static_cast<std::uint64_t>(end.disk), 2) + little(0, 2) +
         little(end.count_here.value_or(count), 2) + little(count, 2) +
         little(end.directory_size.value_or(directory.size()), 4) + little(end.directory_offset.value_or(place), 4) +
         little(end.comment.size(), 2) + end.comment;
}

}  // namespace minnow::test
