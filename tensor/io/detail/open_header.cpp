#include <minnow/tensor/io/detail/open_header.h>

#include <algorithm>
#include <new>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/foreign.h>
#include <minnow/tensor/io/detail/json_reader.h>

namespace minnow::io::detail {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

Opened read_header(const InputFile& file) {
  if (file.size() < kLengthBytes)
    throw Refusal{"a file of " + std::to_string(file.size()) + " bytes", "at least the 8 of the header's length"};
  std::uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  const std::uint64_t rest = file.size() - kLengthBytes;
  if (length > kMaxHeaderBytes || length > rest)
    throw Refusal{"a header length of " + std::to_string(length) + " bytes",
                  "at most " + std::to_string(std::min(kMaxHeaderBytes, rest)) +
                      (rest < kMaxHeaderBytes ? ", which follow it in the file" : "")};
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  return {parse_header(text, rest - length), kLengthBytes + length};
}

}  // namespace

Opened open_header(const InputFile& file, const char* op, SourceLocation where) {
  try {
    return read_header(file);
  } catch (const Refusal& refusal) {
    Foreign other = recognize(file);
    const bool known = !other.found.empty() && other.format != Format::safetensors;
    if (!known)
      other = {Format::other, refusal.found, "the file is damaged or has another format: save or download it again"};
    throw FormatError(std::string(op) + ": '" + file.path() + "' is not a safetensors file that minnow can read" +
                          "\n  found     " + other.found + "\n  expected  " +
                          (known ? "a safetensors file" : refusal.expected) + "\n" + other.hint,
                      where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(
        std::string(op) + ": no memory for the header of '" + file.path() + "'\nload it where there is more memory",
        where);
  }
}

}  // namespace minnow::io::detail
