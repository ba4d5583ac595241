#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/call_site.h>

namespace minnow::detail {

/// How the losses of the rows are combined.
enum class RowReduction : std::uint8_t { none, sum, mean };

/// The softmax cross-entropy of rows: [N] or 0-dim.  logits: [N, C], or slices [S, C, N / S], whose columns are the
/// rows.  As minnow::cross_entropy_rows; the mean is over the rows that are not ignored.  One call of the backend in
/// each direction.  result: float32, also of halves; the logits' dtype if not given.
Tensor reduced_cross_entropy(const In& logits, const In& target, std::int64_t ignore_index, RowReduction reduction,
                             std::optional<DType> result = {});

/// The dtype in which a guard wants the losses of logits that are read as they are; theirs without one.
DType cross_entropy_dtype(const CallSite& site, const Tensor& logits);

namespace raw {

struct CrossEntropy {
  Tensor losses;  ///< [N], or the total, 0-dim
  /// For the gradient: the largest logit of each row, the sum of e^(logit - largest); of a total also two numbers more
  /// (calls::CrossEntropy).  float32 for halves.
  Tensor exp_sums;
};
/// logits: [N, C], or slices  target: int64 [N].  Row n: log(sum(e^logits)) - logits[target]; 0 for ignore_index.
CrossEntropy cross_entropy(const In& logits, const In& target, std::int64_t ignore_index = -100,
                           RowReduction reduction = RowReduction::none, std::optional<DType> result = {});
/// IndexError that names the first element of target, of any shape, that is out of range.
[[noreturn]] void refuse_class(const In& logits, const In& target, std::int64_t classes, std::int64_t ignore_index);
/// The gradient of logits.   grad: of the losses, [N] or what broadcasts to it.
Tensor cross_entropy_backward(const In& grad, const In& logits, const In& target, const In& exp_sums,
                              std::int64_t ignore_index = -100, RowReduction reduction = RowReduction::none);

}  // namespace raw
}  // namespace minnow::detail
