#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include "devices.h"
#include "numbers.h"
#include "support/on_device.h"

namespace minnow {
namespace {

using test::random;
using test::randomise;
using test::strided_scratch;

class MatmulOnDevice : public test::DeviceTest {
 protected:
  /// Runs the product on the device and compares it with float64 (integers: int64) on the host.
  static void check(const MatmulParams& p, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out) {
    randomise(out, 9);
    const DType wide = is_floating_point(out.dtype()) ? DType::float64 : DType::int64;
    const auto widened = [&](const Tensor& t) { return t.defined() ? test::packed(t, wide) : t; };
    const Tensor want = test::scratch(out.shape(), wide);
    cpu::convert(out, want);
    cpu_backend()->run(calls::Matmul{widened(a), widened(b), widened(bias), want, p});
    const Tensor target = test::on_device(out, device());
    backend_of(device()).run(calls::Matmul{test::on_device(a, device()), test::on_device(b, device()),
                                           test::on_device(bias, device()), target, p});
    const Tensor got = test::on_host(target);
    double bound = 0;
    if (is_floating_point(out.dtype())) {
      const std::int64_t k = a.shape()[2];
      bound = test::sum_bound(k, is_half(out.dtype()) ? DType::float32 : out.dtype());
      if (is_half(out.dtype())) bound += test::epsilon(out.dtype()) * (2 + std::sqrt(static_cast<double>(k)) * 2);
      bound *= std::max({1.0, std::fabs(p.alpha), std::fabs(p.beta)});
    }
    EXPECT_LE(test::largest_difference(got, want), bound)
        << name_of(out.dtype()) << " a " << a.shape().str() << a.strides().str() << " b " << b.shape().str()
        << b.strides().str() << " out " << out.strides().str() << (bias.defined() ? " bias" : "");
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, MatmulOnDevice, test::all_devices(), test::device_test_name);

const DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

TEST_P(MatmulOnDevice, ShapesOrdersAndBias) {
  const std::int64_t cases[][4] = {{1, 1, 1, 1}, {1, 5, 7, 3},  {1, 64, 128, 10}, {1, 33, 70, 17}, {3, 17, 9, 21},
                                   {2, 1, 9, 4}, {1, 20, 1, 9}, {1, 9, 20, 1},    {0, 4, 4, 4},    {1, 0, 4, 4},
                                   {1, 4, 4, 0}, {2, 4, 0, 5},  {4, 1, 1, 6}};
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64})
    for (const auto& [batch, m, k, n] : cases)
      for (int form = 0; form < 8; ++form) {
        const std::vector<int> plain = {0, 1, 2}, flipped = {0, 2, 1};
        const Tensor a = strided_scratch({batch, m, k}, dtype, form & 1 ? flipped : plain, form & 4 ? 1 : 0);
        const Tensor b = strided_scratch({batch, k, n}, dtype, form & 2 ? flipped : plain, form & 4 ? 3 : 0);
        randomise(a, 1);
        randomise(b, 2);
        check({}, a, b, form & 4 ? random({n}, dtype, 3) : Tensor(), test::scratch({batch, m, n}, dtype));
      }
}

TEST_P(MatmulOnDevice, SmallIntegersAndBool) {
  for (const DType dtype : {DType::int32, DType::uint8}) {
    const Tensor a = random({2, 5, 20}, DType::int64, 1), b = random({2, 20, 7}, DType::int64, 2);
    for (const Tensor& t : {a, b})
      for (std::int64_t i = 0; i < t.numel(); ++i) t.data<std::int64_t>()[i] &= 3;
    check({}, test::packed(a, dtype), test::packed(b, dtype), {}, test::scratch({2, 5, 7}, dtype));
  }
}

TEST_P(MatmulOnDevice, AlphaAndBeta) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::int64})
    for (const MatmulParams p : {MatmulParams{2, 0}, MatmulParams{1, 1}, MatmulParams{-1, 3}})
      for (const bool with_bias : {false, true})
        for (const std::int64_t k : {0, 5})
          check(p, random({2, 6, k}, dtype, 1), random({2, k, 7}, dtype, 2),
                with_bias ? random({7}, dtype, 3) : Tensor(), test::scratch({2, 6, 7}, dtype));
}

TEST_P(MatmulOnDevice, ActivationsComeLast) {
  for (const DType dtype : kFloats)
    for (const Activation activation : {Activation::relu, Activation::gelu_tanh})
      for (const bool with_bias : {false, true})
        for (const std::int64_t k : {0, 5}) {
          MatmulParams p;
          p.activation = activation;
          check(p, random({2, 6, k}, dtype, 1), random({2, k, 7}, dtype, 2),
                with_bias ? random({7}, dtype, 3) : Tensor(), test::scratch({2, 6, 7}, dtype));
        }
}

/// grad_w = grad^T x and grad_bias of `rows` samples, with `outs` features from `ins`.
void expect_gradients(Device device, DType dtype, std::int64_t rows, std::int64_t outs, std::int64_t ins, int form) {
  const std::vector<int> order = form == 1 ? std::vector{1, 0} : std::vector{0, 1};
  const Tensor grad = strided_scratch({rows, outs}, dtype, order, 1), x = strided_scratch({rows, ins}, dtype, order, 1);
  randomise(grad, 1);
  randomise(x, 2);
  // The third form is a view with an offset.
  const Tensor g = form == 2 ? Tensor(grad.storage(), dtype, {rows - 1, outs}, {outs + 1, 1}, outs + 1) : grad;
  const Tensor y = form == 2 ? Tensor(x.storage(), dtype, {rows - 1, ins}, {ins + 1, 1}, ins + 1) : x;
  const Tensor want_w = test::scratch({outs, ins}, DType::float64), want_b = test::scratch({outs}, DType::float64);
  cpu_backend()->run(
      calls::LinearBackwardWeight{test::packed(g, DType::float64), test::packed(y, DType::float64), want_w, want_b});
  const Tensor got_w = test::on_device(test::scratch({outs, ins}, dtype), device);
  const Tensor got_b = test::on_device(test::scratch({outs}, dtype), device);
  backend_of(device).run(
      calls::LinearBackwardWeight{test::on_device(g, device), test::on_device(y, device), got_w, got_b});
  const double bound = test::sum_bound(rows, is_half(dtype) ? DType::float32 : dtype) +
                       (is_half(dtype) ? 0.6 * static_cast<double>(rows) * test::epsilon(dtype) : 0.0);
  EXPECT_LE(test::largest_difference(test::on_host(got_w), want_w), bound) << name_of(dtype) << " form " << form;
  EXPECT_LE(test::largest_difference(test::on_host(got_b), want_b), bound) << name_of(dtype) << " form " << form;
  // The reference is the CPU's result, so its bias gradient is summed here.
  const auto values = test::values_of(g);
  for (std::int64_t o = 0; o < outs; ++o) {
    double sum = 0;
    for (std::int64_t i = 0; i < g.shape()[0]; ++i) sum += values[static_cast<std::size_t>(i * outs + o)];
    EXPECT_NEAR(want_b.data<double>()[o], sum, 1e-12);
  }
}

TEST_P(MatmulOnDevice, GradientsOfWeightAndBias) {
  for (const DType dtype : kFloats)
    for (int form = 0; form < 3; ++form) {
      expect_gradients(device(), dtype, 20, 6, 9, form);
      expect_gradients(device(), dtype, 63, 17, 5, form);  // odd sizes: a library's epilogue must not go past the ends
    }
}

TEST_P(MatmulOnDevice, GradientsOfNoRowsAreZero) {
  for (const DType dtype : kFloats) {
    const Tensor w = test::on_device(random({6, 9}, dtype, 1), device());
    const Tensor b = test::on_device(random({6}, dtype, 2), device());
    backend_of(device()).run(calls::LinearBackwardWeight{test::on_device(test::scratch({0, 6}, dtype), device()),
                                                         test::on_device(test::scratch({0, 9}, dtype), device()), w,
                                                         b});
    for (const Tensor& gradient : {w, b})
      for (const double value : test::values_of(test::on_host(gradient))) EXPECT_EQ(value, 0) << name_of(dtype);
  }
}

TEST_P(MatmulOnDevice, AnyStridesOfOperandsBiasAndOutput) {
  for (const DType dtype : kFloats)
    for (const std::vector<int>& order : {std::vector{1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}}) {
      const Tensor a = strided_scratch({3, 6, 5}, dtype, order, 2), b = strided_scratch({3, 5, 7}, dtype, order, 1);
      const Tensor memory = strided_scratch({7, 3}, dtype, {0, 1}, 0);
      randomise(a, 1);
      randomise(b, 2);
      randomise(memory, 3);
      check({}, a, b, Tensor(memory.storage(), dtype, {7}, {3}, 1), strided_scratch({3, 6, 7}, dtype, order, 2));
    }
}

TEST_P(MatmulOnDevice, BatchesRepeatByStrideZero) {
  for (const DType dtype : kFloats) {
    const Tensor one_a = random({1, 6, 5}, dtype, 1), one_b = random({1, 5, 7}, dtype, 2);
    const Tensor a = random({4, 6, 5}, dtype, 3), b = random({4, 5, 7}, dtype, 4);
    const Tensor same_a(one_a.storage(), dtype, {4, 6, 5}, {0, 5, 1});
    const Tensor same_b(one_b.storage(), dtype, {4, 5, 7}, {0, 7, 1});
    const Tensor row(one_b.storage(), dtype, {4, 5, 7}, {0, 0, 1});  // one row, repeated
    check({}, same_a, b, {}, test::scratch({4, 6, 7}, dtype));
    check({}, a, same_b, random({7}, dtype, 5), test::scratch({4, 6, 7}, dtype));
    check({}, same_a, same_b, {}, test::scratch({4, 6, 7}, dtype));
    check({}, a, row, {}, test::scratch({4, 6, 7}, dtype));
  }
}

TEST_P(MatmulOnDevice, ViewsThatBeginAnywhere) {
  for (const DType dtype : kFloats)
    for (const std::int64_t offset : {1, 3, 8}) {
      const Tensor memory = random({400}, dtype, 1);
      const Tensor a(memory.storage(), dtype, {1, 8, 16}, {128, 16, 1}, offset);
      const Tensor b(memory.storage(), dtype, {1, 16, 8}, {128, 8, 1}, offset + 7);
      check({}, a, b, Tensor(memory.storage(), dtype, {8}, {1}, offset), test::scratch({1, 8, 8}, dtype));
    }
}

TEST_P(MatmulOnDevice, NanPassesThroughActivations) {
  for (const DType dtype : kFloats)
    for (const Activation activation : {Activation::relu, Activation::gelu_tanh}) {
      const Tensor a = random({1, 16, 32}, DType::float32, 1);
      a.data<float>()[5 * 32] = NAN;
      const Tensor left = test::scratch({1, 16, 32}, dtype);
      cpu::convert(a, left);
      MatmulParams p;
      p.activation = activation;
      const Tensor out = test::on_device(test::scratch({1, 16, 64}, dtype), device());
      backend_of(device()).run(calls::Matmul{test::on_device(left, device()),
                                             test::on_device(random({1, 32, 64}, dtype, 2), device()),
                                             test::on_device(random({64}, dtype, 3), device()), out, p});
      const auto values = test::values_of(test::on_host(out));
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_EQ(std::isnan(values[i]), i / 64 == 5) << name_of(dtype) << " at " << i;
    }
}

TEST_P(MatmulOnDevice, NanAndInfinityPass) {
  const Tensor a = random({1, 2, 2}, DType::float32, 1), b = random({1, 2, 2}, DType::float32, 2);
  a.data<float>()[0] = NAN;
  a.data<float>()[2] = INFINITY;
  b.data<float>()[0] = 1;
  const Tensor out = test::on_device(test::scratch({1, 2, 2}, DType::float32), device());
  backend_of(device()).run(calls::Matmul{test::on_device(a, device()), test::on_device(b, device()), View(), out});
  const Tensor got = test::on_host(out);
  EXPECT_TRUE(std::isnan(got.data<float>()[0]));
  EXPECT_TRUE(std::isinf(got.data<float>()[2]));
}

}  // namespace
}  // namespace minnow
