// .npy and .npz files that are refused, and unusual ones that are read.

#include <gtest/gtest.h>
#include <minnow/data/file_dataset.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>

#include "hostile.h"
#include "zip_files.h"

namespace minnow {
namespace {

using test::big;
using test::counting;
using test::cut;
using test::Hostile;
using test::little;
using test::npy;
using test::raw;
using test::with;
using test::Zip;
using test::zip_of;

const std::string kSix = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

std::string six(const std::string& dictionary) { return npy(dictionary, std::string(24, '\0')); }

TEST(HostileNpy, IsRefused) {
  const std::string magic = "\x93NUMPY";
  const auto shape = [](const std::string& text) {
    return six("{'descr': '<f4', 'fortran_order': False, 'shape': " + text + ", }");
  };
  const auto descr = [](const std::string& text, std::size_t bytes = 24) {
    return npy("{'descr': " + text + ", 'fortran_order': False, 'shape': (6,), }", std::string(bytes, '\0'));
  };
  std::string deep = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  deep += std::string(5000, '(') + std::string(4000, ')') + "}";
  const std::vector<Hostile> files = {
      {"empty file", "", "do not begin as an .npy file"},
      {"half of the magic", "\x93NUM", "do not begin as an .npy file"},
      {"the magic alone", magic, "do not begin as an .npy file"},
      {"no length", magic + raw({1, 0}), "do not begin as an .npy file"},
      {"half a length of version 2", magic + raw({2, 0, 10, 0}), "ends within its header"},
      {"another magic", "\x93NUMPX" + six(kSix).substr(6), "do not begin as an .npy file"},
      {"text", "1 2 3 4 5 6\n", "do not begin as an .npy file"},
      {"a zip", "PK\x03\x04" + std::string(100, '\0'), "do not begin as an .npy file"},
      {"version 0.0", with(six(kSix), 6, raw({0, 0})), "version 0.0"},
      {"version 4.0", with(six(kSix), 6, raw({4, 0})), "version 4.0"},
      {"version 1.1", with(six(kSix), 6, raw({1, 1})), "version 1.1"},
      {"a header beyond the file", magic + raw({1, 0, 0xff, 0x7f}), "a header of 32767 bytes"},
      {"a header of 4 GB", magic + raw({2, 0, 0xff, 0xff, 0xff, 0xff}), "a header of 4294967295 bytes"},
      {"a header above the limit", npy(kSix + std::string(20000, ' '), std::string(24, '\0')), "a header of 20"},
      {"no header", npy("", ""), "'{'"},
      {"no line end", with(six(kSix), six(kSix).size() - 25, " "), "without a line end"},
      {"data cut by a byte", cut(six(kSix), 1), "23 bytes of elements"},
      {"no data", cut(six(kSix), 24), "0 bytes of elements"},
      {"a byte more", six(kSix) + "x", "25 bytes of elements"},
      {"no descr", six("{'fortran_order': False, 'shape': (6,), }"), "without descr"},
      {"no order", six("{'descr': '<f4', 'shape': (6,), }"), "without fortran_order"},
      {"no shape", six("{'descr': '<f4', 'fortran_order': False, }"), "without shape"},
      {"descr twice", six("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,), }"),
       "the key 'descr'"},
      {"another key", six("{'descr': '<f4', 'fortran_order': False, 'shape': (6,), 'x': 1, }"), "the key 'x'"},
      {"an order that is a number", six("{'descr': '<f4', 'fortran_order': 0, 'shape': (6,), }"), "True or False"},
      {"an order that is null", six("{'descr': '<f4', 'fortran_order': None, 'shape': (6,), }"), "True or False"},
      {"a number as shape", shape("6"), "'('"},
      {"a list as shape", shape("[6]"), "'('"},
      {"a tuple without comma", shape("(6)"), "a tuple of sizes"},
      {"two commas", shape("(6,,)"), "a size"},
      {"a negative size", shape("(-6,)"), "a size"},
      {"a size that is a float", shape("(6.0,)"), "a tuple of sizes"},
      {"a size above 2^63", shape("(9223372036854775808,)"), "a size"},
      {"nine dimensions", shape("(1,1,1,1,1,1,1,1,6)"), "more dimensions"},
      {"sizes that wrap to 24 bytes", shape("(4611686018427387910,)"), "24 bytes of elements"},
      {"sizes that wrap to 0", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", ""),
       "0 bytes of elements"},
      {"1 TB", shape("(250000000000,)"), "24 bytes of elements"},
      {"an expression as shape", shape("(2*3,)"), "a tuple of sizes"},
      {"objects", descr("'|O'", 48), "Python objects"},
      {"objects by another name", descr("'O8'", 48), "Python objects"},
      {"structures", descr("[('x', '<f4')]"), "structures"},
      {"text elements", descr("'<U1'"), "'<U1'"},
      {"bytes elements", descr("'|S4'"), "'|S4'"},
      {"void elements", descr("'|V4'"), "'|V4'"},
      {"complex numbers", descr("'<c8'", 48), "'<c8'"},
      {"dates", descr("'<M8[s]'", 48), "'<M8[s]'"},
      {"unsigned shorts", descr("'<u2'", 12), "'<u2'"},
      {"long doubles", descr("'<f16'", 96), "'<f16'"},
      {"no type", descr("''"), "elements of type ''"},
      {"a type without quotes", descr("<f4"), "a text in quotes"},
      {"a type that is not closed", six("{'descr': '<f4, 'fortran_order': False, 'shape': (6,), }"),
       "elements of type '<f4, '"},
      {"a type with an escape", descr("'<f\\x34'"), "elements of type"},
      {"a call", six("__import__('os').system('x')"), "'{'"},
      {"a call behind it", six(kSix + " + exec('x')"), "the end of the header"},
      {"a second dictionary", six(kSix + kSix), "the end of the header"},
      {"an array that is not closed", six(kSix.substr(0, 30)), "in the header"},
      {"a zero byte", six(with(kSix, 1, std::string(1, '\0'))), "header"},
      {"nested tuples", six(deep), "a size"}};
  test::expect_refused(files, 58, "bad.npy", [](const std::string& path) { load_npy(path); });
  test::expect_refused(files, 58, "bad.npy", [](const std::string& path) { data::FileTensor::npy(path); });
}

TEST(OddNpy, IsRead) {
  const auto of = [](const std::string& descr, const std::string& data, const std::string& shape = "(1,)",
                     const std::string& order = "False") {
    return npy("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }", data);
  };
  std::string two = with(of("|u1", "\7"), 6, raw({2, 0}));  // version 2, whose length has four bytes
  two.insert(10, 2, '\0');
  test::expect_accepted(
      {{"a number", of("<f4", little(0x3f800000, 4), "()"), "float32[] 1"},
       {"no elements", of("<f4", "", "(0, 3)"), "float32[0, 3]"},
       {"a huge size beside a 0", of("<f4", "", "(9223372036854775807, 0)"), "float32[9223372036854775807, 0]"},
       {"eight dimensions", of("|u1", "\5", "(1,1,1,1,1,1,1,1)"), "uint8[1, 1, 1, 1, 1, 1, 1, 1] 5"},
       {"sizes of Python 2", of("|u1", "\5\6", "(1L, 2L)"), "uint8[1, 2] 5 6"},
       {"version 2", two, "uint8[1] 7"},
       {"version 3", with(two, 6, raw({3, 0})), "uint8[1] 7"},
       {"another order of keys", npy("{\"shape\":(1,),\"fortran_order\":False,\"descr\":\"|u1\"}", "\5"), "uint8[1] 5"},
       {"Fortran order", of("|u1", counting(6), "(2, 3)", "True"), "uint8[2, 3] 1 3 5 2 4 6"},
       {"bools", of("|b1", raw({0, 1, 2, 255}), "(4,)"), "bool[4] 0 1 1 1"},
       {"big-endian short", of(">i2", big(0x8000, 2)), "int16[1] -32768"},
       {"big-endian int", of(">i4", big(258, 4)), "int32[1] 258"},
       {"big-endian long", of(">i8", big(~std::uint64_t{0}, 8)), "int64[1] -1"},
       {"big-endian half", of(">f2", big(0x3c00, 2)), "float16[1] 1"},
       {"big-endian float", of(">f4", big(0x3f800000, 4)), "float32[1] 1"},
       {"big-endian double", of(">f8", big(0x3ff8000000000000, 8)), "float64[1] 1.5"},
       {"int8", of("|i1", "\xff"), "int8[1] -1"},
       {"half", of("<f2", little(0x3c00, 2)), "float16[1] 1"}},
      "odd.npy", [](const std::string& path) { return test::text_of(load_npy(path)); });
}

const std::string kArray = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "\1\2\3");

TEST(HostileNpz, IsRefused) {
  const auto array = [](Zip zip) { return zip_of({std::move(zip)}); };
  const Zip plain{.name = "a.npy", .content = kArray}, packed{.name = "a.npy", .content = kArray, .method = 8};
  const std::string file = array(plain);
  // A megabyte of zeros in a kilobyte, whose directory claims a terabyte.
  const std::string zeros = std::string(1 << 20, '\0');
  std::string middle = zip_of({plain, packed});
  std::vector<Hostile> files = {
      {"empty file", "", "no directory"},
      {"an .npy file", kArray, "no directory"},
      {"text", "hello", "no directory"},
      {"only the beginning", file.substr(0, 30 + 5 + kArray.size()), "no directory"},
      {"cut by a byte", cut(file, 1), "no directory"},
      {"a byte more", file + "x", "no directory"},
      {"a comment that is too short", with(file, file.size() - 2, little(5, 2)), "no directory"},
      {"no local header", with(file, 0, "XX"), "no member where"},
      {"no directory signature", array({.name = "a.npy", .content = kArray, .central_signature = 0x12345678}),
       "ends after 0 members"},
      {"two members said, one there", zip_of({plain}, {.count = 2}), "ends after 1 members"},
      {"one member said, two there", zip_of({plain, {.name = "b.npy", .content = kArray}}, {.count = 1}),
       "a directory"},
      {"no member said, one there", zip_of({plain}, {.count = 0}), "a directory"},
      {"two counts that differ", zip_of({plain}, {.count_here = 0}), "several disks"},
      {"a second disk", zip_of({plain}, {.disk = 1}), "several disks"},
      {"a directory beyond the file", zip_of({plain}, {.directory_offset = 100000}), "outside of the file"},
      {"a directory that is too long", zip_of({plain}, {.directory_size = 100000}), "outside of the file"},
      {"a directory that is too short", zip_of({plain}, {.directory_size = 40}), "ends after 0 members"},
      {"65535 members said", zip_of({plain}, {.count = 65535}), "ends after 1 members"},
      {"an offset beyond the file", array({.name = "a.npy", .content = kArray, .offset = 1000000}), "larger than the"},
      {"an offset into the directory", array({.name = "a.npy", .content = kArray, .offset = 60}), "no member where"},
      {"an offset at the end", array({.name = "a.npy", .content = kArray, .offset = file.size() - 10}),
       "outside of the file"},
      {"encrypted", array({.name = "a.npy", .content = kArray, .flags = 1}), "encrypted"},
      {"bzip2", array({.name = "a.npy", .content = kArray, .method = 12, .stored_as = 0}), "compression method 12"},
      {"zstd", array({.name = "a.npy", .content = kArray, .method = 93, .stored_as = 0}), "compression method 93"},
      {"stored, said to be deflated", array({.name = "a.npy", .content = kArray, .method = 8, .stored_as = 0}),
       "member 'a.npy'"},
      {"deflated, said to be stored", array({.name = "a.npy", .content = zeros, .method = 0, .stored_as = 8}),
       "that claims"},
      {"another checksum", array({.name = "a.npy", .content = kArray, .crc = 1}), "another checksum"},
      {"another checksum, deflated", array({.name = "a.npy", .content = kArray, .method = 8, .crc = 1}),
       "another checksum"},
      {"a damaged byte", with(file, 40 + 100, "X"), "another checksum"},
      {"damaged deflated data", with(array(packed), 30 + 5 + 20, "XXXX"), "member 'a.npy'"},
      {"a size that is too small", array({.name = "a.npy", .content = kArray, .method = 8, .size = 20}),
       "member 'a.npy'"},
      {"a size that is too large", array({.name = "a.npy", .content = kArray, .method = 8, .size = 1000}),
       "bytes of the member"},
      {"a size of 4 GB", array({.name = "a.npy", .content = kArray, .method = 8, .size = 0xfffffff0}), "that claims"},
      {"a size of 1 TB", array({.name = "a.npy", .content = kArray, .method = 8, .size = std::uint64_t{1} << 40}),
       "that claims"},
      {"a size of 2^64 - 1", array({.name = "a.npy", .content = kArray, .method = 8, .size = ~std::uint64_t{0} - 1}),
       "that claims"},
      {"packed beyond the file", array({.name = "a.npy", .content = kArray, .packed = 1000000}),
       "larger than the file"},
      {"packed into the directory",
       array({.name = "a.npy", .content = kArray, .size = kArray.size() + 60, .packed = kArray.size() + 60}),
       "another checksum"},
      {"a bomb", array({.name = "a.npy", .content = zeros, .method = 8, .size = 1 << 30}), "that claims 1073741824"},
      {"more than is said", array({.name = "a.npy", .content = zeros, .method = 8, .size = 1000}), "damaged data"},
      {"less than is said", array({.name = "a.npy", .content = zeros, .method = 8, .size = (1 << 20) + 8}),
       "bytes of the member"},
      {"a zip64 record that is cut",
       array({.name = "a.npy", .content = kArray, .size = 0xffffffff, .central_extra = little(1, 2) + little(0, 2)}),
       "zip64 record that is too short"},
      {"a zip64 locator to nowhere", zip_of({plain}, {.locator = 0x7fffffffffffffff}), "zip64 record outside"},
      {"a zip64 locator to the beginning", zip_of({plain}, {.locator = 0}), "missing zip64 record"},
      {"a name of another kind", array({.name = "a.txt", .content = kArray}), "the member 'a.txt'"},
      {"a folder", array({.name = "a/", .content = ""}), "the member 'a/'"},
      {"two members of one name", zip_of({plain, plain}), "two members 'a.npy'"},
      {"another name in the member", array({.name = "a.npy", .content = kArray, .local_name = "b.npy"}),
       "another name"},
      {"a longer name in the member", array({.name = "a.npy", .content = kArray, .local_name = "aa.npy"}),
       "another name"},
      {"a name beyond the directory", array({.name = "a.npy", .content = kArray, .name_length = 1000}),
       "beyond the directory"},
      {"a local name beyond the file", array({.name = "a.npy", .content = kArray, .local_name_length = 0xffff}),
       "'a.npy'"},
      {"an array that is empty", array({.name = "a.npy", .content = ""}), "do not begin as an .npy file"},
      {"an array that is text", array({.name = "a.npy", .content = "hello"}), "do not begin as an .npy file"},
      {"an array that is cut", array({.name = "a.npy", .content = cut(kArray, 1)}), "2 bytes of elements"},
      {"an array of objects",
       array({.name = "a.npy", .content = npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678")}),
       "Python objects"},
      {"an array of 1 TB",
       array({.name = "a.npy",
              .content = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (250000000000,), }", "1234")}),
       "4 bytes of elements"}};
  test::expect_refused(files, 53, "bad.npz", [](const std::string& path) { load_npz(path); });
}

TEST(OddNpz, IsRead) {
  const Zip plain{.name = "a.npy", .content = kArray};
  const std::string text = "a uint8[3] 1 2 3";
  test::expect_accepted(
      {{"no members", zip_of({}), ""},
       {"stored", zip_of({plain}), text},
       {"deflated", zip_of({{.name = "a.npy", .content = kArray, .method = 8}}), text},
       {"two", zip_of({plain, {.name = "b/c.npy", .content = kArray, .method = 8}}), text + "; b/c uint8[3] 1 2 3"},
       {"a comment", zip_of({plain}, {.comment = "made by hand"}), text},
       {"a comment that looks like an end", zip_of({plain}, {.comment = "PK\5\6" + std::string(30, 'x')}), text},
       {"zip64 sizes",
        zip_of({{.name = "a.npy",
                 .content = kArray,
                 .size = 0xffffffff,
                 .packed = 0xffffffff,
                 .central_extra = little(1, 2) + little(16, 2) + little(kArray.size(), 8) + little(kArray.size(), 8)}}),
        text},
       {"an extra field in the member",
        zip_of({{.name = "a.npy", .content = kArray, .local_extra = little(0xfb, 2) + little(1, 2) + "x"}}), text},
       {"an empty name", zip_of({{.name = ".npy", .content = kArray}}), " uint8[3] 1 2 3"}},
      "odd.npz", [](const std::string& path) { return test::text_of(load_npz(path)); });
}

}  // namespace
}  // namespace minnow
