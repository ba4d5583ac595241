#pragma once

#include <cstdint>
#include <memory>
#include <minnow/tensor/in.h>

// What all ranks of a dist::Process do together.  Each rank calls the same functions in the same order, with tensors of
// the same shape and dtype; ranks that differ all get a ValueError that names two of them and what each has called, and
// BackendError names the ranks that have not called within the timeout.  Results are the same bits on all ranks.  All
// need a Process (BackendError).  Thread-safe, where the program sees to the order.
//
// Tensors of the CPU and of sim go through the host, by MPI: sums are added in the order of the ranks, float16 and
// bfloat16 in float32, so that all runs have the same bits.
//
// Tensors of a GPU go by NCCL, which is loaded when first needed, on all ranks or on none; reductions of int16 go
// through the host, and so do send and recv before the first collective of all ranks, as two alone cannot start it.
// The host waits until all ranks have called, which takes a small message of MPI to rank 0 and back, and not for the
// GPU: its work is ordered as that of an operation.  Inside a CapturedStep the call is captured, and replays compare
// nothing: a rank that then does something else is told at the timeout.  The order of sums is NCCL's, which rounds
// those of float16 and bfloat16 at each step; its max and min leave NaNs out.  If a GPU finds that a rank is gone, or
// waits longer than the timeout, all ranks end with a message.  Where NCCL cannot be used (it is not installed, or
// ranks share a GPU), rank 0 gives a warning that says why, and tensors are copied to the host and back.
namespace minnow::dist {

/// How the ranks' elements are combined.  `mean` is of floating-point dtypes; of bool, sum and max mean "or", min
/// "and". A NaN is the largest and the smallest element.
enum class ReduceOp : std::uint8_t { sum, mean, max, min };

/// A collective that goes on in the background.  Its tensors must not be used before wait().
class [[nodiscard]] Work {
 public:
  Work() = default;
  Work(Work&&) noexcept = default;
  /// As the destructor does for the collective that this had.
  Work& operator=(Work&&) noexcept;
  /// Waits; an error becomes a warning.  Does not wait when an exception leaves the scope.
  ~Work();

  bool is_done() const;
  /// Waits until it is done; throws what it has thrown.
  void wait();

 private:
  friend class Engine;
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void drop() noexcept;
  std::shared_ptr<State> state_;
};

/// x = the ranks' x combined, on all ranks.
void all_reduce(const In& x, ReduceOp op = ReduceOp::sum);
Work all_reduce_async(const In& x, ReduceOp op = ReduceOp::sum);

/// x = the x of rank `root`.  ValueError for a rank that does not exist.
void broadcast(const In& x, int root = 0);
Work broadcast_async(const In& x, int root = 0);

/// The ranks' x, stacked: [size, ...].
Tensor all_gather(const In& x);
/// The same into `out`, [size, ...] and contiguous.  ShapeError, DTypeError.
Work all_gather_async(const In& x, const In& out);

/// Row `rank` of the ranks' x combined.   x: [size, ...] -> [...].  ShapeError.
Tensor reduce_scatter(const In& x, ReduceOp op = ReduceOp::sum);

/// Returns when all ranks have called it.
void barrier(SourceLocation where = SourceLocation::current());

/// Sends x to another rank, which calls recv(y, from) with a tensor of the same shape and dtype: ValueError there
/// otherwise, and by NCCL here too.  May return before it was received; by NCCL it waits until recv was
/// called.  ValueError for this rank itself and for one that does not exist; BackendError if it is not received within
/// the timeout.
void send(const In& x, int to);
/// x = what another rank sends.  The same errors.
void recv(const In& x, int from);

}  // namespace minnow::dist
