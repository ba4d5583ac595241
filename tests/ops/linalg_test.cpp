#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/linalg.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/captured_step.h>

#include "op_cases.h"
#include "thrown.h"

namespace minnow::test {
namespace {

/// Symmetric, with eigenvalues above 1.
Tensor positive(const Tensor& a) { return add(matmul(a, a.mT()), eye(a.shape()[-1], -1, {a.dtype(), a.device()})); }
/// Of any matrix, one of full rank, also where its rows are equal, with different singular values.
Tensor spread(const Tensor& a) {
  return add(sub(mul(a, a), mul(a, 0.7)), eye(a.size(-2), a.size(-1), {a.dtype(), a.device()}));
}

OpCases linear_algebra() {
  const std::vector<DType> two{DType::float32, DType::float64};
  const auto row = [&](const char* function, const std::string& variant, const Function& call,
                       std::vector<Inputs> inputs, const char* golden) {
    return OpCase{.function = function,
                  .variant = variant,
                  .call = call,
                  .inputs = std::move(inputs),
                  .dtypes = two,
                  .golden = {std::string(std::strchr(golden, ':') ? "" : "linalg: ") + golden},
                  .tolerance = {1e-4, 1e-4},
                  .on_cuda = false};
  };
  const std::vector<Inputs> square{
      {values({3, 3})}, {values({2, 4, 4})}, {values({0, 0})}, {values({0, 2, 2})}, {values({1, 1})}};
  const std::vector<Inputs> any{{values({4, 3})}, {values({2, 3, 4})}, {values({0, 3})}, {values({2, 2})}};
  const std::vector<Inputs> systems{{values({3, 3}), values({3, 2})},
                                    {values({2, 3, 3}), values({3, 1})},
                                    {values({3, 3}), values({3})},
                                    {values({2, 2}), values({2, 0})}};
  OpCases rows{
      row("cholesky", "", one([](const Tensors& x) { return linalg::cholesky(positive(x[0])); }), square, "cholesky"),
      row("cholesky", "upper", one([](const Tensors& x) { return linalg::cholesky(positive(x[0]), true); }), square,
          "cholesky/upper"),
      row("solve", "", one([](const Tensors& x) { return linalg::solve(positive(x[0]), x[1]); }), systems, "solve"),
      row("solve_triangular", "upper", one([](const Tensors& x) { return linalg::solve_triangular(x[0], x[1], true); }),
          systems, "triangular/upper"),
      row("solve_triangular", "lower",
          one([](const Tensors& x) { return linalg::solve_triangular(x[0], x[1], false); }), systems,
          "triangular/lower"),
      row("inv", "", one([](const Tensors& x) { return linalg::inv(positive(x[0])); }), square, "inv"),
      row("pinv", "", one([](const Tensors& x) { return linalg::pinv(spread(x[0])); }), any, "pinv"),
      row("pinv", "atol", one([](const Tensors& x) { return linalg::pinv(spread(x[0]), {.atol = 1, .rtol = 0.1}); }),
          {{values({4, 3})}}, "composed: pinv/atol"),
      row("pinv", "rtol", one([](const Tensors& x) { return linalg::pinv(spread(x[0]), {.rtol = 0.3}); }),
          {{values({4, 3})}}, "composed: pinv/rtol"),
      row("pinv", "hermitian",
          one([](const Tensors& x) { return linalg::pinv(add(spread(x[0]), spread(x[0]).mT()), {.hermitian = true}); }),
          square, "composed: pinv/hermitian"),
      row("matrix_exp", "", one([](const Tensors& x) { return linalg::matrix_exp(x[0]); }), square,
          "composed: matrix_exp"),
      row("matrix_exp", "squared", one([](const Tensors& x) { return linalg::matrix_exp(mul(x[0], 3)); }), square,
          "composed: matrix_exp/3"),
      row("cholesky_solve", "", one([](const Tensors& x) { return linalg::cholesky_solve(x[1], x[0]); }),
          {systems[0], systems[1], systems[3]}, "composed: cholesky_solve"),
      row("cholesky_solve", "upper", one([](const Tensors& x) { return linalg::cholesky_solve(x[1], x[0], true); }),
          {systems[0]}, "composed: cholesky_solve/upper"),
      row("cholesky_inverse", "", one([](const Tensors& x) { return linalg::cholesky_inverse(x[0]); }), square,
          "composed: cholesky_inverse"),
      row("cholesky_inverse", "upper", one([](const Tensors& x) { return linalg::cholesky_inverse(x[0], true); }),
          square, "composed: cholesky_inverse/upper"),
      row("logdet", "", one([](const Tensors& x) { return linalg::logdet(positive(x[0])); }), square,
          "composed: logdet"),
      row("det", "", one([](const Tensors& x) { return linalg::det(x[0]); }), square, "det"),
      row(
          "slogdet", "",
          [](const Tensors& x) {
            const linalg::SlogDet y = linalg::slogdet(positive(x[0]));
            return Tensors{y.logabsdet, y.sign};
          },
          square, "slogdet"),
      row(
          "qr", "",
          [](const Tensors& x) {
            const linalg::QR y = linalg::qr(spread(x[0]));
            return Tensors{y.q, y.r};
          },
          any, "qr"),
      // The signs of vectors are not determined.
      row(
          "eigh", "",
          [](const Tensors& x) {
            const linalg::Eigh y = linalg::eigh(add(spread(x[0]), spread(x[0]).mT()));
            return Tensors{mul(y.vectors, y.vectors), y.values};
          },
          square, "eigh"),
      row("eigvalsh", "", one([](const Tensors& x) { return linalg::eigvalsh(positive(x[0])); }), square, "eigvalsh"),
      row(
          "svd", "",
          [](const Tensors& x) {
            const linalg::SVD y = linalg::svd(spread(x[0]), false);
            return Tensors{matmul(mul(y.u, sqrt(y.s).unsqueeze(-2)), y.vh), y.s, mul(y.u, y.u), mul(y.vh, y.vh)};
          },
          any, "svd"),
      // Other vectors are not determined, and have no gradient.
      row(
          "svd", "full_matrices",
          [](const Tensors& x) {
            const linalg::SVD y = linalg::svd(spread(x[0]));
            const Tensor u = y.u.narrow(-1, 0, y.s.size(-1)), vh = y.vh.narrow(-2, 0, y.s.size(-1));
            return Tensors{matmul(mul(u, sqrt(y.s).unsqueeze(-2)), vh), y.s, mul(u, u), mul(vh, vh)};
          },
          any, "svd"),
      row("svdvals", "", one([](const Tensors& x) { return linalg::svdvals(spread(x[0])); }), any, "svdvals"),
  };
  // What makes their matrices promotes integers.
  for (OpCase& c : rows) {
    if (c.variant.ends_with("tol")) c.gradient = Gradient::kUnchecked;  // as if what counts as 0 were 0
    c.on_cuda = c.function == "matrix_exp";                             // products alone
    c.takes_other_dtypes =
        c.function.starts_with("eigh") || c.function.starts_with("svd") || c.function == "qr" || c.function == "pinv";
  }
  return rows;
}
const Register kLinalgTable(linear_algebra);

TEST(Linalg, GivesWhatItWasMadeOf) {
  const Tensor a = randn({3, 7, 5}, {DType::float64});
  const linalg::QR f = linalg::qr(a);
  EXPECT_TRUE(allclose(matmul(f.q, f.r), a));
  EXPECT_TRUE(allclose(matmul(f.q.mT(), f.q), eye(5, float64).expand({3, 5, 5}), 1e-9, 1e-12));
  const linalg::SVD s = linalg::svd(a, false);
  EXPECT_TRUE(allclose(matmul(mul(s.u, s.s.unsqueeze(-2)), s.vh), a));
  const Tensor symmetric = matmul(a.mT(), a);
  const linalg::Eigh e = linalg::eigh(symmetric);
  EXPECT_TRUE(allclose(matmul(symmetric, e.vectors), mul(e.vectors, e.values.unsqueeze(-2)), 1e-8, 1e-9));
  EXPECT_TRUE(allclose(matmul(linalg::inv(symmetric), symmetric), eye(5, float64).expand({3, 5, 5}), 1e-8, 1e-8));
  for (const std::int64_t n : {2, 8, 9, 20}) {
    const Tensor p = positive(randn({3, n, n}, {DType::float64})), l = linalg::cholesky(p);
    EXPECT_TRUE(equal(l, tril(l)) && allclose(matmul(l, l.mT()), p)) << n;
  }
}

TEST(Linalg, TheGradientOfEighIsSymmetric) {
  const Tensor a = tensor({{2.0, 1.0, 0.0}, {1.0, 3.0, 0.5}, {0.0, 0.5, 5.0}}, {DType::float64}).requires_grad_();
  const linalg::Eigh f = linalg::eigh(a);
  const Tensor weight = tensor({{0.3, -1.0, 2.0}, {0.7, 0.2, -0.4}, {-1.5, 0.6, 0.9}}, {DType::float64});
  const Tensor g = grad(sum(mul(f.vectors, weight)), a);
  EXPECT_TRUE(allclose(g, g.mT(), 1e-12, 1e-14)) << g;
  EXPECT_GT(abs(g).max().item(), 0.1);
}

TEST(Linalg, QrOfSmallAndLargeMatrices) {
  for (const DType dtype : {DType::float64, DType::float32})
    for (const auto& [m, n] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 3}, {20, 33}, {33, 20}, {64, 5}, {70, 90}, {90, 7}}) {
      Tensor a = randn({2, m, n}, {dtype});
      if (n > 4) a.narrow(-1, 2, 2).fill_(0);
      const double bound = dtype == DType::float64 ? 1e-12 : 1e-4;
      for (const double scale :
           {1.0, dtype == DType::float64 ? 1e-200 : 1e-30, dtype == DType::float64 ? 1e200 : 1e30}) {
        const linalg::QR f = linalg::qr(mul(a, scale));
        EXPECT_TRUE(f.q.is_contiguous() && equal(f.r, triu(f.r)));
        EXPECT_TRUE(allclose(div(matmul(f.q, f.r), scale), a, bound, bound)) << m << " " << n << " " << scale;
        EXPECT_TRUE(allclose(matmul(f.q.mT(), f.q),
                             eye(f.q.shape()[2], -1, {dtype}).expand({2, f.q.shape()[2], f.q.shape()[2]}), bound,
                             bound));
      }
    }
}

TEST(Linalg, DetOfASingularMatrixHasAGradient) {
  Tensor a = tensor({{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {1.0, 0.0, 1.0}}).to(float64).requires_grad_();
  const Tensor d = linalg::det(a);
  EXPECT_NEAR(d.item<double>(), 0, 1e-12);
  d.backward();
  const Tensor cofactors = tensor({{4.0, 4.0, -4.0}, {-2.0, -2.0, 2.0}, {0.0, 0.0, 0.0}}).to(float64);
  EXPECT_TRUE(allclose(a.grad(), cofactors, 1e-9, 1e-9)) << a.grad();
}

TEST(Linalg, SolvesForVectorsOfABatch) {
  const Tensor a = positive(rand({3, 3, 3}, {DType::float64})), b = rand({3, 3}, {DType::float64});
  const Tensor x = linalg::solve(a, b);
  EXPECT_EQ(x.shape(), Shape({3, 3}));
  EXPECT_TRUE(allclose(matmul(a, x.unsqueeze(-1)).squeeze(-1), b, 1e-9, 1e-12));
  EXPECT_TRUE(allclose(linalg::solve(a, b(0))(1), linalg::solve(a(1), b(0)), 1e-9, 1e-12));
}

TEST(Linalg, SingularValuesOfZeroHaveAGradient) {
  Tensor a = tensor({{1.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}}).to(float64).requires_grad_();
  sum(linalg::svdvals(a)).backward();
  EXPECT_TRUE(all(isfinite(a.grad())).item<bool>()) << a.grad();
  EXPECT_EQ(a.grad()(0, 0).item(), 1);
}

TEST(Linalg, FullMatricesAreOrthogonal) {
  for (const Shape& shape : {Shape{2, 7, 4}, Shape{3, 5}, Shape{4, 4}, Shape{3, 0}, Shape{2, 0, 3}}) {
    const std::int64_t m = shape[-2], n = shape[-1], k = std::min(m, n);
    const Tensor a = randn(shape, {DType::float64});
    const linalg::SVD f = linalg::svd(a);
    EXPECT_TRUE(allclose(matmul(f.u.mT(), f.u), eye(m, float64).expand(f.u.shape()), 1e-9, 1e-12)) << shape;
    EXPECT_TRUE(allclose(matmul(f.vh, f.vh.mT()), eye(n, float64).expand(f.vh.shape()), 1e-9, 1e-12)) << shape;
    EXPECT_TRUE(allclose(matmul(mul(f.u.narrow(-1, 0, k), f.s.unsqueeze(-2)), f.vh.narrow(-2, 0, k)), a)) << shape;
  }
}

TEST(Linalg, ExponentialsOfAnySize) {
  const Tensor turn = tensor({{0.0, -1.0}, {1.0, 0.0}}).to(float64);
  const Tensor angles = tensor({0.0, 1e-3, 0.5, 1.0, 40.0, 1000.0}).to(float64).unsqueeze(-1).unsqueeze(-1);
  const Tensor want = add(mul(eye(2, float64), cos(angles)), mul(turn, sin(angles)));
  EXPECT_TRUE(allclose(linalg::matrix_exp(mul(turn, angles)), want, 1e-9, 1e-10));
  EXPECT_TRUE(allclose(linalg::matrix_exp(full({1, 1}, -50.0, float64)), full({1, 1}, std::exp(-50.0), float64)));
  Tensor mixed = stack({full({2, 2}, std::numeric_limits<double>::infinity()), zeros({2, 2})}).requires_grad_();
  const Tensor y = linalg::matrix_exp(mixed);
  EXPECT_FALSE(isfinite(y(0)).any().item<bool>());
  EXPECT_TRUE(equal(y(1), eye(2)));
  sum(y(1)).backward();
  EXPECT_TRUE(equal(mixed.grad()(1), ones({2, 2}))) << mixed.grad();
}

TEST(Linalg, LogdetOfMatricesWithoutOne) {
  const Tensor a = tensor({{{0.0, 1.0}, {1.0, 0.0}}, {{1.0, 2.0}, {2.0, 4.0}}, {{2.0, 0.0}, {0.0, 1.0}}});
  const auto y = linalg::logdet(a).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]) && std::isinf(y[1]) && y[1] < 0);
  EXPECT_FLOAT_EQ(y[2], std::log(2.0F));
}

TEST(Linalg, ErrorsOfCholeskySystemsNameTheirOperands) {
  const Tensor l = eye(3), b = ones({3, 2});
  const auto refused = [](const Tensor& right, const Tensor& factor) {
    return error_of<ShapeError>([&] { (void)linalg::cholesky_solve(right, factor); });
  };
  expect_contains(refused(b, ones({2, 3})), "l must be square");
  expect_contains(refused(b, ones({3})), "l must be a matrix");
  expect_contains(refused(ones({2, 2}), l), "b must have the 3 rows of l");
  expect_contains(refused(ones({2, 3, 2}), l.expand({5, 3, 3})), "l  float32[5, 3, 3]");
  expect_contains(error_of<ShapeError>([&] { (void)linalg::cholesky_inverse(ones({2, 3})); }), "l must be square");
}

TEST(Linalg, LeavesItsInputsAlone) {
  const Tensor a = positive(rand({4, 4}, {DType::float64})), b = rand({4, 2}, {DType::float64});
  const Tensor kept = a.clone(), kept_b = b.clone();
  static_cast<void>(linalg::solve(a, b));
  static_cast<void>(linalg::svd(a));
  static_cast<void>(linalg::qr(a));
  static_cast<void>(linalg::eigh(a));
  static_cast<void>(linalg::cholesky(a));
  static_cast<void>(linalg::det(a));
  EXPECT_TRUE(equal(a, kept));
  EXPECT_TRUE(equal(b, kept_b));
}

TEST(Linalg, CapturedStepsFactorizeAgain) {
  CapturedStep step([](const Tensor& a) { return sum(linalg::inv(positive(a))); }, {.warm_up = 1});
  for (int i = 0; i < 6; ++i) {
    const Tensor a = rand({3, 3}, {DType::float64});
    EXPECT_NEAR(step(a).item<double>(), sum(linalg::inv(positive(a))).item<double>(), 1e-12);
  }
}

}  // namespace
}  // namespace minnow::test
