#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>

/// Linear algebra by LAPACK, which is loaded when it is first needed (OpenBLAS, Debian's package libopenblas0-pthread,
/// or another).  All take batches of matrices [..., M, N] of float32 or float64 on the CPU (or sim); on a GPU they
/// throw DeviceError.  ShapeError for other shapes, DTypeError for other or different dtypes, BackendError if there is
/// no LAPACK.
namespace minnow::linalg {

/// The lower triangular L with a = L Lᵀ, or its transpose if `upper`.  Reads the lower triangle of a [..., N, N].
/// ValueError if a matrix is not positive definite.  With P = tril(Lᵀ g) and its diagonal halved,
/// da = (S + Sᵀ) / 2 with S = L⁻ᵀ P L⁻¹ (Murray 2016, "Differentiation of the Cholesky decomposition").
[[nodiscard]] Tensor cholesky(const In& a, bool upper = false);

/// X with a X = b.   a: [..., N, N]  b: [..., N, K], or vectors: [N], or a's shape
/// without the last size; batches are broadcast.  ValueError if a matrix
/// is singular.  db = a⁻ᵀ g,  da = -db Xᵀ.
[[nodiscard]] Tensor solve(const In& a, const In& b);
/// The same for a triangular matrix; elements of the other triangle do not count.
[[nodiscard]] Tensor solve_triangular(const In& a, const In& b, bool upper);

/// The inverse of a: [..., N, N].  ValueError if a matrix is singular.  da = -a⁻ᵀ g a⁻ᵀ.
[[nodiscard]] Tensor inv(const In& a);
struct PinvOptions {
  std::optional<double> atol = {};  ///< 0 by default
  std::optional<double> rtol = {};  ///< max(M, N) times the dtype's epsilon by default, 0 if atol is above 0
  bool hermitian =
      false;  ///< a is symmetric: its lower triangle is read, and its eigenvalues are taken, which are faster
};
/// The pseudo-inverse of a: [..., M, N] -> [..., N, M]; singular values up to atol and up to rtol times the largest
/// count as 0. ValueError for a negative atol or rtol.  With P = a⁺, and exact where those are 0:
/// da = (I - a P) gᵀ P Pᵀ + Pᵀ P gᵀ (I - P a) - Pᵀ g Pᵀ (Golub and Pereyra 1973).
[[nodiscard]] Tensor pinv(const In& a, const PinvOptions& options = {});

/// The determinant of a: [..., N, N] -> [...].  da = g C with the cofactors C; second derivatives only where a has an
/// inverse.
[[nodiscard]] Tensor det(const In& a);
struct SlogDet {
  Tensor sign, logabsdet;
};
/// The sign of the determinant (0 for a singular matrix) and the logarithm of its absolute value: [...] each.
/// da = g a⁻ᵀ, of the logarithm: not finite if a matrix is singular, a ValueError with create_graph.
[[nodiscard]] SlogDet slogdet(const In& a);

struct QR {
  Tensor q, r;
};
/// a = Q R.   a: [..., M, N]  ->  Q: [..., M, K] with orthonormal columns, R: [..., K, N] upper triangular, K = min(M,
/// N) (PyTorch's mode "reduced").  Gradient for K = N (Walter and Lehmann 2018, "Algorithmic Differentiation of Linear
/// Algebra Functions") and, by a's first M columns, for M < N.
[[nodiscard]] QR qr(const In& a);

struct Eigh {
  Tensor values, vectors;
};
/// Eigenvalues (ascending) and eigenvectors (in columns) of symmetric matrices a: [..., N, N], whose lower triangle is
/// read. With E_ij = values_j - values_i:  da = V (diag(g values) + (Vᵀ g V) / E) Vᵀ; not finite for equal eigenvalues
/// if the vectors have a gradient.  ValueError if it does not converge.
[[nodiscard]] Eigh eigh(const In& a);
[[nodiscard]] Tensor eigvalsh(const In& a);

struct SVD {
  Tensor u, s, vh;
};
/// a = U diag(S) Vᵀ.   a: [..., M, N]  ->  U: [..., M, M], S: [..., K] descending, Vᵀ: [..., N, N], K = min(M, N),
/// orthogonal; without full_matrices U: [..., M, K] and Vᵀ: [..., K, N].  Gradient as in Townsend 2016,
/// "Differentiating the Singular Value Decomposition", of the first K columns of U and rows of Vᵀ (others are not
/// determined); not finite for equal singular values if U or Vᵀ have a gradient.  ValueError if it does not converge.
[[nodiscard]] SVD svd(const In& a, bool full_matrices = true);
/// The S of svd alone.
[[nodiscard]] Tensor svdvals(const In& a);

/// The X that makes the norm of a X - b smallest, of several the smallest: a⁺ b.   a: [..., M, N]  b: [..., M, K], or
/// vectors [..., M]  ->  [..., N, K] or [..., N].  Any rank.
[[nodiscard]] Tensor lstsq(const In& a, const In& b);
/// aⁿ, of the inverse for a negative n: [..., N, N].  ValueError if that is needed and a matrix is singular.
[[nodiscard]] Tensor matrix_power(const In& a, std::int64_t n);
/// e^a = Σ_k aᵏ / k!: [..., N, N], by products alone, so that a GPU has it too: Taylor's series of a / 2ˢ, squared s
/// times, where s of each matrix is read on the host.  Gradients of any order; not finite for a matrix that is not.
[[nodiscard]] Tensor matrix_exp(const In& a);

/// X with L Lᵀ X = b, or Uᵀ U X = b if `upper`, for a factor of linalg::cholesky.   b: [..., N, K]  l: [..., N, N];
/// batches are broadcast. Elements of the other triangle do not count.  ValueError if the diagonal has a 0.
[[nodiscard]] Tensor cholesky_solve(const In& b, const In& l, bool upper = false);
/// The inverse of L Lᵀ, or of Uᵀ U if `upper`.   l: [..., N, N].  The same errors.
[[nodiscard]] Tensor cholesky_inverse(const In& l, bool upper = false);
/// The logarithm of the determinant of a: [..., N, N] -> [...].  NaN where that is negative, -infinity where it is 0.
/// Gradients of linalg::slogdet.
[[nodiscard]] Tensor logdet(const In& a);

}  // namespace minnow::linalg
