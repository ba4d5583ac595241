#include <algorithm>
#include <cstring>
#include <deque>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/cuda/runtime/stream.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

/// Copies of pageable memory go through pinned blocks of this size, so that copies to the device need not wait.
constexpr std::size_t kStagingBytes = std::size_t{1} << 20;
/// The maximum number of pending blocks of a copy.
constexpr std::size_t kMaxStagingBlocks = 32;

/// A pinned block for a copy, reused when the copies that use it are done.  Empty for 0 bytes, or if no memory can be
/// pinned.
class Staging {
 public:
  explicit Staging(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    try {
      data_ = pinned_memory().allocate(bytes);
    } catch (const OutOfMemoryError&) {}
  }
  ~Staging() {
    if (data_) pinned_memory().deallocate(data_, bytes_);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

void copy_async(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
}

void wait(const Call& call) {
  check(cudaStreamSynchronize(call.stream()), "cudaStreamSynchronize");
  call.context().report();
}

/// Keeps a pinned block from being reused before the work submitted to the stream so far is done.
void hold(const Call& call, const void* pinned) {
  pinned_memory().hold(pinned, call.context().order_events.record(call.stream()));
}

/// Copies to the device through pinned blocks.  The source has been read when this returns.
void stage(const Call& call, char* to, const char* from, std::size_t bytes) {
  std::deque<PooledEvent> pending;
  for (std::size_t at = 0; at < bytes; at += kStagingBytes) {
    const std::size_t part = std::min(kStagingBytes, bytes - at);
    if (pending.size() == kMaxStagingBlocks) {
      pending.front().synchronize();
      pending.pop_front();
    }
    const Staging staging(part);
    if (!staging.data()) {
      copy_async(to + at, from + at, bytes - at, cudaMemcpyHostToDevice, call.stream());
      wait(call);
      return;
    }
    std::memcpy(staging.data(), from + at, part);
    copy_async(to + at, staging.data(), part, cudaMemcpyHostToDevice, call.stream());
    hold(call, staging.data());
    if (bytes > kStagingBytes * kMaxStagingBlocks) pending.push_back(call.context().order_events.record(call.stream()));
  }
}

void to_device(const View& from, const View& to, bool non_blocking) {
  const Call call("to", to);
  const auto bytes = static_cast<std::size_t>(from.nbytes());
  const bool pinned = pinned_memory().owns(from.storage()->data());
  if (pinned && (non_blocking || bytes > kStagingBytes)) {
    copy_async(to.raw_data(), from.raw_data(), bytes, cudaMemcpyHostToDevice, call.stream());
    if (non_blocking) hold(call, from.storage()->data());
    else wait(call);
  } else stage(call, static_cast<char*>(to.raw_data()), static_cast<const char*>(from.raw_data()), bytes);
  call.launched();
}

void to_host(const View& from, const View& to, bool non_blocking) {
  const Call call("to", from);
  const auto bytes = static_cast<std::size_t>(from.nbytes());
  const auto copy = [&](void* data) {
    copy_async(data, from.raw_data(), bytes, cudaMemcpyDeviceToHost, call.stream());
  };
  const bool pinned = pinned_memory().owns(to.storage()->data());
  if (non_blocking && pinned) {
    copy(to.raw_data());
    hold(call, to.storage()->data());
    to.storage()->set_pending(cuda_backend()->current_stream(call.device()).record(EventUse::ordering));
  } else if (const Staging staging(pinned || bytes > kStagingBytes ? 0 : bytes); staging.data()) {
    copy(staging.data());
    wait(call);
    std::memcpy(to.raw_data(), staging.data(), bytes);
  } else {
    copy(to.raw_data());
    wait(call);
  }
  call.launched();
}

/// Copies on the source's stream, after earlier work of the target's stream, which then waits for the copy.
void between(const View& from, const View& to, bool non_blocking) {
  Context& target = context(to.device().index());
  const StreamHandle target_stream = target.current();
  const Call call("to", from);
  Context& source = call.context();
  target.memory.used_on(to.storage()->data(), target_stream);
  if (&source != &target) {
    const PooledEvent before = target.order_events.record(target_stream);
    source.driver.wait(call.stream(), before.handle());
  }
  check(cudaMemcpyPeerAsync(to.raw_data(), target.index, from.raw_data(), source.index,
                            static_cast<std::size_t>(from.nbytes()), call.stream()),
        "cudaMemcpyPeerAsync");
  if (&source != &target) {
    const PooledEvent after = source.order_events.record(call.stream());
    target.driver.wait(target_stream, after.handle());
    select(source.index);
  }
  if (!non_blocking) wait(call);
  call.launched();
}

}  // namespace

void CudaBackend::transfer(const View& from, const View& to, bool non_blocking) {
  if (from.numel() == 0) return;
  refuse_in_capture(CallSite::op().data());
  if (from.device().is_cpu()) {
    from.storage()->wait_ready();
    to_device(from, to, non_blocking);
  } else if (to.device().is_cpu()) to_host(from, to, non_blocking);
  else between(from, to, non_blocking);
}

}  // namespace minnow::cuda
