#include <minnow/tensor/cuda/reductions/block_counters.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/per_device.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

constexpr std::size_t kBytes = kBlockCounters * sizeof(std::uint32_t);
constexpr std::size_t kMore = 32;  // sets of counters that are made at once

/// The counters of one device.  Streams are pooled and never destroyed, and neither are theirs.
struct Counters {
  using Owner = std::pair<const MemoryPool*, cudaStream_t>;  // no pool: calls that are not captured

  std::mutex mutex;
  std::map<Owner, std::uint32_t*> used;
  std::vector<std::uint32_t*> idle;
  std::size_t made = 0;

  void make_more(Context& context);
  void give_back(const Owner& owner) noexcept;
};

/// Also during a capture: the words are set by another stream, for which the host waits.
void Counters::make_more(Context& context) {
  idle.reserve(made + kMore);  // so that giving back needs no memory
  void* memory = context.driver.allocate(kMore * kBytes);
  if (!memory) {
    context.memory.empty_cache();
    memory = context.driver.allocate(kMore * kBytes);
  }
  if (!memory)
    throw OutOfMemoryError("out of memory on cuda:" + std::to_string(context.index) + ": requested " +
                           std::to_string(kMore * kBytes) +
                           " bytes to count blocks\nuse smaller batches, or free tensors that are no longer needed");
  const Uncaptured scope;
  const StreamHandle stream = context.take_stream();
  context.driver.fill(memory, 0, kMore * kBytes, stream);
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)), "cudaStreamSynchronize");
  context.give_back(stream);
  for (std::size_t i = 0; i < kMore; ++i) idle.push_back(static_cast<std::uint32_t*>(memory) + i * kBlockCounters);
  made += kMore;
}

/// The pool of the owner is closed: its kernels are done.
void Counters::give_back(const Owner& owner) noexcept {
  const std::lock_guard lock(mutex);
  const auto found = used.find(owner);
  if (found == used.end()) return;
  idle.push_back(found->second);
  used.erase(found);
}

}  // namespace

std::uint32_t* block_counters(const Call& call) {
  static auto& devices = *new PerDevice<Counters>();
  Counters& counters = devices.of(call, [](const Counters&) {});
  MemoryPool* const pool = current_pool();
  const Counters::Owner owner{pool, call.stream()};
  const std::lock_guard lock(counters.mutex);
  if (const auto found = counters.used.find(owner); found != counters.used.end()) return found->second;
  if (counters.idle.empty()) counters.make_more(call.context());
  std::uint32_t* const words = counters.idle.back();
  if (pool) pool->at_release([&counters, owner] { counters.give_back(owner); });
  counters.used.emplace(owner, words);
  counters.idle.pop_back();
  return words;
}

}  // namespace minnow::cuda
