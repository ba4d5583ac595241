// Errors of load() for files of other formats, and for tensors that do not fit in memory.

#include <gtest/gtest.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/safetensors.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/sim/options.h>

#include "io_support.h"
#include "thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::has;
using test::ramp;
using test::TemporaryFolder;
using test::write_bytes;

struct Refused {
  std::string name, bytes;
  std::vector<std::string> says;
};

TEST(ForeignFiles, AreNamedWithTheCodeThatConvertsThem) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  const std::string zip = "PK\3\4\0\0\b\b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\x12\0"s;
  const std::string torch = "import torch, safetensors.torch";
  const std::vector<Refused> cases = {
      {"a.safetensors", zip + "archive/data.pklFB", {"zip archive, as torch.save", "load() reads it", ".pt"}},
      {"net.pth", "PK\3\4", {"no directory of members", "torch.save(model.state_dict()"}},
      {"old.pt", "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", {"a pickle", torch}},
      {"v4.pt", "\x80\4\x95\xa7\0\0\0\0\0\0\0}"s, {"a pickle", torch}},
      {"x.safetensors", zip + "weight.npy\x93NUMPY", {"numpy.savez", "load() reads it", ".npz"}},
      {"y.safetensors", "\x93NUMPY\1\0v\0{'descr'"s, {"a .npy file", "load() reads it", ".npy"}},
      {"x.h5", "\x89HDF\r\n\x1a\n\0\0\0"s, {"HDF5", "h5py"}},
      {"x.gz", "\x1f\x8b\b\0\0\0\0\0\0\0"s, {"a gzip file", "gunzip"}},
      {"lfs", "version https://git-lfs.github.com/spec/v1\noid", {"git-lfs", "git lfs pull"}},
      {"say \"hi\".pt", "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", {"say \\\"hi\\\".pt"}}};
  for (const auto& [name, bytes, says] : cases) {
    const std::string path = folder / name;
    write_bytes(path, bytes);
    for (const std::string& what : {error_of<FormatError>([&] { static_cast<void>(load(path)); }),
                                    error_of<FormatError>([&] { load_metadata(path); })}) {
      for (const std::string& part : says) EXPECT_TRUE(has(what, part)) << part << " is not in\n" << what;
      EXPECT_TRUE(has(what, "(io_foreign_test.cpp:") && has(what, path)) << what;
    }
  }
}

/// Its length, 640, has the bytes of a pickle's beginning.
TEST(ForeignFiles, ADamagedFileIsNotTakenForAPickle) {
  const TemporaryFolder folder;
  write_bytes(folder / "x", std::string("\x80\2\0\0\0\0\0\0", 8).append(640, '{'));
  EXPECT_FALSE(has(error_of<FormatError>([&] { static_cast<void>(load(folder / "x")); }), "pickle"));
}

TEST(FilesThatDoNotFit, NameTheFileTheTensorAndTheLine) {
  const TemporaryFolder folder;
  save({{"small", ramp<float>({2})}, {"fc1.weight", ramp<float>({1024, 1024})}}, folder / "x");
  empty_cache("sim:0");
  const auto used = static_cast<std::size_t>(memory_stats("sim:0").allocated);
  const sim::ScopedOptions options({.memory = used + (1 << 20)});
  const std::string what = error_of<OutOfMemoryError>([&] { static_cast<void>(load(folder / "x", "sim:0")); });
  for (const std::string& part :
       {std::string("load: no memory"), std::string("'fc1.weight'"), folder / "x",
        std::string("float32[1024, 1024], 4194304 bytes"), std::string("sim:0"), std::string("(io_foreign_test.cpp:")})
    EXPECT_TRUE(has(what, part)) << part << " is not in\n" << what;
}

/// A file with holes may be larger than any memory.
TEST(FilesThatDoNotFit, OnTheHost) {
  if (test::read_bytes("/proc/sys/vm/overcommit_memory") == "1\n")
    GTEST_SKIP() << "this system gives all that is asked for";
  const TemporaryFolder folder;
  constexpr std::int64_t kBytes = std::int64_t{1} << 43;
  std::string header = "{\"w\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(kBytes) + "],\"data_offsets\":[0," +
                       std::to_string(kBytes) + "]}}";
  std::uint64_t length = header.size();
  write_bytes(folder / "x", std::string(reinterpret_cast<const char*>(&length), 8) + header);
  if (truncate((folder / "x").c_str(), static_cast<off_t>(8 + length) + kBytes) != 0)
    GTEST_SKIP() << "no files of 8 TiB here";
  const std::string what = error_of<OutOfMemoryError>([&] { static_cast<void>(load(folder / "x")); });
  for (const std::string& part : {std::string("load: no memory"), std::string("'w'"), folder / "x",
                                  std::to_string(kBytes) + " bytes", std::string("(io_foreign_test.cpp:")})
    EXPECT_TRUE(has(what, part)) << part << " is not in\n" << what;
}

}  // namespace
}  // namespace minnow
