#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>
#include <minnow/tensor/tensor.h>

namespace minnow::llm {

/// How a GGUF file stores numbers: as they are, or in blocks of 32 with a scale d (and a least value m) in float16.
/// q8_0: d q, int8.  q4_0: d (q - 8), 4 bits.  q4_1: d q + m, 4 bits.
enum class GgufType : std::uint8_t { f32 = 0, f16 = 1, q4_0 = 2, q4_1 = 3, q8_0 = 8, bf16 = 30 };

struct GgufTensor {
  std::string name;
  GgufType type = GgufType::f32;
  Shape shape;  ///< in PyTorch's order: the last one is dense
  std::int64_t nbytes = 0;
};

/// A value of the metadata.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>, std::vector<double>,
                               std::vector<std::string>>;

/// An open GGUF file of version 3 (or 2), llama.cpp's format: metadata and tensors, one at a time.
///
///     llm::GgufFile file("SmolLM2-135M-Instruct.Q4_1.gguf");
///     std::int64_t blocks = file.integer("llama.block_count");
///     Tensor w = file.load("blk.0.attn_q.weight");              // float32
///
/// Opening reads and checks the header alone.  A handle: copies share the open file.  Threads may use it at the same
/// time.
class GgufFile {
 public:
  /// FormatError, with what was found and what was expected, for a file that is not valid or damaged, is of another
  /// version, or has tensors of other types; IoError; OutOfMemoryError.
  explicit GgufFile(const std::string& path, SourceLocation where = SourceLocation::current());

  const std::string& path() const;
  const std::map<std::string, GgufValue, std::less<>>& metadata() const;
  /// In the order of the file.
  const std::vector<GgufTensor>& tensors() const;
  /// nullptr if there is no such name.
  const GgufTensor* find(std::string_view name) const;

  bool has(std::string_view key) const { return metadata().contains(key); }
  // Values by key.  FormatError if there is no such key, or its value is of another type.
  std::int64_t integer(std::string_view key, SourceLocation where = SourceLocation::current()) const;
  double number(std::string_view key, SourceLocation where = SourceLocation::current()) const;
  bool boolean(std::string_view key, SourceLocation where = SourceLocation::current()) const;
  const std::string& text(std::string_view key, SourceLocation where = SourceLocation::current()) const;
  const std::vector<std::string>& texts(std::string_view key, SourceLocation where = SourceLocation::current()) const;
  const std::vector<std::int64_t>& integers(std::string_view key,
                                            SourceLocation where = SourceLocation::current()) const;

  /// The numbers of a tensor, on the CPU: f16 and bf16 as such, all others as float32.  FormatError for a
  /// scale that is not finite; IndexError if there is no such
  /// name; IoError; OutOfMemoryError.
  Tensor load(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  /// The bytes of a tensor as they are in the file: uint8 [nbytes].  FormatError for a scale that is not finite, and
  /// the same errors.
  Tensor load_bytes(std::string_view name, SourceLocation where = SourceLocation::current()) const;

 private:
  struct Content;
  template <class T> const T& value(std::string_view key, const char* type, SourceLocation where) const;
  std::shared_ptr<const Content> content_;
};

}  // namespace minnow::llm
