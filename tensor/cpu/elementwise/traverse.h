#pragma once

#include <cstdint>
#include <span>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/view.h>

namespace minnow::cpu {

/// An operand of a traversal: its elements, and the type in which the body gets them.
struct TraverseOperand {
  char* data = nullptr;
  DType dtype{};
  DType chunk{};  ///< dtype of the elements that the body gets: a compute type, bool, or `dtype`
  bool load = false;
  bool store = false;
  std::int64_t strides[kMaxRank] = {};  ///< in bytes
  /// For an input that the body can also take as a single element for all of a chunk: set to true if it will.  At most
  /// one operand does.
  bool* single = nullptr;

  static TraverseOperand input(const View& tensor, DType chunk);
  static TraverseOperand output(const View& tensor, DType chunk);
  static TraverseOperand in_out(const View& tensor, DType chunk);
};
inline constexpr int kMaxOperands = 5;

/// The maximum number of elements in a call of the body if an operand is converted or gathered.
inline constexpr std::int64_t kChunk = 1024;

/// Processes n elements of every operand k, dense at chunks[k].  Must not throw.
using Body = void (*)(const void* context, void* const* chunks, std::int64_t n);

/// Calls body for all elements, in chunks, on several threads if there are many.  Operands have any strides and dtypes:
/// dense ones are passed directly, others through buffers.
void traverse(const Shape& shape, std::span<TraverseOperand> operands, Body body, const void* context);

/// Whether both have the same strides and no gaps, so that element i of one corresponds to element i of the other in
/// memory order.
bool same_dense_layout(const View& a, const View& b);

}  // namespace minnow::cpu
