#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/data/dataset.h>
#include <minnow/text/bpe_tokenizer.h>
#include <minnow/text/chat.h>

namespace minnow::text {

/// Each byte of a text as a token: int64 in [0, 256).  Any text, no vocabulary.
struct ByteTokenizer {
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// ValueError for a token that is not in [0, 256).
  std::string decode(std::span<const std::int64_t> tokens, SourceLocation where = SourceLocation::current()) const;
  std::int64_t vocabulary_size() const { return 256; }
};

/// Windows of a long row of tokens for a language model: sample i is {tokens [i * stride, + block), the same shifted by
/// one}, int64 [block] each.
class TokenDataset {
 public:
  /// stride 0: block, so that windows do not overlap.  ValueError for a block below 1, a negative stride, or fewer than
  /// block + 1 tokens.
  TokenDataset(std::vector<std::int64_t> tokens, std::int64_t block, std::int64_t stride = 0,
               SourceLocation where = SourceLocation::current());

  std::int64_t size() const { return size_; }
  /// Views.  IndexError.
  std::array<Tensor, 2> get(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// All tokens, int64 [n].
  const Tensor& tokens() const { return tokens_; }

 private:
  Tensor tokens_;
  std::int64_t block_, stride_, size_;
};

/// The content of a file.  IoError, OutOfMemoryError.
std::string read_text(const std::string& path, SourceLocation where = SourceLocation::current());

/// The bytes of a file as a TokenDataset: `text_dataset("shakespeare.txt", 128)`.  The errors of both.
TokenDataset text_dataset(const std::string& path, std::int64_t block,
                          SourceLocation where = SourceLocation::current());
/// The same with the tokens of a BpeTokenizer.
TokenDataset text_dataset(const std::string& path, std::int64_t block, const BpeTokenizer& tokenizer,
                          SourceLocation where = SourceLocation::current());

}  // namespace minnow::text
