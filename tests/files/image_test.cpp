// PNG and JPEG files that are refused, and unusual ones that are read.

#include <gtest/gtest.h>
#include <minnow/tensor/create.h>
#include <minnow/vision/image.h>

#include "hostile.h"

namespace minnow {
namespace {

using test::big;
using test::counting;
using test::cut;
using test::Hostile;
using test::raw;
using test::with;

const std::string kSignature = "\x89PNG\r\n\x1a\n";

std::string chunk(const std::string& type, const std::string& data) {
  return big(data.size(), 4) + type + data + big(test::checksum(type + data), 4);
}

std::string header(std::uint64_t width, std::uint64_t height, int depth = 8, int type = 0, int interlace = 0) {
  return chunk("IHDR", big(width, 4) + big(height, 4) + raw({depth, type, 0, 0, interlace}));
}

/// Rows, each with the number of its filter, as chunks.
std::string data(const std::string& rows) { return chunk("IDAT", test::deflated(rows, 15)); }

const std::string kEnd = chunk("IEND", "");
const std::string kRows = raw({0, 1, 2, 0, 3, 4});  // of 2 x 2 grey pixels

std::string png(const std::string& chunks) { return kSignature + chunks + kEnd; }

void expect_refused(const std::vector<Hostile>& files, std::size_t at_least, const std::string& name) {
  for (const auto mode : {vision::ImageMode::unchanged, vision::ImageMode::grey, vision::ImageMode::rgb})
    test::expect_refused(files, at_least, name,
                         [mode](const std::string& path) { vision::read_image(path, {.mode = mode}); });
}

TEST(HostilePng, IsRefused) {
  const std::string head = header(2, 2), body = data(kRows), good = png(head + body);
  const std::string rgb_rows = raw({0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6});
  const std::string damaged = "a damaged PNG file: ";
  expect_refused(
      {{"empty file", "", "an empty file"},
       {"half of the signature", "\x89PNG", "89 50 4e 47"},
       {"the signature alone", kSignature, damaged},
       {"a signature with changed line ends", "\x89PNG\n\x1a\n" + good.substr(8), "89 50 4e 47"},
       {"a web page", "<!DOCTYPE html><html></html>", "a web page"},
       {"GIF", "GIF89a" + std::string(30, '\0'), "a PNG or JPEG file"},
       {"no header", png(body), damaged},
       {"no pixels", png(head), damaged},
       {"no end", kSignature + head + body, damaged + "the file is truncated"},
       {"end alone", png(""), damaged},
       {"a header of 12 bytes", png(chunk("IHDR", big(2, 4) + big(2, 4) + raw({8, 0, 0, 0})) + body), damaged},
       {"a header of 14 bytes", png(chunk("IHDR", big(2, 4) + big(2, 4) + raw({8, 0, 0, 0, 0, 0})) + body), damaged},
       {"two headers", png(head + head + body), damaged},
       {"a header behind the pixels", png(body + head), damaged},
       {"width 0", png(header(0, 2) + body), damaged},
       {"height 0", png(header(2, 0) + body), damaged},
       {"width 2^31", png(header(0x80000000, 2) + body), damaged},
       {"height 2^32 - 1", png(header(2, 0xffffffff) + body), damaged},
       {"2^31 - 1 by 2^31 - 1", png(header(0x7fffffff, 0x7fffffff) + body), "2147483647 x 2147483647 pixels"},
       {"2^31 - 1 in a row", png(header(0x7fffffff, 1) + body), "2147483647 x 1 pixels"},
       {"13000 by 13000", png(header(13000, 13000) + body), "claims 13000 x 13000 pixels"},
       {"13000 by 13000, interlaced", png(header(13000, 13000, 8, 6, 1) + body), "claims 13000 x 13000 pixels"},
       {"13000 by 13000 bits", png(header(13000, 13000, 1) + body), "claims 13000 x 13000 pixels"},
       {"13000 by 13000 of 16 bits", png(header(13000, 13000, 16, 6) + body), "claims 13000 x 13000 pixels"},
       {"depth 0", png(header(2, 2, 0) + body), damaged},
       {"depth 3", png(header(2, 2, 3) + body), damaged},
       {"depth 32", png(header(2, 2, 32) + body), damaged},
       {"RGB of 4 bits", png(header(2, 2, 4, 2) + body), damaged},
       {"a palette of 16 bits", png(header(2, 2, 16, 3) + body), damaged},
       {"RGBA of 2 bits", png(header(2, 2, 2, 6) + body), damaged},
       {"colour type 1", png(header(2, 2, 8, 1) + body), damaged},
       {"colour type 5", png(header(2, 2, 8, 5) + body), damaged},
       {"colour type 255", png(header(2, 2, 8, 255) + body), damaged},
       {"compression method 1", png(chunk("IHDR", big(2, 4) + big(2, 4) + raw({8, 0, 1, 0, 0})) + body), damaged},
       {"filter method 1", png(chunk("IHDR", big(2, 4) + big(2, 4) + raw({8, 0, 0, 1, 0})) + body), damaged},
       {"interlace method 2", png(header(2, 2, 8, 0, 2) + body), damaged},
       {"another checksum of the header", with(good, 8 + 21, "XXXX"), damaged + "IHDR: CRC error"},
       {"another checksum of the pixels", with(good, 8 + 25 + body.size() - 4, "XXXX"), damaged + "IDAT: CRC error"},
       {"a palette image without palette", png(header(2, 2, 8, 3) + body), damaged},
       {"a palette of 4 bytes", png(header(2, 2, 8, 3) + chunk("PLTE", "1234") + body), damaged},
       {"a palette of 257 colours", png(header(2, 2, 8, 3) + chunk("PLTE", std::string(771, 'x')) + body), damaged},
       {"an empty palette", png(header(2, 2, 8, 3) + chunk("PLTE", "") + body), damaged},
       {"a palette behind the pixels", png(header(2, 2, 8, 3) + body + chunk("PLTE", "123456")), damaged},
       {"a chunk of 4 GB", kSignature + head + big(0xffffffff, 4) + "IDAT" + body, damaged},
       {"a chunk of 2 GB", kSignature + head + big(0x7fffffff, 4) + "IDAT" + body, damaged},
       {"a text chunk of 2 GB", kSignature + head + big(0x7fffffff, 4) + "tEXt" + body, damaged},
       {"a critical chunk that is unknown", png(head + chunk("ABCD", "x") + body), damaged},
       {"a chunk whose name is no text", png(head + chunk(raw({0, 1, 2, 3}), "x") + body), damaged},
       {"pixels that are empty", png(head + chunk("IDAT", "")), damaged},
       {"pixels that are not zlib's", png(head + chunk("IDAT", "hello")), damaged},
       {"pixels of gzip", png(head + chunk("IDAT", test::gzipped(kRows))), damaged},
       {"pixels that are cut", png(head + chunk("IDAT", cut(test::deflated(kRows, 15), 6))), damaged},
       {"a row missing", png(head + data(kRows.substr(0, 3))), damaged},
       {"a byte missing", png(head + data(cut(kRows, 1))), damaged},
       {"filter 5", png(head + data(raw({0, 1, 2, 5, 3, 4}))), damaged + "bad adaptive filter value"},
       {"filter 255", png(head + data(raw({255, 1, 2, 0, 3, 4}))), damaged + "bad adaptive filter value"},
       {"pixels in two places",
        png(head + chunk("IDAT", test::deflated(kRows, 15).substr(0, 5)) + chunk("tEXt", "a") +
            chunk("IDAT", test::deflated(kRows, 15).substr(5))),
        damaged},
       {"grey pixels called RGB", png(header(2, 2, 8, 2) + body), damaged},
       {"pixels of half the depth", png(header(2, 2, 16) + body), damaged},
       {"interlaced without the last pass", png(header(4, 4, 8, 0, 1) + data(raw({0, 1, 0, 2, 0, 3, 4}))), damaged}},
      60, "bad.png");
}

/// What a PNG file unpacks beside its pixels is limited too.
TEST(HostilePng, BombsTakeNoMemory) {
  const std::string head = header(2, 2), body = data(kRows), zeros(10 << 20, '\0');
  const std::string packed = test::deflated(zeros, 15);
  const test::MemoryFolder folder;
  const std::string path = folder / "bomb.png";
  for (const std::string& bomb :
       {chunk("zTXt", "a" + raw({0, 0}) + packed), chunk("iTXt", "a" + raw({0, 1, 0, 0, 0}) + packed),
        chunk("iCCP", "a" + raw({0, 0}) + packed), chunk("tEXt", "a" + raw({0}) + zeros)}) {
    test::write_bytes(path, png(head + bomb + body));
    const test::MemoryCap cap;
    try {
      EXPECT_EQ(test::text_of(vision::read_image(path)), "uint8[1, 2, 2] 1 2 3 4");
    } catch (const FormatError& error) { EXPECT_NE(std::string(error.what()).find(path), std::string::npos); }
  }
}

TEST(OddPng, IsRead) {
  const std::string text = "uint8[1, 2, 2] 1 2 3 4", palette = chunk("PLTE", counting(6));
  test::expect_accepted(
      {{"grey", png(header(2, 2) + data(kRows)), text},
       {"pixels in chunks of a byte",
        png(header(2, 2) +
            [] {
              std::string all;
              for (const char c : test::deflated(kRows, 15)) all += chunk("IDAT", {c});
              return all;
            }()),
        text},
       {"an empty chunk of pixels", png(header(2, 2) + chunk("IDAT", "") + data(kRows)), text},
       {"chunks that are unknown", png(header(2, 2) + chunk("abCd", "x") + data(kRows) + chunk("abCd", "y")), text},
       {"a checksum of text that does not fit", png(header(2, 2) + with(chunk("tEXt", "a"), 9, "XXXX") + data(kRows)),
        text},
       {"every filter", png(header(1, 5) + data(raw({0, 9, 1, 9, 2, 1, 3, 1, 4, 1}))), "uint8[1, 5, 1] 9 9 10 6 7"},
       {"1 bit", png(header(9, 1, 1) + data(raw({0, 0xa5, 0x80}))), "uint8[1, 1, 9] 255 0 255 0 0 255 0 255 255"},
       {"2 bits", png(header(4, 1, 2) + data(raw({0, 0x1b}))), "uint8[1, 1, 4] 0 85 170 255"},
       {"4 bits", png(header(2, 1, 4) + data(raw({0, 0x0f}))), "uint8[1, 1, 2] 0 255"},
       {"16 bits", png(header(2, 1, 16) + data(raw({0, 1, 255, 2, 0}))), "uint8[1, 1, 2] 1 2"},
       {"a palette", png(header(2, 1, 8, 3) + palette + data(raw({0, 1, 0}))), "uint8[3, 1, 2] 4 1 5 2 6 3"},
       {"a palette of 1 bit", png(header(2, 1, 1, 3) + palette + data(raw({0, 0x40}))), "uint8[3, 1, 2] 1 4 2 5 3 6"},
       {"a palette with alpha", png(header(1, 1, 8, 3) + palette + chunk("tRNS", "\7") + data(raw({0, 0}))),
        "uint8[4, 1, 1] 1 2 3 7"},
       {"a transparent colour", png(header(2, 1) + chunk("tRNS", big(5, 2)) + data(raw({0, 5, 6}))),
        "uint8[2, 1, 2] 5 6 0 255"},
       {"grey and alpha", png(header(1, 1, 8, 4) + data(raw({0, 5, 6}))), "uint8[2, 1, 1] 5 6"},
       {"RGBA", png(header(1, 1, 8, 6) + data(raw({0, 1, 2, 3, 4}))), "uint8[4, 1, 1] 1 2 3 4"},
       {"interlaced", png(header(2, 2, 8, 0, 1) + data(raw({0, 1, 0, 2, 0, 3, 4}))), text},
       {"bytes behind the end", png(header(2, 2) + data(kRows)) + "more", text}},
      "odd.png", [](const std::string& path) { return test::text_of(vision::read_image(path)); });
}

/// Our own JPEG file of 16 x 16 pixels, in its parts.
struct Jpeg {
  std::string all;
  std::vector<std::string> parts;  // markers with their content; the last has the pixels and the end

  explicit Jpeg(std::int64_t channels) {
    const test::MemoryFolder folder;
    const std::string path = folder / "x.jpg";
    const Tensor image = empty({channels, 16, 16}, {.dtype = DType::uint8});
    for (std::int64_t i = 0; i < image.numel(); ++i)
      image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7 % 256);
    vision::write_jpeg(image, path);
    all = test::read_bytes(path);
    for (std::size_t at = 2; at + 4 <= all.size();) {
      const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(all[i]); };
      const std::size_t length = 2 + (std::size_t{byte(at + 2)} << 8 | byte(at + 3));
      const bool scan = byte(at + 1) == 0xda;
      parts.push_back(all.substr(at, scan ? std::string::npos : length));
      if (scan) break;
      at += length;
    }
  }
  /// The number of the first part with this marker.
  std::size_t find(int marker) const {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (static_cast<unsigned char>(parts[i][1]) == marker) return i;
    throw std::runtime_error("no such marker");
  }
  /// The file with the part of a marker replaced.
  std::string with(int marker, const std::string& by) const {
    std::string out = "\xff\xd8";
    for (std::size_t i = 0; i < parts.size(); ++i) out += i == find(marker) ? by : parts[i];
    return out;
  }
  /// The file without any part of this marker.
  std::string without(int marker) const {
    std::string out = "\xff\xd8";
    for (const std::string& part : parts)
      if (static_cast<unsigned char>(part[1]) != marker) out += part;
    return out;
  }
  /// The file with bytes of a part changed.
  std::string changed(int marker, std::size_t at, std::initializer_list<int> by) const {
    return with(marker, test::with(parts[find(marker)], at, raw(by)));
  }
};

TEST(HostileJpeg, IsRefused) {
  constexpr int kQuantization = 0xdb, kFrame = 0xc0, kCodes = 0xc4, kScan = 0xda;
  const Jpeg grey(1), rgb(3);
  const std::string damaged = "a damaged JPEG file: ";
  const std::string frame = grey.parts[grey.find(kFrame)], scan = grey.parts[grey.find(kScan)];
  std::string scans;  // a progressive file of 600 scans of nothing
  for (int i = 0; i < 600; ++i) scans += raw({0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 1, 0});
  expect_refused(
      {{"two bytes", "\xff\xd8", "ff d8"},
       {"three bytes", "\xff\xd8\xff", damaged},
       {"begin and end", raw({0xff, 0xd8, 0xff, 0xd9}), damaged},
       {"no end", cut(grey.all, 2), damaged + "Premature end"},
       {"no frame", grey.without(kFrame), damaged},
       {"two frames", grey.with(kFrame, frame + frame), damaged},
       {"no scan", grey.with(kScan, raw({0xff, 0xd9})), damaged},
       {"no tables of quantization", grey.without(kQuantization), damaged},
       {"a scan before the frame", grey.with(kFrame, scan + frame), damaged},
       {"width 0", grey.changed(kFrame, 7, {0, 0}), damaged},
       {"height 0", grey.changed(kFrame, 5, {0, 0}), damaged},
       {"65535 by 65535", grey.changed(kFrame, 5, {255, 255, 255, 255}), damaged},
       {"65500 by 65500", grey.changed(kFrame, 5, {0xff, 0xdc, 0xff, 0xdc}), "65500 x 65500 pixels"},
       {"13000 by 13000", grey.changed(kFrame, 5, {0x32, 0xc8, 0x32, 0xc8}), "claims 13000 x 13000 pixels"},
       {"13000 by 13000 in colour", rgb.changed(kFrame, 5, {0x32, 0xc8, 0x32, 0xc8}), "claims 13000 x 13000 pixels"},
       {"12 bits", grey.changed(kFrame, 4, {12}), damaged + "Unsupported JPEG data precision 12"},
       {"0 components", grey.changed(kFrame, 9, {0}), damaged},
       {"2 components said", grey.changed(kFrame, 9, {2}), damaged},
       {"255 components", grey.changed(kFrame, 9, {255}), damaged},
       {"sampling 0", grey.changed(kFrame, 11, {0}), damaged},
       {"sampling 5", grey.changed(kFrame, 11, {0x55}), damaged},
       {"quantization table 4", grey.changed(kFrame, 12, {4}), damaged},
       {"a table that is not there", grey.changed(kFrame, 12, {3}), damaged},
       {"table number 15", grey.changed(kQuantization, 4, {15}), damaged},
       {"a table that is too short", grey.changed(kQuantization, 2, {0, 20}), damaged},
       {"a table of length 0", grey.changed(kQuantization, 2, {0, 0}), damaged},
       {"a table beyond the file", grey.changed(kQuantization, 2, {255, 255}), damaged},
       {"codes number 8", grey.changed(kCodes, 4, {8}), damaged},
       {"more codes than there are",
        grey.changed(kCodes, 5, {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}),
        damaged},
       {"codes that do not fit", grey.changed(kCodes, 5, {3, 3}), damaged},
       {"codes beyond their length", grey.changed(kCodes, 2, {0, 18}), damaged},
       {"a component that is not in the frame", grey.changed(kScan, 5, {9}), damaged},
       {"0 components in the scan", grey.changed(kScan, 4, {0}), damaged},
       {"5 components in the scan", grey.changed(kScan, 4, {5}), damaged},
       {"codes of the scan that are not there", grey.changed(kScan, 6, {0x33}), damaged},
       {"a scan of length 3", grey.changed(kScan, 2, {0, 3}), damaged},
       {"arithmetic coding without data", cut(grey.changed(kFrame, 1, {0xc9}), 60), damaged},
       {"lossless", grey.changed(kFrame, 1, {0xc3}), damaged},
       {"hierarchical", grey.changed(kFrame, 1, {0xc5}), damaged},
       {"lossless, arithmetic", grey.changed(kFrame, 1, {0xcb}), damaged},
       {"600 scans",
        "\xff\xd8" + with(frame, 1, raw({0xc2})) + grey.parts[grey.find(kQuantization)] +
            grey.parts[grey.find(kCodes)] + scans + raw({0xff, 0xd9}),
        damaged},
       {"a restart that is missing", grey.with(kScan, raw({0xff, 0xdd, 0, 4, 0, 1}) + scan), damaged},
       {"pixels that are 0", grey.with(kScan, scan.substr(0, 10) + std::string(100, '\0')), damaged},
       {"another begin within", grey.with(kFrame, "\xff\xd8" + frame), damaged},
       {"a comment beyond the file", grey.with(kScan, raw({0xff, 0xfe, 255, 255}) + "x"), damaged}},
      45, "bad.jpg");
}

TEST(OddJpeg, IsRead) {
  const Jpeg grey(1);
  const auto shape = [](const std::string& path) { return vision::read_image(path).shape().str(); };
  const std::string scan = grey.parts[grey.find(0xda)];
  test::expect_accepted({{"ours", grey.all, "[1, 16, 16]"},
                         {"a comment", grey.with(0xda, raw({0xff, 0xfe, 0, 6}) + "abcd" + scan), "[1, 16, 16]"},
                         {"unknown applications' data", grey.with(0xda, raw({0xff, 0xef, 0, 2}) + scan), "[1, 16, 16]"},
                         {"fill bytes before a marker", grey.with(0xda, "\xff\xff" + scan), "[1, 16, 16]"},
                         {"no JFIF header", grey.without(0xe0), "[1, 16, 16]"},
                         {"bytes behind the end", grey.all + "more", "[1, 16, 16]"}},
                        "odd.jpg", shape);
}

/// Every beginning of a file is refused.
TEST(HostileImages, CutAtEveryPlace) {
  const test::MemoryFolder folder;
  const std::string path = folder / "cut";
  for (const std::string& whole :
       {png(header(2, 2) + data(kRows)),
        png(header(5, 3, 2, 3, 1) + chunk("PLTE", counting(12)) + data(std::string(12, '\0'))), Jpeg(1).all,
        Jpeg(3).all})
    for (std::size_t size = 0; size < whole.size(); ++size) {
      test::write_bytes(path, whole.substr(0, size));
      EXPECT_THROW(vision::read_image(path), FormatError) << size << " of " << whole.size();
    }
}

}  // namespace
}  // namespace minnow
