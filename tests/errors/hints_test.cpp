#include <gtest/gtest.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/tensor/create.h>
#include "errors.h"

/// The hint of an error must be what corrects it.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Errors, HintMovesTheDataOrTheWholeModule) {
  const nn::Linear here(3, 4);
  nn::Linear there(3, 4), torn(3, 4);
  there.to("sim:0");
  const Tensor x = ones({2, 3}), far = x.to("sim:0");
  torn.weight.set_data(torn.weight.detach().to("sim:0"));
  expect_errors({
      Misuse{"DeviceError", "linear", "\nmove one of them first, e.g. x.to(\"sim:0\")", [&] { there(x); }},
      Misuse{"DeviceError", "linear", "\nmove the whole module that has it, e.g. net.to(\"sim:0\")",
             [&] { here(far); }},
      Misuse{"DeviceError", "linear", "e.g. net.to(\"sim:0\")", [&] { torn(far); }},
      Misuse{"DeviceError", "matmul", "e.g. a.to(\"sim:0\")", [&] { (void)matmul(x, far.t()); }},
      Misuse{"DeviceError", "matmul", "e.g. b.to(\"sim:0\")", [&] { (void)matmul(far, x.t()); }},
  });
}

TEST(Errors, HintMovesTheOperandThatIsNotWritten) {
  Tensor here = ones({2}), there = here.to("sim:0");
  const Tensor number = ones({}).to("sim:0");
  expect_errors({
      Misuse{"DeviceError", "add_", "move the other one first, other.to(\"cpu\")", [&] { here += there; }},
      Misuse{"DeviceError", "mul_", "move the other one first, other.to(\"sim:0\")", [&] { there *= here; }},
      Misuse{"DeviceError", "add_", "move the other one first", [&] { here += number; }},
  });
}

TEST(Errors, CatNamesTheIndexInTheList) {
  const Tensor x = ones({2, 3}), far = x.to("sim:0");
  expect_errors({
      Misuse{"DeviceError", "cat", "e.g. tensors[2].to(\"sim:0\")",
             [&] {
               (void)cat({far, far, x}, 0);
             }},
      Misuse{"DeviceError", "cat", "e.g. tensors[0].to(\"sim:0\")",
             [&] {
               (void)cat({x, x, far}, 0);
             }},
      Misuse{"ShapeError", "cat", "tensors[2]  float32[4]",
             [&] {
               (void)cat({x, x, ones({4})}, 0);
             }},
      Misuse{"ShapeError", "cat", "tensors[1]  float32[]",
             [&] {
               (void)cat({x, ones({})}, 0);
             }},
  });
}

TEST(Errors, HintConvertsTheDataNotTheWeights) {
  nn::Linear fc(3, 4), wide(3, 4);
  wide.to(DType::float64);
  const nn::Conv2d conv(3, 4, 1);
  const auto like = [](DType dtype, const Shape& shape = {2, 3}) { return ones(shape, {.dtype = dtype}); };
  const Tensor x = like(DType::float32), w = ones({4, 3});
  Tensor half_bias = fc.bias;
  half_bias.set_data(ones({4}, {.dtype = DType::float64}));
  const nn::Linear whole(3, 4);
  expect_errors({
      Misuse{"DTypeError", "linear", "\nconvert x first: x.to(float32)", [&] { whole(like(DType::uint8)); }},
      Misuse{"DTypeError", "linear", "\nconvert x first: x.to(float32)", [&] { whole(like(DType::int64)); }},
      Misuse{"DTypeError", "linear", "\nconvert x first: x.to(float32)", [&] { whole(like(DType::float64)); }},
      Misuse{"DTypeError", "linear", "\nconvert x first: x.to(float64)", [&] { wide(x); }},
      Misuse{"DTypeError", "linear", "e.g. net.to(float32)", [&] { fc(x); }},
      Misuse{"DTypeError", "conv2d", "\nconvert x first: x.to(float32)",
             [&] {
               conv(like(DType::uint8, {1, 3, 2, 2}));
             }},
      Misuse{"DTypeError", "matmul", "\nconvert a first: a.to(float32)",
             [&] { (void)matmul(like(DType::int64), w.t()); }},
      Misuse{"DTypeError", "matmul", "\nconvert b first: b.to(float32)",
             [&] {
               (void)matmul(x, like(DType::bool_, {3, 2}));
             }},
      Misuse{"DTypeError", "matmul", "\nconvert a first: a.to(float32)",
             [&] {
               (void)matmul(like(DType::int64), like(DType::uint8, {3, 2}));
             }},
  });
}

}  // namespace
}  // namespace minnow
