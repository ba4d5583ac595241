#include <algorithm>
#include <minnow/tensor/cpu/products/few_rows.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::get;

class FewRowsCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, FewRowsCpu, test::every_isa(), test::isa_name);

struct Case {
  std::int64_t m, n, k;
  bool transposed, bias = false, add = false, a_transposed = false;
};

Tensor run(const Case& c, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Tensor y = test::blank({c.m, c.n + 3});
  for (std::int64_t i = 0; i < y.numel(); ++i) test::set(y, i, 0.25);
  const cpu::Product p{c.m,
                       c.n,
                       c.k,
                       a.data<float>(),
                       c.a_transposed ? 1 : c.k,
                       c.a_transposed ? c.m : 1,
                       b.data<float>(),
                       c.transposed ? 1 : c.n,
                       c.transposed ? c.k : 1,
                       c.bias ? bias.data<float>() : nullptr,
                       y.data<float>(),
                       c.n + 3,
                       c.add};
  EXPECT_TRUE(cpu::has_few_rows(p) || !c.transposed || c.k == 1);
  cpu::multiply_few_rows(p);
  return y;
}

void check(const Case& c) {
  const Tensor a = test::reals({c.m, c.k}), b = test::reals({c.k, c.n}), bias = test::reals({c.n});
  const Tensor y = run(c, a, b, bias);
  for (std::int64_t i = 0; i < c.m; ++i)
    for (std::int64_t j = 0; j < c.n + 3; ++j) {
      double want = j >= c.n ? 0.25 : c.bias ? get(bias, j) : c.add ? 0.25 : 0;
      for (std::int64_t k = 0; j < c.n && k < c.k; ++k)
        want += get(a, c.a_transposed ? k * c.m + i : i * c.k + k) * get(b, c.transposed ? j * c.k + k : k * c.n + j);
      ASSERT_TRUE(test::close(get(y, i * (c.n + 3) + j), want, 2e-6, 1e-5 + 1e-7 * static_cast<double>(c.k)))
          << c.m << " " << c.n << " " << c.k << ": " << i << ", " << j;
    }
  const int before = num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_TRUE(test::same_bits(y, run(c, a, b, bias))) << threads << " threads";
  }
  set_num_threads(before);
}

TEST_P(FewRowsCpu, AreProducts) {
  for (const bool transposed : {false, true})
    for (const std::int64_t m : {1, 2, 3, 4, 5, 8}) {
      check({m, 1, 1, transposed});
      check({m, 5, 19, transposed, true});
      check({m, 67, 33, transposed, false, true});
      check({m, 130, 8, transposed, true, false, true});
      check({m, 1100, 77, transposed, true});
    }
  check({1, 3000, 130, false, true});
  check({2, 3000, 130, true, true});
}

/// b has one stride that is not 1, so that its columns are copied.
template <class T>
void check_columns(std::int64_t m, std::int64_t n, std::int64_t k, bool flip_a, bool bias, bool add) {
  const DType dtype = sizeof(T) == 8 ? DType::float64 : DType::float32;
  const Tensor a = test::reals({m, k}, dtype), b = test::reals({k, n + 2}, dtype), to = test::reals({n}, dtype);
  const auto product = [&] {
    const Tensor y = test::blank({m, n}, dtype);
    for (std::int64_t i = 0; i < y.numel(); ++i) test::set(y, i, 0.25);
    const cpu::ProductOf<T> p{m,
                              n,
                              k,
                              a.data<T>(),
                              flip_a ? 1 : k,
                              flip_a ? m : 1,
                              b.data<T>(),
                              n + 2,
                              1,
                              bias ? to.data<T>() : nullptr,
                              y.data<T>(),
                              n,
                              add};
    EXPECT_TRUE(cpu::has_few_columns(p));
    cpu::multiply_few_columns(p);
    return y;
  };
  const Tensor y = product();
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double want = bias ? get(to, j) : add ? 0.25 : 0;
      for (std::int64_t l = 0; l < k; ++l) want += get(a, flip_a ? l * m + i : i * k + l) * get(b, l * (n + 2) + j);
      ASSERT_TRUE(test::close(get(y, i * n + j), want, 2e-6, 1e-5))
          << m << " " << n << " " << k << ": " << i << ", " << j;
    }
  test::expect_thread_invariant(product);
}

TEST_P(FewRowsCpu, AndFewColumnsAreProducts) {
  for (const std::int64_t m : {9, 70, 601})
    for (const std::int64_t k : {17, 130})
      for (const bool bias : {false, true})
        for (const std::int64_t n : {1, 2, 3, 7, 8}) {
          check_columns<float>(m, n, k, false, bias, false);
          check_columns<double>(m, n, k, false, bias, !bias);
          if (n == 1) check_columns<double>(m, n, k, true, bias, false);
        }
}

// Sums of floats that grow large lose what is added: of 1e8 products 8 % were missing.
TEST_P(FewRowsCpu, LongSumsAreAddedInBlocks) {
  constexpr std::int64_t kDepth = (1 << 22) + 77;
  const auto filled = [](std::int64_t n) {
    const Tensor t = test::blank({n, kDepth});
    std::fill_n(t.data<float>(), t.numel(), 0.1F);
    return t;
  };
  const Tensor a = filled(2), b = filled(3), bias = test::reals({3});
  const double product = static_cast<double>(0.1F) * static_cast<double>(0.1F) * kDepth;
  for (const Case& c : {Case{1, 1, kDepth, true}, Case{2, 3, kDepth, true, true}, Case{2, 3, kDepth, false, true},
                        Case{2, 1, kDepth, true, false, true}, Case{1, 3, kDepth, false, false, true}}) {
    const Tensor y = run(c, a, b, bias);
    for (std::int64_t i = 0; i < c.m; ++i)
      for (std::int64_t j = 0; j < c.n; ++j) {
        const double want = product + (c.bias ? get(bias, j) : c.add ? 0.25 : 0);
        EXPECT_NEAR(get(y, i * (c.n + 3) + j), want, want * 1e-4) << c.m << " " << c.n << " " << c.transposed;
      }
  }
}

}  // namespace
}  // namespace minnow
