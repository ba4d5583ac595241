#pragma once

#include <minnow/tensor/in.h>

// Lengths of vectors and distances between them.  DTypeError unless floating-point.
namespace minnow {

/// x / max(‖x‖, eps), with the norm of order p along dims, as torch.nn.functional.normalize.
[[nodiscard]] Tensor normalize(const In& x, double p = 2, const Dims& dims = 1, double eps = 1e-12);
/// a · b / (max(‖a‖, eps) max(‖b‖, eps)) along dim of the operands, which are broadcast.
[[nodiscard]] Tensor cosine_similarity(const In& a, const In& b, int dim = 1, double eps = 1e-8);
/// The distances (Σ|a - b|^p)^(1/p) of all pairs of rows.   a: [..., P, M]  b: [..., R, M]  ->  [..., P, R]; leading
/// dimensions are broadcast; p as in norm(), 0 or more.  With p = 2 and more than 25 rows, from products of matrices, as
/// PyTorch: faster, less accurate for rows that are nearly equal.  ShapeError and DTypeError as for matmul.
[[nodiscard]] Tensor cdist(const In& a, const In& b, double p = 2);

}  // namespace minnow
