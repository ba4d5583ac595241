#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace minnow::test {

using Bytes = std::vector<std::uint8_t>;

/// A folder's name, and with / a file's in it, in text: that of a std::filesystem::path is another type on Windows.
class FolderName {
 public:
  FolderName() = default;
  explicit FolderName(const std::filesystem::path& path) : name_(path.string()) {}
  std::string operator/(const std::string& name) const { return name_ + "/" + name; }
  operator const std::string&() const { return name_; }
  operator std::filesystem::path() const { return name_; }

 private:
  std::string name_;
};

/// A temporary folder, removed at the end of the test.
class TempFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = FolderName(std::filesystem::temp_directory_path() / ("minnow_" + std::string(info->test_suite_name()) +
                                                                   "_" + info->name() + std::to_string(::getpid())));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const Bytes& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return folder_ / name;
  }

  FolderName folder_;
};

inline Bytes idx(std::uint8_t type, const std::vector<std::uint32_t>& sizes, const Bytes& payload) {
  Bytes out{0, 0, type, static_cast<std::uint8_t>(sizes.size())};
  for (const auto size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(size >> shift));
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

inline Bytes gzip(const Bytes& bytes) {
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Bytes out(bytes.size() + 1000);
  Bytes in = bytes;
  z.next_in = in.data();
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace minnow::test
