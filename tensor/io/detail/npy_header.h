#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <minnow/tensor/tensor.h>

namespace minnow::io::detail {

struct NpyHeader {
  DType dtype = DType::float32;
  Shape shape;
  bool fortran = false;     // the first dimension is dense
  bool big_endian = false;  // elements have the other byte order
  std::uint64_t data = 0;   // where elements begin
};

/// What an .npy file may begin with: its fixed part and the longest header that is accepted.
inline constexpr std::size_t kNpyHeadBytes = 12 + 10000;

/// Parses the beginning of an .npy file of `size` bytes; `head` has its first kNpyHeadBytes, or all.  The elements take
/// exactly the rest.  Throws Refusal (json_reader.h).
NpyHeader parse_npy_header(std::span<const std::byte> head, std::uint64_t size);

/// The beginning of an .npy file of a contiguous tensor.  DTypeError for bfloat16.
std::string write_npy_header(const char* op, const Tensor& tensor, SourceLocation where);

/// Makes a tensor of elements as they are in the file: swaps their bytes, normalizes bools; the result is contiguous.
Tensor finish_npy(const NpyHeader& header, std::shared_ptr<Storage> storage, SourceLocation where);
/// Swaps the bytes of elements, and makes bools 0 or 1.
void finish_elements(const NpyHeader& header, std::span<std::byte> elements);

}  // namespace minnow::io::detail
