#include <minnow/data/detail/loader_core.h>

#include <algorithm>
#include <string>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/text.h>
#include <minnow/tensor/transfer_report.h>

namespace minnow::data {

SampleError::SampleError(std::int64_t sample, std::string_view what, SourceLocation where)
    : Error("SampleError",
            "DataLoader: sample " + std::to_string(sample) + " could not be read\n  " + std::string(what) +
                "\nits own exception is nested in this one: std::rethrow_if_nested",
            where),
      sample_(sample) {}

namespace detail {
namespace {

constexpr std::size_t kMostHeld = 64;  // a user who keeps every batch must not slow the loader down

void check(const DataLoaderOptions& o, SourceLocation where) {
  const auto refuse = [&](const char* name, std::int64_t value, const char* expected) {
    throw ValueError(
        std::string("DataLoader: ") + name + " " + std::to_string(value) + " is not allowed\nexpected " + expected,
        where);
  };
  if (o.batch_size < 1) refuse("batch_size", o.batch_size, "1 or more");
  if (o.num_workers < kAuto || o.num_workers > 256) refuse("num_workers", o.num_workers, "0 to 256, or kAuto");
  if (o.prefetch < kAuto || o.prefetch > 65536) refuse("prefetch", o.prefetch, "0 to 65536, or kAuto");
}

/// Pinned memory for the device, or for whichever device this machine has.
Allocator* pinned_memory(const DataLoaderOptions& options, SourceLocation where) {
  if (!options.device.is_cpu()) return backend_of(options.device, where).pinned_allocator();
  if (Allocator* pinned = pinned_allocator()) return pinned;
  throw DeviceError("DataLoader: pin_memory is set, but this machine has no device to pin memory for\n  devices  " +
                        available_devices() + "\nleave pin_memory out",
                    where);
}

}  // namespace

LoaderCore::LoaderCore(const DataLoaderOptions& options, Fill fill, SourceLocation where)
    : options_(options),
      fill_(std::move(fill)),
      where_(where),
      seed_(options.seed.value_or(default_generator().state().seed)),
      host_memory_(&cpu_allocator()) {
  const CallSite site("DataLoader", where);
  check(options, where);
  if (!options.device.is_cpu()) side_.emplace(options.device, where);
  if (options.device.is_cpu() && !options.pin_memory) return;
  if (Allocator* pinned = pinned_memory(options, where)) {
    host_memory_ = pinned;
    pinned_ = true;
  }
}

LoaderCore::~LoaderCore() {
  // Work that reads these buffers may still be under way on the device.
  for (const auto& slot : free_) {
    slot->released.settle();
    slot->copied.settle();
  }
}

std::unique_ptr<Slot> LoaderCore::acquire() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    auto slot = std::move(free_.back());
    free_.pop_back();
    return slot;
  }
  ++stats_.buffers;
  Allocator& device_memory =
      options_.device.is_cpu() ? cpu_allocator() : backend_of(options_.device).allocator(options_.device.index());
  return std::make_unique<Slot>(Slot{
      BatchBuffer(*host_memory_, pinned_), BatchBuffer(device_memory, false, options_.device), {}, {}, {}, {}, {}});
}

Made LoaderCore::make(std::span<const std::int64_t> indices, std::int64_t epoch) noexcept {
  Made made;
  try {
    made.slot = acquire();
    made.slot->copied.synchronize();  // of the batch before, from this very memory
    fill_(indices, seed_, epoch, made.slot->host);
    made.slot->tensors = made.slot->host.take();
    if (side_) upload(*made.slot);
  } catch (...) { made.error = std::current_exception(); }
  return made;
}

void LoaderCore::upload(Slot& slot) {
  const std::lock_guard lock(upload_mutex_);
  const StreamGuard guard(*side_);
  Backend& backend = backend_of(options_.device);
  side_->wait(slot.released);
  for (std::size_t k = 0; k < slot.tensors.size(); ++k)
    slot.device.make(static_cast<int>(k), slot.tensors[k].dtype(), slot.tensors[k].shape(), where_);
  slot.started = side_->record();
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < slot.tensors.size(); ++k) {
    if (slot.tensors[k].numel() > 0) backend.transfer(slot.tensors[k], slot.device.tensors()[k], true);
    bytes += slot.tensors[k].nbytes();
  }
  slot.copied = side_->record();
  minnow::detail::note_transfer(TransferDirection::to_device, bytes, slot.started, slot.copied, where_);
  slot.tensors = slot.device.take();
}

void LoaderCore::deliver(Slot& slot) {
  if (!side_) return;
  const Stream stream = current_stream(options_.device);
  slot.reached = stream.record();
  stream.wait(slot.copied);
}

void LoaderCore::release(std::unique_ptr<Slot> slot) noexcept {
  if (!slot) return;
  try {
    slot->tensors.clear();
    Event now;
    if (side_) now = current_stream(options_.device).record();
    const std::lock_guard lock(mutex_);
    if (slot->reached.state()) copies_.push_back({slot->started, slot->copied, slot->reached});
    slot->reached = Event();
    // Copies that the user began may still read it; its allocator waits for them.
    if (pinned_ && !side_) slot->host.forget();
    held_.push_back(std::move(slot));
    for (auto& held : held_) {
      if (held->is_shared()) continue;
      held->released = now;
      free_.push_back(std::move(held));
    }
    std::erase(held_, nullptr);
    if (held_.size() > kMostHeld) held_.erase(held_.begin());
    settle(false);
  } catch (...) {  // the memory is lost to the loader, and goes back to its allocator
  }
}

/// Turns the events of finished copies into times; the caller holds mutex_.
void LoaderCore::settle(bool wait) {
  std::erase_if(copies_, [&](const Copy& copy) {
    if (!wait && !(copy.copied.is_ready() && copy.reached.is_ready())) return false;
    const double seconds = copy.copied.seconds_since(copy.started);
    stats_.copy_seconds += seconds;
    stats_.exposed_seconds += std::clamp(copy.copied.seconds_since(copy.reached), 0.0, std::max(seconds, 0.0));
    return true;
  });
}

void LoaderCore::note_batch(std::int64_t samples, double wait_seconds, LoaderPosition next) {
  const std::lock_guard lock(mutex_);
  ++stats_.batches;
  stats_.samples += samples;
  stats_.wait_seconds += wait_seconds;
  position_ = next;
}

LoaderStats LoaderCore::stats() {
  const std::lock_guard lock(mutex_);
  settle(true);
  return stats_;
}

LoaderPosition LoaderCore::position() const {
  const std::lock_guard lock(mutex_);
  return position_;
}

void LoaderCore::set_position(LoaderPosition position) {
  const std::lock_guard lock(mutex_);
  position_ = next_ = position;
}

LoaderPosition LoaderCore::begin_epoch() {
  const std::lock_guard lock(mutex_);
  if (next_.epoch == kNoEpoch)
    throw ValueError("DataLoader: there is no epoch after the last\ncall set_epoch() to begin at another", where_);
  position_ = next_;
  epoch_ = next_.epoch;
  next_ = {position_.epoch + 1, 0};
  return position_;
}

std::int64_t LoaderCore::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

std::int64_t checked_samples(const char* whose, std::int64_t samples, SourceLocation where) {
  if (samples < 0)
    throw ValueError(std::string("DataLoader: ") + whose + " says that it has " + std::to_string(samples) +
                         " samples\nsize() returns 0 or more",
                     where);
  return samples;
}

std::int64_t batches_of(std::int64_t samples, const DataLoaderOptions& options) {
  const bool rest = samples % options.batch_size != 0 && !options.drop_last;
  return samples / options.batch_size + (rest ? 1 : 0);
}

void check_batch(std::span<const Tensor> fields, std::size_t expected, std::size_t rows, const std::type_info& dataset,
                 SourceLocation where) {
  const auto text = [&](const std::string& found, const std::string& hint) {
    std::string made;
    for (std::size_t k = 0; k < fields.size(); ++k)
      made += "\n  field " + std::to_string(k) + "  " + (fields[k].defined() ? describe(fields[k]) : "not made");
    return "DataLoader: get_batch of " + type_name(dataset) + " made " + found + made + "\n" + hint;
  };
  const bool gap = std::any_of(fields.begin(), fields.end(), [](const Tensor& field) { return !field.defined(); });
  if (fields.size() != expected || gap)
    throw ValueError(text(std::to_string(fields.size()) + " fields" + (gap ? ", not all of them" : "") +
                              ", a sample has " + std::to_string(expected),
                          "call buffer.make() for each field of a sample, numbered from 0"),
                     where);
  const auto count = static_cast<std::int64_t>(rows);
  for (const Tensor& field : fields)
    if (field.dim() == 0 || field.shape()[0] != count)
      throw ShapeError(text("a field without " + std::to_string(rows) + " rows, one for each sample of the batch",
                            "make each field as [" + std::to_string(rows) + ", ...], whose size is indices.size()"),
                       where);
}

void throw_sample_error(std::int64_t sample, SourceLocation where) {
  try {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(SampleError(sample, error.what(), where));
  } catch (...) { std::throw_with_nested(SampleError(sample, "an exception that is no std::exception", where)); }
}

}  // namespace detail
}  // namespace minnow::data
