#include <cstdlib>
#include <cublasLt.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <minnow/minnow.h>

#include "support/golden.h"
#include "support/thrown.h"

/// What the CUDA backend does if cuBLASLt refuses a product.  Each test has its own shapes, because plans are
/// cached.
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
    EXPECT_EQ(calls_in(kMatmul, [&] { expect_near(plain.got(), plain.want(), "again"); }), 0u) << status;
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

}  // namespace
}  // namespace minnow
