#pragma once

#include <cstdint>
#include <memory>
#include <minnow/tensor/in.h>

// What all ranks of a dist::Process do together.  Each rank calls the same functions in the same order, with tensors of the
// same shape and dtype; ranks that differ all get a ValueError that names two of them and what each has called, and
// BackendError names the ranks that have not called within the timeout.  Tensors may be on any device: those of a device are
// copied to the host and back.  Results are the same bits on all ranks and in all runs: sums are added in the order of
// the ranks, float16 and bfloat16 in float32.  All need a Process (BackendError).  Thread-safe, where the program sees to
// the order.
namespace minnow::dist {

/// How the ranks' elements are combined.  `mean` is of floating-point dtypes; of bool, sum and max mean "or", min "and".
/// A NaN is the largest and the smallest element.
enum class ReduceOp : std::uint8_t { sum, mean, max, min };

/// A collective that goes on in the background.  Its tensors must not be used before wait().
class [[nodiscard]] Work {
 public:
  Work() = default;
  Work(Work&&) noexcept = default;
  Work& operator=(Work&&) noexcept = default;
  /// Waits; errors are lost.
  ~Work();

  bool is_done() const;
  /// Waits until it is done; throws what it has thrown.
  void wait();

 private:
  friend class Engine;
  struct State;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
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

/// Sends x to rank `to`, which calls recv(y, from) with a tensor of the same shape and dtype: ValueError there
/// otherwise.  May return before it was received.
void send(const In& x, int to);
/// x = what rank `from` sends.
void recv(const In& x, int from);

}  // namespace minnow::dist
