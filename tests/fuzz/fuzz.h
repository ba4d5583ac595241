#pragma once

// What the fuzz targets share.  A target ends the process when a reader accepts a file and its oracle does not hold, or
// throws anything but FormatError; the sanitizers and libFuzzer's limits of memory and time find the rest.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::fuzz {

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "the oracle does not hold: %s\n", what.c_str());
  std::abort();
}

inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

/// A file in memory with a path.
class File {
 public:
  File() : fd_(memfd_create("fuzz", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(fd_)) {
    require(fd_ >= 0, "memfd_create");
  }
  const std::string& path() const { return path_; }
  void write(std::string_view bytes) const {
    require(ftruncate(fd_, 0) == 0 && pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
            "the file is written");
  }

 private:
  int fd_;
  std::string path_;
};

/// Where the library writes files: in memory, and one for each process.
inline const std::string& folder() {
  static const std::string* name = [] {
    static std::string made = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/minnow-fuzz-XXXXXX";
    require(mkdtemp(made.data()) != nullptr, "mkdtemp");
    std::atexit([] { static_cast<void>(!std::system(("rm -rf '" + made + "'").c_str())); });
    return &made;
  }();
  return *name;
}

/// Whether `read(path)` accepts the bytes.  A FormatError must name the path.
template <class Read> bool accepts(const File& file, std::string_view bytes, Read read) {
  file.write(bytes);
  try {
    read(file.path());
    return true;
  } catch (const FormatError& error) {
    require(std::string_view(error.what()).find(file.path()) != std::string_view::npos, "the error names the path");
  }
  return false;
}

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.nbytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), static_cast<std::size_t>(a.nbytes())) == 0);
}

/// The same names and tensors, in any order.
inline void require_same(const StateDict& a, const StateDict& b) {
  require(a.size() == b.size(), "as many tensors");
  for (const auto& [name, tensor] : a) {
    const Tensor* other = b.find(name);
    require(other && same(tensor, *other), "the same tensors");
  }
}

}  // namespace minnow::fuzz
