// Files of torch.save(), which make_pt.py wrote.

#include <gtest/gtest.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/safetensors.h>

#include "devices.h"
#include "io_support.h"
#include "support/golden.h"
#include "thrown.h"

namespace minnow {
namespace {

using test::bytes_of;
using test::error_of;
using test::has;
using test::TemporaryFolder;
using test::write_bytes;

class TorchFiles : public test::DeviceTest {
 protected:
  std::string bytes(const std::string& name) const {
    const auto all = book_[name + "/file"].to_vector<std::uint8_t>();
    return {all.begin(), all.end()};
  }
  /// The file, written as a.pt.
  std::string file(const std::string& name) const {
    write_bytes(folder_ / "a.pt", bytes(name));
    return folder_ / "a.pt";
  }
  std::string refused(const std::string& path) const {
    const std::string what = error_of<FormatError>([&] { static_cast<void>(load(path, device())); });
    EXPECT_TRUE(has(what, path) && has(what, "(io_torch_test.cpp:")) << what;
    return what;
  }

  TemporaryFolder folder_{access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path()};
  test::Book book_{"torch_files", Device()};
};
INSTANTIATE_TEST_SUITE_P(Devices, TorchFiles, test::all_devices(), test::device_test_name);

TEST_P(TorchFiles, AreReadAsPythonReadsThem) {
  const StateDict all = load(MINNOW_TEST_DIR "/golden/torch_files.safetensors");
  const std::pair<const char*, std::size_t> cases[] = {
      {"dtypes", 12},   {"deflated", 12}, {"zip64", 12},    {"big_endian", 12}, {"protocol2", 3},
      {"protocol3", 3}, {"protocol4", 3}, {"protocol5", 3}, {"module", 9},      {"checkpoint", 47},
      {"views", 8},     {"tensor", 1},    {"list", 2},      {"empty", 0}};
  for (const auto& [name, count] : cases) {
    const StateDict got = load(file(std::string("good/") + name), device());
    EXPECT_EQ(got.size(), count) << name;
    for (const auto& [key, tensor] : got) {
      const std::string stored = std::string("good/") + name + "/tensor/" + key;
      ASSERT_TRUE(book_.contains(stored)) << stored;
      EXPECT_EQ(tensor.device(), device());
      EXPECT_FALSE(tensor.requires_grad());
      const Tensor want = book_[stored];
      EXPECT_EQ(tensor.dtype(), want.dtype()) << stored;
      EXPECT_EQ(tensor.shape().str(), want.shape().str()) << stored;
      EXPECT_EQ(bytes_of(tensor.cpu().contiguous()), bytes_of(want)) << stored;
    }
  }
}

TEST_P(TorchFiles, KeepWhatSharesMemory) {
  StateDict views = load(file("good/views"), device());
  for (const char* name : {"part", "matrix", "columns", "steps", "repeated"})
    EXPECT_EQ(views.at(name).storage(), views.at("all").storage()) << name;
  EXPECT_NE(views.at("alone").storage(), views.at("all").storage());
  EXPECT_EQ(views.at("columns").strides(), Strides({1, 4}));
  EXPECT_EQ(views.at("repeated").strides(), Strides({0, 0}));
  // Only what is asked for is read, under the name that is asked for.
  const StateDict part = load(file("good/checkpoint"), {device(), "model.2.", {{"model.", ""}}});
  EXPECT_EQ(part.size(), 2u);
  EXPECT_EQ(part.at("2.weight").shape(), Shape({1, 3}));
}

TEST_P(TorchFiles, GiveTheirStringsAsMetadata) {
  EXPECT_EQ(load_metadata(file("good/checkpoint")),
            (Metadata{{"name", "run \u00e9"}, {"device", "cuda:1"}, {"dtype", "torch.float32"}, {"mixed.1", "one"}}));
  EXPECT_EQ(load_metadata(file("good/protocol4")), (Metadata{{"long", std::string(300, 'x')}}));
}

TEST_P(TorchFiles, AreKnownByTheirContent) {
  for (const char* name : {"a.pth", "a.bin", "a.ckpt", "weights"}) {
    write_bytes(folder_ / name, bytes("good/dtypes"));
    EXPECT_EQ(load(folder_ / name, device()).size(), 12u) << name;
  }
  write_bytes(folder_ / "a.safetensors", bytes("good/dtypes"));
  EXPECT_TRUE(has(refused(folder_ / "a.safetensors"), "found     a zip archive, as torch.save writes"));
}

TEST_P(TorchFiles, AreRefusedForAllElse) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"uint16", {"the tensor 'u' of torch.uint16, which minnow does not have"}},
      {"float8", {"the tensor 'f' of torch.float8_e4m3fn"}},
      {"complex", {"the tensor 'c' of torch.ComplexFloatStorage"}},
      {"module", {"the Python object \"torch.nn.modules.container.Sequential\"", "model.state_dict()"}},
      {"conjugate", {"attributes of Python"}},
      {"negative", {"attributes of Python"}},
      {"sparse", {"the Python object \"torch._utils._rebuild_sparse_tensor\""}},
      {"set", {"the Python object \"__builtin__.set\""}},
      {"bytes", {"the Python object \"_codecs.encode\""}},
      {"number", {"an integer of more than 64 bits"}},
      {"key", {"a key in '' that is neither"}},
      {"name", {"the name 'a.b' twice"}},
      {"ordinary", {"the Python object \"collections.Counter\""}},
      {"command", {"the Python object \"posix.system\""}},
      {"legacy", {"a pickle, as older versions of torch.save wrote", "torch.load("}},
      {"script", {"a TorchScript archive"}},
      {"loop", {"containers that hold each other"}},
      {"many", {"containers that hold each other"}},
      {"storage", {"a storage, 's'"}}};
  for (const auto& [name, says] : cases) {
    const std::string what = refused(file(std::string("bad/") + name));
    for (const std::string& part : says) EXPECT_TRUE(has(what, part)) << name << ": " << what;
  }
  // A tensor that is left out may have any dtype.
  EXPECT_EQ(load(file("bad/uint16"), {.prefix = "fine"}).size(), 1u);
}

/// Each changed byte of a file is noticed, or does not matter; nothing ends the program.
TEST_P(TorchFiles, ThatAreDamagedAreRefusedOrEqual) {
  const std::string good = bytes("good/views"), path = folder_ / "a.pt";
  const auto text = [&](const std::string& from) {
    std::string out;
    for (const auto& [name, tensor] : load(from, device()))
      out += name + tensor.shape().str() + bytes_of(tensor.cpu().contiguous());
    return out;
  };
  const std::string want = text(file("good/views"));
  int equal = 0, refused_ones = 0;
  const auto try_one = [&](const std::string& bad) {
    write_bytes(path, bad);
    try {
      EXPECT_EQ(text(path), want);
      ++equal;
    } catch (const FormatError&) { ++refused_ones; }
  };
  const std::size_t step = device().is_cpu() ? 11 : 97;  // other devices get what was read on the host
  for (std::size_t i = 0; i < good.size(); i += step) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
    try_one(bad);
    try_one(good.substr(0, i));
  }
  EXPECT_GT(refused_ones, equal);
}

}  // namespace
}  // namespace minnow
