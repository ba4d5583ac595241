#include <minnow/llm/gguf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <minnow/llm/detail/blocks.h>
#include <minnow/ops/detail/blocks.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::llm {
namespace {

using io::detail::Refusal;

/// The numbers of the types of metadata in a file.
enum class Kind : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

/// Reads a file from front to back, through a buffer.
class Cursor {
 public:
  explicit Cursor(const io::InputFile& file) : file_(file) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return file_.size() - at_; }

  void read(std::span<std::byte> bytes) {
    if (bytes.size() > left()) throw Refusal{"the end of the file", fmt::format("{} bytes more", bytes.size())};
    while (!bytes.empty()) {
      if (at_ < begin_ || at_ >= begin_ + buffer_.size()) {
        begin_ = at_;
        buffer_.resize(std::min<std::uint64_t>(left(), kBuffer));
        file_.read(begin_, buffer_);
      }
      const std::size_t from = at_ - begin_, count = std::min(bytes.size(), buffer_.size() - from);
      std::memcpy(bytes.data(), buffer_.data() + from, count);
      bytes = bytes.subspan(count);
      at_ += count;
    }
  }
  template <class T> T number() {
    T value;
    read(std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// A number of things that take at least `bytes` each.
  std::uint64_t count(const char* what, std::uint64_t bytes) {
    const auto n = number<std::uint64_t>();
    if (n > left() / bytes) throw Refusal{fmt::format("{} {}", n, what), "no more than the file has room for"};
    return n;
  }
  std::string text(const char* what) {
    std::string value(count(what, 1), '\0');
    read(std::as_writable_bytes(std::span(value)));
    if (!io::detail::is_utf8(value)) throw Refusal{fmt::format("{} that are not UTF-8", what), "UTF-8"};
    return value;
  }

 private:
  static constexpr std::uint64_t kBuffer = 1 << 18;

  const io::InputFile& file_;
  std::uint64_t at_ = 0, begin_ = 0;
  std::vector<std::byte> buffer_;
};

template <class T> std::int64_t as_integer(Cursor& from) {
  const T value = from.number<T>();
  if (std::cmp_greater(value, std::numeric_limits<std::int64_t>::max()))
    throw Refusal{fmt::format("the integer {}", value), "integers below 2^63"};
  return static_cast<std::int64_t>(value);
}

std::size_t bytes_of(Kind kind) {
  switch (kind) {
    case Kind::u8:
    case Kind::i8:
    case Kind::boolean: return 1;
    case Kind::u16:
    case Kind::i16: return 2;
    case Kind::u32:
    case Kind::i32:
    case Kind::f32: return 4;
    default: return 8;
  }
}

std::int64_t read_integer(Cursor& from, Kind kind) {
  switch (kind) {
    case Kind::u8: return as_integer<std::uint8_t>(from);
    case Kind::i8: return as_integer<std::int8_t>(from);
    case Kind::u16: return as_integer<std::uint16_t>(from);
    case Kind::i16: return as_integer<std::int16_t>(from);
    case Kind::u32: return as_integer<std::uint32_t>(from);
    case Kind::i32: return as_integer<std::int32_t>(from);
    case Kind::u64: return as_integer<std::uint64_t>(from);
    case Kind::i64: return as_integer<std::int64_t>(from);
    case Kind::boolean: {
      const auto byte = from.number<std::uint8_t>();
      if (byte > 1) throw Refusal{fmt::format("the byte {}", byte), "a truth value, 0 or 1"};
      return byte;
    }
    default: throw Refusal{fmt::format("metadata of type {}", static_cast<std::uint32_t>(kind)), "types 0 to 12"};
  }
}

double read_number(Cursor& from, Kind kind) {
  return kind == Kind::f32 ? static_cast<double>(from.number<float>()) : from.number<double>();
}

template <class T, class Read> std::vector<T> list_of(Cursor& from, Kind kind, const Read& read) {
  std::vector<T> values(from.count("elements", bytes_of(kind)));
  for (T& value : values) value = read();
  return values;
}

GgufValue read_value(Cursor& from, Kind kind) {
  if (kind == Kind::text) return from.text("bytes of a text");
  if (kind == Kind::f32 || kind == Kind::f64) return read_number(from, kind);
  if (kind == Kind::boolean) return read_integer(from, kind) != 0;
  if (kind != Kind::array) return read_integer(from, kind);
  const auto element = from.number<Kind>();
  if (element == Kind::text) return list_of<std::string>(from, element, [&] { return from.text("bytes of a text"); });
  if (element == Kind::f32 || element == Kind::f64)
    return list_of<double>(from, element, [&] { return read_number(from, element); });
  if (element == Kind::array) throw Refusal{"an array of arrays", "arrays of numbers or texts"};
  return list_of<std::int64_t>(from, element, [&] { return read_integer(from, element); });
}

struct Placed {
  GgufTensor info;
  std::uint64_t offset;  // behind the header
};

Placed read_tensor(Cursor& from) {
  Placed tensor{};
  tensor.info.name = from.text("bytes of a name");
  const auto refuse = [&](const std::string& found, const char* expected) {
    throw Refusal{fmt::format("tensor '{}' {}", tensor.info.name, found), expected};
  };
  const auto rank = from.number<std::uint32_t>();
  if (rank < 1 || rank > 4) refuse(fmt::format("of {} dimensions", rank), "1 to 4");
  std::vector<std::int64_t> sizes(rank);
  std::int64_t numel = 1;
  for (std::int64_t& size : sizes) {
    const auto value = from.number<std::uint64_t>();
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    if (value > kMost || (value > 0 && static_cast<std::uint64_t>(numel) > kMost / value))
      refuse(fmt::format("with the size {}", value), "fewer than 2^40 elements");
    size = static_cast<std::int64_t>(value);
    numel *= size;
  }
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) tensor.info.shape.push_back(*size);
  const auto type = from.number<std::uint32_t>();
  constexpr std::uint32_t kTypes[] = {0, 1, 2, 3, 8, 30};
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
    refuse(fmt::format("of type {}", type), "F32 (0), F16 (1), Q4_0 (2), Q4_1 (3), Q8_0 (8) or BF16 (30)");
  tensor.info.type = static_cast<GgufType>(type);
  const bool blocks = detail::has_blocks(tensor.info.type);
  if (blocks && sizes[0] % detail::kBlock != 0)
    refuse(fmt::format("with rows of {} in blocks", sizes[0]), "rows of a multiple of 32 elements");
  const std::int64_t each = tensor.info.type == GgufType::f32 ? 4 : 2;  // bytes of a number without blocks
  tensor.info.nbytes =
      blocks ? numel / detail::kBlock * block_bytes(detail::format_of(tensor.info.type)) : numel * each;
  tensor.offset = from.number<std::uint64_t>();
  return tensor;
}

}  // namespace

struct GgufFile::Content {
  explicit Content(const std::string& path, SourceLocation where) : file("GgufFile", path, where) {}

  io::InputFile file;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;
  std::vector<std::uint64_t> begins;  // in the file
  std::map<std::string, std::size_t, std::less<>> places;

  void read_header();
  std::size_t place(const char* op, std::string_view name, SourceLocation where) const;
};

void GgufFile::Content::read_header() {
  Cursor from(file);
  char magic[4] = {};
  from.read(std::as_writable_bytes(std::span(magic)));
  if (std::string_view(magic, 4) != "GGUF") throw Refusal{"other bytes at the beginning", "'GGUF'"};
  const auto version = from.number<std::uint32_t>();
  if (version != 2 && version != 3) throw Refusal{fmt::format("version {}", version), "2 or 3, of little-endian files"};
  const std::uint64_t count = from.count("tensors", 24), values = from.count("values", 12);
  for (std::uint64_t i = 0; i < values; ++i) {
    std::string key = from.text("bytes of a key");
    GgufValue value = read_value(from, from.number<Kind>());
    if (!metadata.try_emplace(key, std::move(value)).second) throw Refusal{"the key '" + key + "' twice", "each once"};
  }
  std::uint64_t alignment = 32;
  if (const auto found = metadata.find("general.alignment"); found != metadata.end()) {
    const auto* const value = std::get_if<std::int64_t>(&found->second);
    if (value == nullptr || *value < 1 || *value > 1 << 20 || !std::has_single_bit(static_cast<std::uint64_t>(*value)))
      throw Refusal{"another general.alignment", "a power of 2, up to 2^20"};
    alignment = static_cast<std::uint64_t>(*value);
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    Placed placed = read_tensor(from);
    if (!places.try_emplace(placed.info.name, tensors.size()).second)
      throw Refusal{"the tensor '" + placed.info.name + "' twice", "each once"};
    tensors.push_back(std::move(placed.info));
    begins.push_back(placed.offset);
  }
  const std::uint64_t data = (from.at() + alignment - 1) / alignment * alignment;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto bytes = static_cast<std::uint64_t>(tensors[i].nbytes);
    if (begins[i] % alignment != 0 || data > file.size() || begins[i] > file.size() - data ||
        bytes > file.size() - data - begins[i])
      throw Refusal{fmt::format("tensor '{}' at {}, of {} bytes", tensors[i].name, begins[i], bytes),
                    fmt::format("a multiple of {} within the file's {} bytes", alignment, file.size())};
    begins[i] += data;
  }
}

std::size_t GgufFile::Content::place(const char* op, std::string_view name, SourceLocation where) const {
  const auto found = places.find(name);
  if (found == places.end())
    throw IndexError(fmt::format("{}: '{}' has no tensor '{}'\ntensors() lists them", op, file.path(), name), where);
  return found->second;
}

GgufFile::GgufFile(const std::string& path, SourceLocation where) {
  const CallSite site("GgufFile", where);
  const auto content = std::make_shared<Content>(path, where);
  try {
    content->read_header();
  } catch (const Refusal& refusal) {
    throw FormatError(fmt::format("GgufFile: '{}': found {}\n  expected  {}\ngive a GGUF file of a model", path,
                                  refusal.found, refusal.expected),
                      where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(fmt::format("GgufFile: no memory for the header of '{}'", path), where);
  }
  content_ = content;
}

const std::string& GgufFile::path() const { return content_->file.path(); }
const std::map<std::string, GgufValue, std::less<>>& GgufFile::metadata() const { return content_->metadata; }
const std::vector<GgufTensor>& GgufFile::tensors() const { return content_->tensors; }

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = content_->places.find(name);
  return found == content_->places.end() ? nullptr : &content_->tensors[found->second];
}

template <class T> const T& GgufFile::value(std::string_view key, const char* type, SourceLocation where) const {
  const auto found = metadata().find(key);
  const T* const value = found == metadata().end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr)
    throw FormatError(fmt::format("GgufFile: '{}': found {} '{}'\n  expected  {}", path(),
                                  found == metadata().end() ? "no value" : "a value of another type for", key, type),
                      where);
  return *value;
}

std::int64_t GgufFile::integer(std::string_view key, SourceLocation where) const {
  return value<std::int64_t>(key, "an integer", where);
}
double GgufFile::number(std::string_view key, SourceLocation where) const {
  return value<double>(key, "a floating-point number", where);
}
bool GgufFile::boolean(std::string_view key, SourceLocation where) const {
  return value<bool>(key, "true or false", where);
}
const std::string& GgufFile::text(std::string_view key, SourceLocation where) const {
  return value<std::string>(key, "a text", where);
}
const std::vector<std::string>& GgufFile::texts(std::string_view key, SourceLocation where) const {
  return value<std::vector<std::string>>(key, "texts", where);
}
const std::vector<std::int64_t>& GgufFile::integers(std::string_view key, SourceLocation where) const {
  return value<std::vector<std::int64_t>>(key, "integers", where);
}

Tensor GgufFile::load(std::string_view name, SourceLocation where) const {
  const CallSite site("GgufFile::load", where);
  const GgufTensor& info = tensors()[content_->place("GgufFile::load", name, where)];
  const Tensor bytes = load_bytes(name, where);
  if (detail::has_blocks(info.type)) {
    const std::int64_t row = info.shape[-1];
    const std::int64_t rows = row > 0 ? info.shape.numel() / row : 0;
    if (rows == 0) return empty(info.shape, DType::float32, where);
    const Tensor blocks = bytes.view({rows, info.nbytes / rows});
    return minnow::detail::dequantized(blocks, detail::format_of(info.type), 0, rows).view(info.shape);
  }
  const DType dtype = info.type == GgufType::f32   ? DType::float32
                      : info.type == GgufType::f16 ? DType::float16
                                                   : DType::bfloat16;
  return Tensor(bytes.storage(), dtype, info.shape, contiguous_strides(info.shape), 0);
}

Tensor GgufFile::load_bytes(std::string_view name, SourceLocation where) const {
  const CallSite site("GgufFile::load_bytes", where);
  const std::size_t place = content_->place("GgufFile::load_bytes", name, where);
  const GgufTensor& info = tensors()[place];
  Tensor tensor = empty({info.nbytes}, DType::uint8, where);
  auto* const bytes = static_cast<std::byte*>(tensor.raw_data());
  content_->file.read(content_->begins[place], {bytes, static_cast<std::size_t>(info.nbytes)});
  if (detail::has_blocks(info.type) && !detail::has_finite_scales(info.type, bytes, info.nbytes))
    throw FormatError(
        fmt::format("GgufFile: '{}': found a scale of the tensor '{}' that is NaN or infinite\n  expected  "
                    "finite ones",
                    path(), name),
        where);
  return tensor;
}

}  // namespace minnow::llm
