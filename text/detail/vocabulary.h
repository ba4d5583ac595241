#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/text/bpe_tokenizer.h>

// Readers of vocabularies, which throw io::detail::Refusal.
namespace minnow::text::detail {

using Numbered = std::vector<std::pair<std::string, std::int64_t>>;

/// The content of a file.  IoError, OutOfMemoryError.
std::string read_file(const char* op, const std::string& path, SourceLocation where);

/// The lines of a text without their ends, \n or \r\n.
std::vector<std::string_view> lines_of(std::string_view text);

/// An object of tokens and their numbers.
Numbered read_numbers(io::detail::JsonReader& json);
/// The tokens by number, which are all from 0 on, each once.
std::vector<std::string> by_number(const Numbered& tokens);

/// tokenizer.json.
BpeVocabulary read_tokenizer(const std::string& text);

}  // namespace minnow::text::detail
