#include <minnow/ops/products/linalg.h>

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <minnow/ops/detail/dense.h>
#include <minnow/ops/detail/linalg.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::linalg {

void check(Operands operands, bool square) {
  const Tensor& a = operands[0].tensor;
  const char* name = operands[0].name;
  if (a.dim() < 2)
    throw ShapeError(message(fmt::format("{} must be a matrix or a batch of them", name), operands, "[..., M, N]"));
  if (square && rows(a) != columns(a))
    throw ShapeError(message(fmt::format("{} must be square, got {} rows and {} columns", name, rows(a), columns(a)),
                             operands, "qr, svd and pinv take others"));
  for (const Operand& o : operands)
    if (o.tensor.dtype() != a.dtype() || (a.dtype() != DType::float32 && a.dtype() != DType::float64))
      throw DTypeError(
          message("operands must be float32 or float64, all of one dtype", operands, "convert them: .to(float32)"));
}

namespace {

/// The sizes of the batch, and then `last`.
Shape batch_and(const Tensor& a, std::initializer_list<std::int64_t> last) {
  Shape out;
  for (int d = 0; d < a.dim() - 2; ++d) out.push_back(a.shape()[d]);
  for (const std::int64_t size : last) out.push_back(size);
  return out;
}

/// A result for each matrix of the batch, of a's dtype.
Tensor result(const Tensor& a, std::initializer_list<std::int64_t> sizes) {
  return raw::new_result(batch_and(a, sizes), a.dtype(), a.device());
}
/// What a factorization works on: a contiguous copy.
Tensor workspace(const Tensor& a) { return a.is_contiguous() ? raw::clone(a) : raw::contiguous(a); }
/// The last two dimensions (the last one, of vectors) of a contiguous tensor, as a batch.
View batch(const Tensor& t, std::int64_t m, std::int64_t n) {
  return View(t.storage(), t.dtype(), {t.numel() / (m * n), m, n}, {m * n, n, 1}, t.storage_offset());
}
View matrices(const Tensor& t) { return batch(t, rows(t), columns(t)); }
View vectors(const Tensor& t, std::int64_t n) { return batch(t, n, 1); }

/// Runs a routine; `wrong` and `hint` are the message if a matrix does not allow it.
template <class Wrong> void run(const calls::Lapack& call, const Tensor& a, Wrong wrong) {
  run_checked(
      dispatch({{"a", a}}), call,
      [wrong](const Tensor& matrix) {
        const auto [what, hint] = wrong();
        throw ValueError(message(what, {{"a", matrix}}, hint));
      },
      a);
}
struct Fault {
  const char *what, *hint;
};
Fault singular() { return {"a matrix has no inverse", "its rows depend on each other; linalg::pinv takes it"}; }
Fault no_convergence() {
  return {"LAPACK's algorithm did not converge", "look for NaN or infinity in a: a.isfinite().all()"};
}

/// LU factors of the matrices and their swapped rows.
struct Lu {
  Tensor factors, pivots;
};
Lu factor(const Tensor& a, bool must_have_inverse) {
  Lu lu{workspace(a), raw::new_result(batch_and(a, {rows(a)}), DType::int32, a.device())};
  if (a.numel())
    run({LapackRoutine::lu, matrices(lu.factors), vectors(lu.pivots, rows(a)), View(), View(), must_have_inverse}, a,
        singular);
  return lu;
}

/// X with a X = b, or aᵀ X = b.
Tensor solved(const Lu& lu, const Tensor& b, bool transposed) {
  Tensor x = workspace(b);
  if (x.numel())
    run({LapackRoutine::lu_solve, matrices(lu.factors), vectors(lu.pivots, rows(b)), matrices(x), View(), transposed},
        lu.factors, singular);
  return x;
}
/// Overwrites the factors.  Not finite where a matrix has none.
Tensor inverse(const Lu& lu) {
  const Tensor& a = lu.factors;
  if (a.numel()) run({LapackRoutine::lu_solve, matrices(a), vectors(lu.pivots, rows(a)), View(), View()}, a, singular);
  return a;
}
/// The same, of a copy.
Tensor inverse_beside(const Lu& lu) { return inverse({workspace(lu.factors), lu.pivots}); }

Tensor diagonal_of(const Tensor& a) { return diagonal(a, 0, -2, -1); }
/// Matrices with v: [..., N] on the diagonal.
Tensor diagonal_matrix(const Tensor& v) {
  return mul(v.unsqueeze(-1), eye(v.shape()[-1], -1, {v.dtype(), v.device()}));
}
Tensor identity_minus(const Tensor& a) { return sub(eye(rows(a), -1, {a.dtype(), a.device()}), a); }

/// x / differences, for which 0 / 0 is 0: parts of a gradient that is 0 do not count.
Tensor divided(const Tensor& x, const Tensor& differences) {
  const Tensor both = mul(eq(x, 0).to(x.dtype()), eq(differences, 0).to(x.dtype()));
  return div(x, add(differences, both));
}
/// values_j - values_i, and 1 on the diagonal.
Tensor differences(const Tensor& values) {
  return add(sub(values.unsqueeze(-2), values.unsqueeze(-1)),
             eye(values.shape()[-1], -1, {values.dtype(), values.device()}));
}

/// The gradient of an output, 0 if none arrived.
Tensor or_zero(const Tensor& grad, const Tensor& output) { return grad.defined() ? grad : zeros_like(output.detach()); }

/// B = a⁻¹ b of batches of the same sizes.
Tensor solve_matrices(const Tensor& a, const Tensor& b) {
  const Lu lu = factor(a, true);
  Tensor x = solved(lu, b, false);
  if (!records(a, b)) return x;
  return record("linalg::solve", x, {a, b},
                [a = Saved(a), x = Saved::output(x), lu](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor g_b = is_grad_enabled() ? solve(a().mT(), g) : solved(lu, g, true);
                  return {needs[0] ? neg(matmul(g_b, x().mT())) : Tensor(), g_b};
                });
}

Tensor solve_triangles(const Tensor& a, const Tensor& b, bool upper) {
  Tensor x = workspace(b);
  const Tensor triangle = raw::contiguous(a);
  if (x.numel()) run({LapackRoutine::triangular, matrices(triangle), View(), matrices(x), View(), upper}, a, singular);
  return record("linalg::solve_triangular", x, {a, b},
                [a = Saved(a), x = Saved::output(x), upper](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor g_b = solve_triangular(a().mT(), g, !upper);
                  if (!needs[0]) return {Tensor(), g_b};
                  const Tensor g_a = neg(matmul(g_b, x().mT()));
                  return {upper ? triu(g_a) : tril(g_a), g_b};
                });
}

}  // namespace

Shape common_batch(Operands operands, bool vector) {
  check(operands, true);
  const Tensor &a = operands[0].tensor, &b = operands[1].tensor;
  const char *left_name = operands[0].name, *right_name = operands[1].name;
  const Tensor right = vector ? b.unsqueeze(-1) : b;
  if (right.dim() < 2 || rows(right) != rows(a))
    throw ShapeError(
        message(fmt::format("{} must have the {} rows of {}", right_name, rows(a), left_name), operands,
                fmt::format("{}: [..., N, N]  {}: [..., N, K], or vectors [..., N]", left_name, right_name)));
  try {
    const auto batch_of = [](const Tensor& t) {
      return Tensor(t.storage(), t.dtype(), batch_and(t, {}), batch_and(t, {}));
    };
    return raw::broadcast_shape(batch_of(a), batch_of(right));
  } catch (const ShapeError&) {
    throw ShapeError(message("the batches cannot be broadcast together", operands, "dimensions before the last two"));
  }
}

namespace {

/// Calls f with matrices a and b whose batches were broadcast together; vector: b holds vectors.
template <class F> Tensor on_batches(const In& a, const In& b, bool vector, const F& f) {
  const Operand operands[] = {{"a", *a}, {"b", *b}};
  const Shape lead = common_batch(operands, vector);
  const Tensor right = vector ? b->unsqueeze(-1) : *b;
  const auto with = [&](const Tensor& t) {
    Shape shape = lead;
    shape.push_back(rows(t));
    shape.push_back(columns(t));
    return t.shape() == shape ? t : t.expand(shape);
  };
  const Tensor x = f(with(*a), with(right));
  return vector ? x.squeeze(-1) : x;
}

/// Cofactors also of singular matrices: det(U V) U diag(products of the other singular values) Vᵀ.
Tensor cofactors(const Tensor& a) {
  const SVD f = svd(a, false);
  const std::int64_t n = rows(a);
  const Tensor values = f.s.unsqueeze(-2).expand(batch_and(a, {n, n}));
  const Tensor others = prod(where(eye(n, -1, {DType::bool_, a.device()}), 1.0, values), -1);
  const Tensor sign = mul(det(f.u), det(f.vh)).unsqueeze(-1).unsqueeze(-1);
  return mul(sign, matmul(mul(f.u, others.unsqueeze(-2)), f.vh));
}

/// a = U diag(S) Vᵀ of symmetric matrices, where S may be negative.
SVD symmetric_svd(const Tensor& a) {
  const Eigh f = eigh(a);
  return {f.vectors, f.values, f.vectors.mT()};
}

/// The sign of the permutation: -1 for an odd number of swaps.
Tensor sign_of(const Lu& lu) {
  const Tensor places = arange(1, columns(lu.factors) + 1, 1, {DType::int32, lu.pivots.device()});
  const Tensor odd = remainder(sum(ne(lu.pivots, places), -1), 2);
  return add(mul(odd.to(lu.factors.dtype()), -2), 1);
}

/// Also in a captured step: matrices are factorized on the host alone.
bool is_finite(const Tensor& x) {
  const CaptureRulesScope none(nullptr);
  return all(isfinite(x)).item<bool>();
}

}  // namespace

Tensor cholesky(const In& a_, bool upper) {
  const Operation op("linalg::cholesky", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, true);
  Tensor l = workspace(a);
  if (l.numel())
    run({LapackRoutine::cholesky, matrices(l), View(), View(), View()}, a, [] {
      return Fault{"a matrix is not positive definite", "add a multiple of eye(n), or use linalg::eigh"};
    });
  l = op.record(l, [l = Saved::output(l)](const Tensor& g) {
    const Tensor factor = l(), whole = tril(matmul(factor.mT(), g));
    const Tensor phi = sub(whole, mul(diagonal_matrix(diagonal_of(whole)), 0.5));
    const Tensor left = solve_triangular(factor.mT(), phi, true);          // L⁻ᵀ P
    const Tensor s = solve_triangular(factor.mT(), left.mT(), true).mT();  // L⁻ᵀ P L⁻¹
    return mul(add(s, s.mT()), 0.5);
  });
  return upper ? l.mT() : l;
}

Tensor solve(const In& a_, const In& b_) {
  const Operation op("linalg::solve", a_.where, {kWide, kKept}, {{"a", *a_}, {"b", *b_}});
  const Tensor &a = op[0], &b = op[1];
  const bool vector = b.dim() == 1 || (b.dim() > 1 && a.dim() == b.dim() + 1 && b.shape() == batch_and(a, {rows(a)}));
  return on_batches(a, b, vector, solve_matrices);
}

Tensor solve_triangular(const In& a, const In& b, bool upper) {
  const Operation op("linalg::solve_triangular", a.where, {{"a", *a}, {"b", *b}});
  return on_batches(a, b, b->dim() == 1,
                    [upper](const Tensor& s, const Tensor& t) { return solve_triangles(s, t, upper); });
}

Tensor inv(const In& a_) {
  const Operation op("linalg::inv", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, true);
  Tensor y;
  {
    const NoGradGuard no_grad;
    y = inverse(factor(a, true));
  }
  return op.record(y, [y = Saved::output(y)](const Tensor& g) {
    const Tensor t = y().mT();
    return neg(matmul(matmul(t, g), t));
  });
}

Tensor pinv(const In& a_, const PinvOptions& options) {
  const Operation op("linalg::pinv", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, options.hermitian);
  const double atol = options.atol.value_or(0), rtol = options.rtol.value_or(0);
  if (!(atol >= 0) || !(rtol >= 0))
    throw ValueError(message(fmt::format("atol is {} and rtol {}", atol, rtol), op, "they must not be negative"));
  Tensor p;
  {
    const NoGradGuard no_grad;
    const double eps = a.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                   : double{std::numeric_limits<float>::epsilon()};
    const bool by_default = !options.rtol && atol == 0;
    const double relative = by_default ? static_cast<double>(std::max(rows(a), columns(a))) * eps : rtol;
    if (a.numel()) {
      const auto [left, values, right] = options.hermitian ? symmetric_svd(a) : svd(a, false);
      const Tensor size = abs(values), least = clamp_min(mul(amax(size, -1, true), relative), atol);
      const Tensor inverse = where(gt(size, least), reciprocal(values), 0.0);
      p = matmul(mul(right.mT(), inverse.unsqueeze(-2)), left.mT());
    } else {
      p = raw::new_result(batch_and(a, {columns(a), rows(a)}), a.dtype(), a.device());
    }
  }
  return op.record(p, [a = Saved(a), p = Saved::output(p)](const Tensor& g) {
    const Tensor x = a(), y = p(), t = y.mT();
    const Tensor left = matmul(identity_minus(matmul(x, y)), matmul(g.mT(), matmul(y, t)));
    const Tensor right = matmul(matmul(t, y), matmul(g.mT(), identity_minus(matmul(y, x))));
    return sub(add(left, right), matmul(matmul(t, g), t));
  });
}

Tensor det(const In& a) {
  const Operation op("linalg::det", a.where, {{"a", *a}});
  check(op, true);
  Tensor y;
  const Lu lu = factor(*a, false);
  {
    const NoGradGuard no_grad;
    y = mul(prod(diagonal_of(lu.factors), -1), sign_of(lu));
  }
  if (!op.records()) return y;
  return op.record(y, [a = Saved(*a), y = Saved::output(y), lu](const Tensor& g) {
    const Tensor x = a();
    const auto wide = [](const Tensor& t) { return t.unsqueeze(-1).unsqueeze(-1); };
    if (is_grad_enabled()) return mul(wide(mul(g, det(x))), inv(x).mT());
    // Their product is exact up to rounding also if a is nearly singular: the error of one is that of the other.
    const Tensor inverse = inverse_beside(lu);
    return is_finite(inverse) ? mul(wide(mul(g, y())), inverse.mT()) : mul(wide(g), cofactors(x));
  });
}

SlogDet slogdet(const In& a) {
  const Operation op("linalg::slogdet", a.where, {{"a", *a}});
  check(op, true);
  SlogDet out;
  const Lu lu = factor(*a, false);
  {
    const NoGradGuard no_grad;
    const Tensor diagonal = diagonal_of(lu.factors);
    out = {mul(sign_of(lu), prod(sign(diagonal), -1)), sum(log(abs(diagonal)), -1)};
  }
  if (!op.records()) return out;
  out.logabsdet = op.record(std::move(out.logabsdet), [a = Saved(*a), lu](const Tensor& g) {
    return mul(g.unsqueeze(-1).unsqueeze(-1), (is_grad_enabled() ? inv(a()) : inverse_beside(lu)).mT());
  });
  return out;
}

namespace {

/// The gradient of a = q r with as many columns as rows of r.
Tensor tall_gradient(const Tensor& q, const Tensor& r, const Tensor& g_q, const Tensor& g_r) {
  const Tensor m = sub(matmul(r, g_r.mT()), matmul(g_q.mT(), q));
  const Tensor symmetric = add(tril(m), tril(m, -1).mT());
  return solve_triangular(r, add(g_q, matmul(q, symmetric)).mT(), true).mT();
}

}  // namespace

QR qr(const In& a_) {
  const Operation op("linalg::qr", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, false);
  const std::int64_t m = rows(a), n = columns(a), k = std::min(m, n);
  const Tensor r = result(a, {k, n}), work = workspace(a.detach().mT());
  if (a.numel()) run({LapackRoutine::qr, matrices(work), View(), matrices(r), View()}, a, no_convergence);
  const Tensor q = workspace(work.narrow(-2, 0, k).mT());
  const auto gradient = [q = Saved::output(q), r = Saved::output(r), a = Saved(a), m,
                         n](std::span<const Tensor> grads) {
    const Tensor q_ = q(), r_ = r(), g_q = or_zero(grads[0], q_), g_r = or_zero(grads[1], r_);
    if (m >= n) return tall_gradient(q_, r_, g_q, g_r);
    // a = [x y] with x = q u and y = q v.
    const Tensor y = a().narrow(-1, m, n - m), g_u = g_r.narrow(-1, 0, m), g_v = g_r.narrow(-1, m, n - m);
    const Tensor g_x = tall_gradient(q_, r_.narrow(-1, 0, m), add(g_q, matmul(y, g_v.mT())), g_u);
    return cat({g_x, matmul(q_, g_v)}, -1);
  };
  auto [q_out, r_out] = op.record({q, r}, gradient);
  return {q_out, r_out};
}

Eigh eigh(const In& a_) {
  const Operation op("linalg::eigh", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, true);
  const std::int64_t n = rows(a);
  const Tensor values = result(a, {n}), columns_of = result(a, {n, n});
  if (a.numel()) {
    const Tensor work = workspace(a);
    run({LapackRoutine::eigh, matrices(work), vectors(values, n), matrices(columns_of), View()}, a, no_convergence);
  }
  const auto gradient = [l = Saved::output(values), v = Saved::output(columns_of)](std::span<const Tensor> grads) {
    const Tensor v_ = v(), &g_l = grads[0], &g_v = grads[1];
    Tensor core = g_l.defined() ? diagonal_matrix(g_l) : Tensor();
    if (g_v.defined()) {
      const Tensor turn = matmul(v_.mT(), g_v);  // of which a rotation has the skew part alone
      const Tensor turned = divided(mul(sub(turn, turn.mT()), 0.5), differences(l()));
      const Tensor off_diagonal = sub(turned, diagonal_matrix(diagonal_of(turned)));
      core = core.defined() ? add(off_diagonal, core) : off_diagonal;
    }
    return matmul(matmul(v_, core), v_.mT());
  };
  auto [values_out, vectors_out] = op.record({values, columns_of}, gradient);
  return {values_out, vectors_out};
}

Tensor eigvalsh(const In& a_) {
  const Operation op("linalg::eigvalsh", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  if (op.records()) return eigh(a).values;
  check(op, true);
  const Tensor values = result(a, {rows(a)}), work = workspace(a);
  if (a.numel())
    run({LapackRoutine::eigh, matrices(work), vectors(values, rows(a)), View(), View()}, a, no_convergence);
  return values;
}

SVD svd(const In& a_, bool full_matrices) {
  const Operation op("linalg::svd", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  check(op, false);
  const std::int64_t m = rows(a), n = columns(a), k = std::min(m, n);
  const std::int64_t columns_of_u = full_matrices ? m : k, rows_of_vh = full_matrices ? n : k;
  const Tensor u = result(a, {m, columns_of_u}), s = result(a, {k}), vh = result(a, {rows_of_vh, n});
  if (a.numel()) {
    const Tensor work = workspace(a);
    run({LapackRoutine::svd, matrices(work), matrices(u), vectors(s, k), matrices(vh), full_matrices}, a,
        no_convergence);
  } else if (full_matrices) {
    raw::copy_to(eye(m, -1, {a.dtype(), a.device()}), u);
    raw::copy_to(eye(n, -1, {a.dtype(), a.device()}), vh);
  }
  const auto gradient = [u = Saved::output(u), s = Saved::output(s), vh = Saved::output(vh), m, n,
                         k](std::span<const Tensor> grads) {
    const auto left = [k](const Tensor& t) { return t.narrow(-1, 0, k); };
    const auto upper = [k](const Tensor& t) { return t.narrow(-2, 0, k); };
    const Tensor u_ = left(u()), vh_ = upper(vh());
    if (!grads[0].defined() && !grads[2].defined()) return matmul(mul(u_, grads[1].unsqueeze(-2)), vh_);
    const Tensor s_ = s(), g_s = or_zero(grads[1], s_);
    const Tensor g_u = left(or_zero(grads[0], u())), g_vh = upper(or_zero(grads[2], vh()));
    const auto turned = [apart = differences(square(s_))](const Tensor& t) { return divided(sub(t, t.mT()), apart); };
    const Tensor row = s_.unsqueeze(-2), column = s_.unsqueeze(-1);
    const Tensor u_g = matmul(u_.mT(), g_u), g_v = matmul(g_vh, vh_.mT());
    const Tensor core = add(add(mul(turned(u_g), row), mul(column, turned(g_v.mT()))), diagonal_matrix(g_s));
    Tensor out = matmul(matmul(u_, core), vh_);
    if (m > k) out = add(out, matmul(divided(sub(g_u, matmul(u_, u_g)), row), vh_));
    if (n > k) out = add(out, matmul(u_, divided(sub(g_vh, matmul(g_v, vh_)), column)));
    return out;
  };
  auto [u_out, s_out, vh_out] = op.record({u, s, vh}, gradient);
  return {u_out, s_out, vh_out};
}

Tensor svdvals(const In& a_) {
  const Operation op("linalg::svdvals", a_.where, {kWide, kKept}, {{"a", *a_}});
  const Tensor& a = op[0];
  if (op.records()) return svd(a, false).s;
  check(op, false);
  const std::int64_t k = std::min(rows(a), columns(a));
  const Tensor s = result(a, {k}), work = workspace(a);
  if (a.numel()) run({LapackRoutine::svd, matrices(work), View(), vectors(s, k), View()}, a, no_convergence);
  return s;
}

}  // namespace minnow::linalg
