#include <sys/stat.h>
#include <unistd.h>
#include <minnow/data/idx.h>
#include <minnow/tensor/error.h>

#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using data::read_idx;
using test::Bytes;
using test::error_of;
using test::gzip;
using test::has;
using test::idx;

class Idx : public test::TempFolder {
 protected:
  template <class E = FormatError>
  std::string refused(const std::string& name, const Bytes& bytes, const data::IdxExpectation& expected = {}) {
    const auto path = write(name, bytes);
    const std::string text = error_of<E>([&] { read_idx(path, expected); });
    EXPECT_TRUE(has(text, path)) << text;
    return text;
  }
};

template <class T> std::vector<T> values(const Tensor& t) {
  const auto s = t.span<T>();
  return {s.begin(), s.end()};
}

TEST_F(Idx, ReadsEveryTypePlainAndPacked) {
  for (const bool packed : {false, true}) {
    const auto read = [&](const Bytes& bytes) { return read_idx(write("f", packed ? gzip(bytes) : bytes)); };
    const Tensor u8 = read(idx(0x08, {2, 3}, {1, 2, 3, 4, 5, 255}));
    EXPECT_EQ(u8.shape(), Shape({2, 3}));
    EXPECT_EQ(values<std::uint8_t>(u8), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 255}));
    EXPECT_EQ(values<std::int32_t>(read(idx(0x09, {2}, {0x80, 5}))), (std::vector<std::int32_t>{-128, 5}));
    EXPECT_EQ(values<std::int32_t>(read(idx(0x0B, {2}, {0xff, 0xfe, 1, 2}))), (std::vector<std::int32_t>{-2, 258}));
    EXPECT_EQ(values<std::int32_t>(read(idx(0x0C, {1}, {0x80, 0, 0, 1}))), (std::vector<std::int32_t>{-2147483647}));
    EXPECT_EQ(values<float>(read(idx(0x0D, {1}, {0xC0, 0x20, 0, 0}))), (std::vector<float>{-2.5F}));
    EXPECT_EQ(values<double>(read(idx(0x0E, {1}, {0x3F, 0xF8, 0, 0, 0, 0, 0, 0}))), (std::vector<double>{1.5}));
    EXPECT_EQ(read(idx(0x08, {0, 28, 28}, {})).shape(), Shape({0, 28, 28}));
    EXPECT_EQ(read(idx(0x08, {1, 1, 1, 1, 1, 1, 1, 2}, {3, 4})).dim(), 8);
  }
}

TEST_F(Idx, RefusesDamagedHeaders) {
  EXPECT_TRUE(has(refused("a", {}), "empty file"));
  EXPECT_TRUE(has(refused("a", {0, 0, 8}), "not an IDX file"));
  EXPECT_TRUE(has(refused("a", {1, 0, 8, 1, 0, 0, 0, 0}), "not an IDX file"));
  EXPECT_TRUE(has(refused("a", {0, 1, 8, 1, 0, 0, 0, 0}), "not an IDX file"));
  EXPECT_TRUE(has(refused("a", idx(0x0A, {1}, {1})), "unknown element type"));
  EXPECT_TRUE(has(refused("a", {0, 0, 8, 0, 1}), "impossible rank"));
  EXPECT_TRUE(has(refused("a", idx(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1})), "impossible rank"));
  EXPECT_TRUE(has(refused("a", {0, 0, 8, 2, 0, 0, 0, 1, 0}), "within its header"));
  const std::uint32_t big = 0xffffffff;
  EXPECT_TRUE(has(refused("a", idx(8, {big, big, big}, {1})), "impossible size"));
  // A product that wraps around 64 bits to 0 must not look like an empty array.
  EXPECT_TRUE(has(refused("a", idx(8, {0x80000000, 0x80000000, 4}, {})), "impossible size"));
}

TEST_F(Idx, RefusesTheWrongLength) {
  EXPECT_TRUE(has(refused("a", idx(8, {4}, {1, 2, 3})), "too short"));
  EXPECT_TRUE(has(refused("a", idx(8, {4}, {1, 2, 3, 4, 5})), "too long"));
  EXPECT_TRUE(has(refused("a", idx(8, {0x7fffffff}, {1})), "too short"));  // before memory is allocated
  EXPECT_TRUE(has(refused("a.gz", gzip(idx(8, {4}, {1, 2, 3}))), "too short"));
  EXPECT_TRUE(has(refused("a.gz", gzip(idx(8, {4}, {1, 2, 3, 4, 5}))), "more bytes"));
  EXPECT_TRUE(has(refused("a.gz", gzip(idx(8, {0x7fffffff}, {1}))), "too short"));
}

TEST_F(Idx, RefusesDamagedGzip) {
  const Bytes good = gzip(idx(8, {300}, Bytes(300, 7)));
  for (std::size_t cut = 2; cut < good.size(); ++cut)  // within the header, the data, the checksum
    EXPECT_TRUE(has(refused("a.gz", Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut))), "a.gz"))
        << cut;
  Bytes bad = good;
  bad[bad.size() - 6] ^= 1;
  EXPECT_TRUE(has(refused("a.gz", bad), "gzip"));  // the checksum
  bad = good;
  bad[bad.size() - 1] ^= 1;
  EXPECT_TRUE(has(refused("a.gz", bad), "gzip"));  // the length
  bad = good;
  bad.push_back(0);
  EXPECT_TRUE(has(refused("a.gz", bad), "bytes follow"));
  const std::string page = "<!DOCTYPE html><html></html>";
  EXPECT_TRUE(has(refused("a.gz", Bytes(page.begin(), page.end())), "web page"));
}

TEST_F(Idx, RefusesOtherThanFiles) {
  EXPECT_TRUE(has(error_of<IoError>([&] { read_idx(folder_); }), "a directory"));
  EXPECT_TRUE(has(error_of<IoError>([&] { read_idx(folder_ / "none"); }), "none"));
  const auto pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(has(error_of<IoError>([&] { read_idx(pipe); }), "FIFO"));
}

TEST_F(Idx, ChecksRankAndDtype) {
  const Bytes labels = idx(8, {2}, {1, 2});
  EXPECT_TRUE(has(refused("a", labels, {.rank = 3, .dtype = {}, .content = "images"}), "does not hold images"));
  EXPECT_TRUE(has(refused("a", labels, {.rank = 1, .dtype = DType::float32, .content = "x"}), "float32"));
}

}  // namespace
}  // namespace minnow
