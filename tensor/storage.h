#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/shape.h>

namespace minnow {

namespace detail {
class StorageOrigin;

/// Base of what Storage::prepared() keeps.
struct Prepared {
  Prepared() = default;
  virtual ~Prepared() = default;
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
};
}  // namespace detail

/// A block of memory on one device, shared by the tensors that view it.
class Storage {
 public:
  /// Allocates `bytes`.
  Storage(detail::Allocator& allocator, Device device, std::size_t bytes, bool pinned = false);
  /// Uses the caller's memory; `deleter`, if not empty, is called once, when the last tensor is destroyed.
  Storage(void* data, std::size_t bytes, Device device, std::function<void(void*)> deleter);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device device() const { return device_; }
  /// The allocator of the memory; nullptr for the caller's memory.
  const detail::Allocator* allocator() const { return allocator_; }
  /// Where it was made; nullptr unless memory was recorded then.
  detail::StorageOrigin* origin() const { return origin_.get(); }
  /// Whether this is page-locked host memory.
  bool is_pinned() const { return pinned_; }
  /// The stream that the memory was allocated for (see Allocator::stream).  Its allocator must be told of uses on
  /// others.
  const void* stream() const { return stream_; }

  /// Incremented by each write through any view; backward refuses a saved value whose version has changed.
  std::uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  void bump_version() { version_.fetch_add(1, std::memory_order_relaxed); }

  /// Incremented when a tensor of this memory is given other memory, or its requires_grad changes: captures that use
  /// the tensor (CapturedStep) are then out of date.
  std::uint32_t rebindings() const { return rebindings_.load(std::memory_order_relaxed); }
  void note_rebinding() {
    rebindings_.fetch_add(1, std::memory_order_relaxed);
    all_rebindings_.fetch_add(1, std::memory_order_relaxed);
  }
  /// The sum over all storages of the process.
  static std::uint64_t all_rebindings() { return all_rebindings_.load(std::memory_order_relaxed); }

  /// The number of saved values that share this memory.  The other references are tensors that a program can read.
  int graph_references() const { return graph_references_.load(std::memory_order_relaxed); }
  void add_graph_reference(int n) { graph_references_.fetch_add(n, std::memory_order_relaxed); }

  /// What a backend has made of the content, e.g. weights in a library's layout.  It is kept until the next write;
  /// `make` makes it if there is none that `fits` accepts.  Thread-safe.
  template <class T, class Fits, class Make> std::shared_ptr<const T> prepared(const Fits& fits, const Make& make) {
    const std::lock_guard lock(mutex_);
    auto kept = std::dynamic_pointer_cast<const T>(prepared_);
    if (kept && prepared_version_ == version() && fits(*kept)) return kept;
    const std::uint32_t now = version();
    kept = make();
    prepared_ = kept;
    prepared_version_ = now;
    has_prepared_.store(true, std::memory_order_relaxed);
    return kept;
  }
  /// For a caller that may write to the memory by its address.
  void forget_prepared() {
    if (!has_prepared_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    prepared_.reset();
    has_prepared_.store(false, std::memory_order_relaxed);
  }

  /// Notes that a copy into this host memory runs until `event`; host reads wait for it.
  void set_pending(Event event);
  bool is_ready() const;
  /// Waits for a pending copy into this memory, if there is one.
  void wait_ready() const {
    if (has_pending_.load(std::memory_order_acquire)) wait_pending();
  }

 private:
  Event pending() const;
  void wait_pending() const;

  std::unique_ptr<detail::StorageOrigin> origin_;  // while memory is recorded (record_memory)
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  Device device_;
  bool pinned_ = false;
  const void* stream_ = nullptr;
  std::atomic<std::uint32_t> version_ = 0;
  std::atomic<std::uint32_t> rebindings_ = 0;
  std::atomic<int> graph_references_ = 0;
  mutable std::atomic<bool> has_pending_ = false;
  mutable std::mutex mutex_;
  mutable Event pending_;
  std::atomic<bool> has_prepared_ = false;
  std::shared_ptr<const detail::Prepared> prepared_;
  std::uint32_t prepared_version_ = 0;
  detail::Allocator* allocator_ = nullptr;
  std::function<void(void*)> deleter_;
  static inline std::atomic<std::uint64_t> all_rebindings_ = 0;
};

namespace detail {

/// What memory is allocated for, shown by OutOfMemoryError.
struct Wanted {
  DType dtype;
  const Shape& shape;
};

/// Allocates a storage.  OutOfMemoryError with the user's line and what the memory was for.
std::shared_ptr<Storage> make_storage(Allocator& allocator, Device device, std::size_t bytes, bool pinned,
                                      SourceLocation where, const Wanted* wanted = nullptr);

}  // namespace detail

/// The number of storages in this process, on all devices; constant over the steps of a training loop that leaks none.
std::int64_t live_storages();

}  // namespace minnow
