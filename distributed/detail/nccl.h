#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/detail/communicator.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/tensor.h>

namespace minnow::dist {

/// NCCL between the GPUs of the ranks, one GPU of each.  Its work goes to a stream of its own; in a capture, to a
/// second one that joins the capture.
class Nccl {
 public:
  /// One call of NCCL.  Both tensors are contiguous; `from` may be `to`.  `root` of send and recv is the other rank.
  struct Call {
    enum class Kind : std::uint8_t { all_reduce, broadcast, all_gather, reduce_scatter, send, recv };
    Kind kind;
    Tensor from, to;
    ReduceOp op = ReduceOp::sum;
    int root = 0;
  };

  /// On the thread of the engine, on all ranks together.  Where NCCL cannot be used, by any of them, `why_not` says so
  /// on all, and the result is empty.  BackendError if it fails to start.
  static std::unique_ptr<Nccl> start(Communicator& c, Device device, std::string& why_not);
  /// Whether NCCL has the dtype; `reduces`: for more than copies.
  static bool has(DType dtype, bool reduces);

  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;
  ~Nccl();

  /// Submits the call after the work before `before`; the result is an event after it.  BackendError.
  Event submit(const Call& call, const Event& before);
  /// If this thread is capturing, joins the captured work.
  Event submit_captured(const Call& call);
  /// What has gone wrong with the work that was submitted; empty if nothing has.  A call that takes longer than
  /// `timeout` seconds has.
  std::string trouble(double timeout);
  /// Waits for all work, and ends the communicator.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    Event after;
    std::string what;
  };

  Nccl(void* comm, int rank, int ranks, Device device);
  Event run(const Call& call, const Stream& stream);
  void drop_finished();
  void check(int status, const char* function) const;

  std::mutex mutex_;
  void* comm_;
  const int rank_, ranks_;
  const Stream stream_, captured_stream_;
  const Tensor token_;  // kept by captured work, which must end before the communicator
  std::deque<Pending> pending_;
  Clock::time_point front_since_;
};

}  // namespace minnow::dist
