#include <gtest/gtest.h>

#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/runtime/threads.h>
#include "numbers.h"

namespace minnow {
namespace {

using test::random;
using test::randomise;

/// The reference result, in double, by plain loops.
Tensor expected(const MatmulParams& p, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& before) {
  const std::int64_t batch = before.shape()[0], m = before.shape()[1], n = before.shape()[2], k = a.shape()[2];
  const auto x = test::values_of(a), y = test::values_of(b), old = test::values_of(before);
  const auto added = bias.defined() ? test::values_of(bias) : std::vector<double>(static_cast<std::size_t>(n), 0.0);
  Tensor out = test::scratch(before.shape(), DType::float64);
  auto* o = static_cast<double*>(out.raw_data());
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t q = 0; q < batch; ++q)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) sum += x[at((q * m + i) * k + l)] * y[at((q * k + l) * n + j)];
        const std::int64_t e = (q * m + i) * n + j;
        o[e] = p.alpha * sum + (p.beta != 0 ? p.beta * old[at(e)] : 0.0) + added[at(j)];
      }
  return out;
}

struct Product {
  std::int64_t batch, m, k, n;
};
const Product kProducts[] = {{1, 1, 1, 1},   {1, 5, 7, 3},   {1, 64, 128, 10}, {1, 33, 300, 65}, {3, 17, 9, 21},
                             {1, 1, 200, 9}, {1, 200, 1, 9}, {1, 9, 200, 1},   {2, 1, 8, 1},     {1, 128, 64, 784},
                             {0, 4, 4, 4},   {1, 0, 4, 4},   {1, 4, 4, 0},     {2, 4, 0, 5},     {4, 1, 1, 6}};
const DType kDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16,
                         DType::int64,   DType::int32,   DType::uint8};

void check(const MatmulParams& p, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out) {
  randomise(out, 9);
  const Tensor want = expected(p, a, b, bias, out);
  cpu::execute(calls::Matmul{a, b, bias, out, p});
  const std::int64_t k = a.shape()[2];
  double bound = 0;
  if (is_floating_point(out.dtype())) {
    // A half output is rounded once more, at its own size (|out| <= k + 2).
    bound = test::sum_bound(k, is_half(out.dtype()) ? DType::float32 : out.dtype());
    if (is_half(out.dtype())) bound += test::epsilon(out.dtype()) * (2 + std::sqrt(static_cast<double>(k)) * 2);
  }
  EXPECT_LE(test::largest_difference(out, want), bound)
      << name_of(out.dtype()) << " a " << a.shape().str() << a.strides().str() << " b " << b.shape().str()
      << b.strides().str() << " out " << out.strides().str() << (bias.defined() ? " bias" : "");
}

TEST(CpuMatmul, AllDTypesShapesAndTransposes) {
  for (const DType dtype : kDTypes)
    for (const Product& c : kProducts)
      for (int form = 0; form < 8; ++form) {
        if (dtype == DType::uint8 && c.k > 9) continue;  // values wrap there, as in PyTorch
        const std::vector<int> plain = {0, 1, 2}, flipped = {0, 2, 1};
        const Tensor a = test::strided_scratch({c.batch, c.m, c.k}, dtype, form & 1 ? flipped : plain, 0);
        const Tensor b =
            test::strided_scratch({c.batch, c.k, c.n}, dtype, form & 2 ? flipped : plain, form & 4 ? 3 : 0);
        randomise(a, 1);
        randomise(b, 2);
        if (dtype == DType::uint8) {  // no negative values
          for (const Tensor& t : {a, b}) {
            const Tensor small = test::packed(t, DType::int64);
            for (std::int64_t i = 0; i < t.numel(); ++i) static_cast<std::int64_t*>(small.raw_data())[i] &= 3;
            cpu::convert(small, t);
          }
        }
        const Tensor bias = form & 4 ? random({c.n}, dtype, 3) : Tensor();
        if (dtype == DType::uint8 && bias.defined()) continue;
        check({}, a, b, bias, test::scratch({c.batch, c.m, c.n}, dtype));
      }
}

TEST(CpuMatmul, AlphaAndBetaWithBias) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::int64})
    for (const MatmulParams p : {MatmulParams{2, 0}, MatmulParams{1, 1}, MatmulParams{-1, 3}})
      for (const bool with_bias : {false, true})
        check(p, random({2, 6, 5}, dtype, 1), random({2, 5, 7}, dtype, 2), with_bias ? random({7}, dtype, 3) : Tensor(),
              test::scratch({2, 6, 7}, dtype));
}

TEST(CpuMatmul, AnyStridesOfOperandsBiasAndOutput) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16})
    for (const std::vector<int>& order : {std::vector{1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}}) {
      const Tensor a = test::strided_scratch({3, 6, 5}, dtype, order, 2);
      const Tensor b = test::strided_scratch({3, 5, 7}, dtype, order, 1);
      const Tensor bias_room = test::strided_scratch({7, 3}, dtype, {0, 1}, 0);
      randomise(a, 1);
      randomise(b, 2);
      randomise(bias_room, 3);
      const Tensor bias(bias_room.storage(), dtype, {7}, {3}, 1);
      check({}, a, b, bias, test::strided_scratch({3, 6, 7}, dtype, order, 2));
    }
}

TEST(CpuMatmul, BatchesRepeatByStrideZero) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const Tensor one_a = random({1, 6, 5}, dtype, 1), one_b = random({1, 5, 7}, dtype, 2);
    const Tensor a = random({4, 6, 5}, dtype, 3), b = random({4, 5, 7}, dtype, 4);
    const Tensor same_a(one_a.storage(), dtype, {4, 6, 5}, {0, 5, 1}),
        same_b(one_b.storage(), dtype, {4, 5, 7}, {0, 7, 1});
    const Tensor flipped_b(one_b.storage(), dtype, {4, 7, 5}, {0, 1, 7});
    const Tensor row(one_b.storage(), dtype, {4, 5, 7}, {0, 0, 1});  // one row, repeated
    check({}, same_a, b, {}, test::scratch({4, 6, 7}, dtype));
    check({}, a, same_b, random({7}, dtype, 5), test::scratch({4, 6, 7}, dtype));
    check({}, same_a, same_b, {}, test::scratch({4, 6, 7}, dtype));
    check({}, b, flipped_b, {}, test::scratch({4, 5, 5}, dtype));
    check({}, a, row, {}, test::scratch({4, 6, 7}, dtype));
  }
}

TEST(CpuMatmul, ProductsOfHalvesInFloat32) {
  const Product cases[] = {{1, 300, 150, 520}, {1, 70, 300, 20},   {3, 40, 70, 50},   {1, 4, 0, 3},
                           {1, 1, 30, 1},      {1, 64, 4100, 120}, {1, 200, 900, 300}};
  const auto as = [](const Tensor& t, DType dtype) {
    const Tensor to = test::scratch(t.shape(), dtype);
    cpu::convert(t, to);
    return to;
  };
  for (const DType dtype : {DType::bfloat16, DType::float16})
    for (const Product& c : cases)
      for (int form = 0; form < 4; ++form) {
        const std::vector<int> plain = {0, 1, 2}, flipped = {0, 2, 1};
        const Tensor a = test::strided_scratch({c.batch, c.m, c.k}, dtype, form & 1 ? flipped : plain, 0);
        const Tensor b = test::strided_scratch({c.batch, c.k, c.n}, dtype, form & 2 ? flipped : plain, 0);
        for (const Tensor& t : {a, b}) cpu::convert(random(t.shape(), DType::float32, 5), t);
        const Tensor out = test::scratch({c.batch, c.m, c.n}, DType::float32), want = as(out, DType::float64);
        cpu::execute(calls::Matmul{a, b, View(), out});
        cpu::execute(calls::Matmul{as(a, DType::float64), as(b, DType::float64), View(), want});
        EXPECT_LE(test::largest_difference(out, want), test::sum_bound(c.k, DType::float32));
      }
}

TEST(CpuMatmul, NanAndInfinityPass) {
  const Tensor a = random({1, 2, 2}, DType::float32, 1), b = random({1, 2, 2}, DType::float32, 2);
  static_cast<float*>(a.raw_data())[0] = NAN;
  static_cast<float*>(a.raw_data())[2] = INFINITY;
  static_cast<float*>(b.raw_data())[0] = 1;
  const Tensor out = test::scratch({1, 2, 2}, DType::float32);
  cpu::execute(calls::Matmul{a, b, View(), out});
  EXPECT_TRUE(std::isnan(static_cast<float*>(out.raw_data())[0]));
  EXPECT_TRUE(std::isinf(static_cast<float*>(out.raw_data())[2]));
}

TEST(CpuMatmul, EqualBitsForAnyNumberOfThreads) {
  const Product cases[] = {{1, 64, 784, 128},  {1, 64, 128, 10}, {1, 128, 64, 784}, {1, 10, 64, 128},
                           {1, 64, 9216, 128}, {1, 8, 4096, 8},  {5, 30, 70, 50},   {1, 256, 256, 256},
                           {1, 100, 128, 600}, {1, 3, 20000, 5}, {1, 3, 511, 5},    {1, 16, 400, 16},
                           {1, 64, 500, 128},  {1, 1, 500, 1},   {1, 2, 1000, 64}};
  const int before = num_threads();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64})
    for (const Product& c : cases)
      for (int form = 0; form < 4; ++form) {
        if (dtype == DType::float64 && c.k > 1000) continue;
        const std::vector<int> plain = {0, 1, 2}, flipped = {0, 2, 1};
        const Tensor a = test::strided_scratch({c.batch, c.m, c.k}, dtype, form & 1 ? flipped : plain, 0);
        const Tensor b = test::strided_scratch({c.batch, c.k, c.n}, dtype, form & 2 ? flipped : plain, 0);
        const Tensor bias = random({c.n}, dtype, 3);
        // Values with full mantissas: sums in another order must show.
        for (const Tensor& t : {a, b}) {
          test::Numbers numbers(7);
          const Tensor wide = test::scratch(t.shape(), DType::float64);
          for (std::int64_t i = 0; i < t.numel(); ++i) static_cast<double*>(wide.raw_data())[i] = numbers.next();
          cpu::convert(wide, t);
        }
        set_num_threads(1);
        const Tensor one = test::scratch({c.batch, c.m, c.n}, dtype), many = test::scratch({c.batch, c.m, c.n}, dtype);
        cpu::execute(calls::Matmul{a, b, bias, one});
        for (const int threads : {2, 3, 8}) {
          set_num_threads(threads);
          cpu::execute(calls::Matmul{a, b, bias, many});
          EXPECT_TRUE(test::same_bits(one, many)) << threads << " threads, " << name_of(dtype) << " " << c.m << "x"
                                                  << c.k << "x" << c.n << " form " << form;
        }
      }
  set_num_threads(before);
}

// The panels of a recurrent layer: the matrices of the output are columns of a wider one.
TEST(CpuMatmul, WritesMatricesSideBySide) {
  const std::vector<int> plain = {0, 1, 2}, flipped = {0, 2, 1}, beside = {1, 0, 2};
  for (const auto& [batch, m, k, n] : {Product{4, 40, 150, 64}, {3, 12, 30, 33}, {2, 5, 300, 256}})
    for (const double beta : {0.0, 1.0, 0.5})
      for (const auto& order : {plain, flipped}) {
        const Tensor a = random({1, m, k}, DType::float32, 1),
                     b = test::strided_scratch({batch, k, n}, DType::float32, order, 0);
        randomise(b, 2);
        const Tensor repeated(a.storage(), DType::float32, {batch, m, k}, {0, k, 1});
        check({.beta = beta}, repeated, b, {}, test::strided_scratch({batch, m, n}, DType::float32, beside, 3));
      }
}

}  // namespace
}  // namespace minnow
