// Files that are read by parts, under other names, and in several pieces.

#include <chrono>
#include <gtest/gtest.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>
#include <minnow/tensor/io/safetensors.h>

#include "devices.h"
#include "io_support.h"
#include "thrown.h"

namespace minnow {
namespace {

using test::bytes_of;
using test::error_of;
using test::has;
using test::ramp;
using test::read_bytes;
using test::TemporaryFolder;
using test::write_bytes;

std::string names_of(const StateDict& tensors) {
  std::string names;
  for (const auto& [name, tensor] : tensors) names += name + " ";
  return names;
}

class LazyFiles : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LazyFiles, test::all_devices(), test::device_test_name);

TEST_P(LazyFiles, GiveOneTensorAtATime) {
  const TemporaryFolder folder;
  save({{"b", ramp<float>({2, 3})}, {"a", ramp<bool>({3})}, {"c", ramp<std::int16_t>({0, 4})}}, folder / "x",
       {{"format", "pt"}});
  const SafetensorsFile file(folder / "x");
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "b");  // the order of the bytes
  EXPECT_EQ(file.tensors()[0].dtype, DType::float32);
  EXPECT_EQ(file.tensors()[0].shape, Shape({2, 3}));
  EXPECT_EQ(file.tensors()[0].nbytes, 24);
  EXPECT_EQ(file.find("c")->nbytes, 0);
  EXPECT_EQ(file.find(""), nullptr);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}}));
  EXPECT_EQ(file.path(), folder / "x");
  const Tensor b = file.load("b", device());
  EXPECT_EQ(b.device(), device());
  EXPECT_EQ(b.to_vector<int>(), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(file.load("a", device()).to_vector<int>(), (std::vector<int>{0, 1, 0}));
  EXPECT_NE(file.load("b").raw_data(), file.load("b").raw_data());
  const std::string what = error_of<IndexError>([&] { static_cast<void>(file.load("d")); });
  EXPECT_TRUE(has(what, "'d'") && has(what, "'b', 'c', 'a'") && has(what, "(io_lazy_test.cpp:")) << what;
}

/// 10 GB with holes: all of it would neither fit nor be read in a second.
TEST(LazyFile, OfTenGigabytesIsOpenedInMilliseconds) {
  const TemporaryFolder folder;
  constexpr std::uint64_t kBytes = 10'000'000'000, kEach = 10'000'000;
  std::string header = "{";
  for (std::uint64_t i = 0; i < kBytes / kEach; ++i)
    header += (i ? ",\"t" : "\"t") + std::to_string(i) + R"(":{"dtype":"F32","shape":[2500,1000],"data_offsets":[)" +
              std::to_string(i * kEach) + "," + std::to_string((i + 1) * kEach) + "]}";
  header += "}";
  const std::uint64_t length = header.size();
  write_bytes(folder / "x", std::string(reinterpret_cast<const char*>(&length), 8) + header);
  if (truncate((folder / "x").c_str(), static_cast<off_t>(8 + length + kBytes)) != 0)
    GTEST_SKIP() << "no files of 10 GB here";
  const auto start = std::chrono::steady_clock::now();
  const SafetensorsFile file(folder / "x");
  const double opened = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(file.load("t999").numel(), 2'500'000);
  const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(file.tensors().size(), 1000u);
  EXPECT_LT(opened, 0.5);  // 3 ms; a loaded machine under a sanitizer takes longer
  EXPECT_LT(all, 1.0);
  RecordProperty("opened_ms", std::to_string(opened * 1e3));
  EXPECT_EQ(load(folder / "x", {.prefix = "t998"}).size(), 1u);
}

TEST(LazyFile, ThatIsCutIsAnErrorAndOneThatIsReplacedIsRead) {
  const TemporaryFolder folder;
  save({{"a", ramp<float>({1000})}, {"b", ramp<float>({1000})}}, folder / "x");
  const SafetensorsFile file(folder / "x");
  save({{"a", ramp<float>({2})}}, folder / "x");
  EXPECT_EQ(file.load("b").numel(), 1000);
  const SafetensorsFile cut(folder / "x");
  ASSERT_EQ(truncate((folder / "x").c_str(), 68), 0);
  const std::string what = error_of<IoError>([&] { static_cast<void>(cut.load("a")); });
  EXPECT_TRUE(has(what, "ended at byte 68") && has(what, folder / "x")) << what;
}

TEST(LoadOptions, ChooseByPrefixAndRename) {
  const TemporaryFolder folder;
  const StateDict all{{"module.a.w", ramp<float>({1})}, {"module.b.w", ramp<float>({2})}, {"c", ramp<float>({3})}};
  save(all, folder / "x.safetensors");
  save(all, folder / "x.npz");
  for (const char* name : {"x.safetensors", "x.npz"}) {
    const std::string path = folder / name;
    EXPECT_EQ(names_of(load(path, {.prefix = "module."})), "module.a.w module.b.w ");
    EXPECT_EQ(names_of(load(path, {.rename = {{"module.", ""}}})), name[2] == 's' ? "c a.w b.w " : "a.w b.w c ");
    EXPECT_EQ(names_of(load(path, {.prefix = "module.b", .rename = {{"x", "y"}, {"module.", ""}, {"b", "c"}}})),
              "b.w ");
    EXPECT_EQ(names_of(load(path, {.prefix = "c", .rename = [](const std::string& n) { return n + "/" + n; }})),
              "c/c ");
    EXPECT_EQ(load(path, {.prefix = "module.b", .rename = {{"module.b", "c"}}}).at("c.w").numel(), 2);
    const std::string two = error_of<ValueError>([&] {
      static_cast<void>(load(path, {.rename = {{"module.a.w", "c"}}}));
    });
    EXPECT_TRUE(has(two, "'module.a.w'") && has(two, "renamed to 'c'") && has(two, path)) << two;
    const std::string none = error_of<ValueError>([&] { static_cast<void>(load(path, {.prefix = "modul_"})); });
    EXPECT_TRUE(has(none, "'modul_'") && has(none, "'module.a.w'") && has(none, "(io_lazy_test.cpp:")) << none;
  }
  EXPECT_EQ(load(folder / "x.npz", {.device = "sim:0"}).at("c").device(), Device("sim:0"));
}

TEST(FormatsByName, ChooseWhatIsWrittenAndRead) {
  const TemporaryFolder folder;
  const Tensor x = ramp<float>({2, 2});
  save({{"x", x}}, folder / "x.npy");
  save({{"x", x}}, folder / "x.NPZ");
  save({{"x", x}}, folder / "x.weights");
  EXPECT_EQ(bytes_of(load_npy(folder / "x.npy")), bytes_of(x));
  EXPECT_EQ(bytes_of(load_npz(folder / "x.NPZ").at("x")), bytes_of(x));
  EXPECT_EQ(bytes_of(load(folder / "x.npy").at("")), bytes_of(x));
  EXPECT_EQ(bytes_of(load(folder / "x.NPZ").at("x")), bytes_of(x));
  EXPECT_EQ(bytes_of(load(folder / "x.weights").at("x")), bytes_of(x));
  EXPECT_EQ(names_of(load(folder / "x.npy", {.rename = {{"", "y"}}})), "y ");
  EXPECT_EQ(load_metadata(folder / "x.NPZ"), Metadata());
  // Another end: the content decides.  Another format's end: an error that says what it is.
  for (const char* from : {"x.npy", "x.NPZ", "x.weights"}) {
    const std::string bytes = read_bytes(folder / from);
    write_bytes(folder / "data", bytes);
    EXPECT_EQ(load(folder / "data").size(), 1u) << from;
    for (const char* to : {"y.safetensors", "y.npz", "y.npy", "y.index.json", "y.pt"}) {
      if (to[2] == from[2] && to[4] == (from[4] | 0x20)) continue;
      if (std::string(from) == "x.weights" && std::string(to) == "y.safetensors") continue;
      write_bytes(folder / to, bytes);
      if (std::string(from) == "x.NPZ" && std::string(to) == "y.npz") continue;
      const std::string what = error_of<FormatError>([&] { static_cast<void>(load(folder / to)); });
      EXPECT_TRUE(has(what, std::string(from) == "x.npy"   ? "found     a .npy file"
                            : std::string(from) == "x.NPZ" ? "found     a zip archive of .npy files"
                                                           : "found     a safetensors file"))
          << from << " as " << to << ": " << what;
    }
  }
  const auto refused = [&](const StateDict& tensors, const std::string& name, const SaveOptions& options = {}) {
    return error_of<ValueError>([&] { save(tensors, folder / name, options); });
  };
  EXPECT_TRUE(has(refused({{"x", x}}, "x.pt"), ".safetensors"));
  EXPECT_TRUE(has(refused({{"x", x}}, "x.pth"), "does not write"));
  EXPECT_TRUE(has(refused({{"x", x}}, "x.bin"), "does not write"));
  EXPECT_TRUE(has(refused({{"x", x}, {"y", x}}, "x.npy"), "2 tensors"));
  EXPECT_TRUE(has(refused({}, "x.npy"), "0 tensors"));
  EXPECT_TRUE(has(refused({{"x", x}}, "x.npz", {.metadata = {{"a", "b"}}}), "no metadata"));
  EXPECT_TRUE(has(refused({{"x", x}}, "x.npy", {.max_shard_bytes = 1}), "no shards"));
  EXPECT_TRUE(has(refused({{"x", x}}, "x", {.max_shard_bytes = -1}), "max_shard_bytes -1"));
}

/// Four tensors of 8, 24, 12 and 4 bytes.
StateDict four() {
  return {{"a", ramp<float>({2})}, {"b", ramp<float>({2, 3})}, {"\u00e9", ramp<float>({3})}, {"d", ramp<float>({1})}};
}

TEST(Shards, AreDividedAndNamedAsHuggingFaceDoes) {
  const TemporaryFolder folder;
  const std::string path = folder / "model.safetensors", index = path + ".index.json";
  save(four(), path, {.max_shard_bytes = 20, .metadata = {{"format", "pt"}}});
  EXPECT_EQ(folder.files(), 4u);
  EXPECT_EQ(read_bytes(index), R"({
  "metadata": {
    "total_size": 48
  },
  "weight_map": {
    "a": "model-00002-of-00003.safetensors",
    "b": "model-00001-of-00003.safetensors",
    "d": "model-00003-of-00003.safetensors",
    "é": "model-00002-of-00003.safetensors"
  }
}
)");
  const StateDict all = load(index);
  EXPECT_EQ(names_of(all), "b a \u00e9 d ");
  for (const auto& [name, tensor] : four()) EXPECT_EQ(bytes_of(all.at(name)), bytes_of(tensor)) << name;
  EXPECT_EQ(load_metadata(index), (Metadata{{"format", "pt"}}));
  EXPECT_EQ(names_of(load(index, {.prefix = "d", .rename = {{"d", "e"}}})), "e ");
  const SafetensorsFile file(index);
  EXPECT_EQ(file.find("\u00e9")->nbytes, 12);
  EXPECT_EQ(bytes_of(file.load("d")), bytes_of(ramp<float>({1})));
  // What fits stays one file; the index's own name always makes one.
  save(four(), folder / "one.safetensors", {.max_shard_bytes = 48});
  EXPECT_EQ(folder.files(), 5u);
  EXPECT_EQ(load(folder / "one.safetensors").size(), 4u);
  save(four(), folder / "m.index.json");
  EXPECT_EQ(load(folder / "m-00001-of-00001.safetensors").size(), 4u);
  EXPECT_EQ(load(folder / "m.index.json").size(), 4u);
  save({}, folder / "none.index.json", {.max_shard_bytes = 1});
  EXPECT_EQ(load(folder / "none.index.json").size(), 0u);
}

// Else load() of the same path would give what was saved before.
TEST(Shards, ReplaceTheOneFileAndAreReplacedByIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "m.safetensors", index = path + ".index.json";
  save(four(), path);
  std::filesystem::create_directory(folder / "d.safetensors");
  save(four(), folder / "d.safetensors", {.max_shard_bytes = 20});
  EXPECT_TRUE(std::filesystem::exists(folder / "d.safetensors"));
  save(four(), path, {.max_shard_bytes = 20});
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(load(index).size(), 4u);
  save(four(), index, {.max_shard_bytes = 30});
  save({{"a", ramp<float>({1})}}, folder / "m.safetensors.index.json.safetensors");
  EXPECT_TRUE(std::filesystem::exists(index));
  save(four(), path, {.max_shard_bytes = 1000});
  EXPECT_FALSE(std::filesystem::exists(index));
  EXPECT_EQ(load(path).size(), 4u);
}

TEST(Shards, ThatCannotBeWrittenLeaveTheOldOnes) {
  const TemporaryFolder folder;
  const std::string index = folder / "m.safetensors.index.json";
  save(four(), folder / "m.safetensors", {.max_shard_bytes = 20});
  EXPECT_EQ(folder.files(), 4u);
  const std::string old = read_bytes(index), shard = read_bytes(folder / "m-00001-of-00003.safetensors");
  std::filesystem::remove(folder / "m-00003-of-00003.safetensors");
  std::filesystem::create_directory(folder / "m-00003-of-00003.safetensors");
  StateDict other = four();
  other.set("b", ramp<double>({3}));
  EXPECT_THROW(save(other, folder / "m.safetensors", {.max_shard_bytes = 20}), IoError);
  EXPECT_EQ(read_bytes(index), old);
  EXPECT_EQ(read_bytes(folder / "m-00001-of-00003.safetensors"), shard);
  EXPECT_EQ(folder.files(), 4u);
}

TEST(Shards, ThatDoNotAgreeWithTheIndexAreRefused) {
  const TemporaryFolder folder;
  const std::string index = folder / "model.safetensors.index.json";
  save(four(), folder / "model.safetensors", {.max_shard_bytes = 20});
  const auto refused = [&](const std::string& text) {
    write_bytes(index, text);
    const std::string what = error_of<FormatError>([&] { static_cast<void>(load(index)); });
    EXPECT_TRUE(has(what, index) && has(what, "(io_lazy_test.cpp:")) << what;
    EXPECT_EQ(error_of<FormatError>([&] { SafetensorsFile file(index); }).empty(), false);
    return what;
  };
  const std::string one = "model-00001-of-00003.safetensors", three = "model-00003-of-00003.safetensors";
  const auto map = [](const std::string& entries) { return "{\"weight_map\":{" + entries + "}}"; };
  const auto entry = [](const std::string& name, const std::string& file) {
    return "\"" + name + "\":\"" + file + "\"";
  };
  EXPECT_TRUE(has(refused(map(entry("b", one) + "," + entry("x", "gone.safetensors"))), "no file 'gone.safetensors'"));
  EXPECT_TRUE(has(refused(map(entry("b", one) + "," + entry("c", one))), "no tensor 'c' in '" + one + "'"));
  EXPECT_TRUE(has(refused(map(entry("c", one))), "the tensor 'b' in '" + one + "'"));
  EXPECT_TRUE(has(refused(map(entry("b", three) + "," + entry("c", one))), "it in '" + three + "'"));
  for (const char* file : {"", ".", "..", "../x", "/etc/passwd", "a/b", "a\\\\b", "a\\u0000b"})
    EXPECT_TRUE(has(refused(map(entry("b", file))), "in the same folder")) << file;
  EXPECT_TRUE(has(refused(map(entry("b", one) + "," + entry("b", one))), "the tensor 'b' twice"));
  EXPECT_TRUE(has(refused("{}"), "no \"weight_map\""));
  EXPECT_TRUE(has(refused("{\"weight_map\":[]}"), "to be an object"));
  EXPECT_TRUE(has(refused("{\"weight_map\":{\"b\":1}}"), "the name of a file"));
  EXPECT_TRUE(has(refused("{\"weight_map\":{},\"weight_map\":{}}"), "twice"));
  EXPECT_TRUE(has(refused(map(entry("b", one)) + "x"), "'x'"));
  EXPECT_TRUE(has(refused("{\"a\":\"\xff\"}"), "UTF-8"));
  EXPECT_TRUE(has(refused(""), "the end of the text"));
  write_bytes(index, "{\"metadata\":{\"total_size\":1.5e9,\"x\":[1]},\"weight_map\":{" + entry("b", one) + "}}");
  EXPECT_EQ(names_of(load(index)), "b ");
  write_bytes(folder / one, "damaged");
  EXPECT_TRUE(has(error_of<FormatError>([&] { static_cast<void>(load(index)); }), folder / one));
}

}  // namespace
}  // namespace minnow
