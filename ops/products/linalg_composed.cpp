#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/ops/detail/linalg.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/linalg.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::linalg {
namespace {

/// Whether the diagonal of R says that least squares by QR are as good as those by singular values, which cost more.
bool has_independent_columns(const Tensor& r) {
  const NoGradGuard no_grad;
  const Tensor d = abs(diagonal(r, 0, -2, -1));
  return all(gt(amin(d, -1), mul(amax(d, -1), 1e-3))).item<bool>();
}

}  // namespace

Tensor lstsq(const In& a_, const In& b_) {
  const Operation op("linalg::lstsq", a_.where, {kWide, kKept}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  check(op, false);
  const bool vector = b.dim() + 1 == a.dim();
  const Tensor right = vector ? b.unsqueeze(-1) : b;
  if (right.dim() < 2 || rows(right) != rows(a))
    throw ShapeError(message(fmt::format("b must have the {} rows of a", rows(a)), op,
                             "a: [..., M, N]  b: [..., M, K], or vectors [..., M]"));
  Tensor x;
  if (rows(a) >= columns(a) && a.numel()) {
    const QR f = qr(a);
    if (has_independent_columns(f.r)) x = solve_triangular(f.r, matmul(f.q.mT(), right), true);
  }
  if (!x.defined()) x = matmul(pinv(a), right);
  return vector ? x.squeeze(-1) : x;
}

Tensor matrix_power(const In& a_, std::int64_t n) {
  const Operation op("linalg::matrix_power", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, true);
  Tensor square = n < 0 ? inv(a) : a, power;
  for (std::uint64_t left = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n); left; left /= 2) {
    if (left % 2) power = power.defined() ? matmul(power, square) : square;
    if (left > 1) square = matmul(square, square);
  }
  if (!power.defined()) return eye(rows(a), -1, {a.dtype(), a.device()}).expand(a.shape()).contiguous();
  return power.is_same(a) ? a.clone() : power;
}

namespace {

/// Σ_k aᵏ / k! for matrices of norms up to 1/2: four terms for each power of a⁴.
Tensor exponential_series(const Tensor& a) {
  const Tensor a2 = matmul(a, a), a3 = matmul(a2, a), a4 = matmul(a2, a2);
  const Tensor one = eye(rows(a), -1, {a.dtype(), a.device()});
  Tensor y;
  for (int k = a.dtype() == DType::float64 ? 12 : 8; k >= 0; k -= 4) {
    const auto factor = [k](int i) { return 1 / std::tgamma(k + i + 1); };
    const Tensor part = add(add(add(mul(one, factor(0)), a, factor(1)), a2, factor(2)), a3, factor(3));
    y = y.defined() ? add(part, matmul(a4, y)) : part;
  }
  return y;
}

}  // namespace

Tensor matrix_exp(const In& a_) {
  const Operation op("linalg::matrix_exp", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, true);
  if (a.numel() == 0) return a.clone();
  if (rows(a) == 1) return exp(a);
  Tensor halvings;
  {
    const NoGradGuard no_grad;
    const Tensor norm = amax(sum(abs(a), -2, true), -1, true);
    halvings = where(isfinite(norm), clamp_min(add(ceil(log2(norm)), 1), 0), 0.0);
  }
  Tensor y = exponential_series(mul(a, exp2(neg(halvings))));
  const int most = static_cast<int>(amax(halvings).item<double>());
  for (int i = 0; i < most; ++i) y = where(gt(halvings, i), matmul(y, y), y);
  return y;
}

Tensor cholesky_solve(const In& b_, const In& l_, bool upper) {
  const Operation op("linalg::cholesky_solve", l_.where, {kWide, kKept}, {{"l", *l_}, {"b", *b_}});
  const Tensor &l = op[0], &b = op[1];
  check(op, true);
  if (b.dim() < 2)
    throw ShapeError(message("b must be a matrix or a batch of them", op, "a vector: b.unsqueeze(-1), [N, 1]"));
  (void)common_batch(op, false);  // for errors that name l and b
  const Tensor lower = upper ? l.mT() : l;
  return solve_triangular(lower.mT(), solve_triangular(lower, b, false), true);
}

Tensor cholesky_inverse(const In& l_, bool upper) {
  const Operation op("linalg::cholesky_inverse", l_.where, {kWide, kKept}, {{"l", *l_}});
  const Tensor& l = op[0];
  check(op, true);
  const Tensor m = solve_triangular(l, eye(rows(l), -1, {l.dtype(), l.device()}), upper);
  return upper ? matmul(m, m.mT()) : matmul(m.mT(), m);
}

Tensor logdet(const In& a_) {
  const Operation op("linalg::logdet", a_.where, {kWide, kKept}, {{"a", *a_}});
  const SlogDet y = slogdet(op[0]);
  return where(lt(y.sign, 0), std::numeric_limits<double>::quiet_NaN(), y.logabsdet);
}

}  // namespace minnow::linalg
