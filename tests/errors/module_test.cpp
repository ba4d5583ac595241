#include <gtest/gtest.h>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/clone.h>
#include <minnow/nn/module/containers.h>
#include <minnow/nn/module/summary.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/sim/options.h>
#include "errors.h"

/// Bad inputs of containers, clone and summary, and of functions that change all tensors of a module.
namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Errors, Containers) {
  nn::ModuleList list(nn::ReLU(), nn::Linear(3, 4)), none;
  const nn::ReLU relu;
  nn::Sequential net(relu);
  expect_errors({
      Misuse{"IndexError", "ModuleList", "index 2 is out of range", [&] { list[2]; }},
      Misuse{"IndexError", "ModuleList", "indices go from -2 to 1", [&] { list[-3]; }},
      Misuse{"IndexError", "ModuleList", "it holds 0", [&] { none[0]; }},
      Misuse{"IndexError", "Sequential", "index 1 is out of range", [&] { net[1]; }},
      Misuse{"IndexError", "ModuleList", "push_back", [&] { none.at(-1); }},
      Misuse{"ValueError", "get", "module '0' is ReLU, not a Linear", [&] { list.get<nn::Linear>(0); }},
      Misuse{"ValueError", "get", "Linear(3, 4), not a Sequential", [&] { list.get<nn::Sequential>(-1); }},
      Misuse{"IndexError", "ModuleList", "index 7 is out of range", [&] { list.get<nn::ReLU>(7); }},
      Misuse{"ValueError", "child", "contains the module", [&] { list.push_back(list); }},
      Misuse{"ValueError", "child", "'0'",
             [&] {
               list.push_back({"0", nn::ReLU()});
             }},
      Misuse{"ValueError", "child", "'a.b'",
             [&] {
               list.push_back({"a.b", nn::ReLU()});
             }},
      Misuse{"ValueError", "child", "the name is empty",
             [] {
               nn::ModuleList{{"", nn::ReLU()}};
             }},
      Misuse{"ValueError", "child", "there is a child 'a'",
             [] {
               nn::ModuleList{{"a", nn::ReLU()}, {"a", nn::ReLU()}};
             }},
      Misuse{"ValueError", "forward", "ModuleList", [&] { list(zeros({2})); }},
  });
  EXPECT_EQ(list.size(), 2);
}

/// A parameter that is held as a plain Tensor.
struct Plain : nn::Module {
  Tensor w = parameter("w", ones({2}));
};
/// A buffer that is held as a plain Tensor.
struct PlainBuffer : nn::Module {
  Tensor mean = buffer("mean", ones({2}));
};
/// A child that is held by a pointer.
struct Pointer : nn::Module {
  std::shared_ptr<nn::Linear> fc = std::make_shared<nn::Linear>(child("fc", nn::Linear(2, 2)));
};
/// A module that is not registered.
struct Forgotten : nn::Module {
  nn::Linear fc{2, 2};
};

struct Derived : nn::Linear {
  Derived() : Linear(2, 2) {}
};

TEST(Errors, Clone) {
  const Plain plain, inner;
  const PlainBuffer buffered;
  const Pointer pointer;
  const Forgotten forgotten;
  const nn::Linear linear(2, 2);
  const Derived derived;
  const nn::Linear& base = derived;
  const nn::Sequential around(inner);
  expect_errors({
      Misuse{"ValueError", "clone", "parameter 'w' of Plain", [&] { (void)nn::clone(plain); }},
      Misuse{"ValueError", "clone", "buffer 'mean' of PlainBuffer", [&] { (void)nn::clone(buffered); }},
      Misuse{"ValueError", "clone", "child 'fc' is not held by value", [&] { (void)nn::clone(pointer); }},
      Misuse{"ValueError", "clone", "not registered", [&] { (void)nn::clone(forgotten); }},
      Misuse{"ValueError", "clone", "the module is a Derived", [&] { (void)nn::clone(base); }},
      Misuse{"ValueError", "clone", "parameter '0.w' of Plain", [&] { (void)nn::clone(around); }},
  });
  // Copies on this thread share again.
  const nn::Linear shared = linear;
  EXPECT_TRUE(shared.weight.is_same(linear.weight));
}

TEST(Errors, MoveAndSummary) {
  nn::Linear linear(64, 64);
  nn::Sequential empty;
  const char* const none = "out of memory on sim:0";
  empty_cache("sim:0");
  const auto used = static_cast<std::size_t>(memory_stats("sim:0").allocated);
  const sim::ScopedOptions options({.memory = used + 4096});
  expect_errors({
      Misuse{"OutOfMemoryError", "to", none, [&] { linear.to("sim:0"); }},
      Misuse{"OutOfMemoryError", "to", none, [&] { linear.to("sim:0", DType::float64); }},
      Misuse{"DTypeError", "to", "bool", [&] { linear.to(Device(), DType::bool_); }},
      Misuse{"ShapeError", "summary", "[-1, 64]",
             [&] {
               nn::summary(linear, {-1, 64});
             }},
      Misuse{"OutOfMemoryError", "summary", "[1099511627776, 1099511627776]",
             [&] {
               nn::summary(linear, {std::int64_t{1} << 40, std::int64_t{1} << 40});
             }},
      Misuse{"ShapeError", "linear", "float32[2, 3] on cpu",
             [&] {
               nn::summary(linear, {2, 3});
             }},
  });
  EXPECT_TRUE(linear.weight.device().is_cpu());  // nothing has moved
}

}  // namespace
}  // namespace minnow
