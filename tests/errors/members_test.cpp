#include <cmath>
#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"
#include "sanitizer.h"

/// Bad inputs of Tensor's members.
namespace minnow {
namespace {

using test::expect_errors;
using test::kUndefined;
using test::Misuse;

TEST(Errors, HostAccess) {
  const Tensor none, x = zeros({2, 3}), far = zeros({2, 3}, {.device = "sim:0"});
  expect_errors({
      Misuse{"IndexError", "size", "float32[2, 3] on cpu", [=] { (void)x.size(2); }},
      Misuse{"IndexError", "size", "dimensions go from -2 to 1", [=] { (void)x.size(-3); }},
      Misuse{"ValueError", "size", kUndefined, [=] { (void)none.size(0); }},
      Misuse{"IndexError", "stride", "float32[2, 3] on cpu", [=] { (void)x.stride(5); }},
      Misuse{"IndexError", "stride", "float32[2, 3] on sim:0", [=] { (void)far.stride(-4); }},
      Misuse{"ValueError", "stride", kUndefined, [=] { (void)none.stride(0); }},
      Misuse{"DeviceError", "data", "float32[2, 3] on sim:0", [=] { (void)far.data<float>(); }},
      Misuse{"DTypeError", "data", "float32[2, 3] on cpu", [=] { (void)x.data<double>(); }},
      Misuse{"ValueError", "data", kUndefined, [=] { (void)none.data<float>(); }},
      Misuse{"ShapeError", "span", "float32[3, 2] on cpu with strides [1, 3]", [=] { (void)x.t().span<float>(); }},
      Misuse{"DTypeError", "data", "float32[2, 3] on cpu", [=] { (void)x.span<int>(); }},
      Misuse{"ValueError", "span", kUndefined, [=] { (void)none.span<float>(); }},
      Misuse{"ValueError", "to_vector", kUndefined, [=] { (void)none.to_vector<float>(); }},
      Misuse{"ShapeError", "item", "float32[2, 3] on cpu", [=] { (void)x.item(); }},
      Misuse{"ShapeError", "item", "float32[2, 3] on sim:0", [=] { (void)far.item<int>(); }},
      Misuse{"ShapeError", "item", "float32[0] on cpu", [] { (void)zeros({0}).item<float>(); }},
      Misuse{"ValueError", "item", kUndefined, [=] { (void)none.item(); }},
      Misuse{"ValueError", "item", "300 does not fit into uint8", [] { (void)tensor(300).item<std::uint8_t>(); }},
      Misuse{"ValueError", "item", "nan does not fit into int32",
             [] { (void)full({}, NAN, {.device = "sim:0"}).item<int>(); }},
      Misuse{"ValueError", "item", "does not fit into int64",
             [] { (void)full({}, 0x1p63, {.dtype = DType::float64}).item<std::int64_t>(); }},
      Misuse{"OutOfMemoryError", "to_vector", "no memory for 2305843009213693952 numbers of 4 bytes",
             [] { (void)zeros({1}, uint8).expand({std::int64_t{1} << 61}).to_vector<float>(); }},
#ifndef MINNOW_TEST_ASAN  // its operator new ends the program
      Misuse{"OutOfMemoryError", "to_vector", "4611686018427387904 numbers of 1 bytes",
             [] { (void)zeros({1}, bool_).expand({std::int64_t{1} << 62}).to_vector<bool>(); }},
      Misuse{"OutOfMemoryError", "unbind", "1099511627776 tensors",
             [] {
               (void)unbind(zeros({test::kHuge, 0}));
             }},
      Misuse{"OutOfMemoryError", "chunk", "1099511627776 tensors", [] { (void)chunk(zeros({0}), test::kHuge); }},
#endif
      Misuse{"ValueError", "to_vector", "-1 does not fit into uint8",
             [] {
               (void)tensor({3, -1}).to_vector<std::uint8_t>();
             }},
      Misuse{"ValueError", "is_contiguous", kUndefined, [=] { (void)none.is_contiguous(MemoryFormat::contiguous); }},
      Misuse{"ValueError", "name", kUndefined, [=] { (void)none.name(); }},
      Misuse{"ValueError", "set_name", kUndefined, [] { Tensor().set_name("x"); }},
      Misuse{"ValueError", "set_data", kUndefined, [=] { x.set_data(none); }},
      Misuse{"ValueError", "set_data", kUndefined, [=] { none.set_data(x); }},
  });
}

TEST(Errors, Views) {
  const Tensor none, x = zeros({2, 3}), t = x.t(), wide = zeros({1, 1, 1, 1, 1, 1, 1, 1});
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      Misuse{"ShapeError", "reshape", shown, [=] { (void)x.reshape({4}); }},
      Misuse{"ShapeError", "reshape", shown,
             [=] {
               (void)x.reshape({-1, -1});
             }},
      Misuse{"ShapeError", "reshape", shown,
             [=] {
               (void)x.reshape({-2, -3});
             }},
      Misuse{"ValueError", "reshape", kUndefined, [=] { (void)none.reshape({1}); }},
      Misuse{"ShapeError", "view", "float32[3, 2] on cpu", [=] { (void)t.view({6}); }},
      Misuse{"ShapeError", "view", shown, [=] { (void)x.view({5}); }},
      Misuse{"ShapeError", "view", shown,
             [=] {
               (void)x.view({-1, 4});
             }},
      Misuse{"ValueError", "view", kUndefined, [=] { (void)none.view({1}); }},
      Misuse{"IndexError", "transpose", shown, [=] { (void)x.transpose(0, 2); }},
      Misuse{"IndexError", "transpose", shown, [=] { (void)x.transpose(-3, 0); }},
      Misuse{"ValueError", "transpose", kUndefined, [=] { (void)none.transpose(0, 1); }},
      Misuse{"ValueError", "t", kUndefined, [=] { (void)none.t(); }},
      Misuse{"ShapeError", "permute", shown, [=] { (void)x.permute({0}); }},
      Misuse{"ShapeError", "permute", shown,
             [=] {
               (void)x.permute({1, 1});
             }},
      Misuse{"IndexError", "permute", shown,
             [=] {
               (void)x.permute({0, 2});
             }},
      Misuse{"ValueError", "permute", kUndefined, [=] { (void)none.permute({0}); }},
      Misuse{"IndexError", "squeeze", shown, [=] { (void)x.squeeze(2); }},
      Misuse{"ValueError", "squeeze", kUndefined, [=] { (void)none.squeeze(); }},
      Misuse{"ValueError", "squeeze", kUndefined, [=] { (void)none.squeeze(0); }},
      Misuse{"IndexError", "unsqueeze", shown, [=] { (void)x.unsqueeze(4); }},
      Misuse{"IndexError", "unsqueeze", shown, [=] { (void)x.unsqueeze(-4); }},
      Misuse{"ShapeError", "unsqueeze", "maximum of 8", [=] { (void)wide.unsqueeze(0); }},
      Misuse{"ValueError", "unsqueeze", kUndefined, [=] { (void)none.unsqueeze(0); }},
      Misuse{"ShapeError", "expand", shown,
             [=] {
               (void)x.expand({2, 4});
             }},
      Misuse{"ShapeError", "expand", shown, [=] { (void)x.expand({3}); }},
      Misuse{"ShapeError", "expand", shown,
             [=] {
               (void)x.expand({-1, 2, 3});
             }},
      Misuse{"ValueError", "expand", kUndefined, [=] { (void)none.expand({1}); }},
      Misuse{"IndexError", "flatten", shown, [=] { (void)x.flatten(2); }},
      Misuse{"IndexError", "flatten", shown, [=] { (void)x.flatten(0, 2); }},
      Misuse{"IndexError", "flatten", "dimension 1 is out of range", [] { (void)tensor(7).flatten(1); }},
      Misuse{"ValueError", "flatten", shown, [=] { (void)x.flatten(1, 0); }},
      Misuse{"ValueError", "flatten", kUndefined, [=] { (void)none.flatten(); }},
      Misuse{"ShapeError", "Shape", "9 dimensions are more than the maximum of 8",
             [=] {
               (void)x.view({1, 1, 1, 1, 1, 1, 1, 2, 3});
             }},
  });
}

TEST(Errors, Indexing) {
  const Tensor none, x = zeros({2, 3}), wide = zeros({1, 1, 1, 1, 1, 1, 1, 1});
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      Misuse{"IndexError", "narrow", shown, [=] { (void)x.narrow(1, 2, 2); }},
      Misuse{"IndexError", "narrow", shown, [=] { (void)x.narrow(2, 0, 1); }},
      Misuse{"IndexError", "narrow", shown, [=] { (void)x.narrow(0, 0, -1); }},
      Misuse{"ValueError", "narrow", kUndefined, [=] { (void)none.narrow(0, 0, 1); }},
      Misuse{"IndexError", "select", shown, [=] { (void)x.select(0, 2); }},
      Misuse{"IndexError", "select", shown, [=] { (void)x.select(1, -4); }},
      Misuse{"IndexError", "select", shown, [=] { (void)x.select(2, 0); }},
      Misuse{"ValueError", "select", kUndefined, [=] { (void)none.select(0, 0); }},
      Misuse{"IndexError", "index", shown, [=] { (void)x(0, 9); }},
      Misuse{"IndexError", "index", shown, [=] { (void)x(0, 0, 0); }},
      Misuse{"IndexError", "index", "2 ellipses, but an index can have only one", [=] { (void)x(ellipsis, ellipsis); }},
      Misuse{"ValueError", "slice", shown, [=] { (void)x(slice(0, 2, -1)); }},
      Misuse{"ValueError", "slice", shown, [=] { (void)x(all, slice(0, 2, 0)); }},
      Misuse{"ShapeError", "index", "maximum of 8", [=] { (void)wide(newaxis); }},
      Misuse{"ValueError", "index", kUndefined, [=] { (void)none(0); }},
      Misuse{"ValueError", "index", kUndefined, [=] { (void)none(0, all, newaxis); }},
  });
}

TEST(Errors, CopiesAndMoves) {
  const Tensor none, x = zeros({2, 3}), far = zeros({2, 3}, {.device = "sim:0"});
  expect_errors({
      Misuse{"DeviceError", "to", "cuda:7 cannot be used", [=] { (void)x.to("cuda:7"); }},
      Misuse{"DeviceError", "to", "sim:15 cannot be used", [=] { (void)x.to("sim:15", DType::float64); }},
      Misuse{"DeviceError", "Device", "'gpu'", [=] { (void)x.to("gpu"); }},
      Misuse{"DeviceError", "Device", "'cuda:-1'", [=] { (void)x.to("cuda:-1"); }},
      Misuse{"DeviceError", "Device", "'cpu:1'", [=] { (void)x.to("cpu:1"); }},
      Misuse{"ValueError", "to", kUndefined, [=] { (void)none.to("cpu"); }},
      Misuse{"ValueError", "to", kUndefined, [=] { (void)none.to(DType::float64); }},
      Misuse{"ValueError", "to", kUndefined, [=] { (void)x.to(none); }},
      Misuse{"ValueError", "cpu", kUndefined, [=] { (void)none.cpu(); }},
      Misuse{"ValueError", "cuda", kUndefined, [=] { (void)none.cuda(); }},
      Misuse{"DeviceError", "cuda", "cuda:9 cannot be used", [=] { (void)x.cuda(9); }},
      Misuse{"DeviceError", "cuda", "cuda:9 cannot be used", [=] { (void)far.cuda(9); }},
      Misuse{"DeviceError", "pin_memory", "float32[2, 3] on sim:0", [=] { (void)far.pin_memory(); }},
      Misuse{"ValueError", "pin_memory", kUndefined, [=] { (void)none.pin_memory(); }},
      Misuse{"ShapeError", "contiguous", "float32[2, 3] on cpu",
             [=] { (void)x.contiguous(MemoryFormat::channels_last); }},
      Misuse{"ValueError", "contiguous", kUndefined, [=] { (void)none.contiguous(); }},
      Misuse{"ValueError", "clone", kUndefined, [=] { (void)none.clone(); }},
  });
}

TEST(Errors, AutogradMembers) {
  const Tensor none, x = zeros({2, 3}), ints = arange(3);
  const Tensor leaf = zeros({2, 3}).requires_grad_(), y = leaf * 2;
  expect_errors({
      Misuse{"ValueError", "detach", kUndefined, [=] { (void)none.detach(); }},
      Misuse{"ValueError", "requires_grad", kUndefined, [=] { (void)none.requires_grad(); }},
      Misuse{"ValueError", "is_leaf", kUndefined, [=] { (void)none.is_leaf(); }},
      Misuse{"ValueError", "grad", kUndefined, [=] { (void)none.grad(); }},
      Misuse{"ValueError", "requires_grad_", kUndefined, [] { Tensor().requires_grad_(); }},
      Misuse{"DTypeError", "requires_grad_", "int64[3] on cpu", [=] { Tensor(ints).requires_grad_(); }},
      Misuse{"AutogradError", "requires_grad_", "float32[2, 3] on cpu", [=] { Tensor(y).requires_grad_(false); }},
      Misuse{"ShapeError", "set_grad", "float32[2, 3] on cpu", [=] { leaf.set_grad(zeros({3})); }},
      Misuse{"DTypeError", "set_grad", "float64[2, 3] on cpu",
             [=] {
               leaf.set_grad(zeros({2, 3}, {DType::float64}));
             }},
      Misuse{"DeviceError", "set_grad", "on sim:0",
             [=] {
               leaf.set_grad(zeros({2, 3}, {.device = "sim:0"}));
             }},
      Misuse{"ValueError", "set_grad", kUndefined, [=] { none.set_grad(x); }},
      Misuse{"AutogradError", "retain_grad", "float32[2, 3] on cpu", [=] { x.retain_grad(); }},
      Misuse{"ValueError", "retain_grad", kUndefined, [=] { none.retain_grad(); }},
      Misuse{"AutogradError", "backward", "float32[2, 3] on cpu", [=] { y.backward(); }},
      Misuse{"AutogradError", "backward", "float32[2, 3] on cpu", [=] { x.backward(x); }},
      Misuse{"ShapeError", "backward", "float32[3] on cpu", [=] { y.backward(zeros({3})); }},
      Misuse{"DeviceError", "backward", "on sim:0",
             [=] {
               y.backward(zeros({2, 3}, {.device = "sim:0"}));
             }},
      Misuse{"AutogradError", "backward", kUndefined, [=] { none.backward(); }},
  });
}

}  // namespace
}  // namespace minnow
