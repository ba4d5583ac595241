#include <gtest/gtest.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/sim/options.h>
#include "errors.h"

/// Bad inputs of accessors of tensors, shapes, devices and generators.
namespace minnow {
namespace {

using test::expect_errors;
using test::kHuge;
using test::kUndefined;
using test::Misuse;

TEST(Errors, Accessors) {
  const Tensor none;
  expect_errors({
      Misuse{"ValueError", "shape", kUndefined, [=] { (void)none.shape(); }},
      Misuse{"ValueError", "strides", kUndefined, [=] { (void)none.strides(); }},
      Misuse{"ValueError", "dim", kUndefined, [=] { (void)none.dim(); }},
      Misuse{"ValueError", "numel", kUndefined, [=] { (void)none.numel(); }},
      Misuse{"ValueError", "dtype", kUndefined, [=] { (void)none.dtype(); }},
      Misuse{"ValueError", "device", kUndefined, [=] { (void)none.device(); }},
      Misuse{"ValueError", "itemsize", kUndefined, [=] { (void)none.itemsize(); }},
      Misuse{"ValueError", "nbytes", kUndefined, [=] { (void)none.nbytes(); }},
      Misuse{"ValueError", "storage_offset", kUndefined, [=] { (void)none.storage_offset(); }},
      Misuse{"ValueError", "storage", kUndefined, [=] { (void)none.storage(); }},
      Misuse{"ValueError", "is_contiguous", kUndefined, [=] { (void)none.is_contiguous(); }},
      Misuse{"ValueError", "is_floating_point", kUndefined, [=] { (void)none.is_floating_point(); }},
      Misuse{"ValueError", "is_pinned", kUndefined, [=] { (void)none.is_pinned(); }},
      Misuse{"ValueError", "is_ready", kUndefined, [=] { (void)none.is_ready(); }},
      Misuse{"ValueError", "slot", kUndefined, [=] { (void)none.slot(); }},
      Misuse{"ValueError", "set_slot", kUndefined, [=] { none.set_slot({}); }},
      Misuse{"ValueError", "Tensor", kUndefined, [=] { (void)none.impl(); }},
  });
  // Moved from, and a gradient that was never computed.
  Tensor moved = zeros({2});
  const Tensor taken = std::move(moved);
  expect_errors({
      Misuse{"ValueError", "shape", "moved from", [=] { (void)moved.shape(); }},
      Misuse{"ValueError", "numel", "never computed", [=] { (void)taken.grad().numel(); }},
  });
}

TEST(Errors, Shapes) {
  const Shape full{1, 1, 1, 1, 1, 1, 1, 1};
  expect_errors({
      Misuse{"ShapeError", "Shape", "9 dimensions", [=] { Shape(std::vector<std::int64_t>(9, 1)); }},
      Misuse{"ShapeError", "Shape", "9 dimensions", [=] { Shape::filled(9, 1); }},
      Misuse{"ShapeError", "Shape", "got -1", [=] { Shape::filled(-1, 1); }},
      Misuse{"ShapeError", "Shape", "9 dimensions", [=] { Shape(full).push_back(1); }},
      Misuse{"ShapeError", "Shape", "9 dimensions", [=] { Shape(full).insert(0, 1); }},
      Misuse{"IndexError", "Shape::insert", "index 3",
             [] {
               Shape({1, 2}).insert(3, 1);
             }},
      Misuse{"IndexError", "Shape::insert", "[1, 2]",
             [] {
               Shape({1, 2}).insert(-1, 1);
             }},
      Misuse{"IndexError", "Shape::erase", "index 2",
             [] {
               Shape({1, 2}).erase(2);
             }},
      Misuse{"IndexError", "Shape::erase", "index -1",
             [] {
               Shape({1, 2}).erase(-1);
             }},
      Misuse{"IndexError", "Shape::erase", "[]", [] { Shape().erase(0); }},
  });
  const Tensor one = zeros({1});
  expect_errors({Misuse{"ShapeError", "expand", "float32[1] on cpu", [=] { (void)one.expand({kHuge, kHuge}); }}});
}

TEST(Errors, MissingDevices) {
  const Device far(DeviceType::cuda, 9), second(DeviceType::cpu, 1), wild(DeviceType::sim, 15);
  const char* const no_cuda = "cuda:9 cannot be used";
  const char* const no_sim = "sim:15 cannot be used";
  const char* const no_cpu = "this machine has 1 cpu device";
  expect_errors({
      Misuse{"DeviceError", "DeviceGuard", no_cuda, [=] { DeviceGuard guard(far); }},
      Misuse{"DeviceError", "DeviceGuard", no_sim, [=] { DeviceGuard guard(wild); }},
      Misuse{"DeviceError", "DeviceGuard", no_cpu, [=] { DeviceGuard guard(second); }},
      Misuse{"DeviceError", "Stream", no_cuda, [=] { Stream stream(far); }},
      Misuse{"DeviceError", "Stream", no_sim, [=] { Stream stream(wild); }},
      Misuse{"DeviceError", "Stream", no_cpu, [=] { Stream stream(second); }},
      Misuse{"DeviceError", "current_stream", no_cuda, [=] { current_stream(far); }},
      Misuse{"DeviceError", "current_stream", no_sim, [=] { current_stream(wild); }},
      Misuse{"DeviceError", "current_stream", no_cpu, [=] { current_stream(second); }},
      Misuse{"DeviceError", "synchronize", no_cuda, [=] { synchronize(far); }},
      Misuse{"DeviceError", "synchronize", no_sim, [=] { synchronize(wild); }},
      Misuse{"DeviceError", "synchronize", no_cpu, [=] { synchronize(second); }},
      Misuse{"DeviceError", "memory_stats", no_cuda, [=] { memory_stats(far); }},
      Misuse{"DeviceError", "memory_stats", no_sim, [=] { memory_stats(wild); }},
      Misuse{"DeviceError", "memory_stats", no_cpu, [=] { memory_stats(second); }},
      Misuse{"DeviceError", "empty_cache", no_cuda, [=] { empty_cache(far); }},
      Misuse{"DeviceError", "empty_cache", no_sim, [=] { empty_cache(wild); }},
      Misuse{"DeviceError", "empty_cache", no_cpu, [=] { empty_cache(second); }},
      Misuse{"DeviceError", "max_memory", no_cuda, [=] { (void)max_memory(far); }},
      Misuse{"DeviceError", "reset_peak_memory", no_cuda, [=] { reset_peak_memory(far); }},
      Misuse{"DeviceError", "reset_peak_memory", no_sim, [=] { reset_peak_memory(wild); }},
      Misuse{"DeviceError", "reset_peak_memory", no_cpu, [=] { reset_peak_memory(second); }},
      Misuse{"DeviceError", "empty", no_cpu, [=] { empty({2}, {.device = second}); }},
      Misuse{"DeviceError", "cuda", "cuda:-1 cannot be used", [=] { (void)zeros({2}).cuda(65536); }},
      Misuse{"DeviceError", "to", no_cpu, [=] { (void)zeros({2}).to(second); }},
  });
  // A refused guard changes nothing, and a stream that was moved from is still usable.
  EXPECT_EQ(current_device(DeviceType::cuda).index(), 0);
  Stream stream{Device()};
  const Stream moved = std::move(stream);
  stream.synchronize();
  EXPECT_TRUE(stream.record().is_ready() && moved.device() == stream.device());
}

TEST(Errors, DeviceNames) {
  for (const char* const name : {"", "gpu", "CPU", "cpu:1", "cuda:", "cuda:-1", "cuda:01", "cuda:1x", "cuda:99999",
                                 "sim:+1", " cpu", "sim:0:1", "cuda: 0"})
    expect_errors({
        Misuse{"DeviceError", "Device", name, [=] { Device device(name); }},
        Misuse{"DeviceError", "Device", "cpu, cuda, cuda:N, sim or sim:N", [=] { (void)zeros({1}).to(name); }},
    });
}

TEST(Errors, Generators) {
  RandomGenerator generator(1);
  expect_errors({
      Misuse{"ValueError", "RandomGenerator::reserve", "got -1", [&] { generator.reserve(-1); }},
      Misuse{"ValueError", "RandomGenerator::reserve", "pass 0 or more", [&] { default_generator().reserve(-kToEnd); }},
  });
  EXPECT_EQ(generator.state().offset, 0U);
}

TEST(Errors, SimulatedDevices) {
  const sim::Options before = sim::options();
  EXPECT_THROW(sim::set_options({.devices = -1}), ValueError);
  EXPECT_THROW(sim::set_options({.devices = sim::kMaxDevices + 1}), ValueError);
  EXPECT_THROW(sim::set_options({.bandwidth = -1}), ValueError);
  for (const char* const bad : {"", "x", "-1", "1.5", "17", "9999999999999999999"})
    EXPECT_THROW(sim::parse_options(bad, nullptr, nullptr), ValueError) << bad;
  EXPECT_EQ(sim::options().devices, before.devices);
}

}  // namespace
}  // namespace minnow
