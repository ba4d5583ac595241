#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/shape.h>

namespace minnow::io::detail {

/// One tensor of a safetensors header; its bytes in the buffer after the header are [begin, end).
struct Entry {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::uint64_t begin = 0, end = 0;
};

struct Header {
  std::vector<Entry> entries;  ///< in the order of the buffer
  std::map<std::string, std::string> metadata;
};

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// Parses and checks a header whose buffer has `available` bytes.  Throws Refusal (json_reader.h).
Header parse_header(std::string_view text, std::uint64_t available);

/// Sorts the entries as the reference writer does, sets their offsets, and returns the padded header.
std::string write_header(Header& header);

/// The rank of a dtype in the reference writer's order; larger ones are written first.
int writer_rank(DType dtype);

}  // namespace minnow::io::detail
