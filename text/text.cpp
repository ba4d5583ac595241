#include <minnow/text/text.h>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <new>
#include <queue>
#include <unordered_map>
#include <utf8proc.h>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::text {
namespace {

constexpr int kBytes = 256;

/// The character that stands for a byte in GPT-2's files: itself where it can be printed, else one from U+0100 on.
std::array<std::uint32_t, kBytes> characters_of_bytes() {
  std::array<std::uint32_t, kBytes> characters{};
  std::uint32_t next = kBytes;
  for (std::uint32_t byte = 0; byte < kBytes; ++byte) {
    const bool printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    characters[byte] = printed ? byte : next++;
  }
  return characters;
}

enum class CharClass : std::uint8_t { letter, number, space, other };

struct Char {
  CharClass kind;
  std::size_t bytes;
  std::uint32_t code;
};

/// White_Space, which is more than the category of that name.
bool is_space(std::uint32_t code) {
  return (code >= 9 && code <= 13) || code == 0x85 || code == 0x2028 || code == 0x2029 ||
         utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ZS;
}

/// The character at `at`; a byte that is not UTF-8 is an `other` of one.
Char char_at(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  if (length < 1) return {CharClass::other, 1, *bytes};
  const utf8proc_category_t category = utf8proc_category(code);
  const bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  const bool number = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
  const auto value = static_cast<std::uint32_t>(code);
  return {is_space(value) ? CharClass::space
          : letter        ? CharClass::letter
          : number        ? CharClass::number
                          : CharClass::other,
          static_cast<std::size_t>(length), value};
}

/// What GPT-2's pattern matches at `at`: the end of the piece.
std::size_t piece_end(std::string_view text, std::size_t at) {
  if (text[at] == '\'')
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text.substr(at).starts_with(ending)) return at + ending.size();
  std::size_t end = at;
  Char first = char_at(text, end);
  if (text[at] == ' ' && at + 1 < text.size())
    if (const Char next = char_at(text, at + 1); next.kind != CharClass::space) first = next, end = at + 1;
  std::size_t last = end;  // where the last character begins
  while (end < text.size()) {
    const Char c = char_at(text, end);
    if (c.kind != first.kind) break;
    last = end;
    end += c.bytes;
  }
  // The last of several spaces belongs to what follows.
  return first.kind == CharClass::space && end < text.size() && last > at ? last : end;
}

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

}  // namespace

std::vector<std::int64_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens(text.size());
  std::transform(text.begin(), text.end(), tokens.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const std::int64_t> tokens, SourceLocation where) const {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= kBytes)
      throw ValueError(fmt::format("ByteTokenizer::decode: token {} is not in [0, 256)\nit decodes bytes", token),
                       where);
    text += static_cast<char>(token);
  }
  return text;
}

struct BpeTokenizer::Vocabulary {
  std::vector<std::string> tokens;  // as bytes
  std::unordered_map<std::string, std::int64_t> numbers;
  std::array<std::int64_t, kBytes> bytes{};
  struct Merge {
    std::int64_t rank, token;
  };
  std::unordered_map<std::uint64_t, Merge> merges;  // by both tokens

  static std::uint64_t key(std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint64_t>(b);
  }
  const Merge* find(std::int64_t a, std::int64_t b) const {
    const auto found = merges.find(key(a, b));
    return found == merges.end() ? nullptr : &found->second;
  }
  void encode(std::string_view piece, std::vector<std::int64_t>& out) const;
};

/// Joins the pair of the lowest rank, the first of equal ones, until there is none.
void BpeTokenizer::Vocabulary::encode(std::string_view piece, std::vector<std::int64_t>& out) const {
  struct Part {
    std::int64_t token;
    std::size_t before, after;
  };
  struct Candidate {
    std::int64_t rank;
    std::size_t at;
    std::int64_t left, right, joined;
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
  };
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<Part> parts(piece.size());
  for (std::size_t i = 0; i < piece.size(); ++i)
    parts[i] = {bytes[static_cast<unsigned char>(piece[i])], i == 0 ? kNone : i - 1,
                i + 1 < piece.size() ? i + 1 : kNone};
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::size_t at) {
    if (at == kNone || parts[at].after == kNone) return;
    const std::int64_t left = parts[at].token, right = parts[parts[at].after].token;
    if (const Merge* merge = find(left, right)) queue.push({merge->rank, at, left, right, merge->token});
  };
  for (std::size_t i = 0; i < parts.size(); ++i) consider(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Part& part = parts[best.at];
    if (part.token != best.left || part.after == kNone || parts[part.after].token != best.right)
      continue;  // joined since
    Part& next = parts[part.after];
    part.token = best.joined;
    next.token = -1;
    part.after = next.after;
    if (part.after != kNone) parts[part.after].before = best.at;
    consider(part.before);
    consider(best.at);
  }
  for (std::size_t i = 0; i != kNone && !parts.empty(); i = parts[i].after) out.push_back(parts[i].token);
}

BpeTokenizer::BpeTokenizer(const std::string& vocab_path, const std::string& merges_path, SourceLocation where) {
  const CallSite site("BpeTokenizer", where);
  auto made = std::make_shared<Vocabulary>();
  std::unordered_map<std::uint32_t, char> byte_of;
  const auto characters = characters_of_bytes();
  for (int byte = 0; byte < kBytes; ++byte)
    byte_of[characters[static_cast<std::size_t>(byte)]] = static_cast<char>(byte);
  /// The bytes of a token as it is written in the files; false for a character that stands for none.
  const auto bytes_of = [&](std::string_view token, std::string& out) {
    out.clear();
    for (std::size_t at = 0; at < token.size();) {
      const Char c = char_at(token, at);
      const auto found = byte_of.find(c.code);
      if (found == byte_of.end()) return false;
      out += found->second;
      at += c.bytes;
    }
    return true;
  };
  const auto refuse = [&](const std::string& path, const std::string& found, const std::string& expected) {
    throw FormatError("BpeTokenizer: '" + path + "': found " + found + "\n  expected  " + expected +
                          "\ngive GPT-2's vocab.json and merges.txt, of one model",
                      where);
  };

  const std::string json = read_file("BpeTokenizer", vocab_path, where);
  std::string bytes;
  try {
    if (!io::detail::is_utf8(json)) throw io::detail::Refusal{"bytes that are not UTF-8", "a JSON object"};
    io::detail::JsonReader reader(json);
    reader.object("an object of tokens and their numbers", [&](std::string name) {
      const std::int64_t number = reader.integer("the number of a token");
      if (!bytes_of(name, bytes))
        throw io::detail::Refusal{"the token '" + name + "'", "characters that stand for bytes"};
      if (!made->numbers.try_emplace(bytes, number).second)
        throw io::detail::Refusal{"the token '" + name + "' twice", "one number for each token"};
    });
    reader.end();
  } catch (const io::detail::Refusal& refusal) { refuse(vocab_path, refusal.found, refusal.expected); }
  const auto count = static_cast<std::int64_t>(made->numbers.size());
  made->tokens.resize(made->numbers.size());
  std::vector<bool> used(made->numbers.size());
  for (const auto& [token, number] : made->numbers) {
    if (number >= count || used[static_cast<std::size_t>(number)])
      refuse(vocab_path, "the number " + std::to_string(number),
             "each number below " + std::to_string(count) + " once");
    used[static_cast<std::size_t>(number)] = true;
    made->tokens[static_cast<std::size_t>(number)] = token;
  }
  for (int byte = 0; byte < kBytes; ++byte) {
    const auto found = made->numbers.find(std::string(1, static_cast<char>(byte)));
    if (found == made->numbers.end()) refuse(vocab_path, "no token for the byte " + std::to_string(byte), "all 256");
    made->bytes[static_cast<std::size_t>(byte)] = found->second;
  }

  const std::string merges = read_file("BpeTokenizer", merges_path, where);
  if (!io::detail::is_utf8(merges)) refuse(merges_path, "bytes that are not UTF-8", "lines of two tokens");
  std::int64_t line_number = 0, rank = 0;
  for (std::size_t at = 0; at < merges.size();) {
    const std::size_t stop = std::min(merges.find('\n', at), merges.size());
    std::string_view line(merges.data() + at, stop - at);
    at = stop + 1;
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const std::string place = fmt::format("'{}' on line {}", line.substr(0, 60), line_number);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      refuse(merges_path, place, "two tokens with a space between them");
    std::string left, right;
    if (!bytes_of(line.substr(0, space), left) || !bytes_of(line.substr(space + 1), right))
      refuse(merges_path, place, "characters that stand for bytes");
    const auto a = made->numbers.find(left), b = made->numbers.find(right), joined = made->numbers.find(left + right);
    if (a == made->numbers.end() || b == made->numbers.end() || joined == made->numbers.end())
      refuse(merges_path, place, "tokens that, alone and joined, are in '" + vocab_path + "'");
    if (!made->merges.try_emplace(Vocabulary::key(a->second, b->second), Vocabulary::Merge{rank++, joined->second})
             .second)
      refuse(merges_path, place + " again", "each pair once");
  }
  vocabulary_ = std::move(made);
}

std::vector<std::int64_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> tokens;
  struct Known {
    std::size_t first, count;
  };
  std::unordered_map<std::string_view, Known> known;  // where the tokens of a piece are
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = piece_end(text, at);
    const std::string_view piece = text.substr(at, end - at);
    at = end;
    if (const auto found = known.find(piece); found != known.end()) {
      for (std::size_t i = 0; i < found->second.count; ++i) tokens.push_back(tokens[found->second.first + i]);
      continue;
    }
    const std::size_t first = tokens.size();
    vocabulary_->encode(piece, tokens);
    known[piece] = {first, tokens.size() - first};
  }
  return tokens;
}

std::string BpeTokenizer::decode(std::span<const std::int64_t> tokens, SourceLocation where) const {
  std::string text;
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= vocabulary_size())
      throw ValueError(fmt::format("BpeTokenizer::decode: token {} is not in the vocabulary\ntokens are in [0, {})",
                                   token, vocabulary_size()),
                       where);
    text += vocabulary_->tokens[static_cast<std::size_t>(token)];
  }
  return text;
}

std::int64_t BpeTokenizer::vocabulary_size() const { return static_cast<std::int64_t>(vocabulary_->tokens.size()); }

TokenDataset::TokenDataset(std::vector<std::int64_t> tokens, std::int64_t block, std::int64_t stride,
                           SourceLocation where)
    : block_(block), stride_(stride == 0 ? block : stride), size_(0) {
  const std::string op(CallSite::op_or("TokenDataset"));
  const auto count = static_cast<std::int64_t>(tokens.size());
  if (block < 1 || stride < 0)
    throw ValueError(fmt::format("{}: block must be at least 1 and stride at least 0, got {} and {}\nthey count tokens",
                                 op, block, stride),
                     where);
  if (count <= block)
    throw ValueError(
        fmt::format("{}: {} tokens are too few for a block of {}\nit takes one more than the block: give a "
                    "longer text or a smaller block",
                    op, count, block),
        where);
  size_ = (count - 1 - block) / stride_ + 1;
  tokens_ = data::detail::host_tensor(DType::int64, {count}, where);
  std::copy(tokens.begin(), tokens.end(), tokens_.data<std::int64_t>());
}

std::array<Tensor, 2> TokenDataset::get(std::int64_t i, SourceLocation where) const {
  data::detail::check_index("TokenDataset::get", i, size_, where);
  const auto window = [&](std::int64_t first) {
    return Tensor(tokens_.storage(), DType::int64, {block_}, Strides({1}), first);
  };
  return {window(i * stride_), window(i * stride_ + 1)};
}

std::string read_text(const std::string& path, SourceLocation where) { return read_file("read_text", path, where); }

TokenDataset text_dataset(const std::string& path, std::int64_t block, SourceLocation where) {
  const CallSite site("text_dataset", where);
  return TokenDataset(ByteTokenizer().encode(read_file("text_dataset", path, where)), block, 0, where);
}

TokenDataset text_dataset(const std::string& path, std::int64_t block, const BpeTokenizer& tokenizer,
                          SourceLocation where) {
  const CallSite site("text_dataset", where);
  return TokenDataset(tokenizer.encode(read_file("text_dataset", path, where)), block, 0, where);
}

}  // namespace minnow::text
