#include <cstdlib>
#include <cublasLt.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <minnow/minnow.h>
#include <minnow/tensor/backend/dispatch.h>

#include "support/golden.h"
#include "support/thrown.h"

/// What the CUDA backend does if cuBLASLt refuses a product, or computes an activation in another way.  Each test has
/// its own shapes, because plans are cached.
namespace minnow {
namespace {

constexpr const char* kMatmul = "cublasLtMatmul";
constexpr const char* kHeuristic = "cublasLtMatmulAlgoGetHeuristic";
constexpr int kBest = 0, kSecond = 1;

Tensor there(const Tensor& t) { return t.to("cuda"); }

void expect_near(const Tensor& got, const Tensor& want, const char* what) {
  test::expect_close(got.to("cpu"), want, what, {1e-5, 1e-5});
}

template <class F> std::size_t calls_in(const char* function, const F& f) {
  const std::size_t before = emulator::calls_of(function);
  f();
  return emulator::calls_of(function) - before;
}

/// A layer with `out` features on the CPU, and the same on the device.
struct Layer {
  explicit Layer(std::int64_t out) {
    manual_seed(1);
    x = randn({5, 6});
    w = randn({out, 6});
    bias = randn({out});
  }
  Tensor want() const { return linear(x, w, bias); }
  Tensor got() const { return linear(there(x), there(w), there(bias)); }
  Tensor x, w, bias;
};

class CudaMatmul : public ::testing::Test {
 protected:
  ~CudaMatmul() override { emulator::recover(); }
};

TEST_F(CudaMatmul, TriesTheNextAlgorithmThenWithoutTheBiasThenThePlainKernel) {
  std::int64_t out = 20;
  for (const cublasStatus_t status :
       {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH,
        CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR}) {
    const Layer next(out++);
    emulator::fail_next_algorithm(kMatmul, kBest, status);
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(next.got(), next.want(), "the next one"); }), 2u) << status;
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(next.got(), next.want(), "again"); }), 1u) << "it was left out";

    const Layer unfused(out++);
    emulator::fail_next_algorithm(kMatmul, kBest, status);
    emulator::fail_next_algorithm(kMatmul, kSecond, status);
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(unfused.got(), unfused.want(), "unfused"); }), 3u) << status;
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(unfused.got(), unfused.want(), "again"); }), 1u) << status;

    const Layer plain(out++);
    emulator::fail_next_algorithm(kMatmul, kBest, status, 2);
    emulator::fail_next_algorithm(kMatmul, kSecond, status, 2);
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(plain.got(), plain.want(), "plain"); }), 4u) << status;
    // Others than those that never work are tried again.
    const bool never = status != CUBLAS_STATUS_ALLOC_FAILED && status != CUBLAS_STATUS_EXECUTION_FAILED &&
                       status != CUBLAS_STATUS_INTERNAL_ERROR;
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(plain.got(), plain.want(), "again"); }), never ? 0u : 1u) << status;
  }
}

TEST_F(CudaMatmul, GradientsToo) {
  const Layer cpu(60);
  const Tensor x = there(cpu.x), w = there(cpu.w).requires_grad_(), bias = there(cpu.bias).requires_grad_();
  const Tensor w_cpu = cpu.w.clone().requires_grad_(), bias_cpu = cpu.bias.clone().requires_grad_();
  const Tensor y = linear(x, w, bias), y_cpu = linear(cpu.x, w_cpu, bias_cpu);
  emulator::fail_next_algorithm(kMatmul, kBest, CUBLAS_STATUS_NOT_SUPPORTED, 9);
  emulator::fail_next_algorithm(kMatmul, kSecond, CUBLAS_STATUS_NOT_SUPPORTED, 9);
  sum(y * y).backward();
  sum(y_cpu * y_cpu).backward();
  expect_near(w.grad(), w_cpu.grad(), "weight");
  expect_near(bias.grad(), bias_cpu.grad(), "bias");
}

TEST_F(CudaMatmul, HeuristicThatRefusesMeansThereIsNoPlan) {
  std::int64_t out = 70;
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE}) {
    const Layer layer(out++);
    emulator::fail_next_algorithm(kHeuristic, 0, status, 2);
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(layer.got(), layer.want(), "plain"); }), 0u) << status;
  }
}

// A broken device is no reason to try others.
TEST_F(CudaMatmul, DeviceFaultIsNotTreatedAsARefusal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [] {
    const Layer layer(80);
    const Tensor x = there(layer.x), w = there(layer.w), bias = there(layer.bias);
    emulator::fail_next_algorithm(kMatmul, kBest, CUBLAS_STATUS_EXECUTION_FAILED);
    emulator::fail_next("cudaStreamIsCapturing", cudaErrorIllegalAddress);
    std::string message;
    const std::size_t calls = calls_in(
        kMatmul, [&] { message = test::error_of<BackendError>([&] { static_cast<void>(linear(x, w, bias)); }); });
    const bool good = calls == 1 && test::has(message, "linear") && test::has(message, "cudaErrorIllegalAddress");
    if (!good) std::cerr << calls << "\n" << message;
    std::_Exit(good ? 0 : 1);
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(0), "");
}

// The activation is a kernel of our own.
TEST_F(CudaMatmul, ReluKeepsNan) {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    const Layer layer(16);
    layer.x.data<float>()[6] = NAN;
    const Tensor x = there(layer.x).to(dtype), w = there(layer.w).to(dtype), bias = there(layer.bias).to(dtype);
    Tensor y;
    EXPECT_EQ(calls_in("cudaLaunchKernel", [&] { y = linear(x, w, bias, Activation::relu); }), 1u) << name_of(dtype);
    const std::vector<double> got = y.to_vector<double>(), want = relu(layer.want()).to_vector<double>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << name_of(dtype);
      else EXPECT_NEAR(got[i], want[i], 0.1) << name_of(dtype);
    }
  }
}

// The best algorithm needs a workspace, for which there is no memory.
TEST_F(CudaMatmul, OutOfMemoryUsesAnAlgorithmWithoutWorkspace) {
  const Layer layer(90);
  const Tensor x = there(layer.x), w = there(layer.w), y = empty({5, 90}, {.device = Device("cuda")});
  emulator::set_device_memory(std::size_t{64} << 20);
  std::vector<Tensor> hoard;
  for (std::int64_t bytes = std::int64_t{1} << 25; bytes >= 256; bytes /= 2) try {
      for (;;) hoard.push_back(empty({bytes}, {DType::uint8, Device("cuda")}));
    } catch (const OutOfMemoryError&) {}
  dispatch("matmul", {{"a", x}}, SourceLocation::current())
      .run(calls::Matmul{x.unsqueeze(0), w.t().unsqueeze(0), View(), y.unsqueeze(0), {}});
  hoard.clear();
  emulator::set_device_memory(std::size_t{4} << 30);
  empty_cache("cuda");
  expect_near(y, linear(layer.x, layer.w), "without a workspace");
}

// What is refused during a capture is tried again outside.
TEST_F(CudaMatmul, NothingIsStruckOutInACapture) {
  const Layer layer(91);
  const Tensor w = there(layer.w), bias = there(layer.bias);
  CapturedStep step([&](const Tensor& x) { return linear(x, w, bias); }, {.device = Device("cuda"), .warm_up = 0});
  emulator::fail_next_algorithm(kMatmul, kBest, CUBLAS_STATUS_NOT_SUPPORTED);
  expect_near(step(layer.x), layer.want(), "captured");
  emulator::fail_next_algorithm(kMatmul, kBest, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(layer.got(), layer.want(), "outside"); }), 2u);
}

TEST_F(CudaMatmul, LargeProductOfThePlainKernelWarnsOnce) {
  std::vector<std::string> warnings;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  const auto multiply = [](std::int64_t size) {
    emulator::fail_next_algorithm(kHeuristic, 0, CUBLAS_STATUS_NOT_SUPPORTED);
    const Tensor a = ones({size, 256}, {.device = Device("cuda")});
    return matmul(a, a.t());
  };
  multiply(8);
  EXPECT_EQ(warnings.size(), 0u);
  for (int run = 0; run < 2; ++run) multiply(257);
  set_warning_handler(before);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(test::has(warnings[0], "cuBLASLt has no algorithm")) << warnings[0];
  EXPECT_TRUE(test::has(warnings[0], "matmul_test.cpp")) << warnings[0];
}

}  // namespace
}  // namespace minnow
