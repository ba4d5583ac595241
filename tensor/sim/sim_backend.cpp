#include <minnow/tensor/sim/sim_backend.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <pthread.h>
#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/system.h>
#include <minnow/tensor/sim/options.h>
#include <minnow/tensor/sim/sim_device.h>

namespace minnow::sim {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::size_t machine_memory() {
  const std::size_t bytes = minnow::detail::physical_memory();
  return bytes > 0 ? bytes : std::size_t{16} << 30;
}

/// The current options.  Never destroyed, like the devices.
struct Settings {
  Settings() {
    apply(parse_options(std::getenv("MINNOW_SIM_DEVICES"), std::getenv("MINNOW_SIM_MEMORY"),
                        std::getenv("MINNOW_SIM_BANDWIDTH")));
  }

  void apply(const Options& options) {
    if (options.devices < 0 || options.devices > kMaxDevices || !(options.bandwidth >= 0))
      throw ValueError("sim: devices must be in [0, " + std::to_string(kMaxDevices) +
                       "], and the bandwidth 0 or more\nuse numbers in these ranges");
    const std::lock_guard lock(mutex);
    current = options;
    devices.store(options.devices, std::memory_order_relaxed);
    pinned_limit.store(options.pinned_memory ? options.pinned_memory : kNoLimit, std::memory_order_relaxed);
    for (int i = 0; i < kMaxDevices; ++i) {
      device(i).limit.store(options.memory ? options.memory : machine_memory(), std::memory_order_relaxed);
      device(i).engine.set_bandwidth(options.bandwidth);
    }
  }

  std::mutex mutex;
  Options current;
  std::atomic<int> devices = 0;
  std::atomic<std::size_t> pinned_limit = kNoLimit;
};

/// ValueError for invalid environment variables.
Settings& settings() {
  static auto* instance = new Settings();
  return *instance;
}

/// The current streams of a thread, where there are others than the default streams of the devices.
using CurrentStreams = std::array<std::shared_ptr<Stream::State>, kMaxDevices>;
constinit thread_local CurrentStreams* current = nullptr;

/// Those of this thread, to be changed.  A key frees them when it ends: glibc ends the program where it finds no memory
/// for the destructor of a thread_local variable.
CurrentStreams& own_streams() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    if (::pthread_key_create(&made, [](void*) { delete std::exchange(current, nullptr); }) != 0) throw std::bad_alloc();
    return made;
  }();
  if (!current) {
    auto made = std::make_unique<CurrentStreams>();
    if (::pthread_setspecific(key, made.get()) != 0) throw std::bad_alloc();
    current = made.release();
  }
  return *current;
}

SimStream& stream_of(int index) {
  if (current)
    if (const auto& mine = (*current)[static_cast<std::size_t>(index)]) return static_cast<SimStream&>(*mine);
  return *device(index).default_stream;
}

}  // namespace

Options options() {
  const std::lock_guard lock(settings().mutex);
  return settings().current;
}

void set_options(const Options& changed) { settings().apply(changed); }

int SimBackend::device_count() const { return settings().devices.load(std::memory_order_relaxed); }

Allocator& SimBackend::allocator(int index) { return device(index).allocator; }

Allocator* SimBackend::pinned_allocator() {
  static auto* allocator =
      new CachingAllocator(std::make_unique<LimitedMemory>("pinned host memory", settings().pinned_limit));
  return allocator;
}

Stream SimBackend::current_stream(int index) {
  if (current)
    if (const auto& mine = (*current)[static_cast<std::size_t>(index)])
      return Stream(Device(DeviceType::sim, index), mine);
  return Stream(Device(DeviceType::sim, index), device(index).default_stream);
}

void SimBackend::set_current_stream(int index, const Stream& stream) {
  if (!current && stream.state() == device(index).default_stream) return;
  own_streams()[static_cast<std::size_t>(index)] = stream.state();
}

Stream SimBackend::new_stream(int index) {
  return Stream(Device(DeviceType::sim, index), std::make_shared<SimStream>(device(index).engine));
}

void SimBackend::synchronize(int index) { device(index).engine.synchronize(); }

bool SimBackend::computes_half(DType dtype) const { return cpu_backend()->computes_half(dtype); }
MemoryFormat SimBackend::conv2d_format(const Conv2dParams& params, const View& x, const View& w) {
  return cpu_backend()->conv2d_format(params, x, w);
}

void SimBackend::finish_copies(int index) { stream_of(index).synchronize(); }

void SimBackend::transfer(const View& from, const View& to, bool non_blocking) {
  if (from.numel() == 0) return;
  const bool to_host = to.device().is_cpu(), from_host = from.device().is_cpu();
  const int index = (to_host || !from_host ? from : to).device().index();
  if (from_host) from.storage()->wait_ready();
  if (!from_host && !to_host) stream_of(to.device().index()).synchronize();

  auto copy = std::make_shared<Copy>();
  copy->from = from.raw_data();
  copy->to = to.raw_data();
  copy->bytes = static_cast<std::size_t>(from.nbytes());
  copy->keep_from = from.storage();
  copy->keep_to = to.storage();
  Engine& engine = device(index).engine;
  SimStream& stream = stream_of(index);
  if (non_blocking && (to_host || (from_host && from.is_pinned()))) {
    const Event done = stream.submit(std::move(copy));
    if (to_host) to.storage()->set_pending(done);
  } else if (engine.is_instant()) {  // saves two switches between threads
    stream.synchronize();
    engine.execute(*copy);
    engine.wait(*copy);
  } else {
    stream.submit(std::move(copy));
    stream.synchronize();
  }
}

}  // namespace minnow::sim

namespace minnow {

Backend* detail::sim_backend() {
  static auto* backend = new sim::SimBackend();  // never destroyed
  return backend;
}

}  // namespace minnow
