#include <minnow/tensor/io/detail/zip.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <unordered_set>
#include <zlib.h>
#include <minnow/tensor/io/detail/json_reader.h>

// The zip format: APPNOTE.TXT 6.3.10 of PKWARE, as far as NumPy and PyTorch use it.
namespace minnow::io::detail {
namespace {

constexpr std::uint64_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kLocator64Bytes = 20, kEnd64Bytes = 56;
constexpr std::uint64_t kNone32 = 0xffffffff;
constexpr int kStored = 0, kDeflated = 8;

/// A little-endian number.
std::uint64_t get(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  return value;
}

/// The sizes and the offset that do not fit into 32 bits, in this order.
void read_extra64(std::span<const std::byte> extra, ZipMember& member) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = get(extra, at, 2), length = get(extra, at + 2, 2);
    at += 4;
    if (length > extra.size() - at) return;
    if (id == 1) {
      std::size_t field = at;
      for (std::uint64_t* value : {&member.size, &member.packed, &member.offset}) {
        if (*value != kNone32) continue;
        if (field + 8 > at + length) throw Refusal{"a zip64 record that is too short", "its sizes"};
        *value = get(extra, field, 8);
        field += 8;
      }
    }
    at += length;
  }
}

/// Where the central directory is, and how many members it has.
struct Directory {
  std::uint64_t offset = 0, size = 0, count = 0;
};

Directory find_directory(const InputFile& file) {
  constexpr std::uint64_t kMaxComment = 0xffff;
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(file.size(), kEndBytes + kMaxComment);
  std::vector<std::byte> tail(tail_bytes);
  file.read(file.size() - tail_bytes, tail);
  for (std::size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (get(tail, at, 4) != kEnd || at + kEndBytes + get(tail, at + 20, 2) != tail.size()) continue;
    Directory found{get(tail, at + 16, 4), get(tail, at + 12, 4), get(tail, at + 10, 2)};
    if (get(tail, at + 4, 4) != 0 || get(tail, at + 8, 2) != found.count)
      throw Refusal{"an archive of several disks", "one file"};
    if (at >= kLocator64Bytes && get(tail, at - kLocator64Bytes, 4) == kLocator64) {
      const std::uint64_t place = get(tail, at - kLocator64Bytes + 8, 8);
      if (file.size() < kEnd64Bytes || place > file.size() - kEnd64Bytes)
        throw Refusal{"a zip64 record outside of the file", "one within it"};
      std::vector<std::byte> end(kEnd64Bytes);
      file.read(place, end);
      if (get(end, 0, 4) != kEnd64) throw Refusal{"a missing zip64 record", "its signature"};
      found = {get(end, 48, 8), get(end, 40, 8), get(end, 32, 8)};
    }
    if (found.offset > file.size() || found.size > file.size() - found.offset)
      throw Refusal{"a directory of members outside of the file", "one within it"};
    return found;
  }
  throw Refusal{"no directory of members at the end of the file", "a zip archive, which ends with one"};
}

struct Inflate {
  Inflate() {
    if (inflateInit2(&stream, -15) != Z_OK) throw std::bad_alloc();
  }
  ~Inflate() { inflateEnd(&stream); }
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;
  z_stream stream{};
};

/// Decompresses a member to exactly out.size() bytes.
void unpack(const InputFile& file, std::uint64_t at, const ZipMember& member, std::span<std::byte> out) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  Inflate inflater;
  z_stream& z = inflater.stream;
  std::vector<std::byte> in(std::min<std::uint64_t>(kBlock, member.packed));
  std::uint64_t left = member.packed;
  std::size_t done = 0;
  int code = Z_OK;
  std::byte beyond{};
  while (code != Z_STREAM_END) {
    if (z.avail_in == 0 && left > 0) {
      const auto part = std::span(in).first(std::min<std::uint64_t>(in.size(), left));
      file.read(at, part);
      at += part.size();
      left -= part.size();
      z.next_in = reinterpret_cast<Bytef*>(in.data());
      z.avail_in = static_cast<uInt>(part.size());
    }
    const bool full = done == out.size();
    const std::size_t space = full ? 1 : std::min<std::size_t>(out.size() - done, kBlock);
    z.next_out = reinterpret_cast<Bytef*>(full ? &beyond : out.data() + done);
    z.avail_out = static_cast<uInt>(space);
    code = inflate(&z, Z_NO_FLUSH);
    const std::size_t got = space - z.avail_out;
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    const bool stuck = code == Z_BUF_ERROR && got == 0 && left == 0;
    if ((code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) || stuck || (full && got > 0))
      throw Refusal{"damaged data of the member '" + member.name + "'", std::to_string(member.size) + " bytes"};
    if (!full) done += got;
  }
  if (done != out.size())
    throw Refusal{std::to_string(done) + " bytes of the member '" + member.name + "'", std::to_string(member.size)};
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const InputFile& file) {
  const Directory directory = find_directory(file);
  std::vector<std::byte> bytes(directory.size);
  file.read(directory.offset, bytes);
  std::vector<ZipMember> members;
  std::uint64_t total = 0;
  std::size_t at = 0;
  while (members.size() < directory.count) {
    if (bytes.size() - at < kCentralBytes || get(bytes, at, 4) != kCentral)
      throw Refusal{"a directory that ends after " + std::to_string(members.size()) + " members",
                    std::to_string(directory.count) + " members"};
    const auto at_of = std::span<const std::byte>(bytes).subspan(at);
    const std::size_t name = get(at_of, 28, 2), extra = get(at_of, 30, 2), comment = get(at_of, 32, 2);
    if (name + extra + comment > at_of.size() - kCentralBytes)
      throw Refusal{"a member beyond the directory", "one within it"};
    ZipMember member{{reinterpret_cast<const char*>(at_of.data()) + kCentralBytes, name},
                     static_cast<int>(get(at_of, 10, 2)),
                     get(at_of, 16, 4),
                     get(at_of, 20, 4),
                     get(at_of, 24, 4),
                     get(at_of, 42, 4)};
    read_extra64(at_of.subspan(kCentralBytes + name, extra), member);
    if ((get(at_of, 8, 2) & 1) != 0)
      throw Refusal{"the encrypted member '" + member.name + "'", "one without encryption"};
    if (member.method != kStored && member.method != kDeflated)
      throw Refusal{"the member '" + member.name + "' with compression method " + std::to_string(member.method),
                    "0 (stored) or 8 (deflated)"};
    if (member.offset > file.size() || member.packed > file.size() - total)
      throw Refusal{"members that are larger than the file", "at most its " + std::to_string(file.size()) + " bytes"};
    total += member.packed;
    constexpr std::uint64_t kMaxRatio = 1032;  // of deflate
    if (member.method == kStored ? member.size != member.packed : member.size / kMaxRatio > member.packed)
      throw Refusal{"the member '" + member.name + "' of " + std::to_string(member.packed) + " bytes that claims " +
                        std::to_string(member.size),
                    "a possible size"};
    at += kCentralBytes + name + extra + comment;
    members.push_back(std::move(member));
  }
  if (at != bytes.size())
    throw Refusal{"a directory with more than " + std::to_string(directory.count) + " members", "as many as it says"};
  std::unordered_set<std::string_view> names;
  for (const ZipMember& member : members)
    if (!names.insert(member.name).second) throw Refusal{"two members '" + member.name + "'", "one of each name"};
  return members;
}

void read_zip_member(const InputFile& file, const ZipMember& member, std::span<std::byte> out) {
  std::byte head[kLocalBytes];
  if (file.size() < kLocalBytes || member.offset > file.size() - kLocalBytes)
    throw Refusal{"the member '" + member.name + "' outside of the file", "one within it"};
  file.read(member.offset, head);
  if (get(head, 0, 4) != kLocal) throw Refusal{"no member where '" + member.name + "' should be", "its signature"};
  std::string name(get(head, 26, 2), '\0');
  const std::uint64_t begin = member.offset + kLocalBytes + name.size() + get(head, 28, 2);
  if (begin > file.size() || member.packed > file.size() - begin)
    throw Refusal{"the member '" + member.name + "', which is cut off", std::to_string(member.packed) + " bytes"};
  file.read(member.offset + kLocalBytes, std::as_writable_bytes(std::span(name)));
  if (name != member.name) throw Refusal{"another name where '" + member.name + "' should be", "its name"};
  if (member.method == kStored) file.read(begin, out);
  else unpack(file, begin, member, out);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) != member.crc)
    throw Refusal{"another checksum of the member '" + member.name + "'", "the one in its directory"};
}

}  // namespace minnow::io::detail
