#include <csignal>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/stat.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/safetensors.h>

#include "io_support.h"

namespace minnow {
namespace {

using test::ramp;
using test::read_bytes;
using test::TemporaryFolder;
using test::write_bytes;

/// The message of the IoError that the call ends in.
template <class Call> std::string io_error(Call call) {
  try {
    call();
  } catch (const IoError& error) { return error.what(); }
  return "no error";
}

void expect_both(const std::string& path, const std::string& message) {
  const std::string from_load = io_error([&] { static_cast<void>(load(path)); });
  const std::string from_save = io_error([&] { save({{"a", ramp<float>({2})}}, path); });
  for (const std::string& what : {from_load, from_save}) {
    EXPECT_NE(what.find(message), what.npos) << what;
    EXPECT_NE(what.find("'" + path + "'"), what.npos) << what;
    EXPECT_NE(what.find("(io_file_test.cpp:"), what.npos) << what;
  }
}

TEST(Files, WhatIsNoRegularFileIsRefusedAtOnce) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_both(folder / "pipe", "is a pipe");
  expect_both(folder / ".", "is a directory");
  expect_both("/dev/full", "is a device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(Files, MissingPlaces) {
  const TemporaryFolder folder;
  expect_both(folder / "no/such/folder/x", "No such file or directory");
  write_bytes(folder / "file", "x");
  expect_both(folder / "file/x", "Not a directory");
  expect_both(folder / std::string(300, 'x'), "File name too long");
  EXPECT_NE(io_error([&] { static_cast<void>(load(folder / "x")); }).find("No such file"), std::string::npos);
  EXPECT_NE(io_error([&] { save({}, folder / "new/"); }).find("Is a directory"), std::string::npos);
  EXPECT_NE(io_error([&] { save({}, ""); }).find("the path is empty"), std::string::npos);
  EXPECT_NE(io_error([&] { static_cast<void>(load("")); }).find("the path is empty"), std::string::npos);
  EXPECT_NE(io_error([&] { static_cast<void>(load(std::string("a\0b", 3))); }).find("zero byte"), std::string::npos);
}

/// Root may do everything, so it becomes somebody else for a while.
class Unprivileged {
 public:
  Unprivileged() : was_root_(geteuid() == 0) {
    if (was_root_ && seteuid(65534) != 0) throw std::runtime_error("seteuid");
  }
  ~Unprivileged() {
    if (was_root_) static_cast<void>(!seteuid(0));
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool was_root_;
};

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

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  save({{"a", ramp<float>({2})}}, path);
  const std::string before = read_bytes(path);

  rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = old_limit;
  limit.rlim_cur = 4096;  // files end here, as a disk would
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string what = io_error([&] { save({{"a", ramp<float>({5000})}}, path); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);

  EXPECT_NE(what.find("cannot write '" + path + "'"), what.npos) << what;
  EXPECT_EQ(read_bytes(path), before);
  EXPECT_EQ(folder.files(), 1u);
}

TEST(AtomicFile, KeepsTheModeAndFollowsLinks) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", "old");
  chmod((folder / "x").c_str(), 0640);
  std::filesystem::create_symlink("x", folder / "link");
  save({{"a", ramp<float>({2})}}, folder / "link");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(load(folder / "x").size(), 1u);
  struct stat info = {};
  ASSERT_EQ(stat((folder / "x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(folder.files(), 2u);
}

TEST(AtomicFile, NewFilesObeyTheUmask) {
  const TemporaryFolder folder;
  const mode_t mask = umask(022);
  save({}, folder / "x");
  umask(mask);
  struct stat info = {};
  ASSERT_EQ(stat((folder / "x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644u);
}

}  // namespace
}  // namespace minnow
