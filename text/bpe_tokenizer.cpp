#include <minnow/text/bpe_tokenizer.h>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/text/detail/pieces.h>
#include <minnow/text/detail/vocabulary.h>

namespace minnow::text {
namespace {

constexpr int kBytes = 256;

/// The bytes of a token as it is written in the files; false for a character that stands for none.
bool bytes_of(std::string_view token, std::string& out) {
  static const auto byte_of = [] {
    std::unordered_map<std::uint32_t, char> made;
    const auto characters = detail::characters_of_bytes();
    for (int byte = 0; byte < kBytes; ++byte)
      made[characters[static_cast<std::size_t>(byte)]] = static_cast<char>(byte);
    return made;
  }();
  out.clear();
  for (std::size_t at = 0; at < token.size();) {
    const auto [code, bytes] = detail::code_point(token, at);
    const auto found = byte_of.find(code);
    if (found == byte_of.end()) return false;
    out += found->second;
    at += bytes;
  }
  return true;
}

/// Where a vocabulary is from, for messages.
struct Source {
  std::string tokens, merges;                     ///< files, or what else they are
  std::function<std::string(std::size_t)> place;  ///< of a merge
};

[[noreturn]] void refuse(const std::string& path, const std::string& found, const std::string& expected,
                         SourceLocation where) {
  throw FormatError("BpeTokenizer: '" + path + "': found " + found + "\n  expected  " + expected +
                        "\ngive the vocabulary and the merges of one model",
                    where);
}

}  // namespace

struct BpeTokenizer::Vocabulary {
  std::vector<std::string> tokens;  // as bytes
  std::unordered_map<std::string_view, std::int64_t> numbers;
  std::array<std::int64_t, kBytes> bytes{};
  struct Merge {
    std::int64_t rank, token;
  };
  std::unordered_map<std::uint64_t, Merge> merges;       // by both tokens
  std::vector<std::vector<std::int64_t>> added{kBytes};  // by their first bytes, long ones first
  std::vector<bool> is_added;
  PreTokenizer pre = PreTokenizer::gpt2;
  bool ignore_merges = false, nfc = false;
  std::int64_t bos = -1;

  static std::uint64_t key(std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint64_t>(b);
  }
  const Merge* find(std::int64_t a, std::int64_t b) const {
    const auto found = merges.find(key(a, b));
    return found == merges.end() ? nullptr : &found->second;
  }
  Vocabulary(const Source& source, const BpeVocabulary& parts, SourceLocation where);
  void add_tokens(const Source& source, const BpeVocabulary& parts, SourceLocation where);
  void encode(std::string_view piece, std::vector<std::int64_t>& out) const;
  /// The added token that a text begins with, or -1.
  std::int64_t added_at(std::string_view text) const;
};

BpeTokenizer::Vocabulary::Vocabulary(const Source& source, const BpeVocabulary& parts, SourceLocation where)
    : pre(parts.pre), ignore_merges(parts.ignore_merges), nfc(parts.nfc), bos(parts.bos) {
  add_tokens(source, parts, where);
  for (int byte = 0; byte < kBytes; ++byte) {
    const char one = static_cast<char>(byte);
    const auto found = numbers.find(std::string_view(&one, 1));
    bytes[static_cast<std::size_t>(byte)] = found == numbers.end() ? parts.unk : found->second;
    if (found == numbers.end() && parts.all_bytes)
      refuse(source.tokens, "no token for the byte " + std::to_string(byte), "all 256", where);
  }
  std::string left, right, both;
  for (std::size_t i = 0; i < parts.merges.size(); ++i) {
    const std::string_view line = parts.merges[i];
    const std::size_t space = line.find(' ');
    const auto bad = [&](const std::string& what, const std::string& expected) {
      refuse(source.merges, source.place(i) + what, expected, where);
    };
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos)
      bad("", "two tokens with a space between them");
    if (!bytes_of(line.substr(0, space), left) || !bytes_of(line.substr(space + 1), right))
      bad("", "characters that stand for bytes");
    both = left + right;
    const auto a = numbers.find(left), b = numbers.find(right), joined = numbers.find(both);
    if (a == numbers.end() || b == numbers.end() || joined == numbers.end())
      bad("", "tokens that, alone and joined, are in '" + source.tokens + "'");
    const auto rank = static_cast<std::int64_t>(i);
    if (!merges.try_emplace(key(a->second, b->second), Merge{rank, joined->second}).second)
      bad(" again", "each pair once");
  }
}

void BpeTokenizer::Vocabulary::add_tokens(const Source& source, const BpeVocabulary& parts, SourceLocation where) {
  const auto count = static_cast<std::int64_t>(parts.tokens.size());
  if (count > std::numeric_limits<std::int32_t>::max())
    refuse(source.tokens, "too many tokens", "fewer than 2^31", where);
  is_added.resize(parts.tokens.size());
  for (const std::int64_t token : parts.added) {
    if (token < 0 || token >= count || parts.tokens[static_cast<std::size_t>(token)].empty())
      refuse(source.tokens, "the added token " + std::to_string(token), "one of the tokens, which is not empty", where);
    is_added[static_cast<std::size_t>(token)] = true;
  }
  for (const std::int64_t token : {bos, parts.unk})
    if (token >= count) refuse(source.tokens, "the token " + std::to_string(token), "one of the tokens", where);
  tokens.resize(parts.tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& written = parts.tokens[i];
    if (is_added[i]) tokens[i] = written;
    else if (!bytes_of(written, tokens[i]))
      refuse(source.tokens, "the token '" + written + "'", "characters that stand for bytes", where);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {  // those that are found in a text, and those that are joined
    const auto number = static_cast<std::int64_t>(i);
    if (is_added[i]) added[static_cast<unsigned char>(tokens[i][0])].push_back(number);
    else if (!numbers.try_emplace(tokens[i], number).second)
      refuse(source.tokens, "the token '" + parts.tokens[i] + "' twice", "one number for each token", where);
  }
  for (auto& list : added)
    std::stable_sort(list.begin(), list.end(), [&](std::int64_t a, std::int64_t b) {
      return tokens[static_cast<std::size_t>(a)].size() > tokens[static_cast<std::size_t>(b)].size();
    });
}

std::int64_t BpeTokenizer::Vocabulary::added_at(std::string_view text) const {
  for (const std::int64_t token : added[static_cast<unsigned char>(text[0])])
    if (text.starts_with(tokens[static_cast<std::size_t>(token)])) return token;
  return -1;
}

/// Joins the pair of the lowest rank, the first of equal ones, until there is none.
void BpeTokenizer::Vocabulary::encode(std::string_view piece, std::vector<std::int64_t>& out) const {
  if (ignore_merges)
    if (const auto found = numbers.find(piece); found != numbers.end()) return out.push_back(found->second);
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
  std::vector<Part> parts;
  parts.reserve(piece.size());
  for (const char c : piece) {
    const std::int64_t token = bytes[static_cast<unsigned char>(c)];
    if (token >= 0) parts.push_back({token, parts.empty() ? kNone : parts.size() - 1, parts.size() + 1});
  }
  if (!parts.empty()) parts.back().after = kNone;
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

std::shared_ptr<const BpeTokenizer::Vocabulary> BpeTokenizer::make(const std::string& source,
                                                                   const BpeVocabulary& parts, SourceLocation where) {
  const auto place = [&](std::size_t i) { return "the merge '" + parts.merges[i].substr(0, 60) + "'"; };
  return std::make_shared<const Vocabulary>(Source{source, source, place}, parts, where);
}

BpeTokenizer::BpeTokenizer(const BpeVocabulary& vocabulary, SourceLocation where) {
  const CallSite site("BpeTokenizer", where);
  vocabulary_ = make("BpeVocabulary", vocabulary, where);
}

BpeTokenizer::BpeTokenizer(const std::string& vocab_path, const std::string& merges_path, SourceLocation where) {
  const CallSite site("BpeTokenizer", where);
  BpeVocabulary parts;
  const std::string json = detail::read_file("BpeTokenizer", vocab_path, where);
  try {
    if (!io::detail::is_utf8(json)) throw io::detail::Refusal{"bytes that are not UTF-8", "a JSON object"};
    io::detail::JsonReader reader(json);
    parts.tokens = detail::by_number(detail::read_numbers(reader));
    reader.end();
  } catch (const io::detail::Refusal& refusal) { refuse(vocab_path, refusal.found, refusal.expected, where); }

  const std::string merges = detail::read_file("BpeTokenizer", merges_path, where);
  if (!io::detail::is_utf8(merges)) refuse(merges_path, "bytes that are not UTF-8", "lines of two tokens", where);
  std::vector<std::size_t> lines;  // of the merges
  std::size_t line_number = 0;
  for (const std::string_view line : detail::lines_of(merges)) {
    ++line_number;
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    parts.merges.emplace_back(line);
    lines.push_back(line_number);
  }
  const auto place = [&](std::size_t i) {
    return fmt::format("'{}' on line {}", std::string_view(parts.merges[i]).substr(0, 60), lines[i]);
  };
  vocabulary_ = std::make_shared<const Vocabulary>(Source{vocab_path, merges_path, place}, parts, where);
}

BpeTokenizer BpeTokenizer::from_json(const std::string& path, SourceLocation where) {
  const CallSite site("BpeTokenizer", where);
  const std::string json = detail::read_file("BpeTokenizer", path, where);
  try {
    return BpeTokenizer(make(path, detail::read_tokenizer(json), where));
  } catch (const io::detail::Refusal& refusal) { refuse(path, refusal.found, refusal.expected, where); }
}

std::vector<std::int64_t> BpeTokenizer::encode(std::string_view text, bool with_added) const {
  std::vector<std::int64_t> tokens;
  std::size_t begin = 0;
  if (with_added)
    for (std::size_t at = 0; at < text.size();) {
      const std::int64_t token = vocabulary_->added_at(text.substr(at));
      if (token < 0) {
        ++at;
        continue;
      }
      encode_plain(text.substr(begin, at - begin), tokens);
      tokens.push_back(token);
      at += vocabulary_->tokens[static_cast<std::size_t>(token)].size();
      begin = at;
    }
  encode_plain(text.substr(begin), tokens);
  return tokens;
}

void BpeTokenizer::encode_plain(std::string_view text, std::vector<std::int64_t>& tokens) const {
  std::string normal;
  if (vocabulary_->nfc) text = normal = detail::nfc(text);
  struct Known {
    std::size_t first, count;
  };
  std::unordered_map<std::string_view, Known> known;  // where the tokens of a piece are
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = detail::piece_end(vocabulary_->pre, text, at);
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

std::int64_t BpeTokenizer::added(std::string_view text) const {
  const std::int64_t token = text.empty() ? -1 : vocabulary_->added_at(text);
  return token >= 0 && vocabulary_->tokens[static_cast<std::size_t>(token)] == text ? token : -1;
}

bool BpeTokenizer::is_added(std::int64_t token) const {
  return token >= 0 && token < vocabulary_size() && vocabulary_->is_added[static_cast<std::size_t>(token)];
}

std::int64_t BpeTokenizer::bos() const { return vocabulary_->bos; }

StreamDecoder::StreamDecoder(BpeTokenizer tokenizer, std::vector<std::string> stops, SourceLocation where)
    : tokenizer_(std::move(tokenizer)), stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    if (stop.empty()) throw ValueError("StreamDecoder: a stop text is empty\ngive one of a letter or more", where);
}

std::string StreamDecoder::add(std::int64_t token, SourceLocation where) {
  if (stopped_) return {};
  if (!tokenizer_.is_added(token)) held_ += tokenizer_.decode({&token, 1}, where);
  std::size_t ready = held_.size() - detail::torn_bytes(held_);
  for (const std::string& stop : stops_) {
    const std::size_t found = held_.find(stop);
    if (found != std::string::npos) stopped_ = true, ready = std::min(ready, found);
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > 0; --n)  // the text may end with its beginning
      if (held_.ends_with(std::string_view(stop).substr(0, n))) {
        ready = std::min(ready, held_.size() - n);
        break;
      }
  }
  std::string text = held_.substr(0, ready);
  held_.erase(0, stopped_ ? std::string::npos : ready);
  return text;
}

std::string StreamDecoder::end() { return std::exchange(held_, {}); }

}  // namespace minnow::text
