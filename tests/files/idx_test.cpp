// IDX and gzip files that are refused, CIFAR's, and unusual ones that are read.

#include <filesystem>
#include <gtest/gtest.h>
#include <minnow/data/csv.h>
#include <minnow/data/idx.h>
#include <minnow/vision/cifar.h>

#include "hostile.h"

namespace minnow {
namespace {

using test::big;
using test::counting;
using test::cut;
using test::gzipped;
using test::Hostile;
using test::little;
using test::raw;
using test::with;

std::string idx(int type, const std::vector<std::uint64_t>& sizes, const std::string& data) {
  std::string out = raw({0, 0, type, static_cast<int>(sizes.size())});
  for (const auto size : sizes) out += big(size, 4);
  return out + data;
}

const std::string kSixBytes = idx(8, {2, 3}, counting(6));

std::vector<Hostile> hostile_idx() {
  constexpr std::uint64_t kMost = 0xffffffff;
  return {{"empty file", "", "an empty file"},
          {"one byte", raw({0}), "is not an IDX file"},
          {"three bytes", raw({0, 0, 8}), "is not an IDX file"},
          {"the first byte is not 0", with(kSixBytes, 0, "\1"), "is not an IDX file"},
          {"the second byte is not 0", with(kSixBytes, 1, "\1"), "is not an IDX file"},
          {"type 0", with(kSixBytes, 2, raw({0})), "unknown element type"},
          {"type 7", with(kSixBytes, 2, raw({7})), "unknown element type"},
          {"type 0x0a", with(kSixBytes, 2, raw({0x0a})), "unknown element type"},
          {"type 0x0f", with(kSixBytes, 2, raw({0x0f})), "unknown element type"},
          {"type 0xff", with(kSixBytes, 2, raw({0xff})), "unknown element type"},
          {"rank 0", raw({0, 0, 8, 0, 5}), "an impossible rank"},
          {"rank 9", idx(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "x"), "an impossible rank"},
          {"rank 255", raw({0, 0, 8, 255}) + std::string(2000, '\0'), "an impossible rank"},
          {"no sizes", raw({0, 0, 8, 2}), "ends within its header"},
          {"cut within the first size", raw({0, 0, 8, 2, 0, 0}), "ends within its header"},
          {"cut within the last size", raw({0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0}), "ends within its header"},
          {"no data", kSixBytes.substr(0, 12), "is too short"},
          {"cut by a byte", cut(kSixBytes, 1), "is too short"},
          {"a byte more", kSixBytes + "x", "is too long"},
          {"another array behind it", kSixBytes + kSixBytes, "is too long"},
          {"bytes without elements", idx(8, {0, 3}, "x"), "is too long"},
          {"little-endian sizes", raw({0, 0, 8, 2, 2, 0, 0, 0, 3, 0, 0, 0}) + counting(6), "is too short"},
          {"sizes of 2^32 - 1", idx(8, {kMost, kMost, kMost}, "x"), "an impossible size"},
          {"eight sizes of 2^32 - 1", idx(8, {kMost, kMost, kMost, kMost, kMost, kMost, kMost, kMost}, "x"),
           "an impossible size"},
          {"sizes that wrap to 0", idx(8, {0x80000000, 0x80000000, 4}, ""), "an impossible size"},
          {"sizes that wrap to 6", idx(8, {0xAAAAAAAB, 0x80000000, 12}, counting(6)), "an impossible size"},
          {"bytes of doubles that wrap", idx(0x0e, {0x80000000, 0x40000000}, ""), "an impossible size"},
          {"4 GB", idx(8, {kMost}, "x"), "is too short"},
          {"1 TB", idx(8, {1000000, 1000000}, "x"), "is too short"},
          {"a cut short", idx(0x0b, {2}, counting(3)), "is too short"},
          {"a cut int", idx(0x0c, {2}, counting(7)), "is too short"},
          {"a cut float", idx(0x0d, {2}, counting(7)), "is too short"},
          {"a cut double", idx(0x0e, {1}, counting(7)), "is too short"},
          {"a float too much", idx(0x0d, {1}, counting(8)), "is too long"},
          {"text", "5 0 4 1 9 2 1 3 1 4", "the text"},
          {"a web page", "<!DOCTYPE html><html></html>", "a web page"},
          {"a zip", "PK\x03\x04" + std::string(30, '\0'), "is not an IDX file"},
          {"zeros", std::string(64, '\0'), "unknown element type"}};
}

TEST(HostileIdx, IsRefused) {
  test::expect_refused(hostile_idx(), 24, "bad-idx3-ubyte", [](const std::string& path) { data::read_idx(path); });
}

TEST(HostileIdx, IsRefusedWithinGzip) {
  std::vector<Hostile> files = hostile_idx();
  for (Hostile& file : files) {
    file.bytes = gzipped(file.bytes);
    if (file.found == "is too long") file.found = "more bytes than its header says";
  }
  test::expect_refused(files, 24, "bad-idx3-ubyte.gz", [](const std::string& path) { data::read_idx(path); });
}

/// Images where labels are expected, and the reverse.
TEST(HostileIdx, OtherContentIsRefused) {
  test::expect_refused({{"labels", idx(8, {6}, counting(6)), "rank 1"},
                        {"rank 4", idx(8, {1, 1, 1, 6}, counting(6)), "rank 4"},
                        {"floats", idx(0x0d, {1, 1, 1}, counting(4)), "elements of type float"},
                        {"signed bytes", idx(9, {1, 1, 1}, counting(1)), "signed byte"}},
                       4, "train-images-idx3-ubyte", [](const std::string& path) {
                         data::read_idx(path, {.rank = 3, .dtype = DType::uint8, .content = "images"});
                       });
}

TEST(OddIdx, IsRead) {
  const auto read = [](const std::string& path) { return test::text_of(data::read_idx(path)); };
  std::vector<test::Valid> files = {
      {"bytes", kSixBytes, "uint8[2, 3] 1 2 3 4 5 6"},
      {"signed bytes", idx(9, {2}, raw({0x80, 5})), "int32[2] -128 5"},
      {"shorts", idx(0x0b, {2}, raw({0xff, 0xfe, 1, 2})), "int32[2] -2 258"},
      {"ints", idx(0x0c, {1}, big(0x80000000, 4)), "int32[1] -2.14748e+09"},
      {"floats", idx(0x0d, {1}, big(0xc0200000, 4)), "float32[1] -2.5"},
      {"doubles", idx(0x0e, {1}, big(0x3ff8000000000000, 8)), "float64[1] 1.5"},
      {"no elements", idx(8, {0, 28, 28}, ""), "uint8[0, 28, 28]"},
      {"huge sizes beside a 0", idx(8, {0xffffffff, 0, 0xffffffff}, ""), "uint8[4294967295, 0, 4294967295]"},
      {"rank 8", idx(8, {1, 1, 1, 1, 1, 1, 1, 2}, counting(2)), "uint8[1, 1, 1, 1, 1, 1, 1, 2] 1 2"}};
  test::expect_accepted(files, "odd", read);
  for (test::Valid& file : files) file.bytes = gzipped(file.bytes);
  test::expect_accepted(files, "odd.gz", read);
  test::expect_accepted(files, "gzip without its ending", read);
}

/// Kinds of damaged gzip around the content of a file that is otherwise read.
std::vector<Hostile> hostile_gzip(const std::string& content) {
  const std::string good = gzipped(content), head = good.substr(0, 10), end = good.substr(good.size() - 8);
  const auto flagged = [&](int flags, const std::string& fields) {
    return with(head, 3, raw({flags})) + fields + good.substr(10);
  };
  const auto block = [&](const std::string& bits) { return head + bits + end; };
  return {{"two bytes", good.substr(0, 2), "truncated"},
          {"cut in the header", good.substr(0, 9), "truncated"},
          {"only the header", head, "truncated"},
          {"cut in the data", good.substr(0, 14), "truncated"},
          {"no checksum", cut(good, 8), "truncated"},
          {"cut in the checksum", cut(good, 6), "truncated"},
          {"no length", cut(good, 4), "truncated"},
          {"cut in the length", cut(good, 1), "truncated"},
          {"method 0", with(good, 2, raw({0})), "gzip: unknown compression method"},
          {"method 9", with(good, 2, raw({9})), "gzip: unknown compression method"},
          {"reserved flags", with(good, 3, raw({0xe0})), "gzip: unknown header flags set"},
          {"another checksum", with(good, good.size() - 8, "XXXX"), "gzip: incorrect data check"},
          {"another length", with(good, good.size() - 4, "XXXX"), "gzip: incorrect length check"},
          {"a length beyond 4 GB", with(good, good.size() - 4, raw({255, 255, 255, 255})), "incorrect length check"},
          {"a byte behind it", good + "x", "bytes follow the end"},
          {"zeros behind it", good + std::string(100, '\0'), "bytes follow the end"},
          {"a second member that is cut", good + good.substr(0, 9), "truncated"},
          {"extra fields beyond the file", with(head, 3, raw({4})) + raw({0xff, 0xff}), "truncated"},
          {"a name that does not end", with(head, 3, raw({8})) + std::string(100000, 'n'), "truncated"},
          {"another checksum of the header", flagged(2, "XX"), "gzip: header crc mismatch"},
          {"block type 3", block(raw({7})), "gzip: invalid block type"},
          {"a stored block of two lengths", block(raw({1, 5, 0, 0, 0})), "gzip: invalid stored block lengths"},
          {"too many symbols", block(raw({0xfd, 0xff, 0xff})), "gzip: "},
          {"a distance before the beginning", block(raw({0x63, 0x00, 0x02, 0x00})), "gzip: "},
          {"a preset dictionary of zlib", "\x1f\x8b" + test::deflated(content, 15), "gzip: "}};
}

TEST(HostileGzip, IsRefused) {
  std::vector<Hostile> files = hostile_gzip(kSixBytes);
  files.push_back({"a second array", gzipped(kSixBytes) + gzipped(kSixBytes), "more bytes"});
  files.push_back({"not gzip", kSixBytes, "is not gzip"});
  files.push_back({"zlib's format", test::deflated(kSixBytes, 15), "is not gzip"});
  files.push_back({"deflate alone", test::deflated(kSixBytes, -15), "is not gzip"});
  files.push_back({"a web page", "<!DOCTYPE html><html></html>", "a web page"});
  files.push_back({"an empty file", "", "an empty file"});
  files.push_back({"a bomb behind a small array", gzipped(kSixBytes + std::string(20 << 20, '\0')), "more bytes"});
  files.push_back({"more than it can hold", gzipped(idx(8, {1 << 30}, std::string(1000, '\0'))), "is too short"});
  test::expect_refused(files, 32, "bad-idx3-ubyte.gz", [](const std::string& path) { data::read_idx(path); });
}

TEST(HostileGzip, IsRefusedAroundText) {
  test::expect_refused(hostile_gzip("a,b\n1,2\n3,4\n"), 25, "bad.csv.gz",
                       [](const std::string& path) { data::read_csv(path); });
}

TEST(OddGzip, IsRead) {
  const std::string good = gzipped(kSixBytes), data = good.substr(10);
  const auto flagged = [&](int flags, const std::string& fields) {
    return with(good.substr(0, 10), 3, raw({flags})) + fields + data;
  };
  const std::string named = with(good.substr(0, 10), 3, raw({10})) + "x" + raw({0});
  const std::string text = "uint8[2, 3] 1 2 3 4 5 6";
  test::expect_accepted({{"a name", flagged(8, "train" + raw({0})), text},
                         {"a comment", flagged(16, "made by hand" + raw({0})), text},
                         {"extra fields", flagged(4, little(3, 2) + "abc"), text},
                         {"text flag, a time, another system", with(good, 3, raw({1, 9, 9, 9, 9, 2, 0})), text},
                         {"a checksum of the header", named + little(test::checksum(named) & 0xffff, 2) + data, text},
                         {"a stored block",
                          good.substr(0, 10) + raw({1}) + little(kSixBytes.size(), 2) +
                              little(~kSixBytes.size() & 0xffff, 2) + kSixBytes + good.substr(good.size() - 8),
                          text}},
                        "odd.gz", [](const std::string& path) { return test::text_of(data::read_idx(path)); });
}

TEST(HostileCifar, IsRefused) {
  const std::string image = "\7" + std::string(3072, 'x');
  test::expect_refused({{"empty file", "", "has 0 bytes"},
                        {"one byte", "x", "has 1 bytes"},
                        {"cut by a byte", cut(image + image, 1), "has 6145 bytes"},
                        {"a byte more", image + "x", "has 3074 bytes"},
                        {"two labels", "\7" + image, "has 3074 bytes"},
                        {"label 10", "\n" + image.substr(1), "label 10 of image 0"},
                        {"label 255, of the second", image + "\xff" + image.substr(1), "label 255 of image 1"},
                        {"a web page", "<!DOCTYPE html><html></html>", "has 28 bytes"},
                        {"gzip", gzipped(image), "has "}},
                       9, "test_batch.bin", [](const std::string& path) {
                         vision::cifar10("test", {.root = std::filesystem::path(path).parent_path().string()});
                       });
}

}  // namespace
}  // namespace minnow
