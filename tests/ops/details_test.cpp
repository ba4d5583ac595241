#include <gtest/gtest.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/ops/convolution/pool.h>
#include <minnow/ops/convolution/resample.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/cross_entropy.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/products/einsum.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/random/dropout.h>
#include <minnow/ops/reductions/distance.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"
#include "thrown.h"

namespace minnow {
namespace {

using Inputs = std::vector<Tensor>;

Tensor random_input(const Shape& shape, std::uint64_t seed, Device device) {
  RandomGenerator generator(seed);
  return (rand(shape, {DType::float64, {}, &generator}) + 0.3).to(device);
}

Tensor indices(const Nested& values, const Tensor& beside) { return tensor(values, {DType::int64, beside.device()}); }

class OpDetails : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, OpDetails, test::all_devices(), test::device_test_name);

TEST_P(OpDetails, TransposedWeightOfLinear) {
  const Tensor x = random_input({5, 3}, 1, device()), w = random_input({3, 4}, 2, device()).requires_grad_(),
               b = random_input({4}, 3, device()).requires_grad_();
  const TensorFunction f = [&](const Inputs& in) { return linear(x, in[0].t(), in[1]); };
  EXPECT_TRUE(gradcheck(f, {w, b}));
  sum(linear(x, w.t(), b)).backward();
  EXPECT_TRUE(w.grad().is_contiguous() || device().is_cuda());  // so that an optimizer reads it as it is
}

TEST_P(OpDetails, ChannelsLastImages) {
  const Tensor x = random_input({2, 3, 4, 4}, 1, device()).contiguous(MemoryFormat::channels_last);
  const Tensor w = random_input({4, 3, 3, 3}, 2, device()).contiguous(MemoryFormat::channels_last);
  const TensorFunction f = [](const Inputs& in) {
    return avg_pool2d(max_pool2d(tanh(conv2d(in[0], in[1], {}, {.padding = 1})), 2), 2);
  };
  EXPECT_TRUE(gradcheck(f, {x.detach().requires_grad_(), w.detach().requires_grad_()}));
}

TEST_P(OpDetails, GradientOfProdWithZeros) {
  for (const Nested& values : {Nested{{0.0, 2.0, 3.0}}, Nested{{0.0, 0.0, 3.0}}}) {
    Tensor x = tensor(values, {DType::float64, device()}).requires_grad_();
    EXPECT_TRUE(gradcheck([](const Inputs& in) { return prod(in[0], {1}); }, {x}));
  }
}

TEST_P(OpDetails, DropoutUsesOneMaskBothWays) {
  manual_seed(5);
  Tensor x = ones({40, 50}, {DType::float64, device()}).requires_grad_();
  const Tensor y = dropout(x, {.p = 0.25});
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<double>(), y.to_vector<double>());
  EXPECT_NEAR(mean(y).item(), 1, 0.05);
  EXPECT_NEAR(mean((y == 0).to(DType::float64)).item(), 0.25, 0.04);
  manual_seed(5);
  EXPECT_EQ(dropout(ones({40, 50}), {.p = 0.25}).to_vector<double>(), y.to(float32).to_vector<double>());
  EXPECT_TRUE(dropout(x, {.training = false}).is_same(x));
}

TEST_P(OpDetails, DropoutOfAnyStridesHasTheSameMask) {
  manual_seed(6);
  const Tensor plain = dropout(ones({2, 3, 4, 5}, {{}, device()}));
  manual_seed(6);
  const Tensor last = dropout(ones({2, 3, 4, 5}, {{}, device()}).contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(plain.to_vector<float>(), last.to_vector<float>());
}

TEST_P(OpDetails, GradientOfABiasAlone) {
  const Tensor b = zeros({2}, {{}, device()}).requires_grad_();
  sum(conv2d(ones({3, 1, 4, 4}, {{}, device()}), ones({2, 1, 3, 3}, {{}, device()}), b)).backward();
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{12, 12}));
  b.set_grad(Tensor());
  sum(linear(ones({5, 3}, {{}, device()}), ones({2, 3}, {{}, device()}), b)).backward();
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{5, 5}));
}

TEST_P(OpDetails, NormOfZerosHasTheGradientZero) {
  for (const double p : {1.0, 2.0, 3.0}) {
    const Tensor x = zeros({4}, {{}, device()}).requires_grad_();
    norm(x, p).backward();
    EXPECT_EQ(x.grad().to_vector<double>(), std::vector<double>(4)) << p;
  }
}

TEST_P(OpDetails, DistancesOfManyRows) {
  for (const std::int64_t batch : {1, 2}) {
    const Tensor a = random_input({2, 300, 5}, 1, device()).requires_grad_(),
                 b = random_input({batch, 200, 5}, 2, device()).requires_grad_();
    for (const double p : {0.0, 1.0, 3.0, kInfinity}) {
      std::vector<Tensor> results;
      for (const bool whole : {true, false}) {
        const Tensor y = whole ? norm(sub(a.unsqueeze(-2), b.unsqueeze(-3)), p, -1) : cdist(a, b, p);
        a.set_grad(Tensor()), b.set_grad(Tensor());
        sum(mul(y, y)).backward();
        for (const Tensor& t : {y.detach(), a.grad(), b.grad()}) results.push_back(t);
      }
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(allclose(results[i], results[i + 3], 1e-10, 1e-10)) << p;
    }
  }
}

/// More than a cache holds, which is written in one pass, as are parts of the same.
TEST_P(OpDetails, ConstantPaddingOfLargeTensors) {
  const std::vector<std::int64_t> padding{3, -2, 0, 4, 1, 2};
  const Tensor whole = random_input({70, 60, 90}, 1, device());
  for (const Tensor& x :
       std::vector<Tensor>{whole, whole.transpose(0, 2), whole(all, all, slice({}, {}, 2)), whole.to(float32)}) {
    const Tensor y = pad(x, padding, PadMode::constant, 7);
    Tensor expected = full({x.size(0) + 3, x.size(1) + 4, x.size(2) + 1}, 7, {x.dtype(), x.device()});
    expected(slice(1, x.size(0) + 1), slice(0, x.size(1)), slice(3)).copy_(x(all, all, slice(0, -2)));
    EXPECT_TRUE(equal(y, expected)) << x.size(0) << " x " << x.size(2);
  }
}

/// Of channels-last images with few channels, and of a last dimension of 1: as the same images in rows.
TEST_P(OpDetails, PaddingOfShortRows) {
  const Tensor images = random_input({2, 3, 200, 240}, 1, device()), line = random_input({40, 4000, 1}, 2, device());
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    const Tensor last = images.contiguous(MemoryFormat::channels_last);
    EXPECT_TRUE(equal(pad(last, {1, 2, 3, 0}, mode), pad(images, {1, 2, 3, 0}, mode)));
    EXPECT_TRUE(equal(pad(line, {0, 0, 3, 2}, mode).squeeze(2), pad(line.squeeze(2), {3, 2}, mode)));
  }
}

/// Too long for a table of the elements' sources.
TEST_P(OpDetails, PaddingOfLongVectors) {
  const Tensor x = arange(0, 300'000, 1, {DType::float64, device()});
  const Tensor y = pad(x, {2, 1}, PadMode::reflect), z = pad(x, {1, 1}, PadMode::constant, -1);
  EXPECT_EQ(y(slice(0, 3)).to_vector<int>(), (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(y(slice(-2)).to_vector<int>(), (std::vector<int>{299'999, 299'998}));
  EXPECT_EQ(z(slice(0, 2)).to_vector<int>(), (std::vector<int>{-1, 0}));
  EXPECT_EQ(z(slice(-2)).to_vector<int>(), (std::vector<int>{299'999, -1}));
}

TEST_P(OpDetails, ManyDimensionsOfKronAndDiagEmbed) {
  const Tensor a = random_input({2, 1, 3, 2}, 1, device()), b = random_input({1, 2, 2, 3}, 2, device());
  EXPECT_EQ(kron(a, b).shape(), (Shape{2, 2, 6, 6}));
  EXPECT_TRUE(equal(kron(a, b)[0][0](slice(2, 4), slice(3)), a[0][0][1][1] * b[0][0]));
  EXPECT_TRUE(equal(diag_embed(a).diagonal(0, -2, -1), a));
}

TEST_P(OpDetails, PixelShuffleOfNoChannels) {
  const auto shuffled = [&](const Shape& shape, std::int64_t r) {
    return pixel_shuffle(zeros(shape, device()), r).shape();
  };
  EXPECT_EQ(shuffled({1, 0, 2, 3}, 2), (Shape{1, 0, 4, 6}));
  EXPECT_EQ(shuffled({0, 4, 2, 3}, 2), (Shape{0, 1, 4, 6}));
  EXPECT_THROW(shuffled({1, 4, 2, 3}, 3), ShapeError);
  EXPECT_THROW(shuffled({1, 4, 2, 3}, std::int64_t{1} << 32), ShapeError);
}

TEST_P(OpDetails, EinsumSumsIntegersInInt64) {
  const Tensor x = full({2, 300}, 2, {uint8, device()}), ones_of = ones({3}, {uint8, device()});
  const Tensor all = einsum("ij->", {x}), kept = einsum("ij->ji", {x}), product = einsum("ij,k->k", {x, ones_of});
  EXPECT_EQ(all.dtype(), int64);
  EXPECT_EQ(all.item(), 1200);
  EXPECT_EQ(kept.dtype(), uint8);
  EXPECT_EQ(einsum("ii->", {ones({3, 3}, {bool_, device()})}).item(), 3);
  EXPECT_EQ(product.to_vector<double>(), (std::vector<double>{1200, 1200, 1200}));
  EXPECT_EQ(einsum("ij,ij->i", {x, x}).dtype(), uint8);
}

TEST_P(OpDetails, ZeroSizesAndScalars) {
  const Tensor none = zeros({0, 3}, {{}, device()});
  EXPECT_EQ(sum(none).item(), 0);
  EXPECT_EQ(matmul(zeros({2, 0}, {{}, device()}), none).to_vector<double>(), std::vector<double>(6));
  EXPECT_EQ(softmax(none, 1).shape(), (Shape{0, 3}));
  EXPECT_EQ(cat({none, ones({1, 3}, {{}, device()})}).shape(), (Shape{1, 3}));
  EXPECT_EQ(conv2d(zeros({0, 1, 4, 4}, {{}, device()}), ones({2, 1, 3, 3}, {{}, device()})).shape(),
            (Shape{0, 2, 2, 2}));
  EXPECT_EQ(max_pool2d(zeros({0, 1, 4, 4}, {{}, device()}), 2).shape(), (Shape{0, 1, 2, 2}));
  const Tensor scalar = tensor(3.0, {{}, device()});
  EXPECT_EQ(softmax(scalar, 0).item(), 1);
  EXPECT_EQ(max(scalar, 0).indices.item<std::int64_t>(), 0);
  EXPECT_EQ(sum(scalar, {0}).item(), 3);
}

TEST_P(OpDetails, BadInputsAreTypedErrors) {
  const Tensor x = ones({2, 3}, {{}, device()}), image = ones({1, 2, 4, 4}, {{}, device()});
  EXPECT_THROW(sum(x, {2}), IndexError);
  EXPECT_THROW(sum(x, {0, 0}), ValueError);
  EXPECT_THROW(mean(x.to(DType::int64)), DTypeError);
  EXPECT_THROW(amax(zeros({0}, {{}, device()})), ShapeError);
  EXPECT_THROW(matmul(x, x), ShapeError);
  EXPECT_THROW(matmul(x, x.t().to(DType::float64)), DTypeError);
  EXPECT_THROW(matmul(x, tensor(1.0, {{}, device()})), ShapeError);
  EXPECT_THROW(linear(x, ones({4, 5}, {{}, device()})), ShapeError);
  EXPECT_THROW(linear(x, ones({4, 3}, {{}, device()}), ones({3}, {{}, device()})), ShapeError);
  EXPECT_THROW(conv2d(x, image), ShapeError);
  EXPECT_THROW(conv2d(image, ones({1, 3, 3, 3}, {{}, device()})), ShapeError);
  EXPECT_THROW(conv2d(image, ones({1, 2, 9, 9}, {{}, device()})), ShapeError);
  EXPECT_THROW(conv2d(image, ones({1, 2, 3, 3}, {{}, device()}), {}, {.stride = 0}), ValueError);
  EXPECT_THROW(conv2d(image, ones({1, 2, 3, 3}, {DType::float64, device()})), DTypeError);
  EXPECT_THROW(max_pool2d(x, 2), ShapeError);
  EXPECT_THROW(max_pool2d(image, 0), ValueError);
  EXPECT_THROW(max_pool2d(image, 2, {.padding = 2}), ValueError);
  EXPECT_THROW(avg_pool2d(image, 7), ShapeError);
  EXPECT_THROW(gather(x, 0, x), DTypeError);
  EXPECT_THROW(finish([&] { gather(x, 0, indices({{9}}, x)); }), IndexError);
  EXPECT_THROW(gather(x, 0, indices({0}, x)), ShapeError);
  EXPECT_THROW(finish([&] { index_select(x, 0, indices({-1}, x)); }), IndexError);
  EXPECT_THROW(index_select(x, 0, indices({{0}}, x)), ShapeError);
  EXPECT_THROW(index_select(x, 5, indices({0}, x)), IndexError);
  EXPECT_THROW(one_hot(x), DTypeError);
  EXPECT_THROW(finish([&] { one_hot(indices({3}, x), 2); }), IndexError);
  EXPECT_THROW(one_hot(indices({3}, x), 0), ValueError);
  EXPECT_THROW(cat({}), ValueError);
  EXPECT_THROW(cat({x, ones({2}, {{}, device()})}), ShapeError);
  EXPECT_THROW(stack({x, x.t()}), ShapeError);
  test::expect_contains(test::error_of<ValueError>([&] { (void)stack({x, Tensor()}); }), "tensors[1] is undefined");
  EXPECT_THROW(softmax(x, 2), IndexError);
  EXPECT_THROW(softmax(x.to(DType::int64), 0), DTypeError);
  EXPECT_THROW(finish([&] { cross_entropy_rows(x, indices({0, 3}, x)); }), IndexError);
  EXPECT_THROW(cross_entropy_rows(x, indices({0}, x)), ShapeError);
  EXPECT_THROW(cross_entropy_rows(x, x(all, 0)), DTypeError);
  EXPECT_THROW(dropout(x, {.p = 1.5}), ValueError);
  EXPECT_THROW(dropout(x.to(DType::int64)), DTypeError);
}

}  // namespace
}  // namespace minnow
