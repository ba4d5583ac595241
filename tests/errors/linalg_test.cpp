#include <gtest/gtest.h>
#include <limits>
#include <minnow/ops/products/linalg.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

#include "errors.h"

/// Bad inputs of linear algebra.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Errors, Linalg) {
  const Tensor same = ones({2, 3, 3}), b = ones({3, 1}), below = full({2, 2}, -1.0), half = ones({2, 2}, float16), none;
  const Tensor nan = full({2, 2}, std::numeric_limits<double>::quiet_NaN()), far = ones({3, 1}, {.device = "sim:0"});
  expect_errors({
      Misuse{"ValueError", "linalg::solve", "a matrix has no inverse", [=] { linalg::solve(same, b); }},
      Misuse{"ValueError", "linalg::inv", "linalg::pinv takes it", [=] { linalg::inv(same); }},
      Misuse{"ValueError", "linalg::solve_triangular", "no inverse",
             [=] {
               linalg::solve_triangular(zeros({3, 3}), b, true);
             }},
      Misuse{"ValueError", "linalg::cholesky", "a matrix is not positive definite", [=] { linalg::cholesky(below); }},
      Misuse{"ValueError", "linalg::cholesky", "not positive definite", [=] { linalg::cholesky(nan); }},
      Misuse{"ValueError", "linalg::svd", "look for NaN", [=] { linalg::svd(nan); }},
      Misuse{"ValueError", "linalg::eigh", "look for NaN", [=] { linalg::eigh(nan); }},
      Misuse{"ValueError", "linalg::qr", "look for NaN", [=] { linalg::qr(nan); }},
      Misuse{"ValueError", "linalg::pinv", "atol is 0 and rtol -1", [=] { linalg::pinv(same, {.rtol = -1}); }},
      Misuse{"ShapeError", "linalg::pinv", "a must be square",
             [=] {
               linalg::pinv(ones({2, 3}), {.hermitian = true});
             }},
      Misuse{"ShapeError", "linalg::cholesky_solve", "b.unsqueeze(-1)",
             [=] { linalg::cholesky_solve(ones({3}), same); }},
      Misuse{"ShapeError", "linalg::inv", "a must be square, got 2 rows and 3 columns",
             [=] {
               linalg::inv(ones({2, 3}));
             }},
      Misuse{"ShapeError", "linalg::det", "float32[3] on cpu", [=] { linalg::det(ones({3})); }},
      Misuse{"ShapeError", "linalg::solve", "b must have the 3 rows of a",
             [=] {
               linalg::solve(same, ones({2, 1}));
             }},
      Misuse{"ShapeError", "linalg::solve", "the batches cannot be broadcast together",
             [=] {
               linalg::solve(same, ones({4, 3, 1}));
             }},
      Misuse{"DTypeError", "linalg::qr", "float16[2, 2] on cpu", [=] { linalg::qr(half); }},
      Misuse{"DTypeError", "linalg::solve", "float64[3, 1] on cpu", [=] { linalg::solve(same, b.to(float64)); }},
      Misuse{"DeviceError", "linalg::solve", "float32[3, 1] on sim:0", [=] { linalg::solve(same, far); }},
      Misuse{"ValueError", "linalg::det", "undefined tensor", [=] { linalg::det(none); }},
  });
}

}  // namespace
}  // namespace minnow
