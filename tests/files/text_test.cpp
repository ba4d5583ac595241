// CSV files and vocabularies that are refused, and unusual ones that are read.

#include <gtest/gtest.h>
#include <minnow/data/csv.h>
#include <minnow/text/text.h>

#include "hostile.h"

namespace minnow {
namespace {

using test::Hostile;
using test::raw;

/// All columns with their names, "name=dtype[rows] values (missing)".
std::string text_of(const data::Table& table) {
  std::string text;
  for (const std::string& name : table.names()) {
    text += (text.empty() ? "" : "; ") + name + "=";
    if (table.is_category(name))
      for (const std::string& word : table.vocabulary(name)) text += "<" + word + ">";
    text += test::text_of(table.column(name));
    if (table.missing(name) > 0) text += " (" + std::to_string(table.missing(name)) + ")";
  }
  return text;
}

TEST(HostileCsv, IsRefused) {
  std::string wide = "a";
  for (int i = 0; i < 3000; ++i) wide += ",a" + std::to_string(i);
  test::expect_refused(
      {{"empty file", "", "an empty file"},
       {"a line end", "\n", "only empty lines"},
       {"empty lines", "\n\r\n\n", "only empty lines"},
       {"only a byte order mark", "\xef\xbb\xbf", "only empty lines"},
       {"too few fields", "a,b\n1,2\n3\n", "line 3, column 1 'a': found 1 field"},
       {"too few of many", wide + "\n1,2\n", "expected  3001 fields"},
       {"too many fields", "a,b\n1,2,3\n", "line 2, column 3: found more than 2 fields"},
       {"a separator at the end", "a,b\n1,2,\n", "more than 2 fields"},
       {"spaces in an empty line", "a,b\n1,2\n  \n", "line 3"},
       {"an open quote", "a,b\n1,\"2\n3,4\n", "line 2, column 2 'b': found a quote that is not closed"},
       {"an open quote in the names", "\"a\nb", "line 1, column 1: found a quote that is not closed"},
       {"a quote alone", "\"", "a quote that is not closed"},
       {"three quotes", "a\n\"\"\"\n", "a quote that is not closed"},
       {"text behind a quote", "a,b\n1,\"2\"x\n", "text after a closing quote"},
       {"a space behind a quote", "a,b\n1,\"2\" \n", "text after a closing quote"},
       {"a quote within a field", "a,b\n5\",2\n", "a quote within a field"},
       {"a quote within a name", "a\"b\n1\n", "a quote within a field"},
       {"a zero byte", std::string("a\n1\0\n", 5), "a zero byte on line 2"},
       {"zero bytes", std::string(1000, '\0'), "a zero byte on line 1"},
       {"a carriage return", "a\n1\r2\n", "a carriage return without a line feed"},
       {"lines of old Macintoshes", "a,b\r1,2\r3,4\r", "a carriage return without a line feed"},
       {"a name twice", "a,b,a\n1,2,3\n", "line 1, column 3 'a': found the name of column 1 again"},
       {"a name that is a number of a column", "1,\n2,3\n", "the name of column"},
       {"a category that is not UTF-8", "a,b\n1,x\n2,\xe4\n", "line 3, column 2 'b': found bytes that are not UTF-8"},
       {"a quoted category that is not UTF-8", "a,b\n1,\"x\"\"\xe4\"\n",
        "line 2, column 2 'b': found bytes that are not"},
       {"a name that is not UTF-8", "a,\xe4\n1,2\n", "line 1, column 2: found bytes that are not UTF-8"},
       {"UTF-16, little-endian", "\xff\xfe" + std::string("a\0", 2), "UTF-16"},
       {"UTF-16, big-endian", "\xfe\xff" + std::string("\0a", 2), "UTF-16"},
       {"a spreadsheet", "PK\x03\x04" + std::string(30, 'x'), "a zip archive, or a spreadsheet"},
       {"gzip that is cut", test::cut(test::gzipped("a,b\n1,2\n"), 5), "truncated"}},
      27, "bad.csv", [](const std::string& path) { data::read_csv(path); });
}

#if !defined(MINNOW_TEST_ASAN) && !defined(MINNOW_TEST_TSAN)
TEST(HostileCsv, MoreNamesThanMemoryIsTyped) {
  const test::MemoryFolder folder;
  const std::string path = folder / "wide.csv";
  test::write_bytes(path, std::string(4 << 20, ','));
  const test::MemoryCap cap;
  try {
    data::read_csv(path);
    ADD_FAILURE() << "it was read";
  } catch (const OutOfMemoryError& error) { EXPECT_NE(std::string(error.what()).find(path), std::string::npos); }
}
#endif

TEST(HostileCsv, TextInColumnsOfNumbersIsRefused) {
  const auto column = [](const std::string& text) { return "a,b\n1,2\n" + text + ",3\n"; };
  std::vector<Hostile> files;
  for (const std::string text : {"x", "1x", "1 2", "--1", "+-1", "1e", "e5", "1e+-5", ".", "-", "0x10", "1,000",
                                 "\"1,5\"", "1_0", "infinite", "na", "\"NA\"", "\xef\xbc\x91", "1.2.3"})
    files.push_back({text, column(text), text == "1,000" ? "more than 2 fields" : "line 3, column 1 'a'"});
  test::expect_refused(files, 19, "bad.csv", [](const std::string& path) { data::read_csv(path, {.numbers = {"a"}}); });
}

TEST(OddCsv, IsRead) {
  test::expect_accepted(
      {{"only names", "a,b\n", "a=int64[0]; b=int64[0]"},
       {"only names, without a line end", "a,b", "a=int64[0]; b=int64[0]"},
       {"no line end", "a\n1", "a=int64[1] 1"},
       {"CRLF", "a,b\r\n1,2\r\n", "a=int64[1] 1; b=int64[1] 2"},
       {"mixed line ends, empty lines", "\n\r\na\n\n1\r\n\r\n2\n", "a=int64[2] 1 2"},
       {"a byte order mark",
        "\xef\xbb\xbf"
        "a\n1\n",
        "a=int64[1] 1"},
       {"no name", ",b\n1,2\n", "0=int64[1] 1; b=int64[1] 2"},
       {"quotes", "\"a\"\"b\"\n\"1\"\n", "a\"b=int64[1] 1"},
       {"a line end in quotes", "a\n\"x\ny\"\n", "a=<x\ny>int64[1] 0"},
       {"a separator in quotes", "a\n\"x,y\"\n", "a=<x,y>int64[1] 0"},
       {"UTF-8", "\xc3\xa4\n\xe2\x82\xac\n", "\xc3\xa4=<\xe2\x82\xac>int64[1] 0"},
       {"NaN of C", "a\nnan(5)\n", "a=<nan(5)>int64[1] 0"},
       {"negative zeros", "a,b\n-0,-0\n-0,0.5\n0,-0\n", "a=int64[3] 0 0 0; b=float64[3] -0 0.5 -0"},
       {"missing", "a,b\n,x\nNA,\n3,y\n", "a=float64[3] nan nan 3 (2); b=<x><y>int64[3] 0 -1 1 (1)"},
       {"spaces around numbers", "a\n 1\n2 \n\t3\n", "a=int64[3] 1 2 3"},
       {"numbers", "a\n+1\n-2.5\n1e3\n.5\n5.\ninf\n", "a=float64[6] 1 -2.5 1000 0.5 5 inf"},
       {"beyond int64", "a\n9223372036854775808\n", "a=float64[1] 9.22337e+18"},
       {"the ends of int64", "a\n9223372036854775807\n-9223372036854775808\n", "a=int64[2] 9.22337e+18 -9.22337e+18"},
       {"too large and too small", "a\n1e999\n-1e999\n1e-999\n", "a=float64[3] inf -inf 0"},
       {"an exponent of many digits", "a\n1e99999999999999999999\n0e99999999999999999999\n", "a=float64[2] inf 0"}},
      "odd.csv", [](const std::string& path) { return text_of(data::read_csv(path)); });
}

/// A vocabulary of the 256 bytes alone, and more tokens.
std::string vocabulary(const std::string& more = "") {
  std::string text = "{";
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    const int code = printed ? byte : next++;
    static constexpr char kHex[] = "0123456789abcdef";
    const std::string escaped = {'\\', 'u', '0', kHex[code >> 8 & 15], kHex[code >> 4 & 15], kHex[code & 15]};
    text += (byte == 0 ? "\"" : ",\"") + escaped + "\":" + std::to_string(byte);
  }
  return text + more + "}";
}

TEST(HostileVocabulary, IsRefused) {
  const std::string good = vocabulary();
  test::expect_refused(
      {{"empty file", "", "an object of tokens"},
       {"an array", "[1]", "an object of tokens"},
       {"no tokens", "{}", "no token for the byte 0"},
       {"cut", good.substr(0, 1000), "expected"},
       {"cut by a byte", test::cut(good, 1), "',' or '}'"},
       {"text behind it", good + "x", "nothing but white space"},
       {"a zero byte behind it", good + raw({0}), "nothing but white space"},
       {"not UTF-8", "{\"\xff\":0}", "not UTF-8"},
       {"a number that is a float", vocabulary(",\"ab\":256.0"), "an integer"},
       {"a negative number", vocabulary(",\"ab\":-1"), "the number of a token"},
       {"a number beyond the size", vocabulary(",\"ab\":257"), "the number 257"},
       {"a number near 2^63", vocabulary(",\"ab\":9223372036854775807"), "the number 9223372036854775807"},
       {"a number above 2^63", vocabulary(",\"ab\":9223372036854775808"), "below 2^63"},
       {"a number twice", vocabulary(",\"ab\":5"), "the number 5"},
       {"a token twice", vocabulary(",\"ab\":256,\"ab\":257"), "the token 'ab' twice"},
       {"a token that is no text", vocabulary(",1:256"), "the name of a member"},
       {"a value that is nested", vocabulary(",\"ab\":" + std::string(100000, '[')), "the number of a token"},
       {"a character that is no byte", vocabulary(",\"\\u20ac\":256"), "characters that stand for bytes"}},
      18, "vocab.json", [](const std::string& path) {
        const std::string merges = path + ".merges";
        test::write_bytes(merges, "#version: 0.2\n");
        text::BpeTokenizer(path, merges);
      });
}

TEST(HostileMerges, AreRefused) {
  test::expect_refused({{"one token", "#version: 0.2\nab\n", "'ab' on line 2"},
                        {"three tokens", "a b c\n", "'a b c' on line 1"},
                        {"a space at the end", "a b \n", "on line 1"},
                        {"a space at the beginning", " a b\n", "on line 1"},
                        {"only a space", " \n", "on line 1"},
                        {"a tab", "a\tb\n", "on line 1"},
                        {"unknown parts", "abc b\n", "alone and joined"},
                        {"an unknown result", "a c\n", "alone and joined"},
                        {"twice", "a b\na b\n", "again"},
                        {"a character that is no byte", "\xe2\x82\xac a\n", "stand for bytes"},
                        {"not UTF-8", "\xff a\n", "not UTF-8"},
                        {"a zero byte", raw({0}) + " a\n", "stand for bytes"},
                        {"the version twice", "#version: 0.2\n#version: 0.2\n", "on line 2"},
                        {"a long line", std::string(1 << 20, 'a'), "on line 1"}},
                       14, "merges.txt", [](const std::string& path) {
                         const std::string vocab = path + ".json";
                         test::write_bytes(vocab, vocabulary(",\"ab\":256"));
                         text::BpeTokenizer(vocab, path);
                       });
}

TEST(OddVocabulary, IsRead) {
  test::expect_accepted({{"no merges", "", "97 98"},
                         {"a merge", "a b\n", "256"},
                         {"a version, CRLF, empty lines, no line end", "#version: 0.2\r\n\r\na b", "256"}},
                        "merges.txt", [](const std::string& path) {
                          const std::string vocab = path + ".json";
                          test::write_bytes(vocab, vocabulary(",\"ab\":256"));
                          std::string text;
                          for (const std::int64_t token : text::BpeTokenizer(vocab, path).encode("ab"))
                            text += (text.empty() ? "" : " ") + std::to_string(token);
                          return text;
                        });
}

}  // namespace
}  // namespace minnow
