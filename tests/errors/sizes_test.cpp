#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/nn/layers/conv.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include "errors.h"
#include "thrown.h"

/// Numbers, dimensions and sizes out of range are refused, not truncated.
namespace minnow {
namespace {

using test::expect_contains;
using test::expect_errors;
using test::Misuse;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t kUnsigned = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kWide = std::int64_t{1} << 32;
constexpr std::int64_t kBeyond = std::int64_t{1} << 50;  // more than an address space has
constexpr std::int64_t kHalf = std::int64_t{1} << 62;

TEST(Errors, DimensionsBeyond32Bits) {
  const Tensor x = zeros({2, 3});
  expect_errors({
      Misuse{"IndexError", "permute", "dimension 4294967296 is out of range",
             [=] {
               x.permute({kWide, 1});
             }},
      Misuse{"IndexError", "sum", "dimension 4294967296 is out of range", [=] { sum(x, {kWide}); }},
      Misuse{"IndexError", "sum", "dimension -9223372036854775808 is out of range", [=] { sum(x, {kLeast}); }},
      Misuse{"IndexError", "mean", "dimension 4294967297 is out of range", [=] { mean(x, {kWide + 1}, true); }},
  });
}

TEST(Errors, UnsignedNumbers) {
  const char* const number = "18446744073709551615 does not fit into int64";
  const Tensor t = arange(3);
  expect_errors({
      Misuse{"ValueError", "full", number, [=] { full({2}, kUnsigned); }},
      Misuse{"ValueError", "full", "18446744073709551615 does not fit into uint8",
             [=] { full({2}, kUnsigned, {uint8}); }},
      Misuse{"ValueError", "full_like", number, [=] { full_like(t, kUnsigned); }},
      Misuse{"ValueError", "fill_", number, [=] { fill_(t.clone(), kUnsigned); }},
      Misuse{"ValueError", "tensor", number, [=] { tensor({kUnsigned}); }},
      Misuse{"ValueError", "add", number, [=] { t + kUnsigned; }},
      Misuse{"ValueError", "sub", number, [=] { kUnsigned - t; }},
      Misuse{"ValueError", "pow", number, [=] { pow(t, kUnsigned); }},
      Misuse{"ValueError", "eq", number, [=] { eq(t, kUnsigned); }},
      Misuse{"ValueError", "mul_", number, [=] { mul_(t.clone(), kUnsigned); }},
      Misuse{"ValueError", "where", number, [=] { where(t > 1, t, kUnsigned); }},
      Misuse{"ValueError", "arange", number, [=] { arange(kUnsigned); }},
  });
  EXPECT_EQ(full({}, kUnsigned, {float64}).item(), 0x1p64);
  EXPECT_EQ((zeros({1}) + kUnsigned).item(), 0x1p64);
  EXPECT_EQ((arange(1) + kUnsigned / 2).item<std::int64_t>(), kMost);
}

TEST(Errors, NumbersInErrorsAreShort) {
  const Tensor x = zeros({2}, {int64});
  expect_errors({
      Misuse{"ValueError", "fill_", "fill_: 1e+300 does not fit into int64", [=] { fill_(x, 1e300); }},
      Misuse{"ValueError", "item", "item: 1e+300 does not fit into int64",
             [=] { full({}, 1e300, {float64}).item<std::int64_t>(); }},
      Misuse{"ValueError", "arange", "no numbers lead from 1e+300 to 0 in steps of 1",
             [=] { arange(1e300, 0.0, 1.0); }},
      Misuse{"OutOfMemoryError", "arange", "arange: 1e+300 numbers", [=] { arange(1e300); }},
      Misuse{"ValueError", "arange", "no numbers lead from 9007199254740993 to 9007199254740992 in steps of 1",
             [=] { arange(9007199254740993, 9007199254740992); }},
      Misuse{"OutOfMemoryError", "arange", "numbers do not fit into any memory", [=] { arange(kLeast, kMost); }},
  });
}

TEST(Errors, OutOfMemoryNamesTheOperationAndTheShape) {
  const Tensor x = ones({1}).expand({kBeyond}), column = ones({1, 1}).expand({kBeyond / 1024, 1});
  const char* const wanted = "wanted for float32[1125899906842624] on cpu";
  expect_errors({
      Misuse{"OutOfMemoryError", "zeros", wanted, [=] { zeros({kBeyond}); }},
      Misuse{"OutOfMemoryError", "empty", wanted, [=] { empty({kBeyond}); }},
      Misuse{"OutOfMemoryError", "clone", wanted, [=] { (void)x.clone(); }},
      Misuse{"OutOfMemoryError", "contiguous", wanted, [=] { (void)x.contiguous(); }},
      Misuse{"OutOfMemoryError", "exp", wanted, [=] { exp(x); }},
      Misuse{"OutOfMemoryError", "add", wanted, [=] { x + 1; }},
      Misuse{"OutOfMemoryError", "to", "wanted for float64[1125899906842624] on cpu", [=] { (void)x.to(float64); }},
      Misuse{"OutOfMemoryError", "cat", "wanted for float32[2251799813685248] on cpu",
             [=] {
               cat({x, x});
             }},
      Misuse{"OutOfMemoryError", "matmul", "wanted for float32[1099511627776, 1024] on cpu",
             [=] {
               matmul(column, ones({1, 1024}));
             }},
      Misuse{"OutOfMemoryError", "zeros", "wanted for float32[1125899906842624] on sim:0",
             [=] { zeros({kBeyond}, {.device = "sim:0"}); }},
      Misuse{"OutOfMemoryError", "exp", "exp: [4611686018427387904] is larger than any memory",
             [] { exp(ones({1}).expand({kHalf})); }},
  });
}

TEST(Errors, SizesThatOverflow) {
  const Tensor none = zeros({kHalf, 0}), absurd = zeros({kHalf, kHalf, 0});
  expect_errors({
      Misuse{"ShapeError", "cat", "the sizes of dimension 0 overflow when they are added",
             [=] {
               cat({none, none});
             }},
      Misuse{"ShapeError", "flatten",
             "[4611686018427387904, 4611686018427387904] has more elements than can be counted",
             [=] { absurd.flatten(0, 1); }},
      Misuse{"ValueError", "one_hot", "class 9223372036854775807 is too large", [] { one_hot(full({2}, kMost)); }},
      Misuse{"OutOfMemoryError", "Conv2d", "[1, 1, 4294967296, 4294967296]",
             [] {
               nn::Conv2d(1, 1, {kWide, kWide});
             }},
      Misuse{"DTypeError", "zeros", "99 is not a dtype", [] { zeros({2}, {.dtype = static_cast<DType>(99)}); }},
      Misuse{"DTypeError", "to", "99 is not a dtype", [] { (void)ones({2}).to(static_cast<DType>(99)); }},
  });
  EXPECT_EQ(name_of(static_cast<DType>(99)), "no dtype");
  EXPECT_EQ(absurd.flatten().shape(), (Shape{0}));
  EXPECT_EQ(sum(absurd).item(), 0.0);
  EXPECT_TRUE(absurd.is_contiguous());
  EXPECT_EQ(channels_last_strides({kHalf, kHalf, kHalf, kHalf})[1], 1);
  EXPECT_TRUE(is_contiguous({kHalf, kHalf}, contiguous_strides({kHalf, kHalf})));
  EXPECT_EQ(ones({1}).expand({kHalf}).nbytes(), kMost);
  const Tensor rows = arange(6).reshape({3, 2});
  const Index far = slice(1, kToEnd, kMost);
  EXPECT_EQ(rows(far)(slice(0, kToEnd, kMost)).to_vector<int>(), (std::vector{2, 3}));
}

TEST(Errors, ShowControlCharacters) {
  const std::string text("sim\0:0", 6);
  expect_contains(test::error_of<DeviceError>([&] { Device device(text); }), "'sim\\x00:0'  (sizes_test.cpp");
}

}  // namespace
}  // namespace minnow
