#pragma once

// Tables of files that readers must refuse, and of unusual ones that they must accept.

#include <cstdint>
#include <gtest/gtest.h>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>
#include <vector>
#include <zlib.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/state_dict.h>
#include "support/gzip.h"
#include "support/sanitizer.h"
#include "tensor/io_support.h"
#if !defined(_WIN32)
#include <sys/resource.h>
#endif

namespace minnow::test {

/// What a reader may allocate beyond a small file, whatever the file says.
inline constexpr std::size_t kMostMemory = std::size_t{64} << 20;

#if defined(_WIN32) || defined(MINNOW_TEST_ASAN) || defined(MINNOW_TEST_TSAN)
/// No limit: the address sanitizer, which reserves all addresses, has its own of a single allocation
/// (memory_cap_test.cpp), and Windows has none.
class MemoryCap {
 public:
  MemoryCap() {}
};
#else
/// Limits the memory of the process to what it has now and kMostMemory.
class MemoryCap {
 public:
  MemoryCap() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t pages = 0;
    in >> pages;
    if (!in || getrlimit(RLIMIT_AS, &old_) != 0) throw std::runtime_error("the size of the process is unknown");
    rlimit limit = old_;
    limit.rlim_cur = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + kMostMemory;
    if (setrlimit(RLIMIT_AS, &limit) != 0) throw std::runtime_error("setrlimit");
  }
  ~MemoryCap() { setrlimit(RLIMIT_AS, &old_); }
  MemoryCap(const MemoryCap&) = delete;
  MemoryCap& operator=(const MemoryCap&) = delete;

 private:
  rlimit old_ = {};
};
#endif

/// In memory where the system has such a folder: the tests write thousands of files.
class MemoryFolder : public TemporaryFolder {
 public:
  MemoryFolder()
      : TemporaryFolder(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path()) {}
};

/// A file that is refused, with a part of the message.
struct Hostile {
  std::string kind, bytes, found;
};

/// Calls read(path) for each file: a FormatError that names the path and what was found, within the cap of memory.
template <class Read>
void expect_refused(const std::vector<Hostile>& files, std::size_t at_least, const std::string& name, Read read) {
  const MemoryFolder folder;
  const std::string path = folder / name;
  std::set<std::string> kinds, contents;
  for (const auto& [kind, bytes, found] : files) {
    EXPECT_TRUE(kinds.insert(kind).second) << "two kinds: " << kind;
    EXPECT_TRUE(contents.insert(bytes).second) << "a file of another kind: " << kind;
    EXPECT_FALSE(found.empty()) << kind;
    write_bytes(path, bytes);
    std::string what;
    try {
      const MemoryCap cap;
      read(path);
      what = "it was accepted";
    } catch (const FormatError& error) {
      what = error.what();
      EXPECT_NE(what.find(path), what.npos) << kind << ": the path is not in\n" << what;
      EXPECT_NE(what.find(found), what.npos) << kind << ": '" << found << "' is not in\n" << what;
      continue;
    } catch (const std::exception& error) { what = std::string("another class: ") + error.what(); }
    ADD_FAILURE() << kind << ": " << what;
  }
  EXPECT_GE(kinds.size(), at_least);
}

/// A file that is accepted, and what it holds.
struct Valid {
  std::string kind, bytes, content;
};

/// Compares what `read(path)` says of each file.
template <class Read> void expect_accepted(const std::vector<Valid>& files, const std::string& name, Read read) {
  const MemoryFolder folder;
  const std::string path = folder / name;
  for (const auto& [kind, bytes, content] : files) {
    write_bytes(path, bytes);
    try {
      EXPECT_EQ(read(path), content) << kind;
    } catch (const std::exception& error) { ADD_FAILURE() << kind << ": " << error.what(); }
  }
}

inline std::string text_of(const Tensor& t) {
  std::ostringstream out;
  out << name_of(t.dtype()) << t.shape().str();
  for (const double v : t.to_vector<double>()) out << ' ' << v;
  return out.str();
}

/// The tensors in their order, separated by "; ".
inline std::string text_of(const StateDict& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += (text.empty() ? "" : "; ") + name + " " + text_of(tensor);
  return text;
}

/// Bytes given as numbers.
inline std::string raw(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out += static_cast<char>(byte);
  return out;
}

inline std::string little(std::uint64_t value, int size) {
  std::string out;
  for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

inline std::string big(std::uint64_t value, int size) {
  const std::string out = little(value, size);
  return {out.rbegin(), out.rend()};
}

/// Bytes 1, 2, 3, ...
inline std::string counting(std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(i + 1);
  return out;
}

/// The bytes with those from `at` on replaced.
inline std::string with(std::string bytes, std::size_t at, const std::string& by) {
  return bytes.replace(at, by.size(), by);
}

inline std::string cut(const std::string& bytes, std::size_t less) { return bytes.substr(0, bytes.size() - less); }

inline std::uint64_t checksum(const std::string& bytes) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

}  // namespace minnow::test
