#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>
#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/backend/capture_memory.h>

namespace minnow::detail {

/// One of the elementwise calls, as a captured step keeps it.  The views live as long as the captured call.
struct ElementwiseCall {
  enum class Kind : std::uint8_t { unary, slope, curve, binary, ternary };
  Kind kind;
  int op;
  DType compute;
  std::array<const View*, 3> inputs;  ///< nullptr after the last
  const View* out;
  double p0 = 0, p1 = 0;
};

/// An operand of fused calls: `n` elements in the order of memory, or one for all.
struct FusedOperand {
  const View* view;
  bool single = false;
  bool local = false;  ///< only the fused calls use it: it is in a buffer of the thread, and has no other memory
};
struct FusedCall {
  ElementwiseCall call;
  std::array<int, 3> inputs;  ///< in the list of operands
  int out;
};
struct FusedChain {
  std::int64_t n = 0;
  std::vector<FusedOperand> operands;
  std::vector<FusedCall> calls;
};

/// Calls that are made in one pass over their elements, block by block, so that what one writes is in the first-level cache
/// when the next reads it.
class FusedCalls {
 public:
  virtual ~FusedCalls() = default;
  virtual void run() const = 0;
};

/// Whether the host has a loop for the call that can be fused: it computes with floating-point numbers, and cannot find
/// wrong data.
bool can_be_fused(const ElementwiseCall& call);
/// The bits are those of the calls one after the other.
std::unique_ptr<FusedCalls> fuse(const FusedChain& chain);

/// Calls [begin, end) of a list, fused.
struct FusedPart {
  std::size_t begin, end;
  std::unique_ptr<FusedCalls> calls;
};
/// Fuses the chains in a list of calls, nullopt for those that are not elementwise, and tells the memory.  The capture has
/// ended, and its memory is not laid out yet.
std::vector<FusedPart> fuse_chains(const std::vector<std::optional<ElementwiseCall>>& calls, CaptureMemory& memory);

}  // namespace minnow::detail
