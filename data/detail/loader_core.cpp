#include <minnow/data/detail/loader_core.h>

#include <algorithm>
#include <string>
#include <minnow/data/random.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/profile/transfer_report.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/text.h>

namespace minnow::data {

namespace detail {
namespace {

constexpr std::size_t kMaxHeld = 64;  // limits the search where a user keeps every batch

void check(const DataLoaderOptions& o, SourceLocation where) {
  const auto refuse = [&](const char* name, std::int64_t value, const char* expected) {
    throw ValueError(std::string("DataLoader: ") + name + " must be " + expected + ", got " + std::to_string(value) +
                         "\nchange this option of the loader",
                     where);
  };
  if (o.batch_size < 1) refuse("batch_size", o.batch_size, "1 or more");
  if (o.num_workers < kAuto || o.num_workers > 256) refuse("num_workers", o.num_workers, "0 to 256 or kAuto");
  if (o.prefetch < kAuto || o.prefetch > 65536) refuse("prefetch", o.prefetch, "0 to 65536 or kAuto");
}

/// The allocator of pinned memory for the device; for the host, that of any device of this machine.
Allocator* pinned_memory(const DataLoaderOptions& options, SourceLocation where) {
  if (!options.device.is_cpu()) return backend_of(options.device, where).pinned_allocator();
  if (Allocator* pinned = pinned_allocator()) return pinned;
  throw DeviceError("DataLoader: pin_memory is set, but no device of this machine uses pinned memory\n  devices  " +
                        available_devices() + "\nremove pin_memory",
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
  if (!options.device.is_cpu()) copy_stream_.emplace(options.device, where);
  if (options.device.is_cpu() && !options.pin_memory) return;
  if (Allocator* pinned = pinned_memory(options, where)) {
    host_memory_ = pinned;
    pinned_ = true;
  }
}

LoaderCore::~LoaderCore() {
  // The device may still read these buffers.
  for (const auto& memory : free_) {
    memory->released.settle();
    memory->copied.settle();
  }
}

std::unique_ptr<BatchMemory> LoaderCore::acquire() {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    auto memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }
  ++stats_.buffers;
  Allocator& device_memory =
      options_.device.is_cpu() ? cpu_allocator() : backend_of(options_.device).allocator(options_.device.index());
  return std::make_unique<BatchMemory>(BatchMemory{BatchBuffer(*host_memory_, pinned_, {}, copy_stream_.has_value()),
                                                   BatchBuffer(device_memory, false, options_.device),
                                                   {},
                                                   {},
                                                   {},
                                                   {},
                                                   {},
                                                   {}});
}

BatchResult LoaderCore::make(std::span<const std::int64_t> indices, LoaderPosition at) noexcept {
  const minnow::detail::OpenScope scope(minnow::detail::ScopeKind::batch, "make batch");
  BatchResult result;
  try {
    result.memory = acquire();
    result.memory->copied.synchronize();  // the copy of the batch before, from this memory
    result.memory->host.take();           // of a batch that failed
    result.memory->device.take();
    // What a dataset draws without its Random depends on the batch, and not on the thread.
    RandomGenerator generator(
        Random(seed_, static_cast<std::uint64_t>(at.epoch), static_cast<std::uint64_t>(at.batch)).bits());
    {
      const minnow::detail::DefaultGenerator replaced(generator);
      fill_(indices, seed_, at, result.memory->host);
    }
    if (copy_stream_) upload(*result.memory);
    else result.memory->tensors = result.memory->host.take();
  } catch (...) { result.error = std::current_exception(); }
  return result;
}

void LoaderCore::upload(BatchMemory& memory) {
  const std::lock_guard lock(upload_mutex_);
  const StreamGuard guard(*copy_stream_);
  Backend& backend = backend_of(options_.device);
  copy_stream_->wait(memory.released);
  const std::vector<BatchBuffer::Bytes> later = memory.host.bytes();
  memory.tensors = memory.host.take();
  for (std::size_t k = 0; k < memory.tensors.size(); ++k)
    memory.device.make(static_cast<int>(k), memory.tensors[k].dtype(), memory.tensors[k].shape(), where_);
  std::int64_t bytes = 0;
  for (const Tensor& tensor : memory.tensors) bytes += tensor.nbytes();
  const minnow::detail::OpenScope scope(minnow::detail::ScopeKind::copy, "copy to device", bytes);
  memory.started = copy_stream_->record();
  for (std::size_t k = 0; k < memory.tensors.size(); ++k)
    if (memory.tensors[k].numel() > 0) backend.transfer(memory.tensors[k], memory.device.tensors()[k], true);
  memory.copied = copy_stream_->record(EventUse::waiting);  // a worker waits for it
  scope.on_device(options_.device, memory.started, memory.copied);
  minnow::detail::note_transfer(TransferDirection::to_device, bytes, memory.started, memory.copied, where_);
  memory.tensors = memory.device.take();
  memory.ready = memory.copied;
  if (later.empty()) return;
  const CallSite site("DataLoader", where_);
  const int fields = static_cast<int>(memory.tensors.size());
  for (const auto& [field, scale, shift] : later) {
    Tensor& tensor = memory.tensors[static_cast<std::size_t>(field)];
    const Tensor floats = memory.device.make(fields + field, DType::float32, tensor.shape(), where_);
    if (tensor.numel() > 0) backend.run(calls::ScaleBytes{tensor, floats, scale, shift});
    tensor = floats;
  }
  memory.device.take();
  memory.ready = copy_stream_->record();
}

void LoaderCore::deliver(BatchMemory& memory) {
  if (!copy_stream_) return;
  const Stream stream = current_stream(options_.device);
  memory.reached = stream.record();
  stream.wait(memory.ready);
}

void LoaderCore::release(std::unique_ptr<BatchMemory> memory) noexcept {
  if (!memory) return;
  try {
    memory->tensors.clear();
    Event now;
    if (copy_stream_) now = current_stream(options_.device).record(EventUse::ordering);
    const std::lock_guard lock(mutex_);
    if (memory->reached.state()) copies_.push_back({memory->started, memory->copied, memory->reached});
    memory->reached = Event();
    // The user's copies may still read it; its allocator waits for them.
    if (pinned_ && !copy_stream_) memory->host.forget();
    held_.push_back(std::move(memory));
    for (auto& held : held_) {
      if (held->is_shared()) continue;
      held->released = now;
      free_.push_back(std::move(held));
    }
    std::erase(held_, nullptr);
    if (held_.size() > kMaxHeld) held_.erase(held_.begin());
    collect_copy_times(false);
  } catch (...) {  // the memory returns to its allocator
  }
}

/// Adds the times of finished copies to stats_, up to the first that is not finished; the caller holds mutex_.
void LoaderCore::collect_copy_times(bool wait) {
  auto copy = copies_.begin();
  for (; copy != copies_.end(); ++copy) {
    if (!wait && !(copy->copied.is_ready() && copy->reached.is_ready())) break;
    const double seconds = copy->copied.seconds_since(copy->started);
    stats_.copy_seconds += seconds;
    stats_.exposed_seconds += std::clamp(copy->copied.seconds_since(copy->reached), 0.0, std::max(seconds, 0.0));
  }
  copies_.erase(copies_.begin(), copy);
}

void LoaderCore::count_batch(std::int64_t samples, double wait_seconds, LoaderPosition next) {
  const std::lock_guard lock(mutex_);
  ++stats_.batches;
  stats_.samples += samples;
  stats_.wait_seconds += wait_seconds;
  position_ = next;
}

void LoaderCore::finish_epoch(std::int64_t epoch) {
  const std::lock_guard lock(mutex_);
  position_ = {epoch + 1, 0};
}

LoaderStats LoaderCore::stats() {
  const std::lock_guard lock(mutex_);
  collect_copy_times(true);
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
    throw ValueError("DataLoader: there is no epoch after the last\ncall set_epoch() first", where_);
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
    throw ValueError(std::string("DataLoader: size() of ") + whose + " returned " + std::to_string(samples) +
                         "\nit must be at least 0",
                     where);
  return samples;
}

std::int64_t batches_of(std::int64_t samples, const DataLoaderOptions& options) {
  const bool smaller_last = samples % options.batch_size != 0 && !options.drop_last;
  return samples / options.batch_size + (smaller_last ? 1 : 0);
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
    throw ValueError(text(std::to_string(fields.size()) + " fields" + (gap ? " with gaps" : "") + ", a sample has " +
                              std::to_string(expected),
                          "call buffer.make() for each field of a sample, numbered from 0"),
                     where);
  const auto count = static_cast<std::int64_t>(rows);
  for (const Tensor& field : fields)
    if (field.dim() == 0 || field.shape()[0] != count)
      throw ShapeError(text("a field without " + std::to_string(rows) + " rows, one for each sample of the batch",
                            "make each field as [" + std::to_string(rows) + ", ...], whose size is indices.size()"),
                       where);
}

}  // namespace detail
}  // namespace minnow::data
