#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>
#include <minnow/tensor/cpu/products/few_rows.h>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/runtime/threads.h>
#include "../kernels/isa_support.h"

namespace minnow {
namespace {

using test::EveryIsa;

struct Case {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed, bias;
  bool add = false;  // to ones
};

std::vector<float> numbers(std::int64_t n, std::uint32_t seed) {
  std::vector<float> out(static_cast<std::size_t>(n));
  for (float& v : out) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return out;
}

/// A product's operands; rows of c are padded.
struct Operands {
  static constexpr std::int64_t kGap = 5;
  Case shape;
  std::vector<float> a, b, bias;

  explicit Operands(const Case& c)
      : shape(c), a(numbers(c.m * c.k, 1)), b(numbers(c.k * c.n, 2)), bias(numbers(c.n, 3)) {}

  std::vector<float> multiply(int threads) const {
    const Case& s = shape;
    std::vector<float> c(static_cast<std::size_t>(s.m * (s.n + kGap)), -77.0f);
    for (std::int64_t i = 0; s.add && i < s.m; ++i) std::fill_n(c.data() + i * (s.n + kGap), s.n, 1.0f);
    const int before = num_threads();
    set_num_threads(threads);
    cpu::multiply({s.m, s.n, s.k, a.data(), s.a_transposed ? 1 : s.k, s.a_transposed ? s.m : 1, b.data(),
                   s.b_transposed ? 1 : s.n, s.b_transposed ? s.k : 1, s.bias ? bias.data() : nullptr, c.data(),
                   s.n + kGap, s.add});
    set_num_threads(before);
    return c;
  }
  double exact(std::int64_t i, std::int64_t j) const {
    const Case& s = shape;
    double sum = s.bias ? static_cast<double>(bias[static_cast<std::size_t>(j)]) : s.add ? 1.0 : 0.0;
    for (std::int64_t k = 0; k < s.k; ++k)
      sum += static_cast<double>(a[static_cast<std::size_t>(s.a_transposed ? k * s.m + i : i * s.k + k)]) *
             static_cast<double>(b[static_cast<std::size_t>(s.b_transposed ? j * s.k + k : k * s.n + j)]);
    return sum;
  }
};

class Gemm : public EveryIsa {};

TEST_P(Gemm, AMatrixTimesAVectorWithTheSameBitsForAnyNumberOfThreads) {
  constexpr std::int64_t kGap = 3;
  for (const std::int64_t rows : {1, 3, 4, 6, 130, 1100})
    for (const std::int64_t cols : {1, 15, 16, 33, 200, 2050})
      for (const bool transposed : {false, true}) {
        const std::vector<float> a = numbers(rows * (cols + kGap), 1), x = numbers(transposed ? rows : cols, 2);
        const std::int64_t results = transposed ? cols : rows;
        const auto multiply = [&](int threads) {
          std::vector<float> y(static_cast<std::size_t>(results + 1), -77.0f);
          const int before = num_threads();
          set_num_threads(threads);
          const std::int64_t depth = transposed ? rows : cols, step = cols + kGap;
          cpu::multiply_few_rows<float>({1, results, depth, x.data(), depth, 1, a.data(), transposed ? step : 1,
                                         transposed ? 1 : step, nullptr, y.data(), results});
          set_num_threads(before);
          return y;
        };
        const std::vector<float> y = multiply(1);
        EXPECT_EQ(multiply(3), y) << rows << "x" << cols;
        EXPECT_EQ(y.back(), -77.0f);
        double worst = 0;
        for (std::int64_t i = 0; i < results; ++i) {
          double sum = 0;
          for (std::int64_t k = 0; k < (transposed ? rows : cols); ++k)
            sum += static_cast<double>(
                       a[static_cast<std::size_t>(transposed ? k * (cols + kGap) + i : i * (cols + kGap) + k)]) *
                   static_cast<double>(x[static_cast<std::size_t>(k)]);
          worst = std::max(worst, std::fabs(static_cast<double>(y[static_cast<std::size_t>(i)]) - sum));
        }
        EXPECT_LE(worst, 6 * 0x1p-23 * (1 + std::sqrt(static_cast<double>(transposed ? rows : cols))))
            << rows << "x" << cols << (transposed ? " transposed" : "");
      }
}

TEST_P(Gemm, MatchesTheSumsAtEveryEdgeOfATile) {
  for (const std::int64_t m : {1, 5, 6, 7, 13, 130})
    for (const std::int64_t n : {1, 10, 16, 17, 63, 64, 65, 530})
      for (const std::int64_t k : {1, 15, 17, 129, 384, 385, 800})
        for (int form = 0; form < 12; ++form) {
          const Operands x({m, n, k, (form & 1) != 0, (form & 2) != 0, (form & 4) != 0, form >= 8});
          const std::vector<float> c = x.multiply(1);
          const double bound = 12 * 0x1p-23 * (1 + std::sqrt(static_cast<double>(k)));
          double worst = 0;
          bool behind = true;
          for (std::int64_t i = 0; i < m; ++i) {
            const float* row = c.data() + i * (n + Operands::kGap);
            for (const std::int64_t j : {std::int64_t{0}, n / 3, n / 2, n - 1})
              worst = std::max(worst, std::fabs(static_cast<double>(row[j]) - x.exact(i, j)));
            for (std::int64_t j = n; j < n + Operands::kGap; ++j) behind = behind && row[j] == -77.0f;
          }
          EXPECT_LE(worst, bound) << m << "x" << n << "x" << k << " form " << form;
          EXPECT_TRUE(behind) << m << "x" << n << "x" << k << " form " << form;
        }
}

TEST_P(Gemm, SameBitsForAnyNumberOfThreads) {
  for (const Case& c : {Case{64, 128, 784, false, true, true}, Case{128, 784, 64, true, false, false},
                        Case{65, 100, 300, false, false, true}, Case{300, 33, 70, true, true, false},
                        Case{64, 512, 700, false, false, false, true}, Case{300, 64, 700, false, false, false, true}}) {
    const Operands x(c);
    const std::vector<float> alone = x.multiply(1);
    for (const int threads : {2, 3, 5, 8})
      EXPECT_EQ(0, std::memcmp(alone.data(), x.multiply(threads).data(), alone.size() * sizeof(float)))
          << c.m << "x" << c.n << "x" << c.k << " on " << threads << " threads";
  }
}

/// Of whole numbers, which are exact in every type; unsigned integers wrap around.
template <class T> void check_exact(std::int64_t m, std::int64_t n, std::int64_t k, int form) {
  const bool flip_a = (form & 1) != 0, flip_b = (form & 2) != 0;
  const auto number = [](std::int64_t i) { return static_cast<T>(i * i % 13) - static_cast<T>(6); };
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<T> a(at(m * k)), b(at(k * n)), bias(at(n)), c(at(m * n), T(1)), want(c);
  for (std::int64_t i = 0; i < m * k; ++i) a[at(i)] = number(i);
  for (std::int64_t i = 0; i < k * n; ++i) b[at(i)] = number(i + 5);
  for (std::int64_t i = 0; i < n; ++i) bias[at(i)] = number(i + 2);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      T sum = (form & 4) != 0 ? T(1) : bias[at(j)];
      for (std::int64_t l = 0; l < k; ++l)
        sum += a[at(flip_a ? l * m + i : i * k + l)] * b[at(flip_b ? j * k + l : l * n + j)];
      want[at(i * n + j)] = sum;
    }
  cpu::multiply(cpu::ProductOf<T>{m, n, k, a.data(), flip_a ? 1 : k, flip_a ? m : 1, b.data(), flip_b ? 1 : n,
                                  flip_b ? k : 1, (form & 4) != 0 ? nullptr : bias.data(), c.data(), n,
                                  (form & 4) != 0});
  EXPECT_EQ(c, want) << m << "x" << n << "x" << k << " form " << form << " of " << sizeof(T) << " bytes";
}

TEST_P(Gemm, DoublesAndIntegersAtEveryEdgeOfATile) {
  for (const std::int64_t m : {1, 5, 7, 130})
    for (const std::int64_t n : {1, 7, 8, 31, 33, 280})
      for (const std::int64_t k : {1, 9, 129, 300})
        for (int form = 0; form < 8; ++form) {
          check_exact<double>(m, n, k, form);
          check_exact<std::uint32_t>(m, n, k, form);
          check_exact<std::uint64_t>(m, n, k, form);
        }
}

INSTANTIATE_TEST_SUITE_P(Isa, Gemm, test::every_isa(), test::isa_name);

}  // namespace
}  // namespace minnow
