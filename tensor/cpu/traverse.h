#pragma once

#include <cstdint>
#include <span>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/view.h>

namespace minnow::cpu {

/// One operand of a traversal: where its elements are, and what the body wants to see of them.
struct Operand {
  char* data = nullptr;
  DType dtype{};
  DType chunk{};  ///< elements as the body sees them: a compute type, bool, or dtype itself
  bool load = false;
  bool store = false;
  std::int64_t strides[kMaxRank] = {};  ///< in bytes
  /// Of an input whose body can also take one element for all of a piece: set to true where it will get that.  One
  /// operand at most does.
  bool* one = nullptr;

  static Operand input(const View& tensor, DType chunk);
  static Operand output(const View& tensor, DType chunk);
  static Operand in_out(const View& tensor, DType chunk);
};
inline constexpr int kMaxOperands = 5;

/// Elements that a body gets at most when an operand is converted or gathered.
inline constexpr std::int64_t kChunk = 1024;

/// Works on n elements of every operand, dense, at chunks[k].  Must not throw.
using Body = void (*)(const void* context, void* const* chunks, std::int64_t n);

/// Calls body for all elements, in pieces, on several threads where there are many.  Operands of any strides
/// and dtypes: dense ones are handed over as they are, others pass through buffers.
void traverse(const Shape& shape, std::span<Operand> operands, Body body, const void* context);

/// The same strides and no gaps: element i of one belongs to element i of the other, in memory order.
bool same_dense_layout(const View& a, const View& b);

}  // namespace minnow::cpu
