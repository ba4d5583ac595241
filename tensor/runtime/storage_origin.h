#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <minnow/tensor/storage.h>

namespace minnow::detail {

/// Where a storage was made: an entry of memory_report() from link() until it is destroyed.  The functions of different
/// entries may be called at the same time.
class StorageOrigin {
 public:
  /// nullptr unless memory is recorded.
  static std::unique_ptr<StorageOrigin> of(std::size_t bytes, Device device) {
    if (!recording.load(std::memory_order_relaxed) || bytes == 0) return nullptr;
    return std::unique_ptr<StorageOrigin>(new StorageOrigin(bytes, device));
  }
  ~StorageOrigin();
  StorageOrigin(const StorageOrigin&) = delete;
  StorageOrigin& operator=(const StorageOrigin&) = delete;

  void link() noexcept;
  /// Adds what the call site does not know.
  void describe(SourceLocation where, const Wanted* wanted);

  static std::atomic<bool> recording;

 private:
  friend struct Origins;
  StorageOrigin(std::size_t bytes, Device device);

  const std::int64_t bytes_;
  const Device device_;
  const std::string op_;
  std::string what_;
  SourceLocation where_;
  StorageOrigin *previous_ = nullptr, *next_ = nullptr;
  bool linked_ = false;
};

/// The lines that hold most of a device, for an OutOfMemoryError; empty unless memory is recorded.
std::string largest_memory_uses(const std::string& device);

}  // namespace minnow::detail
