#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/tensor.h>

namespace minnow::test {

/// An empty directory, removed at the end of the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::random_device random;
    do path_ = in / ("minnow-test-" + std::to_string(random()));
    while (!std::filesystem::create_directory(path_));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The message of the IoError that the call ends in.
template <class Call> std::string io_error(Call call) {
  try {
    call();
  } catch (const IoError& error) { return error.what(); }
  return "no error";
}

#ifndef _WIN32
/// Root can access everything: becomes another user for a scope.
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
#endif

/// A contiguous tensor with these bytes, made without any operation.
inline Tensor from_bytes(DType dtype, const Shape& shape, const void* bytes, std::size_t size) {
  auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), size);
  if (size != 0) std::memcpy(storage->data(), bytes, size);
  return Tensor(std::move(storage), dtype, shape, contiguous_strides(shape));
}

/// Row-major elements 0, 1, 2, ... (bool: false, true, ...).
template <class T> Tensor ramp(const Shape& shape) {
  const auto n = static_cast<std::size_t>(shape.numel());
  const auto values = std::make_unique<T[]>(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<T, bool>) values[i] = i % 2 == 1;
    else values[i] = static_cast<T>(static_cast<float>(i));
  }
  return from_bytes(dtype_of<T>(), shape, values.get(), n * sizeof(T));
}

inline std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.raw_data()), static_cast<std::size_t>(t.nbytes())};
}

}  // namespace minnow::test
