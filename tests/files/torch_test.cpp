// Files of torch.save() that are refused, and unusual ones that are read.

#include <gtest/gtest.h>
#include <minnow/tensor/io/load.h>

#include "hostile.h"
#include "zip_files.h"

namespace minnow {
namespace {

using test::counting;
using test::Hostile;
using test::little;
using test::raw;
using test::Zip;
using test::zip_of;

/// Operations of a pickle.
std::string text(const std::string& s) { return "X" + little(s.size(), 4) + s; }
std::string number(std::uint64_t n) { return "J" + little(n, 4); }
std::string long_number(std::uint64_t n) { return "\x8a\x08" + little(n, 8); }
std::string global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
std::string tuple(const std::string& items) { return "(" + items + "t"; }
std::string call(const std::string& function, const std::string& arguments) {
  return function + tuple(arguments) + "R";
}
std::string dict(const std::string& items) { return "}(" + items + "u"; }
std::string sizes(const std::vector<std::uint64_t>& all) {
  std::string items;
  for (const auto n : all) items += long_number(n);
  return tuple(items);
}
std::string pickle(const std::string& value) { return "\x80\x02" + value + "."; }

std::string storage(const std::string& type = "FloatStorage", std::uint64_t count = 4, const std::string& key = "0") {
  return tuple(text("storage") + global("torch", type) + text(key) + text("cpu") + long_number(count)) + "Q";
}

const std::string kHooks = call(global("collections", "OrderedDict"), "");

/// The parts of a tensor; what is not given is that of 4 floats.
struct Parts {
  std::string storage = minnow::storage();
  std::uint64_t first = 0;
  std::string sizes = minnow::sizes({4}), strides = minnow::sizes({1});
  std::string more = "\x89" + kHooks;
};
std::string tensor(const Parts& p = {}) {
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              p.storage + long_number(p.first) + p.sizes + p.strides + p.more);
}

Zip member(const std::string& name, const std::string& content) {
  return {.name = "archive/" + name, .content = content};
}

const std::string kFloats =
    little(0x3f800000, 4) + little(0x40000000, 4) + little(0x40400000, 4) + little(0x40800000, 4);

/// A file with this pickle, and the storage "0" of 4 floats.
std::string file(const std::string& bytes, const std::string& elements = kFloats) {
  return zip_of(
      {member("data.pkl", bytes), member("byteorder", "little"), member("data/0", elements), member("version", "3\n")});
}

/// A file of the tensor "a".
std::string one_value(const std::string& value, const std::string& elements = kFloats) {
  return file(pickle(dict(text("a") + value)), elements);
}

TEST(HostileTorch, IsRefused) {
  const std::string good = one_value(tensor()), lists(100000, ']');
  const auto sized = [](const std::vector<std::uint64_t>& n, const std::vector<std::uint64_t>& strides,
                        std::uint64_t first = 0) {
    return one_value(tensor({.first = first, .sizes = sizes(n), .strides = sizes(strides)}));
  };
  std::string doubled = "]";  // each list holds the one before twice
  for (int i = 0; i < 60; ++i) doubled += "q" + raw({i}) + "]h" + raw({i}) + "ah" + raw({i}) + "a";
  const std::string put_aside = "q" + raw({0});
  std::string shared;  // 50,000 places that hold what was put aside
  for (int i = 0; i < 50000; ++i) shared += "h" + raw({0});
  std::string ones;
  for (int i = 0; i < 50000; ++i) ones += "K\1";
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "}" + text("a");
  deep += "K\1" + std::string(5000, 's');
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  const std::vector<Hostile> files = {
      {"empty file", "", "found"},
      {"text", "hello", "found"},
      {"a pickle without archive", pickle(dict("")), "found"},
      {"cut by a byte", test::cut(good, 1), "found"},
      {"only the beginning", good.substr(0, 200), "found"},
      {"an archive without members", zip_of({}), "found"},
      {"an archive without pickle", zip_of({member("data/0", kFloats)}), "without data.pkl"},
      {"a pickle in another place", zip_of({{.name = "data.pkl", .content = pickle(dict(""))}}), "without data.pkl"},
      {"a pickle too deep", zip_of({{.name = "a/b/data.pkl", .content = pickle(dict(""))}}), "without data.pkl"},
      {"a program", zip_of({member("data.pkl", pickle(dict(""))), member("constants.pkl", pickle(")"))}),
       "TorchScript"},
      {"another byte order", zip_of({member("data.pkl", pickle(dict(""))), member("byteorder", "middle")}),
       "byte order"},
      {"elements that are missing", zip_of({member("data.pkl", pickle(dict(text("a") + tensor())))}), "are missing"},
      {"elements of another name", one_value(tensor({.storage = storage("FloatStorage", 4, "1")})), "are missing"},
      {"elements outside of the archive", one_value(tensor({.storage = storage("FloatStorage", 4, "../../data/0")})),
       "are missing"},
      {"too few elements", one_value(tensor(), kFloats.substr(4)), "in 12 bytes"},
      {"too many elements", one_value(tensor(), kFloats + kFloats), "in 32 bytes"},
      {"half an element", one_value(tensor(), test::cut(kFloats, 2)), "in 14 bytes"},
      {"another checksum of the elements",
       zip_of({member("data.pkl", pickle(dict(text("a") + tensor()))),
               {.name = "archive/data/0", .content = kFloats, .crc = 1}}),
       "checksum"},
      {"another checksum of the pickle", zip_of({{.name = "archive/data.pkl", .content = pickle(dict("")), .crc = 1}}),
       "checksum"},
      {"elements that claim 1 TB",
       zip_of({member("data.pkl", pickle(dict(text("a") + tensor()))),
               {.name = "archive/data/0", .content = kFloats, .method = 8, .size = std::uint64_t{1} << 40}}),
       "claims"},
      {"a pickle that claims 1 TB",
       zip_of({{.name = "archive/data.pkl", .content = pickle(dict("")), .method = 8, .size = std::uint64_t{1} << 40}}),
       "claims"},
      {"two pickles", zip_of({member("data.pkl", pickle(dict(""))), member("data.pkl", pickle(dict("")))}),
       "two members"},
      {"an encrypted pickle", zip_of({{.name = "archive/data.pkl", .content = pickle(dict("")), .flags = 1}}),
       "encrypted"},
      {"an empty pickle", file(""), "ends too early"},
      {"no STOP", file("\x80\2}"), "ends too early"},
      {"nothing before STOP", file("\x80\2."), "not one value"},
      {"two values", file(pickle("}}")), "not one value"},
      {"bytes behind STOP", file(pickle("}") + "x"), "not one value"},
      {"protocol 6", file("\x80\6}."), "later protocol"},
      {"an operation that does not exist", file(pickle("\xff")), "the operation 255"},
      {"os.system", one_value(call(global("os", "system"), text("echo"))), "\"os.system\""},
      {"eval", one_value(call(global("builtins", "eval"), text("1"))), "\"builtins.eval\""},
      {"a module", one_value(global("torch.nn.modules.linear", "Linear")), "torch.nn.modules.linear.Linear"},
      {"NumPy's scalar", one_value(call(global("numpy.core.multiarray", "scalar"), "")),
       "numpy.core.multiarray.scalar"},
      {"a name with dots", one_value(call(global("torch", "_utils.os.system"), text("x"))), "torch._utils.os.system"},
      {"a function that looks like a storage", one_value(call(global("torch", "evil()Storage"), "")), "found"},
      {"STACK_GLOBAL of os.system", one_value(text("os") + text("system") + "\x93" + tuple("") + "R"), "os.system"},
      {"NEWOBJ", one_value(global("collections", "OrderedDict") + ")\x81"), "NEWOBJ"},
      {"BUILD of a list", one_value("]}b"), "found"},
      {"INST", one_value("(ios\nsystem\n"), "INST"},
      {"OBJ", one_value("(" + global("collections", "OrderedDict") + "o"), "OBJ"},
      {"an extension", one_value("\x82\1"), "EXT1"},
      {"PERSID", one_value("Pstorage\n"), "PERSID"},
      {"a persistent object of another kind",
       one_value(tuple(text("module") + global("torch", "FloatStorage") + text("0") + text("cpu") + number(4)) + "Q"),
       "persistent object"},
      {"a persistent object of one part", one_value(tuple(text("storage")) + "Q"), "persistent object"},
      {"a storage of no type", one_value(tensor({.storage = storage("FloatTensor")})), "found"},
      {"a storage alone", one_value(storage()), "a storage"},
      {"a storage of -1 elements", one_value(tensor({.storage = storage("FloatStorage", ~std::uint64_t{0})})),
       "elements in"},
      {"a storage of 2^62 elements", one_value(tensor({.storage = storage("FloatStorage", std::uint64_t{1} << 62)})),
       "elements in"},
      {"a dtype that we do not have", one_value(tensor({.storage = storage("ComplexFloatStorage", 2)})),
       "ComplexFloatStorage"},
      {"quantized", one_value(tensor({.storage = storage("QInt8Storage", 16)})), "QInt8Storage"},
      {"a size too many", sized({5}, {1}), "elements up to 4"},
      {"a stride too large", sized({4}, {2}), "elements up to 6"},
      {"a first element too far", sized({4}, {1}, 1), "elements up to 4"},
      {"a first element of -1", sized({1}, {1}, ~std::uint64_t{0}), "found"},
      {"a first element of 2^63 - 1", sized({2}, {1}, 0x7fffffffffffffff), "elements up to"},
      {"a negative size", sized({~std::uint64_t{0}}, {1}), "sizes and strides"},
      {"a negative stride", sized({2}, {~std::uint64_t{0}}, 1), "sizes and strides"},
      {"sizes whose product wraps", sized({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, {0, 0}), "2^63 bytes"},
      {"strides whose product wraps", sized({3, 2}, {std::uint64_t{1} << 62, 1}), "elements up to"},
      {"1 TB by stride 0", sized({std::uint64_t{1} << 38}, {0}), "repeats"},
      {"fewer strides than sizes", sized({2, 2}, {1}), "2 sizes and 1 strides"},
      {"nine dimensions", sized({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}), "found"},
      {"sizes that are text", one_value(tensor({.sizes = tuple(text("4"))})), "sizes and strides"},
      {"sizes that are a list", one_value(tensor({.sizes = "](K\4e"})), "the sizes of a tensor"},
      {"a tensor of a text", one_value(tensor({.storage = text("x")})), "the storage of a tensor"},
      {"a tensor of three parts", one_value(call(rebuild, storage() + number(0) + sizes({4}))),
       "a tensor of other parts"},
      {"a conjugate", one_value(tensor({.more = "\x89" + kHooks + dict(text("conj") + "\x88")})), "attributes"},
      {"a parameter of a text",
       one_value(call(global("torch._utils", "_rebuild_parameter"), text("x") + "\x88" + kHooks)),
       "the tensor of a parameter"},
      {"a call of a text", one_value(text("x") + ")R"), "the function of a call"},
      {"a call without arguments", one_value(rebuild + "R"), "found"},
      {"an operation without operands", file("\x80\2R."), "without operands"},
      {"a tuple without mark", file("\x80\2t."), "without its MARK"},
      {"an open mark", file("\x80\2}(."), "not one value"},
      {"a key without value", file(pickle("}(" + text("a") + "u")), "a key without a value"},
      {"items of a number", file(pickle("K\1(" + text("a") + "K\1u")), "a dictionary"},
      {"a key that is a list", file(pickle("}(]K\1u")), "neither text nor a number"},
      {"a name twice", file(pickle(dict(text("a") + "K\1" + text("a") + "K\2"))), "the name 'a' twice"},
      {"a name twice on two ways", file(pickle(dict(text("a.b") + "K\1" + text("a") + dict(text("b") + "K\2")))),
       "the name 'a.b' twice"},
      {"a value that was not put aside", file(pickle("h\1")), "not put aside"},
      {"put aside at 2^32 - 1", file(pickle("}r\xff\xff\xff\xff")), "of a value"},
      {"a text beyond the end", file(pickle("X\xff\xff\xff\x7f")), "ends too early"},
      {"a text of 2^64 - 1 bytes", file(pickle("\x8d\xff\xff\xff\xff\xff\xff\xff\xff")), "ends too early"},
      {"a text that is not UTF-8", file(pickle(dict(text("\xff") + "K\1"))), "not UTF-8"},
      {"a number of 255 bytes", file(pickle(dict(text("a") + "\x8a\xff" + std::string(255, '\1')))), "64 bits"},
      {"a list within itself", file(pickle("]q" + raw({0, 'h', 0}) + "a")), "hold each other"},
      {"lists that double", file(pickle(doubled)), "found"},
      {"a row of numbers in many places", file(pickle("](](" + ones + "e" + put_aside + shared + "e")), "many places"},
      {"a text in many places", file(pickle("](" + text(std::string(100000, 'x')) + put_aside + shared + "e")),
       "many places"},
      {"lists that are compressed",
       zip_of({{.name = "archive/data.pkl", .content = std::string(4 << 20, ']'), .method = 8}}), "compressed to"},
      {"a byte order that is compressed",
       zip_of({member("data.pkl", pickle(dict(""))),
               {.name = "archive/byteorder", .content = std::string(8 << 20, 'x'), .method = 8}}),
       "byte order"},
      {"5,000 dictionaries in each other", file(pickle(deep)), "hold each other"},
      {"100,000 values", file(pickle(lists)), "not one value"}};
  test::expect_refused(files, 60, "bad.pt", [](const std::string& path) { load(path); });
}

TEST(OddTorch, IsRead) {
  const auto read = [](const std::string& path) { return test::text_of(load(path)); };
  const std::string big =
      test::big(0x3f800000, 4) + test::big(0x40000000, 4) + test::big(0x40400000, 4) + test::big(0x40800000, 4);
  test::expect_accepted(
      {{"one tensor", one_value(tensor()), "a float32[4] 1 2 3 4"},
       {"nothing", file(pickle("}")), ""},
       {"a view", one_value(tensor({.first = 1, .sizes = sizes({2, 2}), .strides = sizes({1, 1})})),
        "a float32[2, 2] 2 3 3 4"},
       {"expanded", one_value(tensor({.sizes = sizes({3}), .strides = sizes({0})})), "a float32[3] 1 1 1"},
       {"no elements", one_value(tensor({.first = 100, .sizes = sizes({0, 3}), .strides = sizes({3, 1})})),
        "a float32[0, 3]"},
       {"a row in three places",
        file(pickle("](](\x88\x89"
                    "e" +
                    ("q" + raw({0})) + "h" + raw({0}) + "h" + raw({0}) + "e")),
        "0 bool[2] 1 0; 1 bool[2] 1 0; 2 bool[2] 1 0"},
       {"a number", one_value(tensor({.sizes = ")", .strides = ")"})), "a float32[] 1"},
       {"two that share", file(pickle(dict(text("a") + tensor() + text("b") + tensor()))),
        "a float32[4] 1 2 3 4; b float32[4] 1 2 3 4"},
       {"nested", file(pickle(dict(text("a") + dict(text("b") + "](" + tensor() + "K\7e")))),
        "a.b.0 float32[4] 1 2 3 4; a.b.1 int64[] 7"},
       {"deflated",
        zip_of({{.name = "x/data.pkl", .content = pickle(dict(text("a") + tensor())), .method = 8},
                {.name = "x/data/0", .content = kFloats, .method = 8}}),
        "a float32[4] 1 2 3 4"},
       {"big-endian",
        zip_of({member("data.pkl", pickle(dict(text("a") + tensor()))), member("byteorder", "big"),
                member("data/0", big)}),
        "a float32[4] 1 2 3 4"}},
      "odd.pt", read);
}

}  // namespace
}  // namespace minnow
