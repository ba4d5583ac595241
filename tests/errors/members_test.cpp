#include <gtest/gtest.h>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/create.h>
#include "errors.h"

/// Bad inputs of Tensor's members.
namespace minnow {
namespace {

using test::expect_errors;

constexpr const char* kUndefined = "undefined tensor";

TEST(Errors, OfHostAccess) {
  const Tensor none, x = zeros({2, 3}), far = zeros({2, 3}, {.device = "sim:0"});
  expect_errors({
      {"IndexError", "size", "float32[2, 3] on cpu", [=] { (void)x.size(2); }},
      {"IndexError", "size", "dimensions go from -2 to 1", [=] { (void)x.size(-3); }},
      {"ValueError", "size", kUndefined, [=] { (void)none.size(0); }},
      {"IndexError", "stride", "float32[2, 3] on cpu", [=] { (void)x.stride(5); }},
      {"IndexError", "stride", "float32[2, 3] on sim:0", [=] { (void)far.stride(-4); }},
      {"ValueError", "stride", kUndefined, [=] { (void)none.stride(0); }},
      {"DeviceError", "data", "float32[2, 3] on sim:0", [=] { (void)far.data<float>(); }},
      {"DTypeError", "data", "float32[2, 3] on cpu", [=] { (void)x.data<double>(); }},
      {"ValueError", "data", kUndefined, [=] { (void)none.data<float>(); }},
      {"ShapeError", "span", "float32[3, 2] on cpu with strides [1, 3]", [=] { (void)x.t().span<float>(); }},
      {"DTypeError", "data", "float32[2, 3] on cpu", [=] { (void)x.span<int>(); }},
      {"ValueError", "span", kUndefined, [=] { (void)none.span<float>(); }},
      {"ValueError", "to_vector", kUndefined, [=] { (void)none.to_vector<float>(); }},
      {"ShapeError", "item", "float32[2, 3] on cpu", [=] { (void)x.item(); }},
      {"ShapeError", "item", "float32[2, 3] on sim:0", [=] { (void)far.item<int>(); }},
      {"ShapeError", "item", "float32[0] on cpu", [] { (void)zeros({0}).item<float>(); }},
      {"ValueError", "item", kUndefined, [=] { (void)none.item(); }},
      {"ValueError", "is_contiguous", kUndefined, [=] { (void)none.is_contiguous(MemoryFormat::contiguous); }},
      {"ValueError", "name", kUndefined, [=] { (void)none.name(); }},
      {"ValueError", "set_name", kUndefined, [] { Tensor().set_name("x"); }},
      {"ValueError", "set_data", kUndefined, [=] { x.set_data(none); }},
      {"ValueError", "set_data", kUndefined, [=] { none.set_data(x); }},
  });
}

TEST(Errors, OfAccessorsWithoutALineNameTheTensor) {
  const Tensor none;
  for (const std::function<void()>& f : {std::function<void()>([&] { (void)none.shape(); }),
                                         {[&] { (void)none.dim(); }},
                                         {[&] { (void)none.device(); }},
                                         {[&] { (void)none.numel(); }}})
    try {
      f();
      ADD_FAILURE() << "accepted";
    } catch (const ValueError& e) {
      EXPECT_EQ(std::string(e.what()).rfind("ValueError: Tensor: the tensor is undefined", 0), 0U) << e.what();
    }
}

TEST(Errors, OfViews) {
  const Tensor none, x = zeros({2, 3}), t = x.t(), wide = zeros({1, 1, 1, 1, 1, 1, 1, 1});
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      {"ShapeError", "reshape", shown, [=] { (void)x.reshape({4}); }},
      {"ShapeError", "reshape", shown,
       [=] {
         (void)x.reshape({-1, -1});
       }},
      {"ShapeError", "reshape", shown,
       [=] {
         (void)x.reshape({-2, -3});
       }},
      {"ValueError", "reshape", kUndefined, [=] { (void)none.reshape({1}); }},
      {"ShapeError", "view", "float32[3, 2] on cpu", [=] { (void)t.view({6}); }},
      {"ShapeError", "view", shown, [=] { (void)x.view({5}); }},
      {"ShapeError", "view", shown,
       [=] {
         (void)x.view({-1, 4});
       }},
      {"ValueError", "view", kUndefined, [=] { (void)none.view({1}); }},
      {"IndexError", "transpose", shown, [=] { (void)x.transpose(0, 2); }},
      {"IndexError", "transpose", shown, [=] { (void)x.transpose(-3, 0); }},
      {"ValueError", "transpose", kUndefined, [=] { (void)none.transpose(0, 1); }},
      {"ValueError", "t", kUndefined, [=] { (void)none.t(); }},
      {"ShapeError", "permute", shown, [=] { (void)x.permute({0}); }},
      {"ShapeError", "permute", shown,
       [=] {
         (void)x.permute({1, 1});
       }},
      {"IndexError", "permute", shown,
       [=] {
         (void)x.permute({0, 2});
       }},
      {"ValueError", "permute", kUndefined, [=] { (void)none.permute({0}); }},
      {"IndexError", "squeeze", shown, [=] { (void)x.squeeze(2); }},
      {"ValueError", "squeeze", kUndefined, [=] { (void)none.squeeze(); }},
      {"ValueError", "squeeze", kUndefined, [=] { (void)none.squeeze(0); }},
      {"IndexError", "unsqueeze", shown, [=] { (void)x.unsqueeze(4); }},
      {"IndexError", "unsqueeze", shown, [=] { (void)x.unsqueeze(-4); }},
      {"ShapeError", "unsqueeze", "maximum of 8", [=] { (void)wide.unsqueeze(0); }},
      {"ValueError", "unsqueeze", kUndefined, [=] { (void)none.unsqueeze(0); }},
      {"ShapeError", "expand", shown,
       [=] {
         (void)x.expand({2, 4});
       }},
      {"ShapeError", "expand", shown, [=] { (void)x.expand({3}); }},
      {"ShapeError", "expand", shown,
       [=] {
         (void)x.expand({-1, 2, 3});
       }},
      {"ValueError", "expand", kUndefined, [=] { (void)none.expand({1}); }},
      {"IndexError", "flatten", shown, [=] { (void)x.flatten(2); }},
      {"IndexError", "flatten", shown, [=] { (void)x.flatten(0, 2); }},
      {"ValueError", "flatten", shown, [=] { (void)x.flatten(1, 0); }},
      {"ValueError", "flatten", kUndefined, [=] { (void)none.flatten(); }},
      {"ShapeError", "Shape", "9 dimensions are more than the maximum of 8",
       [=] {
         (void)x.view({1, 1, 1, 1, 1, 1, 1, 2, 3});
       }},
  });
}

TEST(Errors, OfIndexing) {
  const Tensor none, x = zeros({2, 3}), wide = zeros({1, 1, 1, 1, 1, 1, 1, 1});
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      {"IndexError", "narrow", shown, [=] { (void)x.narrow(1, 2, 2); }},
      {"IndexError", "narrow", shown, [=] { (void)x.narrow(2, 0, 1); }},
      {"IndexError", "narrow", shown, [=] { (void)x.narrow(0, 0, -1); }},
      {"ValueError", "narrow", kUndefined, [=] { (void)none.narrow(0, 0, 1); }},
      {"IndexError", "select", shown, [=] { (void)x.select(0, 2); }},
      {"IndexError", "select", shown, [=] { (void)x.select(1, -4); }},
      {"IndexError", "select", shown, [=] { (void)x.select(2, 0); }},
      {"ValueError", "select", kUndefined, [=] { (void)none.select(0, 0); }},
      {"IndexError", "index", shown, [=] { (void)x(0, 9); }},
      {"IndexError", "index", shown, [=] { (void)x(0, 0, 0); }},
      {"IndexError", "index", shown, [=] { (void)x(ellipsis, ellipsis); }},
      {"ValueError", "slice", shown, [=] { (void)x(slice(0, 2, -1)); }},
      {"ValueError", "slice", shown, [=] { (void)x(all, slice(0, 2, 0)); }},
      {"ShapeError", "index", "maximum of 8", [=] { (void)wide(newaxis); }},
      {"ValueError", "index", kUndefined, [=] { (void)none(0); }},
      {"ValueError", "index", kUndefined, [=] { (void)none(0, all, newaxis); }},
  });
}

TEST(Errors, OfCopiesAndMoves) {
  const Tensor none, x = zeros({2, 3}), far = zeros({2, 3}, {.device = "sim:0"});
  expect_errors({
      {"DeviceError", "to", "cuda:7 cannot be used", [=] { (void)x.to("cuda:7"); }},
      {"DeviceError", "to", "sim:15 cannot be used", [=] { (void)x.to("sim:15", DType::float64); }},
      {"DeviceError", "Device", "'gpu'", [=] { (void)x.to("gpu"); }},
      {"DeviceError", "Device", "'cuda:-1'", [=] { (void)x.to("cuda:-1"); }},
      {"DeviceError", "Device", "'cpu:1'", [=] { (void)x.to("cpu:1"); }},
      {"ValueError", "to", kUndefined, [=] { (void)none.to("cpu"); }},
      {"ValueError", "to", kUndefined, [=] { (void)none.to(DType::float64); }},
      {"ValueError", "to", kUndefined, [=] { (void)x.to(none); }},
      {"ValueError", "cpu", kUndefined, [=] { (void)none.cpu(); }},
      {"ValueError", "cuda", kUndefined, [=] { (void)none.cuda(); }},
      {"DeviceError", "cuda", "cuda:9 cannot be used", [=] { (void)x.cuda(9); }},
      {"DeviceError", "cuda", "cuda:9 cannot be used", [=] { (void)far.cuda(9); }},
      {"DeviceError", "pin_memory", "float32[2, 3] on sim:0", [=] { (void)far.pin_memory(); }},
      {"ValueError", "pin_memory", kUndefined, [=] { (void)none.pin_memory(); }},
      {"ShapeError", "contiguous", "float32[2, 3] on cpu", [=] { (void)x.contiguous(MemoryFormat::channels_last); }},
      {"ValueError", "contiguous", kUndefined, [=] { (void)none.contiguous(); }},
      {"ValueError", "clone", kUndefined, [=] { (void)none.clone(); }},
  });
}

TEST(Errors, OfAutogradMembers) {
  const Tensor none, x = zeros({2, 3}), ints = arange(3);
  const Tensor leaf = zeros({2, 3}).requires_grad_(), y = leaf * 2;
  expect_errors({
      {"ValueError", "detach", kUndefined, [=] { (void)none.detach(); }},
      {"ValueError", "requires_grad", kUndefined, [=] { (void)none.requires_grad(); }},
      {"ValueError", "is_leaf", kUndefined, [=] { (void)none.is_leaf(); }},
      {"ValueError", "grad", kUndefined, [=] { (void)none.grad(); }},
      {"ValueError", "requires_grad_", kUndefined, [] { Tensor().requires_grad_(); }},
      {"DTypeError", "requires_grad_", "int64[3] on cpu", [=] { Tensor(ints).requires_grad_(); }},
      {"AutogradError", "requires_grad_", "float32[2, 3] on cpu", [=] { Tensor(y).requires_grad_(false); }},
      {"ShapeError", "set_grad", "float32[2, 3] on cpu", [=] { leaf.set_grad(zeros({3})); }},
      {"DTypeError", "set_grad", "float64[2, 3] on cpu",
       [=] {
         leaf.set_grad(zeros({2, 3}, {DType::float64}));
       }},
      {"DeviceError", "set_grad", "on sim:0",
       [=] {
         leaf.set_grad(zeros({2, 3}, {.device = "sim:0"}));
       }},
      {"ValueError", "set_grad", kUndefined, [=] { none.set_grad(x); }},
      {"AutogradError", "retain_grad", "float32[2, 3] on cpu", [=] { x.retain_grad(); }},
      {"ValueError", "retain_grad", kUndefined, [=] { none.retain_grad(); }},
      {"AutogradError", "backward", "float32[2, 3] on cpu", [=] { y.backward(); }},
      {"AutogradError", "backward", "float32[2, 3] on cpu", [=] { x.backward(x); }},
      {"ShapeError", "backward", "float32[3] on cpu", [=] { y.backward(zeros({3})); }},
      {"DeviceError", "backward", "on sim:0",
       [=] {
         y.backward(zeros({2, 3}, {.device = "sim:0"}));
       }},
      {"AutogradError", "backward", kUndefined, [=] { none.backward(); }},
  });
}

}  // namespace
}  // namespace minnow
