// Files that are not valid safetensors, each with a part of the message that refuses it, and some that look
// odd but are valid.

#include <gtest/gtest.h>
#include <random>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/safetensors.h>

#include "io_support.h"

namespace minnow {
namespace {

using test::TemporaryFolder;
using test::write_bytes;

/// A file with this header and that many bytes 1, 2, 3, ... of data.
std::string file_of(const std::string& header, std::size_t data = 0) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  bytes += header;
  for (std::size_t i = 0; i < data; ++i) bytes.push_back(static_cast<char>(i + 1));
  return bytes;
}

std::string entry(const std::string& shape, const std::string& offsets, const std::string& dtype = "\"F32\"") {
  return "{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

const std::string kOne = entry("[1]", "[0,4]");

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

struct Bad {
  std::string file;
  std::string message;
};

void expect_refused(const std::vector<Bad>& corpus) {
  const TemporaryFolder folder;
  const std::string path = folder / "bad.safetensors";
  for (const auto& [bytes, message] : corpus) {
    write_bytes(path, bytes);
    try {
      static_cast<void>(load(path));
      ADD_FAILURE() << "accepted: " << bytes.substr(0, 200);
    } catch (const FormatError& error) {
      const std::string what = error.what();
      for (const std::string& part : {message, path, std::string("io_malformed_test.cpp:"), std::string("expected")})
        EXPECT_NE(what.find(part), what.npos) << part << " is not in\n" << what << "\n" << bytes.substr(0, 200);
    }
    EXPECT_THROW(static_cast<void>(load_metadata(path)), FormatError);
  }
}

TEST(MalformedSafetensors, Length) {
  std::string huge = file_of("{}");
  huge[7] = '\x7f';
  std::string wraps = file_of("{}");
  for (int i = 0; i < 8; ++i) wraps[static_cast<std::size_t>(i)] = '\xff';
  std::string above = file_of(std::string(100, ' '));
  above[3] = 6;
  expect_refused({{"", "a file of 0 bytes"},
                  {"1234567", "a file of 7 bytes"},
                  {file_of(""), "the end of the text"},
                  {file_of("{}").substr(0, 9), "a header length of 2 bytes"},
                  {huge, "a header length of 9151314442816847874"},
                  {wraps, "a header length of 18446744073709551615"},
                  {above, "a header length of 100663396"}});
}

TEST(MalformedSafetensors, Json) {
  const std::string one = "{\"a\":" + kOne;
  expect_refused({{file_of("[]"), "'['"},
                  {file_of("null"), "'n'"},
                  {file_of("\xef\xbb\xbf{}"), "byte 0xef"},
                  {file_of("{"), "the end of the text"},
                  {file_of("{}}"), "'}'"},
                  {file_of(one + ",}", 4), "'}'"},
                  {file_of(one + "}x", 4), "'x'"},
                  {file_of(one + "}" + std::string(3, '\0'), 4), "byte 0x00"},
                  {file_of("{'a':" + kOne + "}", 4), "'''"},
                  {file_of("{\"a\" " + kOne + "}", 4), "':'"},
                  {file_of("{\"a\":" + kOne + " \"b\":" + kOne + "}", 8), "',' or '}'"},
                  {file_of("{\"a\x01\":" + kOne + "}", 4), "byte 0x01"},
                  {file_of("{\"a\\x\":" + kOne + "}", 4), "an escape of JSON"},
                  {file_of("{\"\\u12g4\":" + kOne + "}", 4), "four hexadecimal digits"},
                  {file_of("{\"\\ud800\":" + kOne + "}", 4), "surrogates in pairs"},
                  {file_of("{\"\\udc00\":" + kOne + "}", 4), "surrogates in pairs"},
                  {file_of("{\"\\ud800\\u0041\":" + kOne + "}", 4), "surrogates in pairs"},
                  {file_of("{\"\xed\xa0\x80\":" + kOne + "}", 4), "malformed UTF-8"},
                  {file_of("{\"\xc0\xaf\":" + kOne + "}", 4), "malformed UTF-8"},
                  {file_of("{\"\xf4\x90\x80\x80\":" + kOne + "}", 4), "malformed UTF-8"},
                  {file_of("{\"\xe2\x82\":" + kOne + "}", 4), "malformed UTF-8"},
                  {file_of("{\"a"), "the closing quote"},
                  {file_of("{\"a\\"), "an escape"},
                  {file_of("{\"a\\ud8"), "four hexadecimal digits"}});
}

TEST(MalformedSafetensors, Fields) {
  const std::string rest = ",\"shape\":[1],\"data_offsets\":[0,4]}}";
  const auto extra = [](const std::string& value) {
    return file_of("{\"a\":{\"x\":" + value + ",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
  };
  expect_refused(
      {{file_of("{\"a\":" + kOne + ",\"a\":" + kOne + "}", 4), "the name \"a\" twice"},
       {file_of("{\"a\":" + kOne + ",\"\\u0061\":" + entry("[1]", "[4,8]") + "}", 8), "the name \"a\" twice"},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"" + rest, 4), "two fields \"dtype\""},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]" + rest, 4), "two fields \"shape\""},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[]" + rest, 4), "two fields \"data_offsets\""},
       {file_of("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4), "without a dtype"},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4), "without a shape"},
       {file_of("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4), "without two data_offsets"},
       {file_of("{\"a\":{}}"), "without a dtype"},
       {file_of("{\"a\":null}"), "an object that describes a tensor"},
       {file_of("{\"a\":[\"F32\",[1],[0,4]]}", 4), "an object that describes a tensor"},
       {file_of("{\"a\":" + entry("1", "[0,4]") + "}", 4), "a shape, [sizes]"},
       {file_of("{\"a\":" + entry("null", "[0,4]") + "}", 4), "a shape, [sizes]"},
       {file_of("{\"a\":" + entry("[1,]", "[0,4]") + "}", 4), "a size, an integer"},
       {file_of("{\"a\":" + entry("[1]", "[0]") + "}", 4), "without two data_offsets"},
       {file_of("{\"a\":" + entry("[1]", "[0,4,4]") + "}", 4), "more than two offsets"},
       {file_of("{\"a\":" + entry("[1]", "[0,4]", "4") + "}", 4), "a dtype"},
       {file_of("{\"a\":" + entry("[1]", "[0,4]", "\"f32\"") + "}", 4), "of dtype \"f32\""},
       {file_of("{\"a\":" + entry("[4]", "[0,4]", "\"U16\"") + "}", 4), "which minnow does not have"},
       {file_of("{\"a\":" + entry("[1]", "[0,4]", "\"U32\"") + "}", 4), "tensor \"a\" of dtype \"U32\""},
       {file_of("{\"a\":" + entry("[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4), "more than 8 dimensions"},
       {extra("01"), "',' or '}'"},
       {extra("1."), "a digit"},
       {extra("-"), "a digit"},
       {extra("1e"), "a digit"},
       {extra("nul"), "a value"},
       {extra("{\"b\"}"), "':'"},
       {extra("[1 2]"), "',' or ']'"},
       {extra(nested(17)), "fewer nested values"},
       {extra(nested(1000000)), "fewer nested values"},
       {extra("{\"b\":" + std::string(1000, '{') + "}"), "the name of a member"}});
}

TEST(MalformedSafetensors, Integers) {
  std::vector<Bad> corpus;
  for (const char* number : {"1.0", "1e0", "1E2", "-0", "-1", "01", "00", "+1", "true", "\"1\"", "null", "1.", ".5",
                             "0x1", "9223372036854775808", "18446744073709551617", "[1]", "NaN", "1_0"}) {
    corpus.push_back({file_of("{\"a\":" + entry(std::string("[") + number + "]", "[0,4]") + "}", 4), "byte"});
    corpus.push_back({file_of("{\"a\":" + entry("[1]", std::string("[0,") + number + "]") + "}", 4), "byte"});
  }
  expect_refused(corpus);
}

TEST(MalformedSafetensors, Layout) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data) {
    return file_of("{\"a\":" + a + ",\"b\":" + b + "}", data);
  };
  expect_refused(
      {{file_of("{\"a\":" + kOne + "}", 3), "at bytes 0 to 4"},
       {file_of("{\"a\":" + kOne + "}", 5), "5 bytes of data"},
       {file_of("{}", 1), "1 bytes of data"},
       {file_of("{\"a\":" + entry("[1]", "[1,5]") + "}", 5), "begin at 0"},
       {file_of("{\"a\":" + entry("[1]", "[4,0]") + "}", 4), "begin at 0"},
       {file_of("{\"a\":" + entry("[2]", "[0,4]") + "}", 4), "8 bytes for float32[2]"},
       {file_of("{\"a\":" + entry("[0]", "[0,4]") + "}", 4), "0 bytes for float32[0]"},
       {file_of("{\"a\":" + entry("[]", "[0,8]") + "}", 8), "4 bytes for float32[]"},
       {two(kOne, kOne, 4), "begin at 4"},
       {two(kOne, entry("[1]", "[2,6]"), 6), "begin at 4"},
       {two(kOne, entry("[1]", "[5,9]"), 9), "begin at 4"},
       {two(entry("[2]", "[0,8]"), entry("[1]", "[4,8]"), 8), "begin at 8"},
       {file_of("{\"a\":" + entry("[4294967296,4294967296]", "[0,0]") + "}"), "fewer than 2^63 bytes"},
       {file_of("{\"a\":" + entry("[4611686018427387905]", "[0,4]") + "}", 4), "fewer than 2^63 bytes"},
       {file_of("{\"a\":" + entry("[9223372036854775807,9223372036854775807,0]", "[0,0]") + "}"),
        "fewer than 2^63 bytes"},
       {file_of("{\"a\":" + entry("[1]", "[0,9223372036854775807]") + "}", 4), "at bytes 0 to 9223372036854775807"}});
}

TEST(MalformedSafetensors, Metadata) {
  expect_refused({{file_of("{\"__metadata__\":1}"), "an object or null"},
                  {file_of("{\"__metadata__\":{\"a\":1}}"), "all values of __metadata__"},
                  {file_of("{\"__metadata__\":{\"a\":null}}"), "all values of __metadata__"},
                  {file_of("{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}"), "all values of __metadata__"},
                  {file_of("{\"__metadata__\":{\"a\":\"1\",\"\\u0061\":\"2\"}}"), "the key \"a\""},
                  {file_of("{\"__metadata__\":null,\"__metadata__\":{}}"), "__metadata__ twice"}});
}

TEST(OddSafetensors, AreAccepted) {
  const TemporaryFolder folder;
  const auto loaded = [&](const std::string& bytes) {
    write_bytes(folder / "x", bytes);
    return load(folder / "x");
  };
  EXPECT_EQ(loaded(file_of("{}")).size(), 0u);
  EXPECT_EQ(loaded(file_of(" \t\r\n{ } ")).size(), 0u);
  EXPECT_EQ(loaded(file_of("{\"__metadata__\":null,\"a\":" + kOne + "}", 4)).size(), 1u);
  EXPECT_EQ(loaded(file_of("{\"a\":" + kOne + ",\"__metadata__\":{\"x\":\"y\"}}", 4)).size(), 1u);
  EXPECT_EQ(loaded(file_of("{ \"\" : " + kOne + " }", 4)).begin()->first, "");
  EXPECT_EQ(loaded(file_of("{\"\\ud83d\\ude00\\/\\u00E9\\u0000\":" + kOne + "}", 4)).begin()->first,
            std::string("\U0001f600/\u00e9\0", 8));
  const std::string extras =
      "{\"x\":{\"y\":[1,-2.5e+3,{\"z\":[]},{},true,false,null,\"\\n\"]},\"dtype\":\"F32\","
      "\"w\":" +
      nested(16) + ",\"shape\":[1],\"data_offsets\":[0,4],\"v\":0}";
  EXPECT_EQ(loaded(file_of("{\"a\":" + extras + "}", 4)).at("a").numel(), 1);
  // In the buffer's order, whatever the header's is; empty tensors may lie anywhere.
  const StateDict several = loaded(file_of("{\"c\":" + entry("[1]", "[1,5]") + ",\"z\":" + entry("[0,7]", "[1,1]") +
                                               ",\"b\":" + entry("[1]", "[0,1]", "\"BOOL\"") + "}",
                                           5));
  std::string order;
  for (const auto& [name, tensor] : several) order += name;
  EXPECT_EQ(order, "bzc");
  EXPECT_EQ(test::bytes_of(several.at("c")), "\2\3\4\5") << "four bytes at an odd offset";
  EXPECT_EQ(several.at("z").shape(), Shape({0, 7}));
  EXPECT_EQ(loaded(file_of("{\"a\":" + entry("[0,1844674407370955161]", "[0,0]") + "}")).at("a").numel(), 0);
}

TEST(OddSafetensors, BoolBytesAreNormalized) {
  const TemporaryFolder folder;
  std::string bytes = file_of("{\"a\":" + entry("[4]", "[0,4]", "\"BOOL\"") + "}", 4);
  bytes[bytes.size() - 1] = '\0';
  bytes[bytes.size() - 2] = '\xff';
  write_bytes(folder / "x", bytes);
  EXPECT_EQ(test::bytes_of(load(folder / "x").at("a")), std::string("\1\1\1\0", 4));
}

/// Any change of a valid header either loads or is refused by a FormatError; the file's fifth part is
/// replaced, removed or doubled as well.
TEST(MalformedSafetensors, RandomMutationsNeverCrash) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const std::string valid =
      file_of("{\"__metadata__\":{\"k\":\"v\\u00e9\"},\"a\":" + entry("[2,1]", "[0,8]") +
                  ",\"b\":" + entry("[]", "[8,10]", "\"BF16\"") + ",\"c\":" + entry("[3]", "[10,13]", "\"BOOL\"") + "}",
              13);
  std::mt19937 random(7);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view kLikely = "{}[]\",:\\0123456789-.eEu \n\tantrufls_\xff\x80\xed";
  int accepted = 0, refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = valid;
    for (std::size_t k = 0, n = 1 + below(3); k < n; ++k) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = kLikely[below(kLikely.size())]; break;
        case 1: bytes[at] = static_cast<char>(random()); break;
        case 2: bytes.erase(at, 1 + below(4)); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(20)));
      }
      const std::uint64_t length = bytes.size() < 21 ? 0 : bytes.size() - 21;
      if (below(2) != 0 && bytes.size() >= 8) std::memcpy(bytes.data(), &length, 8);
    }
    write_bytes(path, bytes);
    try {
      for (const auto& [name, tensor] : load(path)) ASSERT_LE(tensor.nbytes(), 64);
      ++accepted;
    } catch (const FormatError&) { ++refused; }
  }
  EXPECT_GT(accepted, 20);
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace minnow
