#include <minnow/text/text.h>
#include "fuzz.h"

using namespace minnow;

namespace {

/// A vocabulary of the bytes and some pairs.
std::string plain_vocabulary() {
  std::string text = "{";
  int next = 256;
  const auto put = [&](const std::string& escaped, int number) {
    text += (text.size() > 1 ? ",\"" : "\"") + escaped + "\":" + std::to_string(number);
  };
  for (int byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(printed ? byte : next++));
    put(escaped, byte);
  }
  put("ab", 256);
  put("abc", 257);
  put("bc", 258);
  return text + "}";
}

}  // namespace

// The first byte says which of the two files is given: 'v' the vocabulary, else the merges.  Any text comes back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File vocabulary, merges;
  static const std::string plain = plain_vocabulary();
  if (size == 0) return 0;
  const bool first = data[0] == 'v';
  const std::string_view bytes = fuzz::text(data + 1, size - 1);
  (first ? merges : vocabulary).write(first ? "#version: 0.2\na b\n" : plain);
  fuzz::accepts(first ? vocabulary : merges, bytes, [&](const std::string&) {
    const text::BpeTokenizer tokenizer(vocabulary.path(), merges.path());
    const std::string sample = "abc ab's 12\xc3\xa9\xff  \n" + std::string(bytes.substr(0, 200));
    fuzz::require(tokenizer.decode(tokenizer.encode(sample)) == sample, "the text comes back");
  });
  return 0;
}
