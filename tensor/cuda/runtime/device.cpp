#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/cuda/runtime/stream.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

/// The current streams of a thread; nullptr for the default stream of a device.  The handles are kept separately,
/// because every operation needs one.
struct CurrentStreams {
  ~CurrentStreams();
  std::array<std::shared_ptr<Stream::State>, kMaxDevices> streams;
};
thread_local std::array<StreamHandle, kMaxDevices> handles = {};
thread_local bool is_destroyed = false;  // destructors of globals may compute after those of the thread's variables
thread_local CurrentStreams current;

CurrentStreams::~CurrentStreams() {
  handles.fill(nullptr);
  is_destroyed = true;
}

std::size_t place(int index) { return static_cast<std::size_t>(index); }

bool debug_from_environment() {
  const char* value = std::getenv("MINNOW_CUDA_DEBUG");
  return value && *value && std::string_view(value) != "0";
}

std::atomic<bool>& debug_mode() {
  static std::atomic<bool> mode = debug_from_environment();
  return mode;
}

struct Contexts {
  std::mutex mutex;
  std::array<std::atomic<Context*>, kMaxDevices> made = {};
};

Contexts& contexts() {
  static auto* instance = new Contexts();  // never destroyed
  return *instance;
}

Context& make_context(int index) {
  const std::lock_guard lock(contexts().mutex);
  auto& made = contexts().made[place(index)];
  if (!made.load(std::memory_order_relaxed)) {
    note_use();
    made.store(new Context(index), std::memory_order_release);
  }
  return *made.load(std::memory_order_relaxed);
}

}  // namespace

Context::Context(int number)
    : index(number),
      driver(number),
      order_events(driver, EventUse::ordering),
      timed_events(driver, EventUse::timing),
      waited_events(driver, EventUse::waiting),
      memory(driver, order_events, Device(DeviceType::cuda, number).str(), [this] { return current(); }),
      faults(driver, Device(DeviceType::cuda, number).str()),
      default_handle(driver.create_stream()),
      base(timed_events.record(default_handle)),
      default_stream(std::make_shared<CudaStream>(*this, default_handle, true)) {
  memory.set_debug(debug());
}

StreamHandle Context::current() const {
  const StreamHandle mine = handles[place(index)];
  return mine ? mine : default_handle;
}

StreamHandle Context::take_stream() {
  {
    const std::lock_guard lock(mutex_);
    // A stream that was given back during a capture is captured until the end of that.
    const auto free = std::find_if(idle_.rbegin(), idle_.rend(), [&](auto idle) { return !driver.is_captured(idle); });
    if (free != idle_.rend()) {
      const StreamHandle stream = *free;
      idle_.erase(std::prev(free.base()));
      return stream;
    }
  }
  return driver.create_stream();
}

EventPool& Context::events(EventUse use) {
  switch (use) {
    case EventUse::ordering: return order_events;
    case EventUse::waiting: return waited_events;
    case EventUse::timing: break;
  }
  return timed_events;
}

void Context::give_back(StreamHandle stream) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    idle_.push_back(stream);
  } catch (...) {  // no memory for the list: the stream is lost, which is harmless
  }
}

void Context::report() {
  faults.check();
  if (!debug()) return;
  const std::string damage = memory.take_damage();
  if (!damage.empty()) throw BackendError(damage);
}

Context& context(int index) {
  require_usable(index, "cuda");
  Context* made = contexts().made[place(index)].load(std::memory_order_acquire);
  return made ? *made : make_context(index);
}

PinnedMemory& pinned_memory() {
  // Use a device that is in use already: touching another one would take memory on it.
  static auto* memory = [] {
    for (auto& made : contexts().made)
      if (Context* each = made.load(std::memory_order_acquire)) return new PinnedMemory(each->driver);
    return new PinnedMemory(context(current_device(DeviceType::cuda).index()).driver);
  }();  // never destroyed
  return *memory;
}

bool debug() { return debug_mode().load(std::memory_order_relaxed); }

void set_debug(bool on) {
  debug_mode().store(on);
  for (auto& made : contexts().made)
    if (Context* each = made.load(std::memory_order_acquire)) each->memory.set_debug(on);
}

Allocator& CudaBackend::allocator(int index) { return context(index).memory; }

Allocator* CudaBackend::pinned_allocator() { return &pinned_memory(); }

Stream CudaBackend::current_stream(int index) {
  const Context& here = context(index);
  const Device device(DeviceType::cuda, index);
  if (!is_destroyed)
    if (const auto& mine = current.streams[place(index)]) return Stream(device, mine);
  return Stream(device, here.default_stream);
}

void CudaBackend::set_current_stream(int index, const Stream& stream) {
  if (is_destroyed) return;
  handles[place(index)] = static_cast<const CudaStream&>(*stream.state()).handle();
  current.streams[place(index)] = stream.state();
}

Stream CudaBackend::new_stream(int index) {
  Context& here = context(index);
  return Stream(Device(DeviceType::cuda, index), std::make_shared<CudaStream>(here, here.take_stream(), false));
}

void CudaBackend::synchronize(int index) {
  Context& here = context(index);
  refuse_in_capture("synchronize");
  here.driver.synchronize_device();
  here.report();
}

}  // namespace minnow::cuda
