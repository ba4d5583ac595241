#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"
#include "thrown.h"

/// Bad inputs of operations that are made of others.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Errors, Rearranging) {
  const Tensor x = zeros({2, 3}), line = zeros({3}), none = zeros({0, 3});
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      Misuse{"IndexError", "diagonal", shown, [=] { diagonal(x, 0, 0, 2); }},
      Misuse{"ValueError", "diagonal", "both dimension 1", [=] { diagonal(x, 0, 1, -1); }},
      Misuse{"IndexError", "diagonal", "float32[3] on cpu", [=] { diagonal(line); }},
      Misuse{"ShapeError", "diag", "float32[] on cpu", [=] { diag(zeros({})); }},
      Misuse{"ShapeError", "diag", "too far", [=] { diag(line, INT64_MIN); }},
      Misuse{"ShapeError", "pad", "3 numbers of padding",
             [=] {
               pad(x, {1, 2, 3}, PadMode::constant);
             }},
      Misuse{"ShapeError", "pad", "6 numbers of padding",
             [=] {
               pad(x, {1, 1, 1, 1, 1, 1}, PadMode::constant);
             }},
      Misuse{"ShapeError", "pad", "dimension 1 of size 3",
             [=] {
               pad(x, {-2, -2}, PadMode::constant);
             }},
      Misuse{"ShapeError", "pad", "would overflow",
             [=] {
               pad(x, {INT64_MAX, 1}, PadMode::constant);
             }},
      Misuse{"ValueError", "pad", "too small",
             [=] {
               pad(x, {INT64_MIN, 0}, PadMode::reflect);
             }},
      Misuse{"ShapeError", "pad", "less than the size",
             [=] {
               pad(x, {3, 0}, PadMode::reflect);
             }},
      Misuse{"ShapeError", "pad", "at most the size",
             [=] {
               pad(x, {0, 4}, PadMode::circular);
             }},
      Misuse{"ShapeError", "pad", "no elements to repeat",
             [=] {
               pad(none, {0, 0, 1, 0}, PadMode::replicate);
             }},
      Misuse{"ValueError", "pad", "",
             [=] {
               pad(zeros({2}, DType::uint8), {1, 1}, PadMode::constant, 300);
             }},
      Misuse{"ValueError", "repeat_interleave", "got -1", [=] { repeat_interleave(x, -1); }},
      Misuse{"IndexError", "repeat_interleave", shown, [=] { repeat_interleave(x, 2, 2); }},
      Misuse{"ShapeError", "repeat_interleave", "overflows", [=] { repeat_interleave(x, INT64_MAX, 0); }},
      Misuse{"ValueError", "repeat_interleave", "got -2",
             [=] {
               repeat_interleave(x, tensor({1, -2}), 0);
             }},
      Misuse{"ShapeError", "repeat_interleave", "1 or 3 elements",
             [=] {
               repeat_interleave(x, tensor({1, 2}), 1);
             }},
      Misuse{"DTypeError", "repeat_interleave", "repeats", [=] { repeat_interleave(x, line, 1); }},
      Misuse{"ShapeError", "tile", shown,
             [=] {
               tile(x, {1, -1});
             }},
      Misuse{"ValueError", "meshgrid", "no tensors", [=] { meshgrid({}); }},
      Misuse{"ShapeError", "meshgrid", shown,
             [=] {
               meshgrid({line, x});
             }},
      Misuse{"DTypeError", "meshgrid", "int64[2] on cpu",
             [=] {
               meshgrid({line, tensor({1, 2})});
             }},
  });
}

TEST(Errors, Einsum) {
  const Tensor x = zeros({2, 3}), y = zeros({3, 4});
  expect_errors({
      Misuse{"ValueError", "einsum", "2 operands, but 1 are given", [=] { einsum("ij,jk->ik", {x}); }},
      Misuse{"ValueError", "einsum", "1 operands, but 0 are given", [=] { einsum("ij", {}); }},
      Misuse{"ValueError", "einsum", "'1' is not a letter", [=] { einsum("i1->i", {x}); }},
      Misuse{"ValueError", "einsum", "'.' is not a letter", [=] { einsum("i.j->i", {x}); }},
      Misuse{"ValueError", "einsum", "'-' is not a letter", [=] { einsum("ij-i", {x}); }},
      Misuse{"ValueError", "einsum", "no operand has 'k'", [=] { einsum("ij->k", {x}); }},
      Misuse{"ValueError", "einsum", "'i' is twice", [=] { einsum("ij->ii", {x}); }},
      Misuse{"ShapeError", "einsum", "names 3 dimensions of operand 0", [=] { einsum("ijk->i", {x}); }},
      Misuse{"ShapeError", "einsum", "names 3 dimensions of operand 0", [=] { einsum("...ijk->i", {x}); }},
      Misuse{"ShapeError", "einsum", "named 'i'", [=] { einsum("ii->i", {x}); }},
      Misuse{"ShapeError", "einsum", "sizes of 'j' differ",
             [=] {
               einsum("ij,kj->ik", {x, y});
             }},
      Misuse{"ShapeError", "einsum", "dimensions of ...",
             [=] {
               einsum("...,...->...", {x, y});
             }},
      Misuse{"DTypeError", "einsum", "int64[3, 4]",
             [=] {
               einsum("ij,jk", {x, y.to(DType::int64)});
             }},
  });
}

TEST(Errors, ProductsAndDistances) {
  const Tensor x = zeros({2, 3}), y = zeros({3, 4}), row = zeros({4}), batch = zeros({5, 2, 3});
  expect_errors({
      Misuse{"ShapeError", "addmm", "float32[3, 4] on cpu", [=] { addmm(row, y, y); }},
      Misuse{"ShapeError", "addmm", "does not broadcast to the product, [2, 4]", [=] { addmm(zeros({3}), x, y); }},
      Misuse{"DTypeError", "addmm", "float64[4]", [=] { addmm(row.to(DType::float64), x, y); }},
      Misuse{"DTypeError", "addmm", "must be integers",
             [=] { addmm(row.to(DType::int64), x.to(DType::int64), y.to(DType::int64), 0.5); }},
      Misuse{"ShapeError", "baddbmm", "a: [B, M, K]", [=] { baddbmm(row, batch, y); }},
      Misuse{"ShapeError", "cdist", "float32[3, 4] on cpu", [=] { cdist(x, y); }},
      Misuse{"ShapeError", "cdist", "float32[4] on cpu", [=] { cdist(row, y); }},
      Misuse{"ValueError", "cdist", "got -1", [=] { cdist(x, x, -1); }},
      Misuse{"DTypeError", "cosine_similarity", "float64[2, 3]", [=] { cosine_similarity(x, x.to(DType::float64)); }},
      Misuse{"IndexError", "normalize", "float32[4] on cpu", [=] { normalize(row); }},
  });
}

TEST(Errors, CountsAndPositions) {
  const Tensor x = zeros({2, 3}), numbers = tensor({1, -3}), mask = x == 0;
  expect_errors({
      Misuse{"ValueError", "bincount", "element -3 is negative", [=] { bincount(numbers); }},
      Misuse{"ValueError", "bincount", "too large", [=] { bincount(full({1}, INT64_MAX)); }},
      Misuse{"ValueError", "bincount", "got -1", [=] { bincount(tensor({1}), -1); }},
      Misuse{"ShapeError", "bincount", "int64[2, 3]", [=] { bincount(x.to(DType::int64)); }},
      Misuse{"DTypeError", "bincount", "float32[2, 3]", [=] { bincount(x); }},
      Misuse{"ShapeError", "bincount", "a weight for each",
             [=] {
               bincount(tensor({1, 2}), zeros({3}));
             }},
      Misuse{"ShapeError", "take_along_dim", "int64[2]",
             [=] {
               take_along_dim(x, tensor({0, 1}), 0);
             }},
      Misuse{"ShapeError", "take_along_dim", "dimension 1 cannot be broadcast",
             [=] {
               take_along_dim(x, zeros({1, 2}, DType::int64), 0);
             }},
      Misuse{"IndexError", "take_along_dim", "index 6", [=] { take_along_dim(x, tensor({6})); }},
      Misuse{"IndexError", "index_fill", "index -4 at [1] is out of range", [=] { index_fill(x, 1, numbers - 1, 0); }},
      Misuse{"IndexError", "index_fill", "float32[2, 3] on cpu", [=] { index_fill(x, 2, numbers, 0); }},
      Misuse{"DTypeError", "index_fill", "int64", [=] { index_fill(x, 1, zeros({2}), 0); }},
      Misuse{"ShapeError", "index_fill", "value", [=] { index_fill(x, 1, tensor({1}), zeros({3})); }},
      Misuse{"IndexError", "masked_scatter", "more true elements", [=] { masked_scatter(x, mask, zeros({5})); }},
      Misuse{"IndexError", "masked_scatter", "source has none", [=] { masked_scatter(x, mask, zeros({0})); }},
      Misuse{"DTypeError", "masked_scatter", "the mask is not bool", [=] { masked_scatter(x, x, x); }},
      Misuse{"DTypeError", "masked_scatter", "float64[2, 3]", [=] { masked_scatter(x, mask, x.to(DType::float64)); }},
  });
}

}  // namespace
}  // namespace minnow
