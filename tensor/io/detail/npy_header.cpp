#include <minnow/tensor/io/detail/npy_header.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <vector>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::io::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "the writer and swap_bytes() rely on it");

constexpr std::size_t kAlignment = 64;
constexpr char kMagic[] = "\x93NUMPY";
constexpr std::size_t kMagicBytes = 6;

std::string in_quotes(std::string_view text) {
  std::string out(1, '\'');
  out += text;
  out += '\'';
  return out;
}

/// NumPy's kind and size of a dtype, "f4"; empty where it has none.
std::string numpy_type(DType dtype) {
  if (dtype == DType::bfloat16) return "";
  const std::string_view name = name_of(dtype);
  std::string type(1, name[0] == 'f' || name[0] == 'u' || name[0] == 'b' ? name[0] : 'i');
  type += std::to_string(size_of(dtype));
  return type;
}

/// A Python dictionary of the three entries, and nothing else of the language.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  NpyHeader read() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) descr = true, read_descr(header);
      else if (key == "fortran_order" && !order) order = true, header.fortran = boolean();
      else if (key == "shape" && !shape) shape = true, header.shape = tuple();
      else fail("the key " + in_quotes(key), "the keys descr, fortran_order and shape, once each");
      if (!accept(',') && next() != '}') fail(rest(), "',' or '}'");
    }
    if (!descr || !order || !shape)
      fail("a header without " + std::string(!descr ? "descr" : !order ? "fortran_order" : "shape"), "all three keys");
    skip_space();
    if (at_ != text_.size()) fail(rest(), "the end of the header");
    return header;
  }

 private:
  [[noreturn]] static void fail(std::string found, std::string expected) {
    throw Refusal{std::move(found), std::move(expected)};
  }
  std::string rest() const {
    return at_ < text_.size() ? in_quotes(text_.substr(at_, 20)) + " in the header" : "the end of the header";
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (next() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(rest(), in_quotes(std::string_view(&c, 1)));
  }
  std::string string() {
    const char quote = next();
    if (quote != '\'' && quote != '"') fail(rest(), "a text in quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(rest(), "a closing quote");
    const std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  bool boolean() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail(rest(), "True or False");
  }
  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) fail(rest(), "a size");
    at_ = static_cast<std::size_t>(stop - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2
    return value;
  }
  Shape tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(integer());
      const bool comma = accept(',');
      if (!comma && (sizes.size() == 1 || next() != ')')) fail(rest(), "a tuple of sizes");
      if (sizes.size() > static_cast<std::size_t>(kMaxRank))
        fail("an array with more dimensions", "at most " + std::to_string(kMaxRank) + " dimensions");
    }
    return Shape(std::span<const std::int64_t>(sizes));
  }
  void read_descr(NpyHeader& header) {
    if (next() == '[') fail("an array of structures", "an array of numbers");
    const std::string descr = string();
    const char order = descr.empty() ? '\0' : descr[0];
    const std::string type = order == '<' || order == '>' || order == '|' || order == '=' ? descr.substr(1) : descr;
    if (type.starts_with('O'))
      fail("Python objects (descr " + in_quotes(descr) + ")", "numbers: save x.astype(\"float32\")");
    for (int d = 0; d < kDTypeCount; ++d)
      if (const auto dtype = static_cast<DType>(d); !type.empty() && type == numpy_type(dtype)) {
        header.dtype = dtype;
        header.big_endian = order == '>' && size_of(dtype) > 1;
        return;
      }
    std::string known;
    for (int d = 0; d < kDTypeCount; ++d) known.append(1, ' ').append(numpy_type(static_cast<DType>(d)));
    fail("elements of type " + in_quotes(descr), "one of" + known + ": save x.astype(\"float32\")");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> head, std::uint64_t size) {
  constexpr std::size_t kShort = 10, kLong = 12;  // with a length of 2 and of 4 bytes
  const auto* bytes = reinterpret_cast<const char*>(head.data());
  const std::string_view text(bytes, head.size());
  if (!text.starts_with(kMagic) || text.size() < kShort)
    throw Refusal{std::to_string(size) + " bytes that do not begin as an .npy file", "\\x93NUMPY and a version"};
  const int major = static_cast<unsigned char>(bytes[kMagicBytes]), minor = static_cast<unsigned char>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0)
    throw Refusal{"version " + std::to_string(major) + "." + std::to_string(minor), "version 1.0, 2.0 or 3.0"};
  const std::size_t begin = major == 1 ? kShort : kLong;
  if (text.size() < begin) throw Refusal{"a file that ends within its header", "the length of the header"};
  std::uint64_t length = 0;
  for (std::size_t i = begin; i-- > 8;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (length > kNpyHeadBytes - kLong || length > text.size() - begin)
    throw Refusal{"a header of " + std::to_string(length) + " bytes",
                  "at most " + std::to_string(std::min(kNpyHeadBytes - kLong, text.size() - begin))};
  const std::string_view dictionary = text.substr(begin, length);
  if (!dictionary.ends_with('\n')) throw Refusal{"a header without a line end", "a header that ends with one"};
  NpyHeader header = Reader(dictionary).read();
  header.data = begin + length;
  std::int64_t bytes_needed = static_cast<std::int64_t>(size_of(header.dtype));
  bool empty = false;
  for (const std::int64_t n : header.shape.span()) empty = empty || n == 0;
  for (const std::int64_t n : header.shape.span())
    bytes_needed = saturating_mul(bytes_needed, empty ? std::min<std::int64_t>(n, 1) : n);
  if (static_cast<std::uint64_t>(bytes_needed) != size - header.data)
    throw Refusal{
        std::to_string(size - header.data) + " bytes of elements",
        std::to_string(bytes_needed) + " bytes for " + std::string(name_of(header.dtype)) + header.shape.str()};
  return header;
}

std::string write_npy_header(const char* op, const Tensor& tensor, SourceLocation where) {
  const std::string type = numpy_type(tensor.dtype());
  if (type.empty())
    throw DTypeError(std::string(op) + ": NumPy has no bfloat16\n  tensor  " + describe(tensor) +
                         "\nconvert it: .to(float32), or save it as safetensors",
                     where);
  std::string text = "{'descr': '";
  text += size_of(tensor.dtype()) == 1 ? '|' : '<';
  text += type;
  text += "', 'fortran_order': False, 'shape': (";
  for (int d = 0; d < tensor.dim(); ++d) {
    if (d > 0) text += ' ';
    text += std::to_string(tensor.shape()[d]);
    if (d + 1 < tensor.dim() || d == 0) text += ',';
  }
  text += "), }";
  // As NumPy: space for a longer first size, then at least one more space.
  constexpr std::size_t kFixed = 10, kDigits = 21;
  if (tensor.dim() > 0) text.append(kDigits - std::to_string(tensor.shape()[0]).size(), ' ');
  text.append(kAlignment - (kFixed + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string head(kMagic, kMagicBytes);
  head += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return head + text;
}

void finish_elements(const NpyHeader& header, std::span<std::byte> elements) {
  const std::size_t item = size_of(header.dtype);
  if (header.big_endian)
    for (std::size_t i = 0; i + item <= elements.size(); i += item)
      std::reverse(elements.begin() + static_cast<std::ptrdiff_t>(i),
                   elements.begin() + static_cast<std::ptrdiff_t>(i + item));
  if (header.dtype == DType::bool_)  // a bool that is neither 0 nor 1 is undefined behavior
    for (std::byte& byte : elements) byte = byte == std::byte{0} ? byte : std::byte{1};
}

Tensor finish_npy(const NpyHeader& header, std::shared_ptr<Storage> storage, SourceLocation where) {
  finish_elements(header, {static_cast<std::byte*>(storage->data()),
                           size_of(header.dtype) * static_cast<std::size_t>(header.shape.numel())});
  if (!header.fortran || header.shape.rank() < 2)
    return Tensor(std::move(storage), header.dtype, header.shape, contiguous_strides(header.shape));
  Strides strides = contiguous_strides(header.shape);
  std::int64_t stride = 1;
  for (int d = 0; d < header.shape.rank(); ++d) {
    strides[d] = stride;
    stride = wrapping_mul(stride, std::max<std::int64_t>(header.shape[d], 1));
  }
  const Tensor columns(std::move(storage), header.dtype, header.shape, strides);
  return raw::contiguous({columns, where});
}

}  // namespace minnow::io::detail
