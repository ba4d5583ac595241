#include <cstdlib>
#include <fstream>
#include <unistd.h>
#include <minnow/data/file_dataset.h>
#include <minnow/data/loader.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>
#include "data/files.h"
#include "support/golden.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::Book;
using test::Bytes;
using test::error_of;
using test::expect_close;
using test::has;

class Arrays : public test::TempFolder {
 protected:
  std::string file(const std::string& name) const {
    return write("f", book_[name + "/file"].to_vector<std::uint8_t>());
  }
  Bytes content(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
  }
  template <class F> std::string refused(const Bytes& bytes, F read) const {
    const auto path = write("bad", bytes);
    const std::string text = error_of<FormatError>([&] { read(path); });
    EXPECT_TRUE(has(text, path)) << text;
    return text;
  }
  std::string refused_npy(const Bytes& bytes) const {
    return refused(bytes, [](const std::string& path) { load_npy(path); });
  }
  std::string refused_npz(const Bytes& bytes) const {
    return refused(bytes, [](const std::string& path) { load_npz(path); });
  }
  /// An .npy file of version 1 with this dictionary.
  static Bytes npy(const std::string& text, std::size_t elements, const std::string& magic = "\x93NUMPY\x01") {
    std::string out = magic + std::string(1, '\0');
    out += static_cast<char>((text.size() + 1) & 0xff);
    out += static_cast<char>((text.size() + 1) >> 8);
    out += text + "\n" + std::string(elements, '\1');
    return Bytes(out.begin(), out.end());
  }

  Book book_{"arrays", {}};
};

TEST_F(Arrays, NumpysFilesAreRead) {
  int count = 0;
  for (const std::string kind : {"f4", "f8", "f2", "i8", "i4", "u1", "b1"})
    for (const char* order : {"", "_big", "_fortran"}) {
      const std::string name = "npy/" + kind + order;
      const Tensor got = load_npy(file(name));
      expect_close(got, book_[name + "/array"], name, {});
      EXPECT_TRUE(got.is_contiguous());
      ++count;
    }
  EXPECT_EQ(count, 21);
  for (const std::string name : {"version1", "version2", "version3", "number", "row", "empty", "cube_fortran"})
    expect_close(load_npy(file("npy/" + name)), book_["npy/" + name + "/array"], name, {});
  EXPECT_EQ(load_npy(file("npy/row"), "sim:0").device(), Device("sim:0"));
}

TEST_F(Arrays, OurFilesAreNumpys) {
  for (const std::string name : {"f4", "f8", "f2", "i8", "i4", "u1", "b1", "number", "row", "empty"}) {
    const std::string key = "npy/" + name, path = folder_ / "out.npy";
    save_npy(book_[key + "/array"], path);
    EXPECT_EQ(content(path), book_[key + "/file"].to_vector<std::uint8_t>()) << name;  // byte by byte
  }
  const Tensor x = arange(6.0).reshape({2, 3}).to("sim:0");
  save_npy(x.t(), folder_ / "t.npy");
  expect_close(load_npy(folder_ / "t.npy"), x.t().cpu().contiguous(), "a view on a device", {});
  EXPECT_THROW(save_npy(x.to(bfloat16), folder_ / "b.npy"), DTypeError);
  EXPECT_THROW(save_npy(Tensor(), folder_ / "b.npy"), ValueError);
}

TEST_F(Arrays, ArchivesAreReadAndWritten) {
  for (const std::string name : {"npz/stored", "npz/deflated"}) {
    const StateDict got = load_npz(file(name));
    ASSERT_EQ(got.size(), 2U);
    expect_close(got.at("weight"), book_["npy/f4/array"], name, {});
    expect_close(got.at("layer.bias"), arange(300), name, {});
  }
  for (const bool compress : {false, true}) {
    const StateDict out{
        {"a", rand({100, 30})}, {"b.c", tensor({true, false})}, {"d", zeros({0, 3}, int64)}, {"e", zeros({50000})}};
    save_npz(out, folder_ / "o.npz", {.compress = compress});
    const StateDict back = load_npz(folder_ / "o.npz");
    ASSERT_EQ(back.size(), 4U);
    for (const auto& [name, tensor] : out) expect_close(back.at(name), tensor, name, {});
    EXPECT_EQ(std::filesystem::file_size(folder_ / "o.npz") > 200000, !compress);
  }
  if (std::system("python3 -c 'import numpy' 2>/dev/null") == 0) {  // where there is NumPy, it reads them
    const std::string path = folder_ / "o.npz";
    EXPECT_EQ(std::system(("python3 -c \"import numpy as n; d = n.load('" + path +
                           "'); assert d['a'].shape == (100, 30) and d['b.c'].tolist() == [True, False]\"")
                              .c_str()),
              0);
  }
  EXPECT_THROW(save_npz({{"", zeros({1})}}, folder_ / "x.npz"), ValueError);
  EXPECT_THROW(save_npz({{"a", Tensor()}}, folder_ / "x.npz"), ValueError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x.npz"));
}

TEST_F(Arrays, RefusesMalformedNpy) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(load_npy(write("good", npy(good, 24))).shape(), Shape({2, 3}));
  EXPECT_TRUE(has(refused_npy({}), "do not begin"));
  EXPECT_TRUE(has(refused_npy(npy(good, 24, "\x93NUMPX\x01")), "do not begin"));
  EXPECT_TRUE(has(refused_npy(npy(good, 24, "\x93NUMPY\x04")), "version 4.0"));
  EXPECT_TRUE(has(refused_npy(npy(good, 23)), "23 bytes of elements"));
  EXPECT_TRUE(has(refused_npy(npy(good, 25)), "25 bytes of elements"));
  EXPECT_TRUE(has(refused_npy(Bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0xff, 0x7f}), "a header of 32767 bytes"));
  EXPECT_TRUE(
      has(refused_npy(Bytes{0x93, 'N', 'U', 'M', 'P', 'Y', 2, 0, 0xff, 0xff, 0xff, 0xff}), "a header of 4294967295"));
  const auto with = [&](const std::string& text) { return refused_npy(npy(text, 24)); };
  EXPECT_TRUE(has(with("{'descr': '<f4', 'fortran_order': False, }"), "without shape"));
  EXPECT_TRUE(
      has(with("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"), "the key 'descr'"));
  EXPECT_TRUE(has(with("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,), }"), "True or False"));
  EXPECT_TRUE(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (6), }"), "a tuple of sizes"));
  EXPECT_TRUE(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (-6,), }"), "a size"));
  EXPECT_TRUE(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,6), }"), "more dimensions"));
  EXPECT_TRUE(has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"), "24 bytes"));
  EXPECT_TRUE(
      has(with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } + exec('x')"), "the end of the header"));
  EXPECT_TRUE(has(with("{'descr': <f4, 'fortran_order': False, 'shape': (2, 3), }"), "a text in quotes"));
  EXPECT_TRUE(has(with("__import__('os')"), "expected  '{'"));
  EXPECT_TRUE(has(with(good.substr(0, 30)), "in the header"));
  const auto golden = [&](const char* name) {
    return refused_npy(book_[std::string("bad/") + name + "/file"].to_vector<std::uint8_t>());
  };
  EXPECT_TRUE(has(golden("object"), "Python objects"));
  EXPECT_TRUE(has(golden("structure"), "structures"));
  EXPECT_TRUE(has(golden("text"), "'<U2'"));
  EXPECT_TRUE(has(golden("complex"), "'<c8'"));
  EXPECT_TRUE(has(golden("date"), "'<M8[s]'"));
  EXPECT_TRUE(has(golden("unsigned"), "'<u2'"));
}

TEST_F(Arrays, RefusesMalformedNpz) {
  for (const std::string name : {"npz/stored", "npz/deflated"}) {
    const Bytes good = book_[name + "/file"].to_vector<std::uint8_t>();
    for (std::size_t cut = 0; cut < good.size(); cut += 1 + good.size() / 60)
      refused_npz(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(cut)));
    int read = 0;
    for (std::size_t at = 0; at < good.size(); at += 3) {  // an error, or a change that does not matter, as of a date
      Bytes bad = good;
      bad[at] ^= 0x41;
      try {
        load_npz(write("flip", bad));
        ++read;
      } catch (const FormatError&) {}
    }
    EXPECT_LT(read, 90);
    // The directory is at the end: of each member its method, sizes, offset and name.
    const std::string mark = "PK\1\2";
    const auto central =
        static_cast<std::size_t>(std::search(good.begin(), good.end(), mark.begin(), mark.end()) - good.begin());
    const auto changed = [&](std::size_t at, std::initializer_list<std::uint8_t> bytes) {
      Bytes bad = good;
      std::copy(bytes.begin(), bytes.end(), bad.begin() + static_cast<std::ptrdiff_t>(central + at));
      return refused_npz(bad);
    };
    EXPECT_TRUE(has(changed(8, {1}), "encrypted"));
    EXPECT_TRUE(has(changed(10, {12}), "compression method 12"));
    EXPECT_TRUE(has(changed(16, {0, 0, 0, 0}), "another checksum"));
    EXPECT_TRUE(has(changed(20, {0xff, 0xff, 0xff, 0x7f}), "larger than the file"));
    EXPECT_TRUE(has(changed(24, {0xff, 0xff, 0xff, 0x7f}), "that claims 2147483647"));
    EXPECT_TRUE(has(changed(24, {1}), name == "npz/stored" ? "that claims" : "member 'weight.npy'"));
    EXPECT_TRUE(has(changed(42, {0xf0, 0xff, 0xff, 0x7f}), "larger than the file"));
    EXPECT_TRUE(has(changed(42, {1}), "no member where"));
    EXPECT_TRUE(has(changed(46, {'x', 'x', 'x', 'x', 'x', 'x', '.', 't', 'x', 't'}), "'xxxxxx.txt'"));
    EXPECT_TRUE(has(changed(0, {'X'}), "ends after 0 members"));
  }
  EXPECT_TRUE(has(refused_npz(book_["npy/f4/file"].to_vector<std::uint8_t>()), "no directory"));
}

/// The resident memory of this process in bytes.
std::int64_t resident() {
  std::ifstream in("/proc/self/statm");
  std::int64_t all = 0, pages = 0;
  in >> all >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

TEST_F(Arrays, FilesLargerThanMemoryAreReadByRows) {
  constexpr std::int64_t kRows = 4096, kColumns = 8192;  // 128 MiB
  const std::string path = folder_ / "large.npy", labels = folder_ / "labels.safetensors";
  {
    const std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 8192), }";
    const Bytes head = npy(text, 0);
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(head.data()), static_cast<std::streamsize>(head.size()));
    std::vector<float> row(kColumns);
    for (std::int64_t i = 0; i < kRows; ++i) {
      std::fill(row.begin(), row.end(), static_cast<float>(i));
      out.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size() * sizeof(float)));
    }
  }
  save({{"other", zeros({3})}, {"y", arange(kRows)}, {"number", tensor(1)}}, labels);
  const data::FileDataset set(data::FileTensor::npy(path), data::FileTensor::safetensors(labels, "y"));
  EXPECT_EQ(set.size(), kRows);
  EXPECT_EQ(set.get(5)[0].shape(), Shape({kColumns}));
  EXPECT_EQ(set.get(5)[0](7).item(), 5);
  data::DataLoader loader(set, {.batch_size = 32, .shuffle = true, .num_workers = 2});
  const std::int64_t before = resident();
  std::int64_t most = 0, seen = 0, wrong = 0;
  for (auto& [x, y] : loader) {
    for (std::int64_t i = 0; i < x.size(0); ++i)
      wrong += x(i, 8191).item() == static_cast<double>(y(i).item<std::int64_t>()) ? 0 : 1;
    seen += x.size(0);
    most = std::max(most, resident() - before);
  }
  EXPECT_EQ(seen, kRows);
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(most, 40 << 20);  // 128 MiB are read, 1 MiB a batch
  // A big-endian file, and rows in a row.
  const std::string big = write("big.npy", book_["npy/f8_big/file"].to_vector<std::uint8_t>());
  EXPECT_EQ(data::FileTensor::npy(big).row(1).to_vector<double>(), (std::vector<double>{3, -4, 100}));
  // What cannot be read.
  EXPECT_TRUE(has(error_of<FormatError>([&] { data::FileTensor::npy(file("npy/f4_fortran")); }), "Fortran order"));
  EXPECT_TRUE(has(error_of<FormatError>([&] { data::FileTensor::npy(file("npy/number")); }), "a single number"));
  EXPECT_TRUE(has(error_of<FormatError>([&] { data::FileTensor::npy(labels); }), "do not begin"));
  EXPECT_TRUE(has(error_of<IndexError>([&] { data::FileTensor::safetensors(labels, "z"); }), "'other'"));
  EXPECT_TRUE(has(error_of<FormatError>([&] { data::FileTensor::safetensors(labels, "number"); }), "a single number"));
  EXPECT_TRUE(has(error_of<FormatError>([&] { data::FileTensor::safetensors(path, "y"); }), "not a safetensors file"));
  EXPECT_THROW(set.get(kRows), IndexError);
  EXPECT_THROW(data::FileDataset(data::FileTensor::npy(big), data::FileTensor::npy(path)), ShapeError);
  std::filesystem::resize_file(path, 1 << 20);  // cut while it is open
  EXPECT_THROW(set.get(kRows - 1), IoError);
}

}  // namespace
}  // namespace minnow
