#include <cmath>
#include <gtest/gtest.h>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/nn/module/containers.h>
#include <minnow/nn/module/summary.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"

/// Bad inputs of modules.
namespace minnow {
namespace {

using test::expect_errors;
using test::kHuge;
using test::kUndefined;
using test::Misuse;

TEST(Errors, LayerConstruction) {
  expect_errors({
      Misuse{"ValueError", "Linear", "must be positive, got 0 and 3", [] { nn::Linear(0, 3); }},
      Misuse{"ValueError", "Linear", "must be positive, got 3 and -1", [] { nn::Linear(3, -1); }},
      Misuse{"OutOfMemoryError", "Linear", "[1099511627776, 1099511627776]", [] { nn::Linear(kHuge, kHuge); }},
      Misuse{"ValueError", "Conv2d", "in_channels  0", [] { nn::Conv2d(0, 3, 3); }},
      Misuse{"ValueError", "Conv2d", "kernel_size must be positive", [] { nn::Conv2d(3, 3, 0); }},
      Misuse{"ValueError", "Conv2d", "groups  2", [] { nn::Conv2d(3, 4, 3, {.groups = 2}); }},
      Misuse{"ValueError", "Conv2d", "stride must be positive", [] { nn::Conv2d(3, 4, 3, {.stride = 0}); }},
      Misuse{"OutOfMemoryError", "Conv2d", "[1099511627776, 1099511627776, 3, 3]", [] { nn::Conv2d(kHuge, kHuge, 3); }},
      Misuse{"ValueError", "MaxPool2d", "kernel_size must be positive, got 0", [] { nn::MaxPool2d(0); }},
      Misuse{"ValueError", "MaxPool2d", "got 2 for kernel_size 2", [] { nn::MaxPool2d(2, {.padding = 2}); }},
      Misuse{"ValueError", "MaxPool2d", "dilation must be positive, got 0", [] { nn::MaxPool2d(2, {.dilation = 0}); }},
      Misuse{"ValueError", "AvgPool2d", "kernel_size must be positive, got -1", [] { nn::AvgPool2d(-1); }},
      Misuse{"ValueError", "AvgPool2d", "stride must be at least 0, got -1", [] { nn::AvgPool2d(2, {.stride = -1}); }},
      Misuse{"ValueError", "AvgPool2d", "got -1 for kernel_size 2", [] { nn::AvgPool2d(2, {.padding = -1}); }},
      Misuse{"ValueError", "Dropout", "p must be in [0, 1], got 1.5", [] { nn::Dropout(1.5); }},
      Misuse{"ValueError", "Dropout", "p must be in [0, 1], got -1", [] { nn::Dropout(-1); }},
      Misuse{"ValueError", "Dropout", "p must be in [0, 1], got nan", [] { nn::Dropout(std::nan("")); }},
  });
}

TEST(Errors, LayerCalls) {
  const Tensor x = zeros({2, 3}), none, ints = arange(3), image = zeros({1, 2, 4, 4});
  nn::Linear linear(5, 4);
  nn::Conv2d conv(1, 2, 3);
  nn::MaxPool2d max_pool(2);
  nn::AvgPool2d avg_pool(2);
  nn::Flatten flatten(2);
  nn::Dropout dropout;
  nn::ReLU relu;
  nn::ELU elu;
  nn::Hardtanh hardtanh;
  nn::Threshold threshold(0, 1);
  nn::Softmax softmax(2);
  expect_errors({
      Misuse{"ShapeError", "linear", "parameter 'weight'", [&] { linear(x); }},
      Misuse{"DTypeError", "linear", "int64[3] on cpu", [&] { linear(ints); }},
      Misuse{"DeviceError", "linear", "float32[2, 5] on sim:0",
             [&] {
               linear(zeros({2, 5}, {.device = "sim:0"}));
             }},
      Misuse{"ValueError", "linear", kUndefined, [&] { linear(none); }},
      Misuse{"ShapeError", "conv2d", "parameter 'weight'", [&] { conv(image); }},
      Misuse{"ShapeError", "conv2d", "float32[2, 3] on cpu", [&] { conv(x); }},
      Misuse{"ValueError", "conv2d", kUndefined, [&] { conv(none); }},
      Misuse{"ShapeError", "max_pool2d", "float32[2, 3] on cpu", [&] { max_pool(x); }},
      Misuse{"ValueError", "max_pool2d", kUndefined, [&] { max_pool(none); }},
      Misuse{"ShapeError", "avg_pool2d", "float32[2, 3] on cpu", [&] { avg_pool(x); }},
      Misuse{"ValueError", "avg_pool2d", kUndefined, [&] { avg_pool(none); }},
      Misuse{"IndexError", "flatten", "float32[2, 3] on cpu", [&] { flatten(x); }},
      Misuse{"ValueError", "flatten", kUndefined, [&] { flatten(none); }},
      Misuse{"DTypeError", "dropout", "int64[3] on cpu", [&] { dropout(ints); }},
      Misuse{"ValueError", "dropout", kUndefined, [&] { dropout(none); }},
      Misuse{"ValueError", "relu", kUndefined, [&] { relu(none); }},
      Misuse{"ValueError", "elu", kUndefined, [&] { elu(none); }},
      Misuse{"ValueError", "hardtanh", kUndefined, [&] { hardtanh(none); }},
      Misuse{"ValueError", "threshold", kUndefined, [&] { threshold(none); }},
      Misuse{"IndexError", "softmax", "float32[2, 3] on cpu", [&] { softmax(x); }},
  });
}

/// Makes the functions that register public.
struct Open : nn::Module {
  using Module::buffer;
  using Module::parameter;
  template <class M> M add(std::string name, M module, SourceLocation where = SourceLocation::current()) {
    return child(std::move(name), module, where);
  }
};

TEST(Errors, Registration) {
  const Tensor x = zeros({3}), none, ints = arange(3), made = zeros({3}).requires_grad_() * 2;
  Open m;
  m.parameter("w", zeros({3}));
  expect_errors({
      Misuse{"ValueError", "parameter", "'w'", [&] { m.parameter("w", x); }},
      Misuse{"ValueError", "parameter", "'a.b'", [&] { m.parameter("a.b", x); }},
      Misuse{"ValueError", "parameter", "the name is empty", [&] { m.parameter("", x); }},
      Misuse{"ValueError", "parameter", "'u'", [&] { m.parameter("u", none); }},
      Misuse{"DTypeError", "parameter", "int64[3] on cpu", [&] { m.parameter("i", ints); }},
      Misuse{"AutogradError", "parameter", "float32[3] on cpu", [&] { m.parameter("y", made); }},
      Misuse{"ValueError", "buffer", "'w'", [&] { m.buffer("w", x); }},
      Misuse{"ValueError", "buffer", "'u'", [&] { m.buffer("u", none); }},
      Misuse{"ValueError", "buffer", "'.'", [&] { m.buffer(".", x); }},
      Misuse{"ValueError", "child", "'w'", [&] { m.add("w", nn::ReLU()); }},
      Misuse{"ValueError", "child", "the name is empty", [&] { m.add("", nn::ReLU()); }},
      Misuse{"ValueError", "child", "'self'", [&] { m.add("self", m); }},
  });
}

TEST(Errors, Modules) {
  const Tensor x = zeros({2, 3}), none;
  nn::Linear linear(3, 4);
  nn::ModuleList list(nn::ReLU(), nn::Linear(3, 4));
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(5, 2));
  Open open;
  nn::Module& plain = open;
  const StateDict wrong{{"weight", zeros({4, 4})}, {"other", x}};
  expect_errors({
      Misuse{"DTypeError", "to", "int64", [&] { linear.to(DType::int64); }},
      Misuse{"DeviceError", "to", "cuda:9", [&] { linear.to("cuda:9"); }},
      Misuse{"DeviceError", "Device", "'gpu'", [&] { linear.to("gpu"); }},
      Misuse{"ValueError", "load_state_dict", "'bias'", [&] { linear.load_state_dict(wrong); }},
      Misuse{"ValueError", "load_state_dict", "'other'", [&] { linear.load_state_dict(wrong); }},
      Misuse{"ValueError", "load_state_dict", "float32[4, 4]",
             [&] { linear.load_state_dict(wrong, {.strict = false}); }},
      Misuse{"ValueError", "forward", "Open", [&] { plain(x); }},
      Misuse{"ValueError", "register_forward_hook", "empty",
             [&] { (void)linear.register_forward_hook(nn::ForwardHook()); }},
      Misuse{"ValueError", "apply", "empty", [&] { linear.apply({}); }},
      Misuse{"IndexError", "ModuleList", "index 2 is out of range", [&] { list.at(2); }},
      Misuse{"IndexError", "ModuleList", "index -3 is out of range", [&] { list.at(-3); }},
      Misuse{"ValueError", "get", "ReLU", [&] { list.get<nn::Linear>(0); }},
      Misuse{"ShapeError", "linear", "parameter '1.weight'", [&] { net(x); }},
      Misuse{"ValueError", "linear", kUndefined, [&] { net(none); }},
      Misuse{"ValueError", "child", "'a'",
             [] {
               nn::Sequential{{"a", nn::ReLU()}, {"a", nn::ReLU()}};
             }},
      Misuse{"ShapeError", "linear", "float32[2, 7] on cpu",
             [&] {
               nn::summary(linear, {2, 7});
             }},
      Misuse{"ShapeError", "summary", "[-1, 7]",
             [&] {
               nn::summary(linear, {-1, 7});
             }},
      Misuse{"ValueError", "forward", "Open", [&] { nn::summary(open, {2}); }},
  });
}

}  // namespace
}  // namespace minnow
