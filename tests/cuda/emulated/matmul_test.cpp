#include <cstdlib>
#include <cublasLt.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <minnow/minnow.h>

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

/// Whether relu keeps NaN and all else in every dtype, with `launches` kernels of our own beside the product.
bool relu_keeps_nan(std::size_t launches) {
  bool good = true;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
    for (int run = 0; run < 2; ++run) {  // the first one may have to find out
      const Layer layer(16);
      layer.x.data<float>()[6] = NAN;
      const Tensor x = there(layer.x).to(dtype), w = there(layer.w).to(dtype), bias = there(layer.bias).to(dtype);
      Tensor y;
      const std::size_t seen = calls_in("cudaLaunchKernel", [&] { y = linear(x, w, bias, Activation::relu); });
      const std::vector<double> got = y.to_vector<double>(), want = relu(layer.want()).to_vector<double>();
      good = good && seen == launches;
      for (std::size_t i = 0; i < got.size(); ++i)
        good = good && (std::isnan(want[i]) ? std::isnan(got[i]) : std::abs(got[i] - want[i]) < 0.1);
      if (!good) std::cerr << name_of(dtype) << ": " << seen << " launches, " << y;
    }
  return good;
}

TEST_F(CudaMatmul, ReluOfTheLibraryIsUsedIfItKeepsNan) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(relu_keeps_nan(1) ? 0 : 1), ::testing::ExitedWithCode(0), "");
  const auto keeping = [] {
    setenv("MINNOW_EMULATOR_RELU_KEEPS_NAN", "1", 1);
    std::_Exit(relu_keeps_nan(0) ? 0 : 1);
  };
  EXPECT_EXIT(keeping(), ::testing::ExitedWithCode(0), "");
}

// While a graph is captured, nothing can be found out: the activation is our own kernel.
TEST_F(CudaMatmul, ReluInACaptureIsNotFusedUntilTheAnswerIsKnown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto captured = [] {
    setenv("MINNOW_EMULATOR_RELU_KEEPS_NAN", "1", 1);
    const Layer layer(16);
    layer.x.data<float>()[6] = NAN;
    const Tensor w = there(layer.w), bias = there(layer.bias);
    CapturedStep step([&](const Tensor& x) { return linear(x, w, bias, Activation::relu); },
                      {.device = Device("cuda"), .warm_up = 0});
    bool good = true;
    for (int i = 0; i < 2; ++i) {
      const std::vector<double> got = step(layer.x).to_vector<double>(), want = relu(layer.want()).to_vector<double>();
      for (std::size_t k = 0; k < got.size(); ++k)
        good = good && (std::isnan(want[k]) ? std::isnan(got[k]) : std::abs(got[k] - want[k]) < 1e-4);
    }
    good = good && step.captures() == 1;
    const Tensor x = there(layer.x);
    good = good && calls_in("cudaLaunchKernel", [&] { static_cast<void>(linear(x, w, bias, Activation::relu)); }) == 0;
    std::_Exit(good ? 0 : 1);
  };
  EXPECT_EXIT(captured(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace minnow
