#include <cstdlib>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <minnow/minnow.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/raw/transfer.h>

#include "support/host_tensor.h"
#include "support/thrown.h"

/// Faults that kernels find and devices that fail, as a user sees them.
namespace minnow {
namespace {

using test::error_of;
using test::has;

bool contains_all(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    if (!has(text, part)) {
      std::cerr << "no '" << part << "' in\n" << text << "\n";
      return false;
    }
  return true;
}

Tensor ones_there(std::int64_t n) { return ones({n}, {.device = "cuda"}); }
/// Submits work that fails on the device; the call itself succeeds.  Returns its line.
unsigned give_a_fault() {
  const Tensor bad = tensor({9}, {.device = "cuda"});
  index_select(ones_there(3), 0, bad);
  return __LINE__ - 1;
}

TEST(CudaFaults, AreReportedByTheNextWait) {
  const auto told_by = [](auto wait) {
    const unsigned line = give_a_fault();
    const std::string text = error_of<IndexError>(wait);
    EXPECT_TRUE(contains_all(text, {"index_select: an index is out of range",
                                    "(faults_test.cpp:" + std::to_string(line) + ")", "found on cuda:0 while it ran"}));
    EXPECT_NO_THROW(synchronize("cuda"));
    EXPECT_EQ(sum(ones_there(5)).item(), 5);
  };
  const Tensor x = ones_there(2);
  told_by([] { synchronize("cuda"); });
  told_by([] { current_stream("cuda").synchronize(); });
  told_by([] { current_stream("cuda").record().synchronize(); });
  told_by([&] { x.to_vector<float>(); });
  told_by([&] { sum(x).item(); });
  told_by([&] { static_cast<void>(x.cpu()); });
  told_by([&] { test::values(raw::to_device(x, "cpu", true)); });
  told_by([] {  // the first wait of its worker
    data::DataLoader loader(data::SyntheticDigits(64), {.batch_size = 8, .num_workers = 1, .device = "cuda"});
    for (int epoch = 0; epoch < 2; ++epoch)
      for (auto& [images, labels] : loader) static_cast<void>(images.shape());
  });
}

TEST(CudaFaults, OfACapturedStepAreReportedAfterEachReplay) {
  const Tensor x = arange(4, {.dtype = DType::float32, .device = "cuda"});
  unsigned line = 0;
  CapturedStep step(
      [&](const Tensor& index) {
        line = __LINE__ + 1;
        return index_select(x, 0, index);
      },
      {.device = "cuda", .warm_up = 1});
  step(tensor({0, 1}));
  EXPECT_EQ(step(tensor({2, 3})).to_vector<float>(), (std::vector<float>{2, 3}));
  for (int i = 0; i < 2; ++i) {
    step(tensor({0, 4}));
    EXPECT_TRUE(contains_all(error_of<IndexError>([] { synchronize("cuda"); }),
                             {"index_select: an index", "(faults_test.cpp:" + std::to_string(line) + ")"}));
    EXPECT_EQ(step(tensor({3, 0})).to_vector<float>(), (std::vector<float>{3, 0}));
  }
  EXPECT_EQ(step.captures(), 1);
}

/// Runs a function in a new process, which ends normally.
class CudaCrash : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { unsetenv("MINNOW_CUDA_DEBUG"); }
};

/// Objects that may exist when the device fails; destroyed after main.
struct Survivors {
  Tensor x = ones_there(1000), pinned = raw::pin_memory(ones({1000})), host;
  Stream side{Device("cuda")};
  Event event = side.record();
  std::optional<CapturedStep> step;
  std::optional<nn::Linear> net;
  std::optional<optim::Adam> adam;
  std::optional<data::DataLoader<data::SyntheticDigits>> loader;
};

Survivors& survivors() {
  static Survivors all;
  return all;
}

void use_everything() {
  Survivors& s = survivors();
  s.step.emplace([](const Tensor& x) { return x * 2; }, CapturedStepOptions{.device = "cuda", .warm_up = 0});
  (*s.step)(s.x);
  s.net.emplace(4, 2);
  s.net->to("cuda");
  s.adam.emplace(s.net->parameters());
  sum((*s.net)(ones({3, 4}, {.device = "cuda"}))).backward();
  s.adam->step();
  s.loader.emplace(data::SyntheticDigits(64),
                   data::DataLoaderOptions{.batch_size = 8, .num_workers = 1, .device = Device("cuda")});
  for (auto& [images, labels] : *s.loader) static_cast<void>(images.shape());
  s.host = s.x.to("cpu", {.non_blocking = true});
}

/// Everything refuses the device and quotes the first cause, and nothing throws that must not.
bool is_refused(std::initializer_list<std::string> cause) {
  Survivors& s = survivors();
  bool good = true;
  const auto refused = [&](auto use) { good = contains_all(error_of<BackendError>(use), cause) && good; };
  refused([] { synchronize("cuda"); });
  refused([&] { s.x + 1; });
  refused([&] { s.x.to_vector<float>(); });
  refused([&] { static_cast<void>(s.x.cpu()); });
  refused([] { ones_there(3); });
  refused([&] { s.side.record(); });
  refused([&] { (*s.step)(s.x); });
  refused([&] { s.adam->step(); });
  refused([&] {
    for (auto& [images, labels] : *s.loader) static_cast<void>(images.shape());
  });
  s.x = Tensor();
  good = good && sum(ones({5})).item() == 5 && ones({5}, {.device = "sim"}).to_vector<float>().size() == 5;
  return good;
}

/// A launch that reports the failure of an operation before it.
[[noreturn]] void fail_at_a_launch() {
  use_everything();
  emulator::fail_next("cudaLaunchKernel", cudaErrorIllegalAddress, 1'000'000);
  const unsigned line = __LINE__ + 1;
  const std::string first = error_of<BackendError>([] { survivors().x * 3; });
  const bool good = contains_all(first, {"mul: ", "cudaErrorIllegalAddress", "on cuda:0",
                                         "latest first: mul (faults_test.cpp:", "MINNOW_CUDA_DEBUG=1",
                                         "(faults_test.cpp:" + std::to_string(line) + ")"}) &&
                    is_refused({"mul: ", "cudaErrorIllegalAddress"});
  std::exit(good ? 0 : 1);
}

TEST_F(CudaCrash, AtALaunchMarksTheDevice) { EXPECT_EXIT(fail_at_a_launch(), ::testing::ExitedWithCode(0), ""); }

/// As on a real GPU, no call of CUDA succeeds any more.
[[noreturn]] void fail_while_it_runs() {
  use_everything();
  emulator::submit(static_cast<cudaStream_t>(cuda::context(0).current()), [] { return std::string("boom"); });
  const std::string first = error_of<BackendError>([] { survivors().x.to_vector<float>(); });
  const bool good = contains_all(first, {"to_vector: ", "cudaErrorLaunchFailure", "latest first:"}) &&
                    is_refused({"to_vector: ", "cudaErrorLaunchFailure"});
  std::exit(good ? 0 : 1);
}

TEST_F(CudaCrash, WhileAKernelRunsMarksTheDevice) {
  EXPECT_EXIT(fail_while_it_runs(), ::testing::ExitedWithCode(0), "");
}

/// In the debug mode the operation that failed is known.
[[noreturn]] void fail_in_the_debug_mode() {
  const Tensor x = ones_there(10);
  const Tensor y = x + 1;
  emulator::fail_next("cudaStreamSynchronize", cudaErrorIllegalAddress);
  const unsigned line = __LINE__ + 1;
  const std::string first = error_of<BackendError>([&] { exp(y); });
  const bool good =
      contains_all(first, {"exp: ", "cudaErrorIllegalAddress", "(faults_test.cpp:" + std::to_string(line) + ")"}) &&
      !has(first, "latest first") && !has(first, "MINNOW_CUDA_DEBUG");
  std::exit(good ? 0 : 1);
}

TEST_F(CudaCrash, DebugModeNamesTheOperation) {
  setenv("MINNOW_CUDA_DEBUG", "1", 1);
  EXPECT_EXIT(fail_in_the_debug_mode(), ::testing::ExitedWithCode(0), "");
}

/// Fill patterns and guard bytes, turned on by the environment variable.
[[noreturn]] void overrun_in_the_debug_mode() {
  const auto stream = static_cast<cudaStream_t>(cuda::context(0).current());
  Tensor x = ones_there(10);
  const Tensor y = x * 2;
  bool good = cuda::debug() && y.to_vector<float>()[9] == 2;
  for (const float value : empty({100}, {.device = "cuda"}).to_vector<float>()) good = good && value != value;

  auto* last = static_cast<float*>(y.raw_data()) + 9;
  emulator::launch(stream, 1, 1, [last] { last[1] = 3; });  // one element out of bounds
  const unsigned line = __LINE__ + 1;
  const std::string found = error_of<BackendError>([&] { y + x; });
  good = good &&
         contains_all(found, {"add: it or an operation before it wrote out of bounds", "a block of 40 bytes on cuda:0",
                              "at byte 40", "made by    mul", "(faults_test.cpp:" + std::to_string(line) + ")"});

  const void* block = x.raw_data();
  x = Tensor();
  std::vector<unsigned char> freed(40);
  good = good && cudaMemcpyAsync(freed.data(), block, 40, cudaMemcpyDeviceToHost, stream) == cudaSuccess &&
         cudaStreamSynchronize(stream) == cudaSuccess && freed == std::vector<unsigned char>(40, 0xFF);
  std::exit(good ? 0 : 1);
}

TEST_F(CudaCrash, DebugModeNamesTheOperationThatWroteOutOfBounds) {
  setenv("MINNOW_CUDA_DEBUG", "1", 1);
  EXPECT_EXIT(overrun_in_the_debug_mode(), ::testing::ExitedWithCode(0), "");
}

/// In the debug mode each tensor is memory of its own, behind which the emulated device has nothing.
[[noreturn]] void read_past_a_tensor() {
  setenv("MINNOW_EMULATOR_GUARD", "1", 1);
  const Tensor x = ones_there(10), other = ones_there(10);
  const auto* from = static_cast<const volatile float*>(x.raw_data());
  const auto stream = static_cast<cudaStream_t>(cuda::context(0).current());
  emulator::launch(stream, 1, 1, [from] { static_cast<void>(from[9]); });
  synchronize("cuda");
  emulator::launch(stream, 1, 1, [from] { static_cast<void>(from[1000]); });
  const std::string found = error_of<BackendError>([&] { synchronize("cuda"); });
  std::_Exit(has(emulator::last_fault(), "illegal memory access") ? 0 : 1);
}

TEST_F(CudaCrash, AReadPastATensorIsAFault) {
  setenv("MINNOW_CUDA_DEBUG", "1", 1);
  EXPECT_EXIT(read_past_a_tensor(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace minnow
