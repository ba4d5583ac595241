// The nth allocation of a save or a load fails, for every n: the old file or the new one is there, whole, and nothing
// else; what was loaded is complete or nothing.

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>
#include <minnow/minnow.h>
#include "faults/failing_heap.h"

namespace minnow {
namespace {

using ::test::Shortage;
using ::test::throws;

struct Format {
  const char* name;
  void (*write)(const StateDict& values, const std::string& path);
  StateDict (*read)(const std::string& path);
};
void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

const Format kFormats[] = {
    {"safetensors", [](const StateDict& values, const std::string& path) { save(values, path); },
     [](const std::string& path) { return load(path); }},
    {"npz", [](const StateDict& values, const std::string& path) { save_npz(values, path); },
     [](const std::string& path) { return load_npz(path); }},
    {"packed_npz", [](const StateDict& values, const std::string& path) { save_npz(values, path, {.compress = true}); },
     [](const std::string& path) { return load_npz(path); }},
};

class FailedFile : public ::testing::TestWithParam<Format> {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "minnow-faults-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static StateDict values(float first) {
    return {{"weight", full({30, 40}, first)}, {"bias", arange(7)}, {"half", ones({3, 3}, DType::float16)}};
  }
  static float first_of(const StateDict& values) {
    EXPECT_EQ(values.size(), 3U);
    EXPECT_EQ(values.at("bias").to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6}));
    return values.at("weight").to_vector<float>().back();
  }

  std::string folder_;
};
INSTANTIATE_TEST_SUITE_P(, FailedFile, ::testing::ValuesIn(kFormats),
                         [](const auto& format) { return format.param.name; });

TEST_P(FailedFile, ASaveLeavesTheOldFileOrTheNewOneAndNothingElse) {
  const std::string path = folder_ + "/weights." + GetParam().name;
  for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
    GetParam().write(values(1), path);
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < 3000; ++n) {
      const float next = static_cast<float>(n) + 2;
      const float before = first_of(GetParam().read(path));
      const StateDict dict = values(next);
      const std::int64_t storages = live_storages();
      const bool threw = throws(n, shortage, failed, [&] { GetParam().write(dict, path); });
      EXPECT_EQ(live_storages(), storages);
      const float found = first_of(GetParam().read(path));
      ASSERT_TRUE(found == next || (threw && found == before)) << "allocation " << n;
      const auto files = std::distance(std::filesystem::directory_iterator(folder_), {});
      ASSERT_EQ(files, 1) << "litter, at allocation " << n;
    }
    EXPECT_GT(n, 10U);
    EXPECT_LT(n, 3000U);
  }
}

TEST_P(FailedFile, ALoadIsCompleteOrNothing) {
  const std::string path = folder_ + "/weights." + GetParam().name;
  GetParam().write(values(4), path);
  for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < 3000; ++n) {
      const std::int64_t storages = live_storages();
      StateDict loaded;
      const bool threw = throws(n, shortage, failed, [&] { loaded = GetParam().read(path); });
      if (threw) {
        ASSERT_EQ(loaded.size(), 0U) << "allocation " << n;
      } else ASSERT_EQ(first_of(loaded), 4) << "allocation " << n;
      loaded = StateDict();
      ASSERT_EQ(live_storages(), storages) << "allocation " << n;
    }
    EXPECT_GT(n, 10U);
    EXPECT_LT(n, 3000U);
  }
}

}  // namespace
}  // namespace minnow
