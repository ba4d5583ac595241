#include <minnow/text/detail/vocabulary.h>

#include <algorithm>
#include <new>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/file.h>

namespace minnow::text::detail {
namespace {

using io::detail::JsonReader;
using io::detail::Refusal;

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A part of a tokenizer: its type, what else is said of it, and, of a Sequence, its parts.
struct Part {
  std::string type, pattern, behavior, id;
  bool add_prefix_space = false, use_regex = true, individual_digits = false, invert = false;
  std::vector<Part> parts{};
};

constexpr int kDepth = 4;

/// The members of a part, in any order; those that do not change tokens (trim_offsets, special_tokens) are left out.
Part read_part(JsonReader& json, int depth = 0) {
  if (depth == kDepth) throw Refusal{"parts within parts", "a sequence of a few"};
  Part part;
  const auto parts = [&] { json.array("an array", [&] { part.parts.push_back(read_part(json, depth + 1)); }); };
  json.object("an object with a type", [&](const std::string& name) {
    if (name == "type") part.type = json.string("a text");
    else if (name == "add_prefix_space") part.add_prefix_space = json.boolean("true or false");
    else if (name == "use_regex") part.use_regex = json.boolean("true or false");
    else if (name == "individual_digits") part.individual_digits = json.boolean("true or false");
    else if (name == "invert") part.invert = json.boolean("true or false");
    else if (name == "behavior") part.behavior = json.string("a text");
    else if (name == "pattern")
      json.object("a pattern", [&](const std::string& kind) { part.pattern = kind + ":" + json.string("a text"); });
    else if (name == "id" && json.peek() == '"') part.id = json.string("a text");
    else if (name == "single") {  // of TemplateProcessing: {"SpecialToken": {...}} or {"Sequence": {...}}
      json.array("a template", [&] {
        json.object("a token or the text", [&](const std::string& kind) {
          part.parts.push_back(read_part(json, depth + 1));
          part.parts.back().type = kind;
        });
      });
    } else if (name == "pretokenizers" || name == "processors" || name == "normalizers") parts();
    else json.skip_value();
  });
  return part;
}

/// Without Sequences.
void flatten(Part part, std::vector<Part>& list) {
  if (part.type != "Sequence") return list.push_back(std::move(part));
  for (Part& one : part.parts) flatten(std::move(one), list);
}

std::vector<Part> read_parts(JsonReader& json) {
  std::vector<Part> list;
  if (!json.accept_null()) flatten(read_part(json), list);
  return list;
}

PreTokenizer pre_tokenizer(const std::vector<Part>& parts) {
  std::string names;
  bool prefix = false;
  for (const Part& part : parts) {
    names += (names.empty() ? "" : ", ") + part.type + (part.pattern.empty() ? "" : " " + part.pattern);
    prefix = prefix || part.add_prefix_space;
  }
  const auto is_bytes = [&](std::size_t i, bool regex) {
    return i + 1 == parts.size() && parts[i].type == "ByteLevel" && parts[i].use_regex == regex;
  };
  if (!prefix && !parts.empty()) {
    const Part& first = parts[0];
    if (is_bytes(0, true)) return PreTokenizer::gpt2;
    if (first.type == "Digits" && first.individual_digits && is_bytes(1, true)) return PreTokenizer::smollm;
    if (first.type == "Split" && first.behavior == "Isolated" && !first.invert && is_bytes(1, false)) {
      if (first.pattern == std::string("Regex:") + kLlama3) return PreTokenizer::llama3;
      if (first.pattern == std::string("Regex:") + kQwen2) return PreTokenizer::qwen2;
    }
  }
  throw Refusal{"the pre_tokenizer " + (names.empty() ? "null" : names) + (prefix ? " with add_prefix_space" : ""),
                "that of GPT-2, SmolLM, Llama 3 or Qwen2"};
}

/// Returns the unknown token.
std::optional<std::string> read_model(JsonReader& json, BpeVocabulary& result, Numbered& tokens) {
  std::string type = "BPE";
  std::optional<std::string> unknown;
  bool fuses = false;
  json.object("a model", [&](const std::string& name) {
    if (name == "type") type = json.string("a text");
    else if (name == "vocab") tokens = read_numbers(json);
    else if (name == "ignore_merges") result.ignore_merges = json.boolean("true or false");
    else if (name == "byte_fallback") {
      if (json.boolean("true or false")) throw Refusal{"byte_fallback", "byte-level BPE"};
    } else if (name == "unk_token") {
      if (!json.accept_null()) unknown = json.string("a text");
    } else if (name == "fuse_unk") {
      fuses = json.boolean("true or false");
    } else if (name == "continuing_subword_prefix" || name == "end_of_word_suffix") {
      if (!json.accept_null() && !json.string("a text").empty()) throw Refusal{name, "none"};
    } else if (name == "merges") {
      json.array("an array of merges", [&] {
        if (json.peek() == '"') return result.merges.push_back(json.string("two tokens"));
        std::vector<std::string> pair;
        json.array("two tokens", [&] { pair.push_back(json.string("a token")); });
        if (pair.size() != 2) throw Refusal{std::to_string(pair.size()) + " tokens in a merge", "two"};
        result.merges.push_back(pair[0] + " " + pair[1]);
      });
    } else json.skip_value();  // dropout is of training
  });
  if (type != "BPE") throw Refusal{"a model of type " + type, "BPE"};
  if (unknown && fuses) throw Refusal{"fuse_unk", "an unknown token for each byte"};
  result.all_bytes = false;  // SmolLM's has no tokens for bytes that are in no UTF-8, and for some control characters
  return unknown;
}

void read_added(JsonReader& json, Numbered& added) {
  json.array("added tokens", [&] {
    std::string content;
    std::int64_t number = -1;
    json.object("an added token", [&](const std::string& name) {
      if (name == "id") number = json.integer("a number");
      else if (name == "content") content = json.string("a text");
      else if (name == "single_word" || name == "lstrip" || name == "rstrip") {
        if (json.boolean("true or false")) throw Refusal{"an added token with " + name, "none"};
      } else json.skip_value();
    });
    if (number < 0 || content.empty()) throw Refusal{"an added token without id or content", "both"};
    added.emplace_back(std::move(content), number);
  });
}

}  // namespace

std::string read_file(const char* op, const std::string& path, SourceLocation where) {
  const io::InputFile file(op, path, where);
  try {
    std::string text(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    return text;
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError(std::string(op) + ": no memory for '" + path + "'\nsplit the file", where);
  }
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, stop - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    at = stop + 1;
  }
  return lines;
}

Numbered read_numbers(JsonReader& json) {
  Numbered tokens;
  json.object("an object of tokens and their numbers", [&](std::string name) {
    const std::int64_t number = json.integer("the number of a token");
    tokens.emplace_back(std::move(name), number);
  });
  return tokens;
}

std::vector<std::string> by_number(const Numbered& tokens) {
  std::vector<std::string> result(tokens.size());
  std::vector<bool> used(tokens.size());
  std::unordered_set<std::string_view> names;
  for (const auto& [token, number] : tokens) {
    if (!names.insert(token).second) throw Refusal{"the token '" + token + "' twice", "one number for each token"};
    if (number >= std::ssize(tokens) || used[static_cast<std::size_t>(number)])
      throw Refusal{"the number " + std::to_string(number),
                    "each number below " + std::to_string(tokens.size()) + " once"};
    used[static_cast<std::size_t>(number)] = true;
    result[static_cast<std::size_t>(number)] = token;
  }
  return result;
}

BpeVocabulary read_tokenizer(const std::string& text) {
  if (!io::detail::is_utf8(text)) throw Refusal{"bytes that are not UTF-8", "JSON"};
  BpeVocabulary result;
  Numbered tokens, added;
  std::vector<Part> pre, normalizers, processors;
  std::optional<std::string> unknown;
  bool has_model = false;
  JsonReader json(text);
  json.object("an object", [&](const std::string& name) {
    if (name == "model") unknown = read_model(json, result, tokens), has_model = true;
    else if (name == "added_tokens") read_added(json, added);
    else if (name == "pre_tokenizer") pre = read_parts(json);
    else if (name == "normalizer") normalizers = read_parts(json);
    else if (name == "post_processor") processors = read_parts(json);
    else json.skip_value();
  });
  json.end();
  if (!has_model) throw Refusal{"no model", "a model of type BPE"};
  result.pre = pre_tokenizer(pre);
  for (const Part& part : normalizers) {
    if (part.type != "NFC") throw Refusal{"the normalizer " + part.type, "NFC or none"};
    result.nfc = true;
  }
  std::unordered_map<std::string_view, std::int64_t> known;
  for (const auto& [token, number] : tokens) known.emplace(token, number);
  const std::size_t plain = tokens.size();
  tokens.reserve(plain + added.size());  // so that the names in `known` stay
  for (const auto& [token, number] : added) {
    const auto found = known.find(token);
    if (found == known.end()) tokens.emplace_back(token, number);
    else if (found->second != number)
      throw Refusal{"the added token '" + token + "' with another number", "one number"};
    result.added.push_back(number);
  }
  result.tokens = by_number(tokens);
  if (unknown) {
    result.unk = std::find(result.tokens.begin(), result.tokens.end(), *unknown) - result.tokens.begin();
    if (result.unk == std::ssize(tokens)) throw Refusal{"the unk_token '" + *unknown + "'", "one of the tokens"};
  }
  for (const Part& part : processors) {
    if (part.type == "ByteLevel") continue;
    const bool begins = part.type == "TemplateProcessing" && part.parts.size() == 2 &&
                        part.parts[0].type == "SpecialToken" && part.parts[1].type == "Sequence";
    const bool alone = part.type == "TemplateProcessing" && part.parts.size() == 1 && part.parts[0].type == "Sequence";
    if (!begins && !alone) throw Refusal{"the post_processor " + part.type, "a token before the text, or none"};
    if (!begins) continue;
    for (const auto& [token, number] : added)
      if (token == part.parts[0].id) result.bos = number;
    if (result.bos < 0) throw Refusal{"a text that begins with '" + part.parts[0].id + "'", "an added token"};
  }
  return result;
}

}  // namespace minnow::text::detail
