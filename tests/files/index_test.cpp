// Malformed and odd indexes of safetensors files, and checkpoint files whose checksums are right but whose content is
// not.

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <string>
#include <vector>
#include <zlib.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/training/detail/checkpoint_file.h>

#include "hostile.h"

namespace minnow {
namespace {

using test::Hostile;
using test::MemoryFolder;
using test::ramp;

const char* const kName = "model.safetensors.index.json";

/// Writes the files beside an index: a and b, c, another a and d.
void write_shards(const std::string& index) {
  const std::string folder = index.substr(0, index.rfind('/') + 1);
  if (access((folder + "one.safetensors").c_str(), F_OK) == 0) return;
  save({{"a", ramp<float>({2})}, {"b", ramp<std::uint8_t>({3})}}, folder + "one.safetensors");
  save({{"c", ramp<std::int64_t>({1})}}, folder + "two.safetensors");
  save({{"a", ramp<float>({2})}, {"d", ramp<float>({1})}}, folder + "three.safetensors");
}

std::string map_of(const std::string& entries) { return "{\"weight_map\":{" + entries + "}}"; }
const std::string kA = R"("a":"one.safetensors")", kB = R"("b":"one.safetensors")", kC = R"("c":"two.safetensors")",
                  kValid = map_of(kA + "," + kB + "," + kC);

std::string load_index(const std::string& path) {
  write_shards(path);
  return test::text_of(load(path));
}

TEST(MalformedIndex, IsRefused) {
  std::vector<Hostile> files{
      {"empty", "", "the end of the text"},
      {"white space", " \n", "the end of the text"},
      {"array", "[]", "'['"},
      {"null", "null", "'n'"},
      {"number", "7", "'7'"},
      {"cut after a brace", "{", "the end of the text"},
      {"cut in a name", R"({"weight_)", "the closing quote"},
      {"cut in the map", R"({"weight_map":{"a":)", "the end of the text"},
      {"no map", "{}", "no \"weight_map\""},
      {"only metadata", R"({"metadata":{"total_size":19}})", "no \"weight_map\""},
      {"map in upper case", R"({"WEIGHT_MAP":{}})", "no \"weight_map\""},
      {"map of null", R"({"weight_map":null})", "'n'"},
      {"map of an array", R"({"weight_map":["one.safetensors"]})", "'['"},
      {"map of a text", R"({"weight_map":"one.safetensors"})", "'\"'"},
      {"two maps", R"({"weight_map":{},"weight_map":{}})", "\"weight_map\" twice"},
      {"two maps by an escape", R"({"weight_map":{},"weight\u005fmap":{}})", "\"weight_map\" twice"},
      {"a number as file", map_of(R"("a":1)"), "'1'"},
      {"null as file", map_of(R"("a":null)"), "'n'"},
      {"an object as file", map_of(R"("a":{})"), "'{'"},
      {"an array as file", map_of(R"("a":["one.safetensors"])"), "'['"},
      {"a name without quotes", map_of(R"(a:"one.safetensors")"), "'a'"},
      {"a name in single quotes", map_of("'a':'one.safetensors'"), "'''"},
      {"a comma at the end", map_of(kA + "," + kB + ","), "'}'"},
      {"no comma", map_of(kA + kB), "'\"'"},
      {"no colon", map_of(R"("a" "one.safetensors")"), "'\"'"},
      {"a comment", "/* */" + kValid, "'/'"},
      {"text behind it", kValid + "x", "'x'"},
      {"two documents", kValid + kValid, "'{'"},
      {"a zero byte behind it", kValid + std::string(1, '\0'), "byte 0x00"},
      {"a name that is not UTF-8", map_of("\"\xff\":\"one.safetensors\""), "malformed UTF-8"},
      {"metadata that is not UTF-8", "{\"metadata\":\"\xc3\"," + kValid.substr(1), "malformed UTF-8"},
      {"half a surrogate", map_of(R"("\ud800":"one.safetensors")"), "surrogates"},
      {"an unknown escape", map_of(R"("\x61":"one.safetensors")"), "an escape of JSON"},
      {"a line end in a name", map_of("\"a\n\":\"one.safetensors\""), "byte 0x0a"},
      {"a byte order mark", "\xef\xbb\xbf" + kValid, "byte 0xef"},
      {"UTF-16", std::string("{\0\"\0}\0", 6), "byte 0x00"},
      {"a missing file", map_of(R"("a":"gone.safetensors")"), "no file 'gone.safetensors'"},
      {"a name that its file does not have", map_of(kA + "," + kB + R"(,"x":"one.safetensors")"), "no tensor 'x'"},
      {"an empty name", map_of(kA + "," + kB + R"(,"":"one.safetensors")"), "no tensor ''"},
      {"a tensor without an entry", map_of(kA), "the tensor 'b' in 'one.safetensors'"},
      {"another file of a tensor", map_of(kA + R"(,"b":"two.safetensors",)" + kC), "it in 'two.safetensors'"},
      {"a tensor in two files", map_of(kA + "," + kB + R"(,"d":"three.safetensors")"), "it in 'one.safetensors'"},
      {"an entry twice", map_of(kA + "," + kB + "," + kA), "the tensor 'a' twice"},
      {"an entry twice by an escape", map_of(kA + "," + kB + R"(,"\u0061":"one.safetensors")"), "the tensor 'a' twice"},
      {"itself as a file", map_of(R"("a":"model.safetensors.index.json")"), "an index of safetensors files"},
      {"nested too deep", R"({"x":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}", "fewer nested"},
      {"an endless list", R"({"x":[1)", "the end of the text"},
      {"a safetensors file", test::little(2, 8) + "{}", "a safetensors file"},
      {"a zip archive", "PK\3\4" + std::string(40, '\0'), "a zip archive"},
      {"a gzip file", test::gzipped(kValid), "a gzip file"},
      {"a pointer of git-lfs", "version https://git-lfs.github.com/spec/v1\n", "git-lfs"}};
  for (const char* file : {
#ifdef _WIN32
           "C:one.safetensors",
#endif
           "", ".", "..", "../one.safetensors", "/etc/passwd", "./one.safetensors", "x/one.safetensors",
           "x\\\\one.safetensors", "one.safetensors\\u0000", "\\u002fetc"})
    files.push_back(
        {std::string("the file '") + file + "'", map_of(std::string("\"a\":\"") + file + "\""), "the same folder"});
  for (const char* number : {"01", "1.", ".5", "+1", "1e", "0x1", "NaN", "-", "--1", "1.e5", "Infinity", "tru", "True"})
    files.push_back({std::string("the value ") + number,
                     "{\"metadata\":{\"total_size\":" + std::string(number) + "}," + kValid.substr(1),
                     "of the header"});
  test::expect_refused(files, 70, kName, [](const std::string& path) {
    EXPECT_THROW(SafetensorsFile{path}, FormatError);
    load_index(path);
  });
}

TEST(MalformedIndex, OfAHugeFileIsNotRead) {
  const MemoryFolder folder;
  test::write_bytes(folder / kName, "{");
  ASSERT_EQ(truncate((folder / kName).c_str(), off_t{1} << 40), 0);
  const test::MemoryCap cap;
  EXPECT_THROW(SafetensorsFile{folder / kName}, FormatError);
}

TEST(OddIndex, IsAccepted) {
  const std::string all = "b uint8[3] 1 2 3; a float32[2] 1 2; c int64[1] 1";
  const std::string content = [&] {
    const MemoryFolder folder;
    test::write_bytes(folder / kName, kValid);
    return load_index(folder / kName);
  }();
  EXPECT_EQ(content.size(), all.size());
  test::expect_accepted(
      {{"plain", kValid, content},
       {"no tensors", R"({"weight_map":{}})", ""},
       {"another order", map_of(kC + "," + kB + "," + kA), content},
       {"a wrong total", R"({"metadata":{"total_size":-1.5E+3},)" + kValid.substr(1), content},
       {"metadata of any kind", R"({"metadata":[{"x":[true,false,null,"\ud83d\ude00"]},[]],)" + kValid.substr(1),
        content},
       {"fields behind it", kValid.substr(0, kValid.size() - 1) + R"(,"x":0,"x":{}})", content},
       {"escapes", map_of(R"("\u0061":"one\u002esafetensors",)" + kB + "," + kC), content},
       {"white space", "\r\n\t { \"weight_map\" : { " + kA + " ,\n" + kB + "\t,\r" + kC + " } } \n", content}},
      kName, load_index);
}

// What is accepted has all tensors of the files that it names.
TEST(MalformedIndex, DamagedOnesAreRefusedOrHarmless) {
  const MemoryFolder folder;
  const std::string path = folder / kName;
  test::write_bytes(path, kValid);
  const std::string whole = load_index(path);
  test::write_bytes(path, map_of(kA + "," + kB));
  const std::string one = load_index(path);
  test::write_bytes(path, map_of(kC));
  const std::set<std::string> possible{whole, one, load_index(path), ""};
  int accepted = 0, refused = 0;
  const auto check = [&](const std::string& bytes) {
    test::write_bytes(path, bytes);
    try {
      ASSERT_TRUE(possible.contains(load_index(path))) << bytes;
      ++accepted;
    } catch (const FormatError&) { ++refused; }
  };
  const std::string text = R"({"metadata": {"total_size": 19}, "x": [1, {"y": null}, -2.5e3], )" + kValid.substr(1);
  for (std::size_t size = 0; size < text.size(); ++size) check(text.substr(0, size));
  EXPECT_EQ(accepted, 0);
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bytes = text;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      check(bytes);
    }
  EXPECT_GT(accepted, 100);
  std::mt19937 random(5);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  constexpr std::string_view kLikely = "{}[]\",:\\0123456789-.eEu \n\tantrufls_\xff\x80\xed";
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = text;
    for (std::size_t k = 0, n = 1 + below(3); k < n; ++k) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = kLikely[below(kLikely.size())]; break;
        case 1: bytes[at] = static_cast<char>(random()); break;
        case 2: bytes.erase(at, 1 + below(30)); break;
        default: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(60)));
      }
    }
    check(bytes);
  }
  EXPECT_GT(refused, 3000);
}

std::string checksum(const std::string& bytes) {
  char text[9];
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(sum));
  return text;
}

/// A file whose header has the right checksum in place of "00000000".
std::string with_checksum(std::string header, const std::string& data) {
  const std::string start = R"({"__metadata__":{"crc32":")";
  if (header.starts_with(start) && header.size() >= start.size() + 8) {
    header.replace(start.size(), 8, "00000000");
    header.replace(start.size(), 8, checksum(header));
  }
  return test::little(header.size(), 8) + header + data;
}

void read_checkpoint(const std::string& path) {
  static_cast<void>(detail::read_checkpoint(path, SourceLocation::current()));
}

// A checksum says that a file is as it was written, not that it was written well.
TEST(MalformedCheckpoint, IsRefusedAlsoWithRightChecksums) {
  const std::string data = "\1\2\3\4", sum = checksum(data), zero = "00000000";
  const auto file = [&](const std::string& metadata, const std::string& tensors, const std::string& bytes) {
    return with_checksum(R"({"__metadata__":{"crc32":"00000000")" + metadata + "}" + tensors + "}", bytes);
  };
  const auto known = [](const std::string& name, const std::string& s) {
    return ",\"crc32 " + name + "\":\"" + s + "\"";
  };
  const auto entry = [](const std::string& name, const std::string& shape, const std::string& offsets,
                        const std::string& dtype = "U8") {
    return ",\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  const std::string x = entry("x", "[4]", "[0,4]"), good = file(known("x", sum), x, data);
  {
    const MemoryFolder folder;
    test::write_bytes(folder / "c", good);
    EXPECT_NO_THROW(read_checkpoint(folder / "c"));
  }
  test::expect_refused(
      {{"empty", "", "a file of 0 bytes"},
       {"no checksum of the tensor", file("", x, data), "with the checksum " + sum},
       {"the checksum of another name", file(known("y", sum), x, data), "with the checksum " + sum},
       {"another checksum", file(known("x", zero), x, data), "with the checksum " + sum},
       {"a checksum with a space", file(known("x", sum + " "), x, data), "with the checksum " + sum},
       {"a checksum that is a number", file(",\"crc32 x\":1", x, data), "a string"},
       {"other bytes", file(known("x", sum), x, "\1\2\3\5"), "the tensor 'x' with the checksum"},
       {"too few bytes", file(known("x", sum), x, "\1\2\3"), "an end between"},
       {"too many bytes", good + "x", "5 bytes of data"},
       {"a hole", file(known("x", sum), entry("x", "[4]", "[1,5]"), "\0" + data), "it to begin at 0"},
       {"an overlap", file(known("x", sum) + known("y", sum), x + entry("y", "[4]", "[0,4]"), data),
        "it to begin at 4"},
       {"a name twice", file(known("x", sum), x + x, data), "twice"},
       {"a checksum twice", file(known("x", sum) + known("x", sum), x, data), "twice"},
       {"two objects of metadata", file(known("x", sum), x + ",\"__metadata__\":{}", data), "__metadata__ twice"},
       {"an unknown dtype", file(known("x", sum), entry("x", "[4]", "[0,4]", "Q8"), data), "of dtype"},
       {"a dtype that minnow does not have", file(known("x", sum), entry("x", "[]", "[0,4]", "U32"), data), "U32"},
       {"a shape of other bytes", file(known("x", sum), entry("x", "[5]", "[0,4]"), data), "5 bytes for"},
       {"a negative size", file(known("x", sum), entry("x", "[-4]", "[0,4]"), data), "'-'"},
       {"a shape of 2^63 bytes", file(known("x", sum), entry("x", "[4611686018427387904,2]", "[0,4]"), data), "2^63"},
       {"a shape of a terabyte", file(known("x", sum), entry("x", "[1099511627776]", "[0,1099511627776]"), data),
        "an end between"},
       {"nine dimensions", file(known("x", sum), entry("x", "[1,1,1,1,1,1,1,1,4]", "[0,4]"), data), "dimensions"},
       {"no header checksum", test::little(2, 8) + "{}", "a header without a checksum"},
       {"a header checksum elsewhere", with_checksum(R"({"__metadata__":{"a":"","crc32":"00000000"}})", ""),
        "a header without a checksum"},
       {"metadata behind the tensors",
        with_checksum("{" + x.substr(1) + R"(,"__metadata__":{"crc32":"00000000"}})", data),
        "a header without a checksum"},
       {"a header that ends in its checksum", test::little(30, 8) + R"({"__metadata__":{"crc32":"0000)",
        "the closing quote"},
       {"a checksum in upper case",
        with_checksum(R"({"__metadata__":{"crc32":"0000000A"}})", "").replace(34, 8, "FFFFFFFF"),
        "a header with the checksum"},
       {"text that is not UTF-8", file(",\"part \xff\":\"\"", x, data), "malformed UTF-8"},
       {"a zip archive", "PK\3\4" + std::string(40, '\0'), "a zip archive"},
       {"an .npy file", "\x93NUMPY\1" + std::string(40, '\0'), "a .npy file"}},
      29, "checkpoint-00000001.safetensors", read_checkpoint);
}

// The header's checksum is put right after each change, so that the rest is read.
TEST(MalformedCheckpoint, ChangedHeadersAreRefusedOrReadAsTheyAre) {
  const MemoryFolder folder;
  const std::string path = folder / "x.safetensors";
  const StateDict saved{{"a", ramp<float>({2, 2})}, {"b", ramp<bool>({3})}, {"c", ramp<std::int64_t>({})}};
  detail::write_checkpoint(path, saved, {{"part a", "Net"}}, SourceLocation::current());
  const std::string whole = test::read_bytes(path);
  const std::size_t length = whole.size() - 16 - 8 - 3 - 8;
  const std::string header = whole.substr(8, length), data = whole.substr(8 + length);
  ASSERT_EQ(with_checksum(header, data), whole);
  std::mt19937 random(9);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int accepted = 0, refused = 0;
  const auto check = [&](const std::string& changed) {
    test::write_bytes(path, with_checksum(changed, data));
    try {
      const detail::CheckpointFile read = detail::read_checkpoint(path, SourceLocation::current());
      std::int64_t bytes = 0;
      for (const auto& [name, tensor] : read.tensors) bytes += tensor.nbytes();
      ASSERT_EQ(bytes, static_cast<std::int64_t>(data.size())) << changed;
      for (const auto& [name, tensor] : read.tensors) ASSERT_TRUE(read.metadata.contains("crc32 " + name)) << changed;
      ++accepted;
    } catch (const FormatError&) { ++refused; }
  };
  for (std::size_t at = 0; at < header.size(); ++at)
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string changed = header;
      changed[at] = static_cast<char>(changed[at] ^ change);
      check(changed);
    }
  for (int i = 0; i < 2000; ++i) {
    std::string changed = header;
    const std::size_t at = below(changed.size());
    if (below(2) != 0) changed.erase(at, 1 + below(20));
    else changed.insert(at, changed.substr(below(changed.size()), 1 + below(40)));
    check(changed);
  }
  EXPECT_GT(accepted, 30);
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace minnow
