#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/tensor/io/save.h>

#include "io_support.h"

namespace minnow {
namespace {

using test::io_error;
using test::ramp;
using test::read_bytes;
using test::TemporaryFolder;
using test::Unprivileged;
using test::write_bytes;

void expect_both(const std::string& path, const std::string& message) {
  const std::string from_load = io_error([&] { static_cast<void>(load(path)); });
  const std::string from_save = io_error([&] { save({{"a", ramp<float>({2})}}, path); });
  for (const std::string& what : {from_load, from_save}) {
    EXPECT_NE(what.find(message), what.npos) << what;
    EXPECT_NE(what.find("'" + path + "'"), what.npos) << what;
    EXPECT_NE(what.find("(io_file_test.cpp:"), what.npos) << what;
  }
}

TEST(Files, OtherThanRegularFilesAreRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_both(folder / "pipe", "is a pipe");
  expect_both(folder / ".", "is a directory");
  expect_both("/dev/full", "is a device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Files, MissingFolders) {
  const TemporaryFolder folder;
  expect_both(folder / "no/such/folder/x", "No such file or directory");
  write_bytes(folder / "file", "x");
  expect_both(folder / "file/x", "Not a directory");
  expect_both(folder / std::string(300, 'x'), std::strerror(ENAMETOOLONG));
  EXPECT_NE(io_error([&] { static_cast<void>(load(folder / "x")); }).find("No such file"), std::string::npos);
  EXPECT_NE(io_error([&] { save({}, folder / "new/"); }).find("Is a directory"), std::string::npos);
  EXPECT_NE(io_error([&] { save({}, ""); }).find("the path is empty"), std::string::npos);
  EXPECT_NE(io_error([&] { static_cast<void>(load("")); }).find("the path is empty"), std::string::npos);
  EXPECT_NE(io_error([&] { static_cast<void>(load(std::string("a\0b", 3))); }).find("zero byte"), std::string::npos);
}

TEST(Files, OneTensorThereAndBack) {
  const TemporaryFolder folder;
  const Tensor x = ramp<float>({2, 3});
  for (const std::string& name : {folder / "x.safetensors", folder / "x.npy", folder / "x.npz"}) {
    save(x, name);
    const Tensor y = load_tensor(name);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  }
  EXPECT_TRUE(load(folder / "x.safetensors").contains("tensor"));
  save({{"a", x}, {"b", x}}, folder / "two");
  EXPECT_THROW((void)load_tensor(folder / "two"), ValueError);
  save({}, folder / "none");
  EXPECT_THROW((void)load_tensor(folder / "none"), ValueError);
}

TEST(Files, NoPermission) {
  const TemporaryFolder folder;
  chmod((folder / ".").c_str(), 0777);
  write_bytes(folder / "x", "old");
  chmod((folder / "x").c_str(), 0000);
  std::filesystem::create_directory(folder / "closed");
  chmod((folder / "closed").c_str(), 0000);
  {
    const Unprivileged somebody;
    expect_both(folder / "x", "Permission denied");
    expect_both(folder / "closed/x", "Permission denied");
  }
  chmod((folder / "closed").c_str(), 0700);
  chmod((folder / "x").c_str(), 0600);
  EXPECT_EQ(read_bytes(folder / "x"), "old");
}

}  // namespace
}  // namespace minnow
