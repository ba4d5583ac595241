#include <minnow/text/text.h>
#include "fuzz.h"

using namespace minnow;

// The first byte says what the rest is: 'j' a tokenizer.json, 'c' conversations, else a text for tokenizers of bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  if (size == 0) return 0;
  const std::string_view text = fuzz::text(data + 1, size - 1);
  if (data[0] == 'c') {
    fuzz::accepts(file, text, [](const std::string& path) {
      for (const auto& chat : text::read_chats(path)) fuzz::require(!chat.empty(), "a conversation has messages");
    });
    return 0;
  }
  if (data[0] == 'j') {
    fuzz::accepts(file, text, [&](const std::string& path) {
      const auto tokenizer = text::BpeTokenizer::from_json(path);
      (void)tokenizer.decode(tokenizer.encode(text.substr(0, 200)));
    });
    return 0;
  }
  static const text::BpeVocabulary bytes = [] {
    text::BpeVocabulary v;
    int next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      const int code = printed ? byte : next++;
      v.tokens.push_back(
          code < 0x80 ? std::string(1, static_cast<char>(code))
                      : std::string{static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))});
    }
    v.tokens.insert(v.tokens.end(), {"ab", "abc", "<|x|>"});
    v.merges = {"a b", "ab c"};
    v.added = {258};
    return v;
  }();
  for (const auto pre :
       {text::PreTokenizer::gpt2, text::PreTokenizer::smollm, text::PreTokenizer::llama3, text::PreTokenizer::qwen2}) {
    text::BpeVocabulary v = bytes;
    v.pre = pre;
    const text::BpeTokenizer tokenizer(v);
    const auto tokens = tokenizer.encode(text);
    fuzz::require(tokenizer.decode(tokens) == text, "the text comes back");
    fuzz::require(tokenizer.decode(tokenizer.encode(text, false)) == text, "the text comes back");
  }
  return 0;
}
