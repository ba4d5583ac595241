#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/io/safetensors.h>

#include "io_support.h"

namespace minnow {
namespace {

using test::io_error;
using test::ramp;
using test::read_bytes;
using test::TemporaryFolder;
using test::Unprivileged;
using test::write_bytes;

/// Sets a resource limit of this process for a scope.
class Limit {
 public:
  Limit(decltype(RLIMIT_FSIZE) kind, rlim_t most) : kind_(kind) {
    if (getrlimit(kind_, &old_) != 0) throw std::runtime_error("getrlimit");
    rlimit limit = old_;
    limit.rlim_cur = most;
    if (setrlimit(kind_, &limit) != 0) throw std::runtime_error("setrlimit");
  }
  ~Limit() { setrlimit(kind_, &old_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  decltype(RLIMIT_FSIZE) kind_;
  rlimit old_ = {};
};

/// Without a handler the signal of the system would end the program.
TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNothingElse) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  save({{"a", ramp<float>({2})}}, path);
  const std::string before = read_bytes(path);

  std::string what;
  {
    const Limit limit(RLIMIT_FSIZE, 4096);  // files end here, as a disk would
    what = io_error([&] { save({{"a", ramp<float>({5000})}}, path); });
  }

  EXPECT_NE(what.find("cannot write '" + path + "'"), what.npos) << what;
  EXPECT_NE(what.find("ulimit -f"), what.npos) << what;
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

TEST(AtomicFile, MakesTheFileThatALinkNames) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "d");
  std::filesystem::create_symlink("d/again", folder / "link");
  std::filesystem::create_symlink(folder / "d/x", folder / "d/again");
  for (int i = 1; i < 3; ++i) {  // the file does not exist at first
    save({{"a", ramp<float>({i})}}, folder / "link");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link") && std::filesystem::is_symlink(folder / "d/again"));
    EXPECT_EQ(load(folder / "d/x").at("a").numel(), i);
  }
  std::filesystem::create_symlink("no/x", folder / "lost");
  EXPECT_NE(io_error([&] { save({}, folder / "lost"); }).find("all its directories must exist"), std::string::npos);
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_NE(io_error([&] { save({}, folder / "loop"); }).find("form a loop"), std::string::npos);
  EXPECT_EQ(folder.files(), 4u);
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

TEST(AtomicFile, TooManyOpenFilesIsAnErrorAndKeepsTheOldFile) {
  const TemporaryFolder folder;
  save({{"a", ramp<float>({2})}}, folder / "x");
  const std::string before = read_bytes(folder / "x");
  // A sanitizer opens a pipe where it meets the first object of a type.
  EXPECT_NE(io_error([&] { save({}, folder / "no/x"); }), "");
  const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(lowest);
  for (int more = 0; more < 3; ++more) {  // the directory, the file and its lock
    std::string what;
    {
      const Limit limit(RLIMIT_NOFILE, static_cast<rlim_t>(lowest + more));
      what = io_error([&] { save({{"a", ramp<float>({3})}}, folder / "x"); });
    }
    EXPECT_NE(what.find(std::strerror(EMFILE)), what.npos) << more << ": " << what;
    EXPECT_NE(what.find(folder / "x"), what.npos) << more << ": " << what;
    EXPECT_EQ(read_bytes(folder / "x"), before) << more;
    EXPECT_EQ(folder.files(), 1u) << more;
  }
}

TEST(AtomicFile, AFolderThatMayNotBeReadIsWrittenTo) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "box");
  chmod((folder / ".").c_str(), 0755);
  chmod((folder / "box").c_str(), 0733);
  {
    const Unprivileged somebody;
    save({{"a", ramp<float>({2})}}, folder / "box/x");
  }
  EXPECT_EQ(load(folder / "box/x").size(), 1u);
}

TEST(AtomicFile, KeepsTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const TemporaryFolder folder;
  save({{"a", ramp<float>({2})}}, folder / "x");
  ASSERT_EQ(chown((folder / "x").c_str(), 65534, 65533), 0);
  ASSERT_EQ(chmod((folder / "x").c_str(), 0640), 0);
  save({{"a", ramp<float>({3})}}, folder / "x");
  struct stat info = {};
  ASSERT_EQ(stat((folder / "x").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(info.st_gid, 65533u);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST(AtomicFile, GroupThatCannotBeKeptGetsThePermissionsOfOthers) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes a file of another group";
  const TemporaryFolder folder;
  chmod((folder / ".").c_str(), 0777);
  write_bytes(folder / "x", "old");
  ASSERT_EQ(chown((folder / "x").c_str(), 65534, 65533), 0);
  ASSERT_EQ(chmod((folder / "x").c_str(), 04660), 0);
  {
    const Unprivileged somebody;
    save({{"a", ramp<float>({3})}}, folder / "x");
  }
  struct stat info = {};
  ASSERT_EQ(stat((folder / "x").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  ASSERT_NE(info.st_gid, 65533u);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

/// A child process that starts to write a file in the folder, and is killed.
void killed_writer(const std::string& path) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    io::AtomicFile file("save", path, SourceLocation::current());
    file.write(std::as_bytes(std::span("abc")));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(AtomicFile, DeletesTemporaryFilesOfKilledWriters) {
  const TemporaryFolder folder;
  killed_writer(folder / "x");
  killed_writer(folder / "y");  // which deletes the file of the first
  EXPECT_EQ(folder.files(), 1u);
  save({{"a", ramp<float>({2})}}, folder / "x");
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_EQ(load(folder / "x").size(), 1u);
}

TEST(AtomicFile, LeavesTheFilesOfLiveWriters) {
  const TemporaryFolder folder;
  io::AtomicFile slow("save", folder / "slow", SourceLocation::current());
  slow.write(std::as_bytes(std::span("abc")));
  save({{"a", ramp<float>({2})}}, folder / "x");
  ASSERT_EQ(folder.files(), 2u);
  slow.write(std::as_bytes(std::span("def")));
  slow.commit();
  EXPECT_EQ(read_bytes(folder / "slow"), std::string("abc\0def", 8));
}

TEST(AtomicFile, DeletesTemporaryFilesOfOtherMachinesAfterADay) {
  const TemporaryFolder folder;
  const std::string other = folder / ".minnow-0-7-0.tmp", named = folder / ".minnow-notes.txt";
  for (const std::string& path : {other, named}) write_bytes(path, "abc");
  std::filesystem::create_directory(folder / ".minnow-folder.tmp");
  std::filesystem::create_symlink("x", folder / ".minnow-link.tmp");
  save({{"a", ramp<float>({2})}}, folder / "x");
  EXPECT_EQ(folder.files(), 5u);
  for (const std::string& path : {other, named, folder / ".minnow-folder.tmp"})
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  save({{"a", ramp<float>({2})}}, folder / "x");
  EXPECT_EQ(folder.files(), 4u);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(AtomicFile, ConcurrentWritersKeepEachOthersTemporaryFiles) {
  const TemporaryFolder folder;
  std::vector<std::thread> writers;
  std::atomic<int> failed{0};
  for (int w = 0; w < 4; ++w)
    writers.emplace_back([&, w] {
      for (int i = 0; i < 50; ++i) {
        const std::string path = folder / std::to_string(w);
        if (io_error([&] { save({{"a", ramp<float>({100})}}, path); }) != "no error") ++failed;
      }
    });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(folder.files(), 4u);
}

}  // namespace
}  // namespace minnow
