#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow::text {

/// How a text is split into pieces, in which tokens are joined.  Letters, numbers and spaces are Unicode's (categories
/// L and N, White_Space).  gpt2: contractions ('s 't 're 've 'm 'll 'd), runs of letters, of numbers or of others, each
/// with a space before it, and runs of spaces.  smollm: the same, but each number character alone.  llama3:
/// contractions in any case, up to three number characters, a letter's run with any one character before it, breaks of
/// lines with what is before them.  qwen2: the same with one number character.
enum class PreTokenizer : std::uint8_t { gpt2, smollm, llama3, qwen2 };

/// What a BpeTokenizer is made of.
struct BpeVocabulary {
  std::vector<std::string> tokens;    ///< by number, in GPT-2's characters for bytes; those of `added` as they are
  std::vector<std::string> merges;    ///< "left right", in the order in which they are joined
  std::vector<std::int64_t> added{};  ///< tokens that are found in a text before it is split: <|im_end|>
  PreTokenizer pre = PreTokenizer::gpt2;
  bool ignore_merges = false;  ///< a piece that is a token is one, whatever the merges say (Llama 3)
  bool nfc = false;            ///< texts are normalized to Unicode's form C first (Qwen2)
  std::int64_t bos = -1;       ///< the token that a text begins with, if the model wants one
  std::int64_t unk = -1;       ///< what stands for a byte without a token; none: it is left out of texts
  bool all_bytes = true;       ///< refuse a vocabulary without a token for each byte
};

/// Byte-level byte pair encoding (Radford et al. 2019; Sennrich et al. 2016), as Hugging Face's `tokenizers` compute
/// it: a text is split by a PreTokenizer, and in each piece the pair of tokens that comes first in the merges is
/// joined, until there is none.  Bytes that are not UTF-8 count as other characters, and come back as they were.
/// Copies share the vocabulary.  Thread-safe.
class BpeTokenizer {
 public:
  /// GPT-2's files: `vocab.json`, tokens and their numbers, and `merges.txt`, pairs of tokens in the order in which
  /// they are joined.  IoError; FormatError, with file and line, for other content: no JSON object of distinct numbers
  /// from 0 on, a merge that is no pair or comes twice, a merge whose parts or result are not in the vocabulary, bytes
  /// without a token.
  BpeTokenizer(const std::string& vocab_path, const std::string& merges_path,
               SourceLocation where = SourceLocation::current());
  /// FormatError as above, and for an added token that is empty or not in the vocabulary.
  explicit BpeTokenizer(const BpeVocabulary& vocabulary, SourceLocation where = SourceLocation::current());
  /// Hugging Face's tokenizer.json of a model of byte-level BPE.  FormatError as above, and, by its name, for a
  /// pre-tokenizer, normalizer, post-processor or option that is none of those here.
  static BpeTokenizer from_json(const std::string& path, SourceLocation where = SourceLocation::current());

  /// added: whether texts of added tokens become these.  Without, what a user writes stays text.
  std::vector<std::int64_t> encode(std::string_view text, bool added = true) const;
  /// ValueError for a token that is not in the vocabulary.
  std::string decode(std::span<const std::int64_t> tokens, SourceLocation where = SourceLocation::current()) const;
  std::int64_t vocabulary_size() const;
  /// The number of an added token; -1 if there is none of that text.
  std::int64_t added(std::string_view text) const;
  bool is_added(std::int64_t token) const;
  /// BpeVocabulary::bos.
  std::int64_t bos() const;

 private:
  struct Vocabulary;
  static std::shared_ptr<const Vocabulary> make(const std::string& source, const BpeVocabulary& parts,
                                                SourceLocation where);
  void encode_plain(std::string_view text, std::vector<std::int64_t>& tokens) const;
  explicit BpeTokenizer(std::shared_ptr<const Vocabulary> vocabulary) : vocabulary_(std::move(vocabulary)) {}

  std::shared_ptr<const Vocabulary> vocabulary_;
};

/// The text of tokens that come one after the other: each call gives what is complete, so that no character is torn,
/// up to the first of the stop texts, which is left out.
///
///     text::StreamDecoder decoder(tokenizer, {"\n\n"});
///     while (!decoder.stopped()) std::cout << decoder.add(next_token()) << std::flush;
///     std::cout << decoder.end();
class StreamDecoder {
 public:
  /// Added tokens are not written.  ValueError for an empty stop text.
  explicit StreamDecoder(BpeTokenizer tokenizer, std::vector<std::string> stops = {},
                         SourceLocation where = SourceLocation::current());

  /// ValueError for a token that is not in the vocabulary.
  std::string add(std::int64_t token, SourceLocation where = SourceLocation::current());
  /// Whether a stop text has come.
  bool stopped() const { return stopped_; }
  /// What was held back: the beginning of a character or of a stop text that did not go on.
  std::string end();

 private:
  BpeTokenizer tokenizer_;
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace minnow::text
