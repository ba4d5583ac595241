#include <array>
#include <cudnn.h>
#include <emulator/launch.h>
#include <functional>
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "../../../examples/models/mnist.h"

/// The number of launches of operations and of training steps: kernels, fills, copies, and calls of libraries that
/// compute.  More than a row allows would mean that operands are copied, or that what could be one kernel is several.
namespace minnow {
namespace {

std::size_t launches() {
  static constexpr std::array kLaunches{"cudaLaunchKernel",
                                        "cudaMemsetAsync",
                                        "cudaMemcpyAsync",
                                        "cublasLtMatmul",
                                        "cudnnConvolutionForward",
                                        "cudnnConvolutionBiasActivationForward",
                                        "cudnnConvolutionBackwardData",
                                        "cudnnConvolutionBackwardFilter",
                                        "cudnnConvolutionBackwardBias"};
  std::size_t all = 0;
  for (const char* function : kLaunches) all += emulator::calls_of(function);
  return all;
}

/// The launches of f(), which has run once before: plans are made and memory is cached then.
template <class F> std::size_t launches_of(const F& f) {
  f();
  const std::size_t before = launches();
  f();
  return launches() - before;
}

const Device kCuda("cuda");

TensorOptions on_cuda(DType dtype) { return {dtype, kCuda}; }

TEST(CudaLaunches, ElementsOfEveryDTypeConvertInTheKernel) {
  for (const DType dtype :
       {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64, DType::int32, DType::uint8}) {
    const TensorOptions options = on_cuda(dtype);
    const Tensor a = full({4, 8}, 5.0, options), b = full({4, 8}, 3.0, options), row = full({8}, 2.0, options);
    const std::string name(name_of(dtype));
    EXPECT_EQ(launches_of([&] { return a * b; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return a + row; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return a - 1; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return a < b; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return -a; }), 1u) << name;
    EXPECT_EQ(launches_of([&] { return where(a < b, a, b); }), 2u) << name;
    EXPECT_EQ((a * b).to_vector<double>(), std::vector<double>(32, 15)) << name;
    EXPECT_EQ((a - row).to_vector<double>(), std::vector<double>(32, 3)) << name;
  }
}

// The numbers that decide, and the product with the mask, which the kernel reads as it is.
TEST(CudaLaunches, DropoutReadsItsMask) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const Tensor x = full({4, 8}, 5.0, on_cuda(dtype)).requires_grad_(), g = full({4, 8}, 3.0, on_cuda(dtype));
    const Tensor y = dropout(x);
    y.backward(g);
    const std::vector<double> values = y.to_vector<double>(), slopes = x.grad().to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(slopes[i] * 5, values[i] * 3) << name_of(dtype);
  }
}

/// A function of a tensor, and the most launches of it and of its gradient.
struct Row {
  const char* name;
  Shape shape;
  std::function<Tensor(const Tensor&)> f;
  std::size_t forward, backward;
  MemoryFormat format = MemoryFormat::contiguous;
  std::vector<Tensor> parameters{};
};

void expect_within(const Row& row, DType dtype) {
  SCOPED_TRACE(std::string(row.name) + " " + std::string(name_of(dtype)));
  const Tensor x = full(row.shape, 0.5, on_cuda(dtype)).contiguous(row.format).requires_grad_();
  const Tensor g = ones_like(row.f(x).detach());
  row.f(x).backward(g);  // makes the plans
  x.set_grad(Tensor());
  for (const Tensor& p : row.parameters) p.set_grad(Tensor());
  std::size_t before = launches();
  const Tensor y = row.f(x);
  EXPECT_LE(launches() - before, row.forward) << "forward";
  before = launches();
  y.backward(g);
  EXPECT_LE(launches() - before, row.backward) << "backward";
}

const std::vector<DType> kFloats{DType::float32, DType::float64, DType::float16, DType::bfloat16};

void expect_within(const std::vector<Row>& rows, const std::vector<DType>& dtypes = kFloats) {
  for (const Row& row : rows)
    for (const DType dtype : dtypes) expect_within(row, dtype);
}

// The gradient of a transposed weight is in the weight's order, and has that of the bias in the same product.
TEST(CudaLaunches, TransposedWeights) {
  const Tensor w = full({6, 5}, 0.5, on_cuda(DType::float32)).requires_grad_(),
               bias = zeros({5}, on_cuda(DType::float32)).requires_grad_();
  expect_within({{"conv1d of gpt",
                  {4, 6},
                  [=](const Tensor& x) { return linear(x, w.t(), bias); },
                  1,
                  2,
                  MemoryFormat::contiguous,
                  {w, bias}}},
                {DType::float32});
  EXPECT_TRUE(w.grad().is_contiguous());
  EXPECT_EQ(w.grad().to_vector<double>(), std::vector<double>(30, 4 * 0.5));
  EXPECT_EQ(bias.grad().to_vector<double>(), std::vector<double>(5, 4));
}

TEST(CudaLaunches, Dropout) {
  expect_within({{"dropout", {64, 100}, [](const Tensor& x) { return dropout(x); }, 2, 1}});
}

TEST(CudaLaunches, CrossEntropy) {
  using nn::Reduction;
  const Tensor few = zeros({64}, {DType::int64, kCuda}), many = zeros({3000}, {DType::int64, kCuda});
  const auto loss = [](const Tensor& t, Reduction r) {
    return [=](const Tensor& x) { return nn::cross_entropy(x, t, {.reduction = r}); };
  };
  expect_within({{"mean", {64, 10}, loss(few, Reduction::mean), 1, 1},
                 {"sum", {64, 10}, loss(few, Reduction::sum), 1, 1},
                 {"none", {64, 10}, loss(few, Reduction::none), 1, 1},
                 {"mean of many rows", {3000, 10}, loss(many, Reduction::mean), 1, 1},
                 {"mean of long rows", {64, 3000}, loss(few, Reduction::mean), 1, 1}});
}

TEST(CudaLaunches, Reductions) {
  expect_within({{"softmax", {64, 1000}, [](const Tensor& x) { return softmax(x, 1); }, 1, 1},
                 {"sum", {64, 3000}, [](const Tensor& x) { return sum(x); }, 1, 1},
                 {"sum of columns", {3000, 64}, [](const Tensor& x) { return sum(x, {0}); }, 1, 1},
                 {"norm", {64, 3000}, [](const Tensor& x) { return norm(x); }, 1, 4}});
}

// More weights than are kept for backward.
TEST(CudaLaunches, Attention) {
  const auto own = [](bool causal) {
    return [=](const Tensor& x) { return scaled_dot_product_attention(x, x, x, {}, {.is_causal = causal}); };
  };
  expect_within({{"all", {2, 4, 512, 8}, own(false), 4, 17}, {"causal", {2, 4, 512, 8}, own(true), 9, 22}});
}

// Of halves one kernel there and two back, whatever the length.
TEST(CudaLaunches, AttentionOnTensorCores) {
  for (const bool causal : {false, true}) {
    const auto own = [=](const Tensor& x) { return scaled_dot_product_attention(x, x, x, {}, {.is_causal = causal}); };
    expect_within({{"halves", {1, 2, 80, 64}, own, 1, 4}}, {DType::float16, DType::bfloat16});  // the three are added
  }
}

/// A convolution with a bias, and an activation.
Row convolution(const char* name, DType dtype, Activation activation, std::size_t forward, std::size_t backward,
                MemoryFormat format = MemoryFormat::contiguous, const Shape& shape = {2, 4, 40, 70}) {
  const Tensor w = full({6, 4, 3, 3}, 0.5, on_cuda(dtype)).requires_grad_();
  const Tensor bias = full({6}, 0.5, on_cuda(dtype)).requires_grad_();
  const auto f = [=](const Tensor& x) { return conv2d(x, w, bias, {.activation = activation}); };
  return {name, shape, f, forward, backward, format, {w, bias}};
}

// Forward: the convolution, the bias and the activation.  Backward: those of the activation, x, weight and bias.
TEST(CudaLaunches, Convolutions) {
  for (const DType dtype : {DType::float32, DType::float64})
    expect_within({convolution("bias", dtype, Activation::none, 2, 3),
                   convolution("bias and relu", dtype, Activation::relu, 2, 4)},
                  {dtype});
  // Channels-last: also copies of the weight in both directions, and of its gradient; of halves one of each.
  const MemoryFormat last = MemoryFormat::channels_last;
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
    const std::size_t copies = dtype == DType::float32 ? 2 : 1;
    expect_within({convolution("bias", dtype, Activation::none, 3, 3 + copies, last),
                   convolution("bias and relu", dtype, Activation::relu, 3, 4 + copies, last)},
                  {dtype});
  }
}

// The bias of a convolution that cuDNN does not fuse.
TEST(CudaLaunches, BiasThatCudnnRefuses) {
  std::int64_t width = 17;  // of its own plan
  for (const Activation activation : {Activation::none, Activation::relu}) {
    emulator::fail_next_algorithm("cudnnConvolutionBiasActivationForward",
                                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_NOT_SUPPORTED, 100);
    expect_within(
        {convolution("refused", DType::float32, activation, 2, 4, MemoryFormat::contiguous, {2, 4, 9, ++width})},
        {DType::float32});
    emulator::recover();
  }
}

/// Of a layer over a sequence [T, N, I], forward and backward, for each time step; those that do not belong to one are
/// taken out by the difference of two lengths.
template <class Layer> void expect_steps(const char* name, std::size_t forward, std::size_t backward) {
  SCOPED_TRACE(name);
  Layer layer(8, 16);
  layer.to(kCuda);
  const auto counts = [&](std::int64_t length) {
    const Tensor x = ones({length, 4, 8}, on_cuda(DType::float32));
    for (int warm = 0; warm < 2; ++warm) sum(std::get<0>(layer(x))).backward();
    std::size_t before = launches();
    const Tensor y = std::get<0>(layer(x));
    const std::size_t there = launches() - before;
    const Tensor loss = sum(y);
    before = launches();
    loss.backward();
    return std::pair(there, launches() - before);
  };
  constexpr std::size_t kMore = 10;
  const auto few = counts(5), many = counts(5 + kMore);
  EXPECT_LE(many.first - few.first, forward * kMore) << "forward";
  EXPECT_LE(many.second - few.second, backward * kMore) << "backward";
}

TEST(CudaLaunches, RecurrentLayers) {
  expect_steps<nn::LSTM>("lstm", 2, 2);
  expect_steps<nn::GRU>("gru", 2, 2);
  expect_steps<nn::RNN>("rnn", 2, 2);
}

// The squares of all gradients, their sum, and the product; of more than a table holds two more.
TEST(CudaLaunches, ClipGradNorm) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{148}, std::size_t{300}}) {
    std::vector<Tensor> params;
    for (std::size_t i = 0; i < count; ++i) {
      params.push_back(zeros({3}, on_cuda(DType::float32)).requires_grad_());
      params.back().set_grad(full({3}, 2.0, on_cuda(DType::float32)));
    }
    EXPECT_EQ(launches_of([&] { return optim::clip_grad_norm_(params, 1); }), count <= 148 ? 3u : 5u) << count;
  }
}

TEST(CudaLaunches, Norms) {
  const Tensor weight = ones({16}, on_cuda(DType::float32)).requires_grad_(),
               bias = zeros({16}, on_cuda(DType::float32)).requires_grad_();
  const auto batch = [=](const Tensor& x) { return batch_norm(x, {}, {}, weight, bias, {.training = true}); };
  const auto layer = [=](const Tensor& x) { return layer_norm(x, {16}, weight, bias); };
  expect_within({{"batch_norm", {8, 16, 10, 12}, batch, 2, 2, MemoryFormat::contiguous, {weight, bias}},
                 {"batch_norm", {8, 16, 10, 12}, batch, 2, 2, MemoryFormat::channels_last, {weight, bias}},
                 {"layer_norm", {64, 16}, layer, 1, 3, MemoryFormat::contiguous, {weight, bias}}},
                {DType::float32});
}

/// A block of GPT-2 in bfloat16.
Tensor gpt_block(const Tensor& x, const std::vector<Tensor>& p) {
  const Tensor qkv = linear(layer_norm(x, {128}, p[0], p[1]), p[2], p[3]).reshape({2, 32, 3, 2, 64});
  const auto part = [&](int i) { return qkv.select(2, i).transpose(1, 2); };
  const Tensor y = scaled_dot_product_attention(part(0), part(1), part(2), {}, {.is_causal = true});
  const Tensor a = x + linear(y.transpose(1, 2).reshape({2, 32, 128}), p[4], p[5]);
  return a + linear(linear(layer_norm(a, {128}, p[0], p[1]), p[6], p[7], Activation::gelu_tanh), p[8], p[9]);
}

TEST(CudaLaunches, GptBlock) {
  std::vector<Tensor> p;
  for (const Shape& shape : {Shape{128}, Shape{128}, Shape{384, 128}, Shape{384}, Shape{128, 128}, Shape{128},
                             Shape{512, 128}, Shape{512}, Shape{128, 512}, Shape{128}})
    p.push_back(full(shape, 0.01, on_cuda(DType::bfloat16)).requires_grad_());
  expect_within(
      {{"block", {2, 32, 128}, [=](const Tensor& x) { return gpt_block(x, p); }, 10, 25, MemoryFormat::contiguous, p}},
      {DType::bfloat16});
}

/// Two convolutions with norms and activations, as in ResNet.
TEST(CudaLaunches, ResnetBlock) {
  std::vector<Tensor> p;
  for (const Shape& shape : {Shape{16, 16, 3, 3}, Shape{16}, Shape{16}, Shape{16, 16, 3, 3}, Shape{16}, Shape{16}})
    p.push_back(full(shape, 0.01, on_cuda(DType::float32)).requires_grad_());
  const auto block = [=](const Tensor& x) {
    const auto norm = [](const Tensor& t, const Tensor& w, const Tensor& b) {
      return batch_norm(t, {}, {}, w, b, {.training = true});
    };
    const Tensor y = relu(norm(conv2d(x, p[0], {}, {.padding = 1}), p[1], p[2]));
    return relu(norm(conv2d(y, p[3], {}, {.padding = 1}), p[4], p[5]) + x);
  };
  expect_within({{"block", {2, 16, 8, 8}, block, 9, 11, MemoryFormat::contiguous, p}}, {DType::float32});
}

/// Launches of a step with Adam: eager, when it is captured, and when it is replayed.
struct StepLaunches {
  std::size_t eager, captured, replayed;
};
template <class Net> StepLaunches step_launches(std::int64_t batch) {
  Net net;
  net.to(kCuda);
  optim::Adam adam(net.parameters());
  const auto step = [&](const Tensor& images, const Tensor& labels) {
    const Tensor loss = nn::cross_entropy(net(images), labels);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss.detach();
  };
  const Tensor x = full({batch, 1, 28, 28}, 0.5, on_cuda(DType::float32)), y = zeros({batch}, {DType::int64, kCuda});
  StepLaunches seen{};
  seen.eager = launches_of([&] { step(x, y); });
  CapturedStep captured(step, {.device = kCuda, .warm_up = 0});
  std::size_t before = launches();
  captured(x, y);
  seen.captured = launches() - before;
  before = launches();
  captured(x, y);
  seen.replayed = launches() - before;
  return seen;
}

/// A replay is the launch of a graph, after copies of the two inputs and of the numbers that change.
void expect_same_when_captured(const StepLaunches& n) {
  constexpr std::size_t kCopies = 3;
  EXPECT_EQ(n.captured, n.eager + kCopies);
  EXPECT_EQ(n.replayed, kCopies);
}

TEST(CudaLaunches, OfAnMlpStep) {
  const StepLaunches n = step_launches<models::Mlp>(64);
  EXPECT_LE(n.eager, 11u);
  expect_same_when_captured(n);
}

TEST(CudaLaunches, OfACnnStep) {
  const StepLaunches n = step_launches<models::Cnn>(2);
  EXPECT_LE(n.eager, 31u);  // two less where cuDNN adds the biases
  expect_same_when_captured(n);
}

}  // namespace
}  // namespace minnow
