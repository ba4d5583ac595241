#pragma once

#include <minnow/tensor/in.h>

// Lengths of vectors and distances between them.  DTypeError unless floating-point.
namespace minnow {

/// x / max(‖x‖, eps), of the shape of x, with the norm of order p along dims, as torch.nn.functional.normalize.
[[nodiscard]] Tensor normalize(const In& x, double p = 2, const Dims& dims = 1, double eps = 1e-12);
/// a · b / (max(‖a‖, eps) max(‖b‖, eps)) along dim of the operands, which are broadcast; the gradient is that of the
/// norms without eps.  DTypeError unless they have one floating-point dtype, IndexError for a dimension out of range.
[[nodiscard]] Tensor cosine_similarity(const In& a, const In& b, int dim = 1, double eps = 1e-8);
/// The distances (Σ|a - b|^p)^(1/p) of all pairs of rows.   a: [..., P, M]  b: [..., R, M]  ->  [..., P, R]; leading
/// dimensions are broadcast; p as in norm(), 0 or more.  With p = 2 and more than 25 rows, from products of matrices,
/// as PyTorch: faster, less accurate for rows that are nearly equal.  ShapeError and DTypeError as for matmul.
[[nodiscard]] Tensor cdist(const In& a, const In& b, double p = 2);

struct PairwiseDistanceOptions {
  double p = 2;       ///< the norm's
  double eps = 1e-6;  ///< added to the differences: the norm has a gradient where they are 0
  bool keepdim = false;
};
/// The norm of a - b + eps along the last dimension; operands are broadcast.   a, b: [..., D]  ->  [...].  DTypeError
/// unless they have one floating-point dtype, ShapeError for numbers.
[[nodiscard]] Tensor pairwise_distance(const In& a, const In& b, const PairwiseDistanceOptions& options = {});

}  // namespace minnow
