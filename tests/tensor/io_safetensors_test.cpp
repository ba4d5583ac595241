#include <gtest/gtest.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/safetensors.h>

#include "devices.h"
#include "io_support.h"

namespace minnow {
namespace {

using test::bytes_of;
using test::ramp;
using test::read_bytes;
using test::TemporaryFolder;

std::string golden(const std::string& name) { return std::string(MINNOW_TEST_DIR "/golden/") + name; }

/// What make_safetensors.py put in reference.safetensors.
StateDict reference() {
  const float one_and_half = 1.5f;
  const std::uint8_t seven = 7;
  return {{"scalar", test::from_bytes(DType::float32, {}, &one_and_half, 4)},
          {"scalar.uint8", test::from_bytes(DType::uint8, {}, &seven, 1)},
          {"ramp.float32", ramp<float>({2, 3})},
          {"ramp.float64", ramp<double>({2, 3})},
          {"ramp.float16", ramp<float16_t>({2, 3})},
          {"ramp.bfloat16", ramp<bfloat16_t>({2, 3})},
          {"ramp.int64", ramp<std::int64_t>({2, 3})},
          {"ramp.int32", ramp<std::int32_t>({2, 3})},
          {"ramp.int16", ramp<std::int16_t>({2, 3})},
          {"ramp.int8", ramp<std::int8_t>({2, 3})},
          {"ramp.uint8", ramp<std::uint8_t>({2, 3})},
          {"ramp.bool", ramp<bool>({2, 3})},
          {"none", ramp<float>({0, 3})},
          {"none.half", ramp<float16_t>({2, 0, 4})},
          {"odd.uint8", ramp<std::uint8_t>({5})},
          {"", ramp<double>({1})},
          {"/..", ramp<float>({2})},
          {"quote \" backslash \\ slash / tab \t newline \n control \x01 delete \x7f", ramp<float>({1, 1})},
          {"\u00e9 \u20ac \U0001f600 \u2028", ramp<std::int32_t>({3})}};
}

void expect_same(const StateDict& got, const StateDict& want) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want) {
    const Tensor* found = got.find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->dtype(), tensor.dtype()) << name;
    EXPECT_EQ(found->shape().str(), tensor.shape().str()) << name;
    EXPECT_EQ(bytes_of(*found), bytes_of(tensor)) << name;
  }
}

TEST(Safetensors, LoadsWhatThePythonPackageWrote) {
  expect_same(load(golden("reference.safetensors")), reference());
  EXPECT_EQ(load_metadata(golden("reference.safetensors")), (Metadata{{"format", "pt \"\\\b\f\n\r\t\x1f \u00e9"}}));
}

TEST(Safetensors, WritesTheBytesOfThePythonPackage) {
  const TemporaryFolder folder;
  save(reference(), folder / "x", {{"format", "pt \"\\\b\f\n\r\t\x1f \u00e9"}});
  EXPECT_EQ(read_bytes(folder / "x"), read_bytes(golden("reference.safetensors")));
  save({}, folder / "x");
  EXPECT_EQ(read_bytes(folder / "x"), read_bytes(golden("reference_empty.safetensors")));
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Safetensors, HeadersArePaddedTo8BytesAndNoMore) {
  const TemporaryFolder folder;
  for (std::size_t k = 1; k <= 8; ++k) {
    save(StateDict{{std::string(k, 'n'), ramp<float>({1})}}, folder / "x.safetensors");
    const std::string bytes = read_bytes(folder / "x.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    const std::string header = bytes.substr(sizeof length, length);
    EXPECT_EQ(length % 8, 0U) << header;
    EXPECT_LT(header.size() - 1 - header.find_last_not_of(' '), 8U) << header;
  }
}

TEST(Safetensors, LoadsAModuleOfTorchByName) {
  const StateDict tensors = load(golden("reference_module.safetensors"));
  EXPECT_EQ(tensors.size(), 9u);
  EXPECT_EQ(tensors.at("0.weight").shape(), Shape({3, 2, 3, 3}));
  EXPECT_EQ(tensors.at("1.running_var").data<float>()[2], 1.0f);
  EXPECT_EQ(tensors.at("1.num_batches_tracked").data<std::int64_t>()[0], 0);
  EXPECT_EQ(tensors.at("2.weight").shape(), Shape({2, 4}));
  const TemporaryFolder folder;
  save(tensors, folder / "again", {{"format", "pt"}});
  EXPECT_EQ(read_bytes(folder / "again"), read_bytes(golden("reference_module.safetensors")));
}

TEST(Safetensors, MetadataWithoutTensors) {
  const TemporaryFolder folder;
  save({}, folder / "x", {{"b", "2"}, {"a", ""}});
  EXPECT_EQ(read_bytes(folder / "x").substr(8), "{\"__metadata__\":{\"a\":\"\",\"b\":\"2\"}}       ");
  EXPECT_EQ(load_metadata(folder / "x"), (Metadata{{"a", ""}, {"b", "2"}}));
}

TEST(Safetensors, RefusesBadValuesAndKeepsTheOldFile) {
  const TemporaryFolder folder;
  save({{"a", ramp<float>({2})}}, folder / "x");
  const std::string before = read_bytes(folder / "x");
  EXPECT_THROW(save({{"a", Tensor()}}, folder / "x"), ValueError);
  EXPECT_THROW(save({{"__metadata__", ramp<float>({1})}}, folder / "x"), ValueError);
  EXPECT_THROW(save({{"\xff", ramp<float>({1})}}, folder / "x"), ValueError);
  EXPECT_THROW(save({}, folder / "x", {{"a", "\xed\xa0\x80"}}), ValueError);
  EXPECT_EQ(read_bytes(folder / "x"), before);
  EXPECT_EQ(folder.files(), 1u);
}

class SafetensorsOnDevices : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, SafetensorsOnDevices, test::all_devices(), test::device_test_name);

TEST_P(SafetensorsOnDevices, SaveFromAndLoadToAnyDevice) {
  const TemporaryFolder folder;
  StateDict there;
  for (const auto& [name, tensor] : reference()) there.set(name, tensor.to(device()));
  save(there, folder / "x", {{"format", "pt \"\\\b\f\n\r\t\x1f \u00e9"}});
  EXPECT_EQ(read_bytes(folder / "x"), read_bytes(golden("reference.safetensors"))) << "files hold no device";
  StateDict home;
  for (const auto& [name, tensor] : load(folder / "x", device())) {
    EXPECT_EQ(tensor.device(), device()) << name;
    home.set(name, tensor.cpu());
  }
  expect_same(home, reference());
}

TEST_P(SafetensorsOnDevices, StridedTensorsAreSavedInRowMajorOrder) {
  const TemporaryFolder folder;
  Tensor x = ramp<float>({2, 3}).to(device());
  x.requires_grad_();
  save({{"x", x.t()}, {"row", x.select(0, 1)}}, folder / "x");
  const StateDict loaded = load(folder / "x");
  EXPECT_EQ(loaded.at("x").to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(loaded.at("row").to_vector<float>(), (std::vector<float>{3, 4, 5}));
  EXPECT_FALSE(loaded.at("x").requires_grad());
}

TEST(Safetensors, MissingDevice) {
  EXPECT_THROW(static_cast<void>(load(golden("reference.safetensors"), "sim:99")), DeviceError);
}

TEST(StateDict, KeepsTheOrderAndFindsByName) {
  StateDict dict{{"b", ramp<float>({1})}, {"a", ramp<float>({2})}};
  dict["c"] = ramp<float>({3});
  dict.set("b", ramp<float>({4}));
  std::string order;
  for (const auto& [name, tensor] : dict) order += name + std::to_string(tensor.numel());
  EXPECT_EQ(order, "b4a2c3");
  EXPECT_TRUE(dict.erase("b"));
  EXPECT_FALSE(dict.erase("b"));
  EXPECT_EQ(dict.at("c").numel(), 3);
  EXPECT_EQ(dict.find("b"), nullptr);
  EXPECT_EQ(dict.size(), 2u);
}

TEST(StateDict, ACloneHasMemoryOfItsOwn) {
  const Tensor x = ramp<float>({3, 2});
  const StateDict dict{{"b", x}, {"a", x.t()}, {"none", Tensor()}};
  const StateDict copy = dict.clone();
  x.data<float>()[1] = 100;
  EXPECT_EQ(copy.begin()->first, "b");
  EXPECT_EQ(copy.at("b").to_vector<float>(), ramp<float>({3, 2}).to_vector<float>());
  EXPECT_EQ(copy.at("a").shape(), Shape({2, 3}));
  EXPECT_NE(copy.at("a").to_vector<float>(), dict.at("a").to_vector<float>());
  EXPECT_FALSE(copy.at("none").defined());
  EXPECT_EQ(copy.size(), 3u);
}

TEST(StateDict, ErrorListsTheNames) {
  const StateDict dict{{"fc1.weight", ramp<float>({1})}, {"fc1.bias", ramp<float>({1})}};
  try {
    static_cast<void>(dict.at("fc1.wieght"));
    FAIL() << "no error";
  } catch (const IndexError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("'fc1.wieght'"), what.npos);
    EXPECT_NE(what.find("'fc1.weight', 'fc1.bias'"), what.npos) << what;
    EXPECT_NE(what.find("io_safetensors_test.cpp:"), what.npos) << what;
  }
}

}  // namespace
}  // namespace minnow
