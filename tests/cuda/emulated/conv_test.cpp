#include <cstdlib>
#include <cudnn.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <minnow/minnow.h>
#include <minnow/ops/detail/conv.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/raw/transfer.h>

#include "support/deterministic.h"
#include "support/golden.h"
#include "support/thrown.h"

/// What the CUDA backend does if an algorithm of cuDNN, or memory for it, is not available.  Each test has its own
/// shape, because plans are cached.
namespace minnow {
namespace {

using test::error_of;
using test::has;

constexpr const char* kForward = "cudnnConvolutionForward";
constexpr const char* kFused = "cudnnConvolutionBiasActivationForward";
constexpr const char* kToInput = "cudnnConvolutionBackwardData";
constexpr const char* kToWeight = "cudnnConvolutionBackwardFilter";
constexpr cudnnStatus_t kBroken[] = {CUDNN_STATUS_INTERNAL_ERROR, CUDNN_STATUS_EXECUTION_FAILED_CUDART,
                                     CUDNN_STATUS_ALLOC_FAILED, CUDNN_STATUS_NOT_SUPPORTED};

/// A convolution of [2, 4, 6, width] with [6, 4, 3, 3] on the CPU, and its operands on the device.
struct Convolution {
  explicit Convolution(std::int64_t width) {
    manual_seed(1);
    x = randn({2, 4, 6, width});
    w = randn({6, 4, 3, 3});
    bias = randn({6});
    grad = randn({2, 6, 4, width - 2});
  }
  static Tensor there(const Tensor& t) { return raw::to_device(t, "cuda"); }
  Tensor forward(bool with_bias = false) const {
    return raw::conv2d(there(x), there(w), with_bias ? there(bias) : Tensor(), {});
  }
  Tensor to_input() const { return raw::conv2d_backward_input(there(grad), there(w), x.shape(), {}); }
  raw::WeightGradients to_weight() const {
    return raw::conv2d_backward_weight(there(grad), there(x), w.shape(), true, {});
  }
  Tensor x, w, bias, grad;
};

void expect_near(const Tensor& got, const Tensor& want, const char* what) {
  // Some algorithms are transforms, with an error of 1e-5 of the typical element.
  test::expect_close(raw::to_device(got, "cpu"), want, what, {16 * 1e-5, 16 * 1e-5});
}

/// The number of calls of a function of cuDNN while f runs.
template <class F> std::size_t calls_in(const char* function, const F& f) {
  const std::size_t before = emulator::calls_of(function);
  f();
  return emulator::calls_of(function) - before;
}

class CudaConvolution : public ::testing::Test {
 protected:
  CudaConvolution() : options_(cuda::math_options()) {
    cuda::MathOptions exact = options_;
    exact.conv_tf32 = false;
    cuda::set_math_options(exact);
  }
  ~CudaConvolution() override {
    cuda::set_math_options(options_);
    emulator::recover();
    empty_cache("cuda");
  }

 private:
  cuda::MathOptions options_;
};

TEST_F(CudaConvolution, TriesTheNextAlgorithmWhereOneFails) {
  std::int64_t width = 10;
  for (const cudnnStatus_t status : kBroken) {
    const Convolution c(width++);
    emulator::fail_next_algorithm(kForward, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, status, 2);
    const Tensor want = raw::conv2d(c.x, c.w, {}, {});
    EXPECT_EQ(calls_in(kForward, [&] { expect_near(c.forward(), want, "forward"); }), 2u) << status;
    const bool never = status == CUDNN_STATUS_NOT_SUPPORTED;  // it is left out; others are tried again
    EXPECT_EQ(calls_in(kForward, [&] { expect_near(c.forward(), want, "again"); }), never ? 1u : 2u) << status;

    emulator::fail_next_algorithm(kToInput, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, status);
    const Tensor input = raw::conv2d_backward_input(c.grad, c.w, c.x.shape(), {});
    EXPECT_EQ(calls_in(kToInput, [&] { expect_near(c.to_input(), input, "to the input"); }), 2u) << status;

    emulator::fail_next_algorithm(kToWeight, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, status);
    const auto weight = raw::conv2d_backward_weight(c.grad, c.x, c.w.shape(), true, {});
    const auto both = [&] {
      const auto got = c.to_weight();
      expect_near(got.weight, weight.weight, "to the weight");
      expect_near(got.bias, weight.bias, "to the bias");
    };
    EXPECT_EQ(calls_in(kToWeight, both), 2u) << status;
  }
}

TEST_F(CudaConvolution, AddsTheBiasSeparatelyWhereTheFusedCallFails) {
  std::int64_t width = 20;
  for (const cudnnStatus_t status : kBroken) {
    const Convolution c(width++);
    emulator::fail_next_algorithm(kFused, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, status);
    const Tensor want = raw::conv2d(c.x, c.w, c.bias, {});
    EXPECT_EQ(calls_in(kFused, [&] { expect_near(c.forward(true), want, "forward"); }), 1u);
    const bool never = status == CUDNN_STATUS_NOT_SUPPORTED;
    EXPECT_EQ(calls_in(kFused, [&] { expect_near(c.forward(true), want, "again"); }), never ? 0u : 1u);
  }
}

TEST_F(CudaConvolution, ReportsTheFailureOfTheLastAlgorithm) {
  const Convolution c(30);
  for (const int algorithm : {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                              CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING})
    emulator::fail_next_algorithm(kForward, algorithm, CUDNN_STATUS_INTERNAL_ERROR);
  emulator::fail_next_algorithm(kForward, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_EXECUTION_FAILED);
  const std::string message = error_of<BackendError>([&] { c.forward(); });
  for (const char* part : {"conv2d: cudnnConvolutionForward of cuDNN failed", "requested by the test"})
    EXPECT_TRUE(has(message, part)) << message;
  expect_near(c.forward(), raw::conv2d(c.x, c.w, {}, {}), "and the program goes on");
}

/// No algorithm of cuDNN works from now on.
void refuse_all() {
  for (const char* function : {kForward, kFused, kToInput, kToWeight})
    for (int algorithm = 0; algorithm < CUDNN_CONVOLUTION_FWD_ALGO_COUNT; ++algorithm)
      emulator::fail_next_algorithm(function, algorithm, CUDNN_STATUS_NOT_SUPPORTED, 1000);
}

TEST_F(CudaConvolution, OfNoAlgorithmIsComputedByAPlainKernel) {
  std::vector<std::string> warnings;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  refuse_all();
  manual_seed(2);
  const Conv2dParams cases[] = {
      {}, {{2, 1}, {1, 2}, {1, 1}, 1}, {{1, 2}, {2, 0}, {2, 1}, 2}, {{3, 3}, {1, 1}, {1, 2}, 4}};
  for (const Conv2dParams& p : cases)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16})
      for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + ", groups " + std::to_string(p.groups));
        const Tensor x = randn({2, 4, 9, 11}).to(dtype), w = randn({8, 4 / p.groups, 3, 2}).to(dtype),
                     bias = randn({8}).to(dtype);
        const double error = is_half(dtype) ? 5e-2 : 1e-4;
        const auto near = [&](const Tensor& got, const Tensor& want) {
          test::expect_close(raw::to_device(got, "cpu").to(DType::float64), want.to(DType::float64), "plain",
                             {error, error});
        };
        const auto there = [&](const Tensor& t) {
          return Convolution::there(t.contiguous(t.dim() == 4 ? format : MemoryFormat::contiguous));
        };
        const Tensor y = raw::conv2d(x, w, bias, p);
        near(raw::conv2d(there(x), there(w), there(bias), p), y);
        const Tensor grad = randn(y.shape()).to(dtype);
        near(raw::conv2d_backward_input(there(grad), there(w), x.shape(), p),
             raw::conv2d_backward_input(grad, w, x.shape(), p));
        const auto got = raw::conv2d_backward_weight(there(grad), there(x), w.shape(), true, p),
                   want = raw::conv2d_backward_weight(grad, x, w.shape(), true, p);
        near(got.weight, want.weight);
        near(got.bias, want.bias);
      }
  set_warning_handler(before);
  ASSERT_FALSE(warnings.empty());
  EXPECT_TRUE(has(warnings[0], "cuDNN has no algorithm")) << warnings[0];
}

TEST_F(CudaConvolution, OutOfMemoryUsesAnAlgorithmWithoutWorkspace) {
  Convolution(9).forward();  // the library's handle has memory of its own
  const Convolution c(31);
  const Tensor x = c.there(c.x), w = c.there(c.w), y = empty({2, 6, 4, 29}, {.device = Device("cuda")});
  emulator::set_device_memory(std::size_t{64} << 20);
  std::vector<Tensor> hoard;
  for (std::int64_t bytes = std::int64_t{1} << 25; bytes >= 256; bytes /= 2) try {
      for (;;) hoard.push_back(empty({bytes}, {DType::uint8, Device("cuda")}));
    } catch (const OutOfMemoryError&) {}
  dispatch("conv2d", {{"x", x}}, SourceLocation::current()).run(calls::Conv2d{x, w, View(), y});
  hoard.clear();
  emulator::set_device_memory(std::size_t{4} << 30);
  expect_near(y, raw::conv2d(c.x, c.w, {}, {}), "without a workspace");
}

TEST_F(CudaConvolution, WithoutMemoryForTimingTheLibraryChooses) {
  cuda::MathOptions timed = cuda::math_options();
  timed.cudnn_benchmark = true;
  cuda::set_math_options(timed);
  const Convolution c(32);
  emulator::set_device_memory(std::size_t{128} << 20);
  const Tensor got = c.forward();
  emulator::set_device_memory(std::size_t{4} << 30);
  expect_near(got, raw::conv2d(c.x, c.w, {}, {}), "forward");
  expect_near(c.to_input(), raw::conv2d_backward_input(c.grad, c.w, c.x.shape(), {}), "timed");
}

/// Measuring takes a workspace of 256 MiB, by which it is seen here.
TEST_F(CudaConvolution, FirstUsedInACaptureIsTimedAtTheNextUseOutside) {
  cuda::MathOptions timed = cuda::math_options();
  timed.cudnn_benchmark = true;
  cuda::set_math_options(timed);
  const Convolution c(35);
  const Tensor x = c.there(c.x), w = c.there(c.w);
  const auto measures = [&](const auto& f) {
    reset_peak_memory("cuda");
    const std::int64_t before = memory_stats("cuda").allocated;
    expect_near(f(), raw::conv2d(c.x, c.w, {}, {}), "forward");
    return memory_stats("cuda").peak - before >= std::int64_t{256} << 20;
  };
  CapturedStep step([&] { return raw::conv2d(x, w, {}, {}); }, {.device = Device("cuda"), .warm_up = 0});
  EXPECT_FALSE(measures([&] { return step(); }));
  EXPECT_TRUE(measures([&] { return c.forward(); }));
  EXPECT_FALSE(measures([&] { return c.forward(); }));
}

/// Runs in its own process, because the device fails in it or the library must not be loaded yet.
class CudaConvolutionAlone : public CudaConvolution {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void fail_while_an_algorithm_runs() {
  const Convolution c(33);
  c.forward();
  emulator::fail_next_algorithm(kForward, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                CUDNN_STATUS_EXECUTION_FAILED);
  emulator::fail_next("cudaStreamIsCapturing", cudaErrorIllegalAddress);
  std::string message;
  const std::size_t calls =
      calls_in(kForward, [&] { message = error_of<BackendError>([&] { static_cast<void>(c.forward()); }); });
  const std::string later = error_of<BackendError>([&] { static_cast<void>(c.forward()); });
  const bool good = calls == 1 && has(message, "conv2d") && has(message, "cudaErrorIllegalAddress") &&
                    has(later, "cannot be used any more");
  if (!good) std::cerr << calls << "\n" << message << "\n" << later;
  std::_Exit(good ? 0 : 1);
}

TEST_F(CudaConvolutionAlone, DeviceFaultIsNotTreatedAsAnAlgorithmFailure) {
  EXPECT_EXIT(fail_while_an_algorithm_runs(), ::testing::ExitedWithCode(0), "");
}

/// Trains a convolution and a linear layer for three steps; returns the weights and the last loss.
std::vector<double> train(bool captured) {
  const test::Deterministic scope;
  manual_seed(3);
  nn::Conv2d conv(3, 4, 3);
  nn::Linear linear(4 * 4 * 4, 5);
  conv.to("cuda");
  linear.to("cuda");
  std::vector<Tensor> parameters = conv.parameters();
  for (const Tensor& p : linear.parameters()) parameters.push_back(p);
  optim::SGD sgd(parameters, {.lr = 0.1});
  const auto step = [&](const Tensor& x, const Tensor& y) {
    const Tensor loss = nn::cross_entropy(linear(relu(conv(x)).flatten(1)), y);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    return loss;
  };
  CapturedStep recorded(step, {.device = Device("cuda"), .warm_up = 0});
  const Tensor x = randn({2, 3, 6, 6}).to("cuda"), y = randint(0, 5, {2}).to("cuda");
  Tensor loss;
  for (int i = 0; i < 3; ++i) loss = captured ? recorded(x, y) : step(x, y);
  std::vector<double> all = loss.to_vector<double>();
  for (const Tensor& p : parameters)
    for (const double value : p.to_vector<double>()) all.push_back(value);
  if (captured && recorded.replays() != 3) all.clear();
  return all;
}

[[noreturn]] void capture_first() {
  const std::vector<double> captured = train(true);
  const bool good = !captured.empty() && captured == train(false);
  if (!good) std::cerr << "the captured step gave other numbers";
  std::_Exit(good ? 0 : 1);
}

// Handles and plans of the libraries are made while the graph is captured.
TEST_F(CudaConvolutionAlone, IsCapturedWithoutWarmUp) {
  EXPECT_EXIT(capture_first(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace minnow
