#include <cmath>
#include <gtest/gtest.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/threads.h>
#include <minnow/tensor/sim/options.h>
#include "errors.h"

/// Bad inputs of creation functions and of set_num_threads().
namespace minnow {
namespace {

using test::expect_errors;
using test::kHuge;
using test::kUndefined;
using test::Misuse;

constexpr const char* kNegative = "[2, -1]";
constexpr const char* kNoDevice = "cuda:9 cannot be used";
constexpr const char* kTooMuch = "[1099511627776, 1099511627776]";

TEST(Errors, FilledTensors) {
  const TensorOptions nowhere{.device = Device(DeviceType::cuda, 9)};
  expect_errors({
      Misuse{"ShapeError", "empty", kNegative,
             [] {
               empty({2, -1});
             }},
      Misuse{"DeviceError", "empty", kNoDevice, [=] { empty({2}, nowhere); }},
      Misuse{"OutOfMemoryError", "empty", kTooMuch,
             [] {
               empty({kHuge, kHuge});
             }},
      Misuse{"ShapeError", "zeros", kNegative,
             [] {
               zeros({2, -1});
             }},
      Misuse{"DeviceError", "zeros", kNoDevice, [=] { zeros({2}, nowhere); }},
      Misuse{"OutOfMemoryError", "zeros", kTooMuch,
             [] {
               zeros({kHuge, kHuge});
             }},
      Misuse{"ShapeError", "ones", kNegative,
             [] {
               ones({2, -1});
             }},
      Misuse{"DeviceError", "ones", kNoDevice, [=] { ones({2}, nowhere); }},
      Misuse{"OutOfMemoryError", "ones", kTooMuch,
             [] {
               ones({kHuge, kHuge});
             }},
      Misuse{"ShapeError", "full", kNegative,
             [] {
               full({2, -1}, 7);
             }},
      Misuse{"DeviceError", "full", kNoDevice, [=] { full({2}, 7, nowhere); }},
      Misuse{"OutOfMemoryError", "full", kTooMuch,
             [] {
               full({kHuge, kHuge}, true);
             }},
      Misuse{"ShapeError", "eye", "[-2, -2]", [] { eye(-2); }},
      Misuse{"ShapeError", "eye", "[2, -3]", [] { eye(2, -3); }},
      Misuse{"DeviceError", "eye", kNoDevice, [=] { eye(2, 2, nowhere); }},
      Misuse{"ShapeError", "Shape", "9 dimensions are more than the maximum of 8",
             [] {
               zeros({1, 1, 1, 1, 1, 1, 1, 1, 1});
             }},
  });
}

TEST(Errors, Ranges) {
  const TensorOptions nowhere{.device = Device(DeviceType::cuda, 9)};
  expect_errors({
      Misuse{"ValueError", "arange", "in steps of 0", [] { arange(0, 3, 0); }},
      Misuse{"ValueError", "arange", "in steps of -1", [] { arange(0, 3, -1); }},
      Misuse{"ValueError", "arange", "to inf", [] { arange(0, INFINITY); }},
      Misuse{"ValueError", "arange", "from 0 to -3", [] { arange(-3); }},
      Misuse{"DeviceError", "arange", kNoDevice, [=] { arange(3, nowhere); }},
      Misuse{"ShapeError", "linspace", "[-1]", [] { linspace(0, 1, -1); }},
      Misuse{"DeviceError", "linspace", kNoDevice, [=] { linspace(0, 1, 3, nowhere); }},
      Misuse{"OutOfMemoryError", "linspace", "[9223372036854775807]", [] { linspace(0, 1, kToEnd); }},
  });
}

TEST(Errors, RandomTensors) {
  const RandomOptions nowhere{.device = Device(DeviceType::cuda, 9)};
  expect_errors({
      Misuse{"ShapeError", "rand", kNegative,
             [] {
               rand({2, -1});
             }},
      Misuse{"DTypeError", "rand", "int64", [] { rand({2}, {.dtype = DType::int64}); }},
      Misuse{"DeviceError", "rand", kNoDevice, [=] { rand({2}, nowhere); }},
      Misuse{"ShapeError", "randn", kNegative,
             [] {
               randn({2, -1});
             }},
      Misuse{"DTypeError", "randn", "bool", [] { randn({2}, {.dtype = DType::bool_}); }},
      Misuse{"DeviceError", "randn", kNoDevice, [=] { randn({2}, nowhere); }},
      Misuse{"ShapeError", "randint", kNegative,
             [] {
               randint(0, 3, {2, -1});
             }},
      Misuse{"ValueError", "randint", "[3, 3)", [] { randint(3, 3, {2}); }},
      Misuse{"DeviceError", "randint", kNoDevice, [=] { randint(0, 3, {2}, nowhere); }},
      Misuse{"ValueError", "randint", "uint8 holds numbers of [0, 256), not all of [-1, 256)",
             [] { randint(-1, 256, {2}, uint8); }},
      Misuse{"ValueError", "randint", "int8", [] { randint(0, 129, {2}, int8); }},
      Misuse{"ValueError", "randint", "int32", [] { randint(-(std::int64_t{1} << 31) - 1, 0, {2}, int32); }},
      Misuse{"ValueError", "randint", "bool", [] { randint(0, 3, {2}, bool_); }},
      Misuse{"ValueError", "randperm", "uint8 does not hold all numbers below 257",
             [] { randperm(257, {.dtype = uint8}); }},
      Misuse{"ValueError", "randperm", "bfloat16", [] { randperm(257, {.dtype = bfloat16}); }},
      Misuse{"ValueError", "randperm", "-1", [] { randperm(-1); }},
      Misuse{"DeviceError", "randperm", kNoDevice, [=] { randperm(3, nowhere); }},
      Misuse{"OutOfMemoryError", "randperm", "9223372036854775807 numbers", [] { randperm(kToEnd); }},
  });
}

TEST(Errors, LikeVariants) {
  const Tensor none;
  expect_errors({
      Misuse{"ValueError", "empty_like", kUndefined, [=] { empty_like(none); }},
      Misuse{"ValueError", "zeros_like", kUndefined, [=] { zeros_like(none); }},
      Misuse{"ValueError", "ones_like", kUndefined, [=] { ones_like(none, DType::int64); }},
      Misuse{"ValueError", "full_like", kUndefined, [=] { full_like(none, 3); }},
      Misuse{"ValueError", "rand_like", kUndefined, [=] { rand_like(none); }},
      Misuse{"DTypeError", "rand_like", "int64", [] { rand_like(arange(3)); }},
      Misuse{"ValueError", "randn_like", kUndefined, [=] { randn_like(none); }},
      Misuse{"DTypeError", "randn_like", "int64", [] { randn_like(arange(3)); }},
  });
}

TEST(Errors, TensorsFromValues) {
  const TensorOptions nowhere{.device = Device(DeviceType::cuda, 9)};
  const std::vector<float> values{1, 2};
  float memory[4] = {};
  float* const p = memory;
  expect_errors({
      Misuse{"ShapeError", "tensor", "[2, 2]",
             [] {
               tensor({{1, 2}, {3}});
             }},
      Misuse{"ShapeError", "tensor", "[2]",
             [] {
               tensor({1, {2, 3}});
             }},
      Misuse{"DeviceError", "tensor", kNoDevice,
             [=] {
               tensor({1, 2}, nowhere);
             }},
      Misuse{"DeviceError", "tensor", kNoDevice, [=] { tensor(values, nowhere); }},
      Misuse{"ValueError", "from_blob", "[2, 3]",
             [] {
               from_blob(static_cast<float*>(nullptr), {2, 3});
             }},
      Misuse{"DeviceError", "from_blob", "sim:0",
             [] {
               static float value = 0;
               from_blob(&value, {1}, BlobOptions{.device = "sim:0"});
             }},
      Misuse{"ShapeError", "from_blob", kNegative,
             [=] {
               from_blob(p, {2, -1});
             }},
      Misuse{"OutOfMemoryError", "from_blob", kTooMuch,
             [=] {
               from_blob(p, {kHuge, kHuge});
             }},
      Misuse{"ShapeError", "tensor", "nested deeper than 8", [] { tensor({{{{{{{{{1}}}}}}}}}); }},
  });
}

TEST(Errors, DeviceTexts) {
  const std::vector<float> values{1, 2};
  constexpr const char* kText = "'gpu'";
  expect_errors({
      Misuse{"DeviceError", "Device", kText, [] { (void)empty({2}, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)zeros({2}, std::string("gpu")); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)ones({2}, std::string_view("gpu")); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)full({2}, 7, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)arange(0, 3, 1, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)arange(0, 3, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)arange(3, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)linspace(0, 1, 2, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)eye(2, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)rand({2}, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)randn({2}, "gpu"); }},
      Misuse{"DeviceError", "Device", kText, [] { (void)randint(0, 3, {2}, "gpu"); }},
      Misuse{"DeviceError", "Device", kText,
             [] {
               (void)tensor({1, 2}, "gpu");
             }},
      Misuse{"DeviceError", "Device", kText, [=] { (void)tensor(values, "gpu"); }},
  });
}

TEST(Errors, Memory) {
  const auto used = static_cast<std::size_t>(memory_stats("sim:0").allocated);
  empty_cache("sim:0");
  const sim::ScopedOptions options({.memory = used + 4096});
  const Tensor x = zeros({1 << 14});
  expect_errors({
      Misuse{"OutOfMemoryError", "zeros", "requested 65536 bytes", [] { zeros({1 << 14}, {.device = "sim:0"}); }},
      Misuse{"OutOfMemoryError", "to", "out of memory on sim:0", [=] { (void)x.to("sim:0"); }},
      Misuse{"OutOfMemoryError", "rand", "out of memory on sim:0", [] { rand({1 << 14}, {.device = "sim:0"}); }},
  });
}

TEST(Errors, Threads) {
  expect_errors({
      Misuse{"ValueError", "set_num_threads", "got 0", [] { set_num_threads(0); }},
      Misuse{"ValueError", "set_num_threads", "got -1", [] { set_num_threads(-1); }},
      Misuse{"ValueError", "set_num_threads", "pass 1 or more", [] { set_num_threads(INT32_MIN); }},
  });
}

}  // namespace
}  // namespace minnow
