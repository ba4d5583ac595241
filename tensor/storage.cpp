#include <minnow/tensor/storage.h>

#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/storage_origin.h>

namespace minnow {
namespace {

std::atomic<std::int64_t> live{0};

}  // namespace

std::int64_t live_storages() { return live.load(); }

Storage::Storage(Allocator& allocator, Device device, std::size_t bytes, bool pinned)
    : origin_(StorageOrigin::of(bytes, device)),
      data_(bytes ? allocator.allocate(bytes) : nullptr),
      bytes_(bytes),
      device_(device),
      pinned_(pinned),
      stream_(allocator.stream()),
      allocator_(&allocator) {
  if (origin_) origin_->link();
  live.fetch_add(1, std::memory_order_relaxed);
}

Storage::Storage(void* data, std::size_t bytes, Device device, std::function<void(void*)> deleter)
    : data_(data), bytes_(bytes), device_(device), deleter_(std::move(deleter)) {
  live.fetch_add(1, std::memory_order_relaxed);
}

Storage::~Storage() {
  live.fetch_sub(1, std::memory_order_relaxed);
  if (has_pending_.load(std::memory_order_acquire)) pending_.settle();
  try {
    if (deleter_) deleter_(data_);
  } catch (...) {  // a user's deleter or a failed device must not throw from a destructor
  }
  if (allocator_ && data_) allocator_->deallocate(data_, bytes_);
}

void Storage::set_pending(Event event) {
  const std::lock_guard lock(mutex_);
  pending_ = std::move(event);
  has_pending_.store(true, std::memory_order_release);
}

Event Storage::pending() const {
  const std::lock_guard lock(mutex_);
  return pending_;
}

bool Storage::is_ready() const { return !has_pending_.load(std::memory_order_acquire) || pending().is_ready(); }

void Storage::wait_pending() const {
  const Event event = pending();
  event.synchronize();  // without the lock, so that other threads can call is_ready()
  const std::lock_guard lock(mutex_);
  if (pending_.state() != event.state()) return;  // a newer copy is pending, which this call did not wait for
  pending_ = Event();
  has_pending_.store(false, std::memory_order_release);
}

std::shared_ptr<Storage> detail::make_storage(Allocator& allocator, Device device, std::size_t bytes, bool pinned,
                                              SourceLocation where, const Wanted* wanted) {
  try {
    auto storage = std::make_shared<Storage>(allocator, device, bytes, pinned);
    if (StorageOrigin* origin = storage->origin()) origin->describe(where, wanted);
    return storage;
  } catch (const OutOfMemoryError& error) {  // the allocator does not know the operation
    const std::string_view what = error.what(), kind = "OutOfMemoryError: ";
    const std::string_view op = CallSite::op();
    std::string text = std::string(op) + (op.empty() ? "" : ": ") + std::string(what.substr(kind.size()));
    if (const auto line = text.rfind("  (", text.find('\n')); line != std::string::npos && error.where().line)
      text.erase(line, text.find('\n') - line);  // the new error adds it again
    if (wanted)
      text.insert(std::min(text.find('\n'), text.size()), "\n  wanted for " + std::string(name_of(wanted->dtype)) +
                                                              wanted->shape.str() + " on " + device.str());
    throw OutOfMemoryError(text, where);
  }
}

}  // namespace minnow
