#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/data/dataset.h>

namespace minnow::text {

/// Each byte of a text as a token: int64 in [0, 256).  Any text, no vocabulary.
struct ByteTokenizer {
  std::vector<std::int64_t> encode(std::string_view text) const;
  /// ValueError for a token that is not in [0, 256).
  std::string decode(std::span<const std::int64_t> tokens, SourceLocation where = SourceLocation::current()) const;
  std::int64_t vocabulary_size() const { return 256; }
};

/// GPT-2's byte-level byte pair encoding (Radford et al. 2019; Sennrich et al. 2016) with its vocabulary: `vocab.json`,
/// tokens and their numbers, and `merges.txt`, pairs of tokens in the order in which they are joined.  A text is split
/// by GPT-2's pattern into contractions ('s 't 're 've 'm 'll 'd), runs of letters, of numbers or of others, each with
/// a space before it, and runs of spaces; letters, numbers and spaces are Unicode's (categories L and N, White_Space).
/// Bytes that are not UTF-8 count as others, and come back as they were.  Copies share the vocabulary.  Thread-safe.
class BpeTokenizer {
 public:
  /// IoError; FormatError, with file and line, for other content: no JSON object of distinct numbers from 0 on, a merge
  /// that is no pair or comes twice, a merge whose parts or result are not in the vocabulary, bytes without a token.
  BpeTokenizer(const std::string& vocab_path, const std::string& merges_path,
               SourceLocation where = SourceLocation::current());

  std::vector<std::int64_t> encode(std::string_view text) const;
  /// ValueError for a token that is not in the vocabulary.
  std::string decode(std::span<const std::int64_t> tokens, SourceLocation where = SourceLocation::current()) const;
  std::int64_t vocabulary_size() const;

 private:
  struct Vocabulary;
  std::shared_ptr<const Vocabulary> vocabulary_;
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
