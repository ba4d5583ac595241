#include <minnow/data/idx.h>

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>
#include <minnow/data/detail/byte_reader.h>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::data {
namespace {

struct ElementType {
  std::uint8_t code;
  const char* name;
  std::size_t bytes;
  DType dtype;
};

constexpr ElementType kTypes[] = {
    {0x08, "unsigned byte", 1, DType::uint8}, {0x09, "signed byte", 1, DType::int32},
    {0x0B, "short", 2, DType::int32},         {0x0C, "int", 4, DType::int32},
    {0x0D, "float", 4, DType::float32},       {0x0E, "double", 8, DType::float64},
};

/// The file that is read, for errors.
struct Source {
  const std::string& path;
  SourceLocation where;
};

[[noreturn]] void refuse(const Source& source, const std::string& what, const std::string& found,
                         const std::string& expected) {
  throw FormatError(std::string(CallSite::op_or("read_idx")) + ": '" + source.path + "' " + what + "\n  found     " +
                        found + "\n  expected  " + expected + "\nuse another file, or download this one again",
                    source.where);
}

struct Header {
  const ElementType* type = nullptr;
  Shape shape;
  std::uint64_t payload = 0;  // bytes
};

std::uint32_t big_endian(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | std::uint32_t{p[3]};
}

/// The payload's size, with overflow checks: the product of 32-bit sizes may not fit in 64 bits.
std::uint64_t checked_bytes(const Source& source, const Header& header) {
  constexpr auto kMaxBytes = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  bool empty = false;
  for (const auto size : header.shape) empty = empty || size == 0;
  if (empty) return 0;
  std::uint64_t bytes = header.type->bytes;
  for (const auto size : header.shape) {
    if (bytes > kMaxBytes / static_cast<std::uint64_t>(size))
      refuse(source, "declares an impossible size", header.shape.str(), "a product that fits in 63 bits");
    bytes *= static_cast<std::uint64_t>(size);
  }
  return bytes;
}

Header read_header(detail::ByteReader& bytes, const Source& source) {
  std::array<std::uint8_t, 16> buffer{};
  const auto magic = std::span(buffer).first(bytes.read(std::span(buffer).first(4)));
  if (magic.size() < 4 || magic[0] != 0 || magic[1] != 0)
    refuse(source, "is not an IDX file", detail::show_bytes(magic), "00 00, a type and a rank");
  Header header;
  for (const auto& type : kTypes)
    if (type.code == magic[2]) header.type = &type;
  if (!header.type)
    refuse(source, "has an unknown element type", detail::show_bytes(magic),
           "08, 09, 0b, 0c, 0d or 0e as its third byte");
  const int rank = magic[3];
  if (rank < 1 || rank > kMaxRank)
    refuse(source, "has an impossible rank", std::to_string(rank), "1 to " + std::to_string(kMaxRank));
  for (int d = 0; d < rank; ++d) {
    const auto got = bytes.read(std::span(buffer).first(4));
    if (got < 4)
      refuse(source, "ends within its header",
             std::to_string(4 + 4 * d) + " bytes and " + std::to_string(got) + " more",
             std::to_string(rank) + " sizes of 4 bytes");
    header.shape.push_back(big_endian(buffer.data()));
  }
  header.payload = checked_bytes(source, header);
  return header;
}

/// Converts big-endian elements of type `From` to `To`.  Raw: the unsigned type of From's width.
template <class Raw, class From, class To> void convert(const std::uint8_t* in, To* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i, in += sizeof(Raw)) {
    Raw raw = 0;
    for (std::size_t b = 0; b < sizeof(Raw); ++b) raw = static_cast<Raw>(raw << 7 << 1 | in[b]);
    out[i] = static_cast<To>(std::bit_cast<From>(raw));
  }
}

void convert_all(const Header& header, const std::uint8_t* in, const Tensor& out) {
  const std::int64_t n = out.numel();
  switch (header.type->code) {
    case 0x09: return convert<std::uint8_t, std::int8_t>(in, out.data<std::int32_t>(), n);
    case 0x0B: return convert<std::uint16_t, std::int16_t>(in, out.data<std::int32_t>(), n);
    case 0x0C: return convert<std::uint32_t, std::int32_t>(in, out.data<std::int32_t>(), n);
    case 0x0D: return convert<std::uint32_t, float>(in, out.data<float>(), n);
    default: return convert<std::uint64_t, double>(in, out.data<double>(), n);
  }
}

void check_expectation(const Source& source, const Header& header, const IdxExpectation& expected) {
  const std::string found = std::string("rank ") + std::to_string(header.shape.rank()) + ", elements of type " +
                            header.type->name + ", sizes " + header.shape.str();
  const std::string what = "does not hold " + expected.content;
  if (expected.rank && *expected.rank != header.shape.rank())
    refuse(source, what, found, "rank " + std::to_string(*expected.rank));
  if (expected.dtype && *expected.dtype != header.type->dtype)
    refuse(source, what, found, "elements of type " + std::string(name_of(*expected.dtype)));
}

}  // namespace

Tensor read_idx(const std::string& path, const IdxExpectation& expected, SourceLocation where) {
  const CallSite site("read_idx", where);
  const Source source{path, where};
  const auto bytes = detail::open_bytes(path, where);
  const Header header = read_header(*bytes, source);
  check_expectation(source, header, expected);
  const std::string declared = std::to_string(header.payload) + " bytes after its header, for " + header.shape.str();
  if (header.payload > bytes->max_size())
    refuse(source, "is too short", "a file that can hold " + std::to_string(bytes->max_size()) + " bytes at most",
           declared);

  const Tensor out = detail::host_tensor(header.type->dtype, header.shape, where);
  const bool direct = header.type->code == 0x08;
  std::vector<std::uint8_t> raw(direct ? 0 : header.payload);
  const std::span<std::uint8_t> payload = direct ? out.span<std::uint8_t>() : std::span(raw);
  const std::size_t got = bytes->read(payload);
  if (got < payload.size()) refuse(source, "is too short", std::to_string(got) + " bytes after its header", declared);
  bytes->finish();
  if (!direct) convert_all(header, raw.data(), out);
  return out;
}

}  // namespace minnow::data
