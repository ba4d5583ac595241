// Every beginning and every changed byte of small files: the same data, or a refusal.

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <minnow/data/csv.h>
#include <minnow/data/idx.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/vision/image.h>

#include "hostile.h"

namespace minnow {
namespace {

using test::MemoryFolder;
using test::ramp;

/// What a file holds, as text; and all of its bytes of elements.
struct Content {
  std::string text, data;
};

Content content_of(const StateDict& tensors) {
  Content content{test::text_of(tensors), ""};
  for (const auto& [name, tensor] : tensors) content.data += test::bytes_of(tensor);
  return content;
}

struct Format {
  std::string name;
  bool has_checksum;  // of all elements: then no change of them is accepted
  std::function<void(const std::string&)> write;
  std::function<Content(const std::string&)> read;
};
void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

const StateDict& small() {
  static const auto* tensors = new StateDict{{"a", ramp<float>({2, 2})},
                                             {"\u00e9", ramp<std::int64_t>({1})},
                                             {"flag", ramp<bool>({3})},
                                             {"none", ramp<float>({0, 2})}};
  return *tensors;
}

std::vector<Format> formats() {
  const auto npz = [](bool compress) {
    return [compress](const std::string& path) { save_npz(small(), path, {.compress = compress}); };
  };
  const auto archive = [](const std::string& path) { return content_of(load_npz(path)); };
  const auto array = [](const Tensor& t) { return content_of({{"x", t}}); };
  const std::string idx =
      test::raw({0, 0, 0x0d, 2, 0, 0, 0, 1, 0, 0, 0, 2}) + test::big(0x3f800000, 4) + test::big(0x40000000, 4);
  const auto read_idx = [array](const std::string& path) { return array(data::read_idx(path)); };
  return {{"x.safetensors", false,
           [](const std::string& path) {
             save(small(), path, {{"k", "v"}});
           },
           [](const std::string& path) { return content_of(load(path)); }},
          {"x.npy", false,
           [](const std::string& path) {
             save_npy(ramp<float>({2, 3}), path);
           },
           [array](const std::string& path) { return array(load_npy(path)); }},
          {"x.npz", true, npz(false), archive},
          {"packed.npz", true, npz(true), archive},
          {"x-idx2-float", false, [idx](const std::string& path) { test::write_bytes(path, idx); }, read_idx},
          {"x-idx2-float.gz", true, [idx](const std::string& path) { test::write_bytes(path, test::gzipped(idx)); },
           read_idx},
          {"x.csv.gz", true, [](const std::string& path) { test::write_bytes(path, test::gzipped("a,b\n1,x\n2,y\n")); },
           [array](const std::string& path) {
             const data::Table table = data::read_csv(path);
             return array(table.tensor(table.names()));
           }},
          {"x.png", true,
           [](const std::string& path) {
             Tensor image = empty({3, 2, 2}, {.dtype = DType::uint8});
             for (int i = 0; i < 12; ++i) image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(20 * i);
             vision::write_png(image, path);
           },
           [array](const std::string& path) { return array(vision::read_image(path)); }}};
}

class Damage : public ::testing::TestWithParam<Format> {};

TEST_P(Damage, EveryBeginningIsRefused) {
  const MemoryFolder folder;
  const std::string path = folder / GetParam().name;
  GetParam().write(path);
  const std::string whole = test::read_bytes(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    test::write_bytes(path, whole.substr(0, size));
    EXPECT_THROW(GetParam().read(path), FormatError) << size << " of " << whole.size() << " bytes";
  }
}

TEST_P(Damage, EveryChangedByteIsRefusedOrHarmless) {
  const MemoryFolder folder;
  const std::string path = folder / GetParam().name;
  GetParam().write(path);
  const std::string whole = test::read_bytes(path);
  const Content before = GetParam().read(path);
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      test::write_bytes(path, bytes);
      try {
        const Content after = GetParam().read(path);
        if (GetParam().has_checksum) {
          EXPECT_EQ(after.text, before.text) << "byte " << at << " ^ " << change;
          continue;
        }
        // One byte of an element, or another name, dtype, shape or order of the same bytes.
        ASSERT_EQ(after.data.size(), before.data.size()) << "byte " << at << " ^ " << change;
        std::string got = after.data, expected = before.data;
        if (at + before.data.size() < whole.size()) {
          std::sort(got.begin(), got.end());
          std::sort(expected.begin(), expected.end());
          EXPECT_EQ(got, expected) << "byte " << at << " ^ " << change << ": " << after.text;
          continue;
        }
        std::size_t different = 0;
        for (std::size_t i = 0; i < got.size(); ++i) different += got[i] != expected[i];
        EXPECT_LE(different, 1U) << "byte " << at << " ^ " << change << ": " << after.text;
      } catch (const FormatError&) { ++refused; }
    }
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Files, Damage, ::testing::ValuesIn(formats()), [](const auto& format) {
  std::string name = format.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
});

}  // namespace
}  // namespace minnow
