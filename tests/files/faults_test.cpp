// The nth system call of saving and loading fails, for every n: a typed error or success, the old file or the new one,
// and nothing left behind.  failing_calls.h says how.

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <minnow/data/csv.h>
#include <minnow/data/file_dataset.h>
#include <minnow/data/idx.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/io/npy.h>
#include <minnow/tensor/io/npz.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/text/text.h>
#include <minnow/training/checkpoint.h>
#include <minnow/vision/image.h>

#include "failing_calls.h"
#include "hostile.h"

namespace minnow {
namespace {

using test::MemoryFolder;
using test::ramp;

/// Faults for the calls within its scope.
class Faults {
 public:
  Faults(Fault fault, std::size_t at, int error = 0) : plan_{fault, error, at, 0, {}, false, {}} { plan = &plan_; }
  ~Faults() { plan = nullptr; }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  const Plan& result() const { return plan_; }

 private:
  Plan plan_;
};

std::size_t open_files() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += !entry.path().empty();
  return count;
}

/// Something that writes a file, with other content for another version, or reads what it wrote and gives it as text.
struct Work {
  std::string name;
  std::function<void(const std::string&, int)> write;
  std::function<std::string(const std::string&)> read;
};
void PrintTo(const Work& work, std::ostream* out) { *out << work.name; }

Tensor numbers(int version) { return version == 0 ? ramp<float>({3}) : ramp<float>({50, 40}); }

Tensor picture(int version) {
  const Tensor image = empty({1, 4, 4 + version}, {.dtype = DType::uint8});
  for (std::int64_t i = 0; i < image.numel(); ++i) image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(9 * i);
  return image;
}

std::vector<Work> works() {
  const auto bytes = [](const std::string& content) {
    return [content](const std::string& path, int) { test::write_bytes(path, content); };
  };
  const auto from = [&](const char* file) { return bytes(test::read_bytes(std::string(MINNOW_TEST_DIR "/") + file)); };
  const std::string idx = test::raw({0, 0, 8, 1, 0, 0, 0, 5, 1, 2, 3, 4, 5}), table = "a,b\n1,x\n2,y\n";
  const auto read_idx = [](const std::string& path) { return test::text_of(data::read_idx(path)); };
  const auto read_csv = [](const std::string& path) { return test::text_of(data::read_csv(path).tensor({"a", "b"})); };
  return {
      {"safetensors",
       [](const std::string& path, int v) {
         save({{"x", numbers(v)}, {"y", ramp<bool>({2})}}, path);
       },
       [](const std::string& path) { return test::text_of(load(path)); }},
      {"npy", [](const std::string& path, int v) { save_npy(numbers(v), path); },
       [](const std::string& path) { return test::text_of(load_npy(path)); }},
      {"npz",
       [](const std::string& path, int v) {
         save_npz({{"x", numbers(v)}}, path);
       },
       [](const std::string& path) { return test::text_of(load_npz(path)); }},
      {"packed_npz",
       [](const std::string& path, int v) {
         save_npz({{"x", numbers(v)}}, path, {.compress = true});
       },
       [](const std::string& path) { return test::text_of(load_npz(path)); }},
      {"png", [](const std::string& path, int v) { vision::write_png(picture(v), path); },
       [](const std::string& path) { return test::text_of(vision::read_image(path)); }},
      {"rows", [](const std::string& path, int v) { save_npy(numbers(v), path); },
       [](const std::string& path) { return test::text_of(data::FileTensor::npy(path).row(2)); }},
      {"idx", bytes(idx), read_idx},
      {"packed_idx", bytes(test::gzipped(idx)), read_idx},
      {"csv", bytes(table), read_csv},
      {"packed_csv", bytes(test::gzipped(table)), read_csv},
      {"jpeg", from("fuzz/corpus/image/jpeg_rgb.jpg"),
       [](const std::string& path) { return test::text_of(vision::read_image(path)); }},
      {"torch", from("fuzz/corpus/torch/protocol4"), [](const std::string& path) { return test::text_of(load(path)); }},
      {"gzip_of_two", bytes(test::gzipped(table) + test::gzipped("3,x\n")), read_csv},
      {"text", bytes(table), [](const std::string& path) { return text::read_text(path); }}};
}

class FileFaults : public ::testing::TestWithParam<Work> {
 protected:
  /// The text of the IoError in which the work ends; empty if it succeeds.
  template <class F> static std::string error_of(F&& work) {
    try {
      work();
    } catch (const IoError& error) { return error.what(); }
    return "";
  }

  const MemoryFolder folder_;
  const std::string path_ = folder_ / "x";
};

constexpr std::size_t kMostCalls = 500;

TEST_P(FileFaults, AnErrorOfAnyCallOfSaving) {
  const Work& work = GetParam();
  std::map<std::string, int> failed;
  work.write(path_, 1);
  const std::string next = test::read_bytes(path_);
  work.write(path_, 0);
  const std::string old = test::read_bytes(path_);
  if (old == next) return;  // not written by the library
  for (const int error : {ENOSPC, EIO, EMFILE, EACCES, EINTR})
    for (std::size_t n = 0;; ++n) {
      ASSERT_LT(n, kMostCalls);
      work.write(path_, 0);
      ASSERT_TRUE(test::read_bytes(path_) == old);
      const std::size_t files = open_files();
      std::string what;
      Plan after;
      {
        const Faults faults(Fault::error, n, error);
        ASSERT_NO_THROW(what = error_of([&] { work.write(path_, 1); })) << "call " << n << " of " << work.name;
        after = faults.result();
      }
      if (after.failed.empty()) break;
      const std::string place =
          after.failed + ", call " + std::to_string(n) + ", " + std::strerror(error) + ": " + what;
      ++failed[after.failed];
      EXPECT_EQ(open_files(), files) << place;
      EXPECT_TRUE(test::read_bytes(path_) == (after.renamed ? next : old)) << place;
      EXPECT_TRUE((after.renamed && after.failed != "fsync") || !what.empty()) << place;
      EXPECT_TRUE(what.empty() || what.find(path_) != what.npos) << place;
      const bool retried = after.failed == "open" || after.failed == "write" || after.failed == "close";
      EXPECT_TRUE(what.empty() || error != EINTR || !retried) << place;
      EXPECT_EQ(folder_.files(), 1u) << place;
    }
  for (const char* call : {"open", "write", "fsync", "close", "rename", "lstat", "flock", "fcntl", "fstat"})
    EXPECT_GT(failed[call], 0) << call;
}

TEST_P(FileFaults, AnErrorOfAnyCallOfLoading) {
  const Work& work = GetParam();
  std::map<std::string, int> failed;
  work.write(path_, 1);
  const std::string expected = work.read(path_);
  for (const int error : {EIO, EMFILE, EACCES, EINTR})
    for (std::size_t n = 0;; ++n) {
      ASSERT_LT(n, kMostCalls);
      const std::size_t files = open_files();
      std::string what, got;
      Plan after;
      {
        const Faults faults(Fault::error, n, error);
        ASSERT_NO_THROW(what = error_of([&] { got = work.read(path_); })) << "call " << n << " of " << work.name;
        after = faults.result();
      }
      if (after.failed.empty()) break;
      const std::string place =
          after.failed + ", call " + std::to_string(n) + ", " + std::strerror(error) + ": " + what;
      ++failed[after.failed];
      EXPECT_EQ(open_files(), files) << place;
      const bool survived = after.failed == "close" || (error == EINTR && after.failed != "fstat");
      EXPECT_EQ(what.empty(), survived) << place;
      EXPECT_EQ(got, survived ? expected : "") << place;
      EXPECT_TRUE(survived || what.find(path_) != what.npos) << place;
    }
  for (const char* call : {"open", "pread", "close", "fstat"}) EXPECT_GT(failed[call], 0) << call;
}

TEST_P(FileFaults, ShortCountsAreContinued) {
  const Work& work = GetParam();
  work.write(path_, 1);
  const std::string bytes = test::read_bytes(path_), expected = work.read(path_);
  {
    const Faults faults(Fault::short_count, 0);
    work.write(path_, 1);
    EXPECT_EQ(work.read(path_), expected);
    EXPECT_EQ(faults.result().failed, "pread");
  }
  EXPECT_TRUE(test::read_bytes(path_) == bytes);
}

/// A write that takes nothing, and a file that ends while it is read.
TEST_P(FileFaults, NothingIsWrittenOrRead) {
  const Work& work = GetParam();
  work.write(path_, 1);
  const std::string bytes = test::read_bytes(path_), expected = work.read(path_);
  for (std::size_t n = 0;; ++n) {
    ASSERT_LT(n, kMostCalls);
    std::string got;
    const Faults faults(Fault::nothing, n);
    try {
      got = work.read(path_);
    } catch (const IoError&) {
    } catch (const FormatError&) {}
    if (faults.result().failed.empty()) break;
    EXPECT_TRUE(got.empty() || got == expected) << n;
  }
  for (std::size_t n = 0;; ++n) {
    ASSERT_LT(n, kMostCalls);
    std::string what;
    const Faults faults(Fault::nothing, n);
    ASSERT_NO_THROW(what = error_of([&] { work.write(path_, 1); })) << n;
    if (faults.result().failed.empty()) break;
    EXPECT_TRUE(faults.result().failed != "write" || what.find("cannot write") != what.npos) << n << what;
    EXPECT_EQ(folder_.files(), 1u) << n;
  }
  EXPECT_TRUE(test::read_bytes(path_) == bytes);
}

/// A checkpoint with a tensor of one value.
struct Saved {
  explicit Saved(const std::string& folder, float value) : x(full({300}, value)), checkpoint(folder, {.keep = 1}) {
    checkpoint.add("x", x);
  }
  Tensor x;
  Checkpoint checkpoint;
};

TEST(CheckpointFaults, ASaveIsTheOldOneOrTheNewOne) {
  for (const int error : {ENOSPC, EIO, EMFILE, EACCES, EINTR})
    for (std::size_t n = 0;; ++n) {
      ASSERT_LT(n, kMostCalls);
      const MemoryFolder folder;
      Saved(folder / "c", 1).checkpoint.save();
      Saved run(folder / "c", 2);
      bool threw = false;
      Plan after;
      {
        const Faults faults(Fault::error, n, error);
        try {
          run.checkpoint.save();
        } catch (const IoError&) { threw = true; }
        after = faults.result();
      }
      const std::string place = after.failed + ", call " + std::to_string(n) + ", " + std::strerror(error);
      Saved other(folder / "c", 3);
      ASSERT_TRUE(other.checkpoint.resume()) << place;
      const double found = other.x.mean().item();
      EXPECT_TRUE(found == 2 || (threw && found == 1)) << place << ": " << found;
      for (const auto& file : std::filesystem::directory_iterator(folder / "c"))
        EXPECT_EQ(file.path().filename().string().rfind(".minnow-", 0), std::string::npos) << place;
      run.checkpoint.save();
      Saved again(folder / "c", 4);
      ASSERT_TRUE(again.checkpoint.resume()) << place;
      EXPECT_EQ(again.x.mean().item(), 2) << place;
      if (after.failed.empty()) break;
    }
}

TEST(CheckpointFaults, AResumeIsAnErrorOrComplete) {
  const MemoryFolder folder;
  Saved(folder / "c", 1).checkpoint.save();
  for (const int error : {EIO, EMFILE, EACCES, EINTR})
    for (std::size_t n = 0;; ++n) {
      ASSERT_LT(n, kMostCalls);
      Saved run(folder / "c", 3);
      std::string what;
      bool resumed = false;
      Plan after;
      {
        const Faults faults(Fault::error, n, error);
        try {
          resumed = static_cast<bool>(run.checkpoint.resume());
        } catch (const IoError& e) { what = e.what(); }
        after = faults.result();
      }
      const std::string place = after.failed + ", call " + std::to_string(n) + ", " + std::strerror(error);
      EXPECT_NE(resumed, !what.empty()) << place << ": a new run began in silence";
      EXPECT_EQ(run.x.mean().item(), resumed ? 1 : 3) << place;
      if (after.failed.empty()) break;
    }
}

TEST(FileRaces, TwoWritersMakeAFileAtOnce) {
  const MemoryFolder folder;
  const std::string path = folder / "x";
  Plan other;
  other.appears = path;
  plan = &other;
  save({{"x", numbers(1)}}, path);
  plan = nullptr;
  EXPECT_TRUE(other.appears.empty());
  EXPECT_EQ(test::text_of(load(path)), test::text_of({{"x", numbers(1)}}));
  EXPECT_EQ(folder.files(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Files, FileFaults, ::testing::ValuesIn(works()),
                         [](const auto& work) { return work.param.name; });

}  // namespace
}  // namespace minnow
