// Files that are not valid safetensors, and some that look odd but are valid.

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <minnow/data/file_dataset.h>
#include <minnow/tensor/io/safetensors.h>

#include "hostile.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::counting;
using test::Hostile;
using test::little;
using test::MemoryFolder;
using test::write_bytes;

/// A file with this header and that many bytes 1, 2, 3, ... of data.
std::string file_of(const std::string& header, std::size_t data = 0) {
  return little(header.size(), 8) + header + counting(data);
}

std::string entry(const std::string& shape, const std::string& offsets, const std::string& dtype = "\"F32\"") {
  return "{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

const std::string kOne = entry("[1]", "[0,4]");

/// A file of one tensor "a".
std::string one(const std::string& value, std::size_t data = 4) { return file_of("{\"a\":" + value + "}", data); }

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

/// Refused by all that read a header.
void expect_all_refuse(const std::vector<Hostile>& files, std::size_t at_least) {
  test::expect_refused(files, at_least, "bad.safetensors", [](const std::string& path) { load(path); });
  test::expect_refused(files, at_least, "bad.safetensors", [](const std::string& path) { load_metadata(path); });
  test::expect_refused(files, at_least, "bad.safetensors",
                       [](const std::string& path) { data::FileTensor::safetensors(path, "a"); });
}

TEST(HostileSafetensors, Length) {
  expect_all_refuse(
      {{"empty file", "", "a file of 0 bytes"},
       {"one byte", "\1", "a file of 1 bytes"},
       {"seven bytes", "1234567", "a file of 7 bytes"},
       {"no header", file_of(""), "the end of the text"},
       {"no header but data", little(0, 8) + "{}", "the end of the text"},
       {"cut in the header", test::cut(file_of("{}"), 1), "a header length of 2 bytes"},
       {"one more than the file", little(3, 8) + "{}", "a header length of 3 bytes"},
       {"near 2^63", little(0x7f00000000000002, 8) + "{}", "a header length of 9151314442816847874"},
       {"2^63", little(0x8000000000000000, 8) + "{}", "a header length of 9223372036854775808"},
       {"wraps with the 8 bytes", little(0xfffffffffffffff8, 8) + "{}", "a header length of 18446744073709551608"},
       {"2^64 - 1", little(~std::uint64_t{0}, 8) + "{}", "a header length of 18446744073709551615"},
       {"above the format's limit", little(100'000'001, 8) + "{}" + std::string(98, ' '),
        "a header length of 100000001"},
       {"big-endian length", test::big(2, 8) + "{}", "a header length of 144115188075855872"}},
      13);
}

TEST(HostileSafetensors, AFileThatIsLongEnoughForAHeaderAboveTheLimit) {
  const MemoryFolder folder;
  const std::string path = folder / "long.safetensors";
  write_bytes(path, little(100'000'001, 8) + "{}");
  std::filesystem::resize_file(path, 101'000'000);  // takes no memory
  test::expect_contains(test::error_of<FormatError>([&] { load(path); }), "a header length of 100000001");
}

TEST(HostileSafetensors, OtherFormats) {
  expect_all_refuse(
      {{"zip of torch.save", "PK\x03\x04" + std::string(26, '\0') + "archive/data.pkl", "as torch.save writes"},
       {"zip of numpy.savez", "PK\x03\x04" + std::string(26, '\0') + "x.npy" + std::string(20, '\0'), "numpy.savez"},
       {"pickle", "\x80\x02}q\x01" + std::string(20, '.'), "a pickle"},
       {"npy", "\x93NUMPY\x01" + std::string(1, '\0') + "v" + std::string(20, ' '), "a .npy file"},
       {"HDF5", "\x89HDF\r\n\x1a\n" + std::string(20, '\0'), "an HDF5 file"},
       {"gzip", test::gzipped(one(kOne)), "a gzip file"},
       {"pointer of git-lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a pointer of git-lfs"},
       {"web page", "<!DOCTYPE html><html><body>404</body></html>", "a header length of"},
       {"zeros", std::string(100, '\0'), "the end of the text"},
       {"UTF-16", file_of(std::string("{\0}\0", 4)), "byte 0x00"}},
      10);
}

TEST(HostileSafetensors, Json) {
  const auto name = [](const std::string& text) { return file_of("{\"" + text + "\":" + kOne + "}", 4); };
  const std::string open = "{\"a\":" + kOne;
  expect_all_refuse({{"an array", file_of("[]"), "'['"},
                     {"null", file_of("null"), "'n'"},
                     {"a number", file_of("1"), "'1'"},
                     {"only spaces", file_of(std::string(16, ' ')), "the end of the text"},
                     {"byte order mark", file_of("\xef\xbb\xbf{}"), "byte 0xef"},
                     {"not closed", file_of("{"), "the end of the text"},
                     {"closed twice", file_of("{}}"), "'}'"},
                     {"two objects", file_of("{}{}"), "'{'"},
                     {"trailing comma", file_of(open + ",}", 4), "'}'"},
                     {"leading comma", file_of("{,\"a\":" + kOne + "}", 4), "','"},
                     {"text behind it", file_of(open + "}x", 4), "'x'"},
                     {"padded with NUL", file_of(open + "}" + std::string(3, '\0'), 4), "byte 0x00"},
                     {"form feed", file_of("\f{}"), "byte 0x0c"},
                     {"a comment", file_of("/**/{}"), "'/'"},
                     {"single quotes", file_of("{'a':" + kOne + "}", 4), "'''"},
                     {"a name without quotes", file_of("{a:" + kOne + "}", 4), "'a'"},
                     {"no colon", file_of("{\"a\" " + kOne + "}", 4), "':'"},
                     {"no comma", file_of(open + " \"b\":" + kOne + "}", 8), "',' or '}'"},
                     {"control character", name("a\x01"), "byte 0x01"},
                     {"line end in a name", name("a\n"), "byte 0x0a"},
                     {"unknown escape", name("a\\x"), "an escape of JSON"},
                     {"bad digits of \\u", name("\\u12g4"), "four hexadecimal digits"},
                     {"lone high surrogate", name("\\ud800"), "surrogates in pairs"},
                     {"lone low surrogate", name("\\udc00"), "surrogates in pairs"},
                     {"high surrogate and a letter", name("\\ud800\\u0041"), "surrogates in pairs"},
                     {"two high surrogates", name("\\ud800\\ud800"), "surrogates in pairs"},
                     {"surrogate in UTF-8", name("\xed\xa0\x80"), "malformed UTF-8"},
                     {"overlong UTF-8", name("\xc0\xaf"), "malformed UTF-8"},
                     {"above U+10FFFF", name("\xf4\x90\x80\x80"), "malformed UTF-8"},
                     {"cut UTF-8", name("\xe2\x82"), "malformed UTF-8"},
                     {"stray continuation byte", name("\x80"), "malformed UTF-8"},
                     {"byte 0xff", name("\xff"), "malformed UTF-8"},
                     {"open string", file_of("{\"a"), "the closing quote"},
                     {"open escape", file_of("{\"a\\"), "an escape"},
                     {"open \\u", file_of("{\"a\\ud8"), "four hexadecimal digits"}},
                    35);
}

TEST(HostileSafetensors, Fields) {
  const std::string rest = ",\"shape\":[1],\"data_offsets\":[0,4]}";
  const auto extra = [](const std::string& value) {
    return one("{\"x\":" + value + ",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}");
  };
  const auto dtype = [](const std::string& text, std::size_t data = 4) {
    return one(entry("[1]", "[0," + std::to_string(data) + "]", text), data);
  };
  expect_all_refuse(
      {{"a name twice", file_of("{\"a\":" + kOne + ",\"a\":" + kOne + "}", 4), "the name \"a\" twice"},
       {"a name twice, escaped", file_of("{\"a\":" + kOne + ",\"\\u0061\":" + entry("[1]", "[4,8]") + "}", 8),
        "the name \"a\" twice"},
       {"dtype twice", one("{\"dtype\":\"F32\",\"dtype\":\"F32\"" + rest), "two fields \"dtype\""},
       {"shape twice", one("{\"dtype\":\"F32\",\"shape\":[1]" + rest), "two fields \"shape\""},
       {"offsets twice", one("{\"dtype\":\"F32\",\"data_offsets\":[]" + rest), "two fields \"data_offsets\""},
       {"no dtype", one("{\"shape\":[1],\"data_offsets\":[0,4]}"), "without a dtype"},
       {"no shape", one("{\"dtype\":\"F32\",\"data_offsets\":[0,4]}"), "without a shape"},
       {"no offsets", one("{\"dtype\":\"F32\",\"shape\":[1]}"), "without two data_offsets"},
       {"no fields", one("{}", 0), "without a dtype"},
       {"a tensor that is null", one("null", 0), "an object that describes a tensor"},
       {"a tensor that is a number", one("1", 0), "an object that describes a tensor"},
       {"a tensor that is an array", one("[\"F32\",[1],[0,4]]"), "an object that describes a tensor"},
       {"a shape that is a number", one(entry("1", "[0,4]")), "a shape, [sizes]"},
       {"a shape that is null", one(entry("null", "[0,4]")), "a shape, [sizes]"},
       {"a shape that is an object", one(entry("{}", "[0,4]")), "a shape, [sizes]"},
       {"a trailing comma in the shape", one(entry("[1,]", "[0,4]")), "a size, an integer"},
       {"one offset", one(entry("[1]", "[0]")), "without two data_offsets"},
       {"three offsets", one(entry("[1]", "[0,4,4]")), "more than two offsets"},
       {"an offset of a million digits", one(entry("[1]", "[" + std::string(1000000, '9') + ",4]")), "below 2^63"},
       {"offsets that are null", one(entry("[1]", "null")), "offsets, [begin, end]"},
       {"a dtype that is a number", dtype("4"), "a dtype"},
       {"an empty dtype", dtype("\"\""), "of dtype \"\""},
       {"a dtype in small letters", dtype("\"f32\""), "of dtype \"f32\""},
       {"a dtype with a NUL", dtype("\"F32\\u0000\""), "of dtype"},
       {"a long dtype", dtype("\"" + std::string(100000, 'F') + "\""), "..."},
       {"U16", dtype("\"U16\"", 2), "which minnow does not have"},
       {"U32", dtype("\"U32\""), "tensor \"a\" of dtype \"U32\""},
       {"U64", dtype("\"U64\"", 8), "which minnow does not have"},
       {"F8_E4M3", dtype("\"F8_E4M3\"", 1), "which minnow does not have"},
       {"F8_E5M2", dtype("\"F8_E5M2\"", 1), "which minnow does not have"},
       {"C64", dtype("\"C64\"", 8), "which minnow does not have"},
       {"nine dimensions", one(entry("[1,1,1,1,1,1,1,1,1]", "[0,4]")), "more than 8 dimensions"},
       {"an extra number 01", extra("01"), "',' or '}'"},
       {"an extra number 1.", extra("1."), "a digit"},
       {"an extra number -", extra("-"), "a digit"},
       {"an extra number 1e", extra("1e"), "a digit"},
       {"an extra word", extra("nul"), "a value"},
       {"an extra word in capitals", extra("TRUE"), "a value"},
       {"an extra object without value", extra("{\"b\"}"), "':'"},
       {"an extra array without comma", extra("[1 2]"), "',' or ']'"},
       {"an extra array closed as an object", extra("[1}"), "',' or ']'"},
       {"17 nested arrays", extra(nested(17)), "fewer nested values"},
       {"a million nested arrays", extra(nested(1000000)), "fewer nested values"},
       {"a million nested objects", extra("{\"b\":" + std::string(1000000, '{') + "}"), "the name of a member"}},
      44);
}

TEST(HostileSafetensors, Integers) {
  std::vector<Hostile> files;
  for (const std::string number : {"1.0",
                                   "1e0",
                                   "1E2",
                                   "-0",
                                   "-1",
                                   "01",
                                   "00",
                                   "+1",
                                   "true",
                                   "\"1\"",
                                   "null",
                                   "1.",
                                   ".5",
                                   "0x1",
                                   "9223372036854775808",
                                   "18446744073709551617",
                                   "36893488147419103233",
                                   "[1]",
                                   "NaN",
                                   "Infinity",
                                   "1_0"}) {
    files.push_back({"size " + number, one(entry("[" + number + "]", "[0,4]")), "byte"});
    files.push_back({"begin " + number, one(entry("[1]", "[" + number + ",4]")), "byte"});
    files.push_back({"end " + number, one(entry("[1]", "[0," + number + "]")), "byte"});
  }
  expect_all_refuse(files, 63);
}

TEST(HostileSafetensors, Layout) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data) {
    return file_of("{\"a\":" + a + ",\"b\":" + b + "}", data);
  };
  const std::string large = "4611686018427387904";  // 2^62
  expect_all_refuse(
      {{"data cut by one byte", one(kOne, 3), "at bytes 0 to 4"},
       {"no data", one(kOne, 0), "at bytes 0 to 4"},
       {"data with one more byte", one(kOne, 5), "5 bytes of data"},
       {"data without tensors", file_of("{}", 1), "1 bytes of data"},
       {"a hole before the first", one(entry("[1]", "[1,5]"), 5), "begin at 0"},
       {"end before begin", one(entry("[1]", "[4,0]")), "begin at 0"},
       {"end before begin, of the second", two(kOne, entry("[0]", "[4,0]"), 4), "at bytes 4 to 0"},
       {"more elements than bytes", one(entry("[2]", "[0,4]")), "8 bytes for float32[2]"},
       {"fewer elements than bytes", one(entry("[1]", "[0,8]"), 8), "4 bytes for float32[1]"},
       {"no elements but bytes", one(entry("[0]", "[0,4]")), "0 bytes for float32[0]"},
       {"one element in 0 bytes", one(entry("[1]", "[0,0]"), 0), "4 bytes for float32[1]"},
       {"a number of 8 bytes", one(entry("[]", "[0,8]"), 8), "4 bytes for float32[]"},
       {"another dtype's size", one(entry("[1]", "[0,4]", "\"F64\"")), "8 bytes for float64[1]"},
       {"the same bytes twice", two(kOne, kOne, 4), "begin at 4"},
       {"overlap", two(kOne, entry("[1]", "[2,6]"), 6), "begin at 4"},
       {"a hole", two(kOne, entry("[1]", "[5,9]"), 9), "begin at 4"},
       {"one within the other", two(entry("[2]", "[0,8]"), entry("[1]", "[4,8]"), 8), "begin at 8"},
       {"an empty one within another", two(entry("[2]", "[0,8]"), entry("[0]", "[4,4]"), 8), "begin at 8"},
       {"an empty one behind the data", two(kOne, entry("[0]", "[5,5]"), 4), "begin at 4"},
       {"sizes that wrap to 0", one(entry("[4294967296,4294967296]", "[0,0]"), 0), "fewer than 2^63 bytes"},
       {"sizes that wrap to 4", one(entry("[4611686018427387905]", "[0,4]")), "fewer than 2^63 bytes"},
       {"three sizes of 2^62", one(entry("[" + large + "," + large + "," + large + "]", "[0,4]")),
        "fewer than 2^63 bytes"},
       {"huge sizes and a 0", one(entry("[9223372036854775807,9223372036854775807,0]", "[0,0]"), 0),
        "fewer than 2^63 bytes"},
       {"an end near 2^63", one(entry("[1]", "[0,9223372036854775807]")), "at bytes 0 to 9223372036854775807"},
       {"a begin near 2^63", one(entry("[1]", "[9223372036854775803,9223372036854775807]")), "begin at 0"},
       {"1 TB of elements", one(entry("[250000000000]", "[0,1000000000000]")), "at bytes 0 to 1000000000000"}},
      26);
}

TEST(HostileSafetensors, Metadata) {
  const auto metadata = [](const std::string& value) { return file_of("{\"__metadata__\":" + value + "}"); };
  expect_all_refuse(
      {{"a number", metadata("1"), "an object or null"},
       {"a text", metadata("\"a\""), "an object or null"},
       {"an array", metadata("[]"), "an object or null"},
       {"a tensor", file_of("{\"__metadata__\":" + kOne + "}", 4), "all values of __metadata__"},
       {"a value that is a number", metadata("{\"a\":1}"), "all values of __metadata__"},
       {"a value that is null", metadata("{\"a\":null}"), "all values of __metadata__"},
       {"a value that is an object", metadata("{\"a\":{\"b\":\"c\"}}"), "all values of __metadata__"},
       {"a key twice", metadata("{\"a\":\"1\",\"\\u0061\":\"2\"}"), "the key \"a\""},
       {"metadata twice", file_of("{\"__metadata__\":null,\"__metadata__\":{}}"), "__metadata__ twice"},
       {"metadata twice, escaped", file_of("{\"__metadata__\":{},\"\\u005f_metadata__\":{}}"), "__metadata__ twice"}},
      10);
}

TEST(OddSafetensors, AreAccepted) {
  const std::string extras =
      "{\"x\":{\"y\":[1,-2.5e+3,{\"z\":[]},{},true,false,null,\"\\n\"]},\"dtype\":\"F32\",\"w\":" + nested(16) +
      ",\"shape\":[1],\"data_offsets\":[0,4],\"v\":0}";
  const std::string empty = entry("[0]", "[0,0]"), number = little(0x3f800000, 4);  // 1.0F
  const auto bytes = [](const std::string& dtype, const std::string& data, const std::string& shape = "[1]") {
    return one(entry(shape, "[0," + std::to_string(data.size()) + "]", '"' + dtype + '"'), 0) + data;
  };
  test::expect_accepted(
      {{"no tensors", file_of("{}"), ""},
       {"spaces", file_of(" \t\r\n{ } "), ""},
       {"metadata null", file_of("{\"__metadata__\":null,\"a\":" + empty + "}"), "a float32[0]"},
       {"metadata last", file_of("{\"a\":" + empty + ",\"__metadata__\":{\"x\":\"y\"}}"), "a float32[0]"},
       {"an empty name", file_of("{ \"\" : " + empty + " }"), " float32[0]"},
       {"a name like a path", file_of("{\"../../x\":" + empty + "}"), "../../x float32[0]"},
       {"escapes", file_of("{\"\\ud83d\\ude00\\/\\u00E9\\u0000\":" + empty + "}"),
        std::string("\U0001f600/\u00e9\0 float32[0]", 19)},
       {"extra fields", one(extras, 0) + number, "a float32[1] 1"},
       {"in the order of the buffer",
        file_of("{\"c\":" + entry("[2]", "[1,3]", "\"U8\"") + ",\"z\":" + entry("[0,7]", "[1,1]") +
                    ",\"b\":" + entry("[1]", "[0,1]", "\"BOOL\"") + "}",
                3),
        "b bool[1] 1; z float32[0, 7]; c uint8[2] 2 3"},
       {"at an odd offset",
        file_of("{\"c\":" + entry("[1]", "[1,5]") + ",\"b\":" + entry("[1]", "[0,1]", "\"U8\"") + "}") + "\7" + number,
        "b uint8[1] 7; c float32[1] 1"},
       {"a number", bytes("F32", number, "[]"), "a float32[] 1"},
       {"eight dimensions", bytes("U8", "\5", "[1,1,1,1,1,1,1,1]"), "a uint8[1, 1, 1, 1, 1, 1, 1, 1] 5"},
       {"a huge size beside a 0", one(entry("[0,1844674407370955161]", "[0,0]"), 0),
        "a float32[0, 1844674407370955161]"},
       {"BOOL", bytes("BOOL", test::raw({0, 1, 2, 255}), "[4]"), "a bool[4] 0 1 1 1"},
       {"U8", bytes("U8", "\xff"), "a uint8[1] 255"},
       {"I8", bytes("I8", "\xff"), "a int8[1] -1"},
       {"I16", bytes("I16", little(0x8000, 2)), "a int16[1] -32768"},
       {"F16", bytes("F16", little(0x3c00, 2)), "a float16[1] 1"},
       {"BF16", bytes("BF16", little(0x3f80, 2)), "a bfloat16[1] 1"},
       {"I32", bytes("I32", little(0xfffffffe, 4)), "a int32[1] -2"},
       {"F64", bytes("F64", little(0x3ff8000000000000, 8)), "a float64[1] 1.5"},
       {"I64", bytes("I64", little(~std::uint64_t{0}, 8)), "a int64[1] -1"}},
      "odd.safetensors", [](const std::string& path) { return test::text_of(load(path)); });
}

TEST(OddSafetensors, BoolBytesAreNormalized) {
  const MemoryFolder folder;
  std::string bytes = file_of("{\"a\":" + entry("[4]", "[0,4]", "\"BOOL\"") + "}", 4);
  bytes[bytes.size() - 1] = '\0';
  bytes[bytes.size() - 2] = '\xff';
  write_bytes(folder / "x", bytes);
  EXPECT_EQ(test::bytes_of(load(folder / "x").at("a")), std::string("\1\1\1\0", 4));
}

/// Any change of a valid header either loads or is refused by a FormatError; the file's fifth part is
/// replaced, removed or doubled as well.
TEST(MalformedSafetensors, RandomMutationsNeverCrash) {
  const MemoryFolder folder;
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
