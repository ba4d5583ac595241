#include <algorithm>
#include <vector>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::get;
using test::set;

class AttentionCpu : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, AttentionCpu, test::every_isa(), test::isa_name);

struct AttentionSizes {
  std::int64_t batch, heads, length, columns, size, width;
  bool causal = false, side_by_side = false;  // side by side: the vectors of a position's heads are adjacent
};

Tensor attention_operand(const AttentionSizes& s, std::int64_t length, std::int64_t width, int seed) {
  const Strides strides = s.side_by_side ? Strides{length * s.heads * width, width, s.heads * width, 1}
                                         : contiguous_strides({s.batch, s.heads, length, width});
  const Tensor t = test::with_strides({s.batch, s.heads, length, width}, strides, DType::float32);
  auto state = static_cast<std::uint32_t>(seed);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    set(t, i, static_cast<double>(state >> 8) * 0x1p-23 - 1);
  }
  return t;
}

/// The operands and results of an attention and its gradient; `got` is computed, `expected` by the formulas in double.
struct AttentionRun {
  AttentionSizes s;
  double scale = 0.7;
  Tensor q = attention_operand(s, s.length, s.size, 1), k = attention_operand(s, s.columns, s.size, 2),
         v = attention_operand(s, s.columns, s.width, 3), grad = attention_operand(s, s.length, s.width, 4);
  // They begin with other values, which must not show.
  Tensor out = attention_operand(s, s.length, s.width, 5), grad_q = attention_operand(s, s.length, s.size, 6),
         grad_k = attention_operand(s, s.columns, s.size, 7), grad_v = attention_operand(s, s.columns, s.width, 8);

  explicit AttentionRun(const AttentionSizes& sizes) : s(sizes) {}

  void compute(int threads) {
    const int before = num_threads();
    set_num_threads(threads);
    backend().run(calls::Attention{q, k, v, out, View(), scale, s.causal});
    backend().run(calls::AttentionBackward{grad, q, k, v, out, View(), grad_q, grad_k, grad_v, scale, s.causal});
    set_num_threads(before);
  }
  std::vector<double> got() const {
    std::vector<double> all;
    for (const Tensor* t : {&out, &grad_q, &grad_k, &grad_v})
      for (std::int64_t i = 0; i < t->numel(); ++i) all.push_back(get(*t, i));
    return all;
  }

  std::vector<double> expected() const {
    const std::int64_t l = s.length, c = s.columns, e = s.size, w = s.width;
    std::vector<double> y, g_q, g_k, g_v;
    for (std::int64_t head = 0; head < s.batch * s.heads; ++head) {
      const auto at = [&](const Tensor& t, std::int64_t rows, std::int64_t cols, std::int64_t r, std::int64_t j) {
        return get(t, (head * rows + r) * cols + j);
      };
      std::vector<double> of_k(static_cast<std::size_t>(c * e)), of_v(static_cast<std::size_t>(c * w));
      for (std::int64_t r = 0; r < l; ++r) {
        const std::int64_t n = s.causal ? std::min(c, r + 1) : c;
        std::vector<double> p(static_cast<std::size_t>(n)), slope(static_cast<std::size_t>(n));
        double most = -INFINITY, sum = 0, mean = 0;
        for (std::size_t j = 0; j < p.size(); ++j) {
          for (std::int64_t i = 0; i < e; ++i)
            p[j] += scale * at(q, l, e, r, i) * at(k, c, e, static_cast<std::int64_t>(j), i);
          most = std::max(most, p[j]);
        }
        for (double& x : p) sum += x = std::exp(x - most);
        for (std::size_t j = 0; j < p.size(); ++j) {
          p[j] /= sum;
          for (std::int64_t i = 0; i < w; ++i)
            slope[j] += at(grad, l, w, r, i) * at(v, c, w, static_cast<std::int64_t>(j), i);
          mean += p[j] * slope[j];
        }
        std::vector<double> of_y(static_cast<std::size_t>(w)), of_q(static_cast<std::size_t>(e));
        for (std::size_t j = 0; j < p.size(); ++j) {
          const auto column = static_cast<std::int64_t>(j);
          const double d = p[j] * (slope[j] - mean);
          for (std::size_t i = 0; i < of_y.size(); ++i) {
            of_y[i] += p[j] * at(v, c, w, column, static_cast<std::int64_t>(i));
            of_v[j * of_y.size() + i] += p[j] * at(grad, l, w, r, static_cast<std::int64_t>(i));
          }
          for (std::size_t i = 0; i < of_q.size(); ++i) {
            of_q[i] += scale * d * at(k, c, e, column, static_cast<std::int64_t>(i));
            of_k[j * of_q.size() + i] += scale * d * at(q, l, e, r, static_cast<std::int64_t>(i));
          }
        }
        y.insert(y.end(), of_y.begin(), of_y.end());
        g_q.insert(g_q.end(), of_q.begin(), of_q.end());
      }
      g_k.insert(g_k.end(), of_k.begin(), of_k.end());
      g_v.insert(g_v.end(), of_v.begin(), of_v.end());
    }
    for (const auto* part : {&g_q, &g_k, &g_v}) y.insert(y.end(), part->begin(), part->end());
    return y;
  }
};

TEST_P(AttentionCpu, AgreesWithTheFormulas) {
  for (const AttentionSizes& s : {AttentionSizes{1, 1, 1, 1, 1, 1}, AttentionSizes{1, 3, 2, 3, 2, 1},
                                  AttentionSizes{2, 2, 49, 130, 16, 24}, AttentionSizes{1, 3, 100, 97, 70, 5},
                                  AttentionSizes{1, 2, 48, 64, 130, 64}, AttentionSizes{3, 1, 145, 33, 8, 65}})
    for (const bool causal : {false, true})
      for (const bool side_by_side : {false, true}) {
        AttentionSizes sizes = s;
        sizes.causal = causal;
        sizes.side_by_side = side_by_side;
        AttentionRun run(sizes);
        run.compute(num_threads());
        const std::vector<double> got = run.got(), expected = run.expected();
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_TRUE(test::close(got[i], expected[i], 2e-5, 2e-6))
              << run.q.shape().str() << " " << run.v.shape().str() << (causal ? " causal " : " ") << i << ": " << got[i]
              << ", expected " << expected[i];
      }
}

/// Few heads are divided.
TEST_P(AttentionCpu, HasTheSameBitsForAnyNumberOfThreads) {
  for (const bool causal : {false, true}) {
    AttentionRun run({1, 3, 500, 450, 32, 40, causal});
    run.compute(1);
    const std::vector<double> one = run.got();
    for (const int threads : {2, 3, 8}) {
      run.compute(threads);
      EXPECT_EQ(run.got(), one) << threads;
    }
  }
}

}  // namespace
}  // namespace minnow
