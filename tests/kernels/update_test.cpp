#include <minnow/tensor/kernels/update.h>
#include "isa_support.h"

namespace minnow {
namespace {

using namespace kernels;

class Update : public test::EveryIsa {};
INSTANTIATE_TEST_SUITE_P(Isa, Update, test::every_isa(), test::isa_name);

constexpr std::int64_t kN = 37;

struct State {
  std::vector<float> p, g, a, b, c;
  State() {
    for (int i = 0; i < kN; ++i) {
      p.push_back(static_cast<float>(i % 7) * 0.3f - 1);
      g.push_back(static_cast<float>(i % 5) * 0.2f - 0.45f);
      a.push_back(static_cast<float>(i % 3) * 0.1f);
      b.push_back(static_cast<float>(i % 4) * 0.05f + 0.01f);
      c.push_back(0.1f);
    }
  }
};

/// SGD spelled out as in its definition.
TEST_P(Update, SgdFollowsItsFormula) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double nesterov : {0.0, 1.0}) {
      for (const double first : {0.0, 1.0}) {
        for (const double maximize : {0.0, 1.0}) {
          State s;
          if (first != 0) s.a.assign(kN, NAN);  // not read at the first step
          const State before;
          const SgdRule::Options o{0.1, momentum, nesterov != 0 ? 0.0 : 0.3, 0.01, nesterov != 0, maximize != 0};
          const auto constants = SgdRule::constants(o, 1, first != 0);
          void* state[] = {momentum != 0 ? s.a.data() : nullptr};
          cpu::loops().update[0][kIndexOf<UpdateRules, SgdRule>](s.p.data(), s.g.data(), state, kN, &constants.lr);
          for (std::size_t i = 0; i < kN; ++i) {
            double d = (maximize != 0 ? -1.0 : 1.0) * static_cast<double>(before.g[i]) +
                       0.01 * static_cast<double>(before.p[i]);
            if (momentum != 0) {
              const double v = first != 0 ? d : momentum * static_cast<double>(before.a[i]) + (1 - o.dampening) * d;
              EXPECT_TRUE(test::close(s.a[i], v, 1e-6, 1e-7));
              d = nesterov != 0 ? d + momentum * v : v;
            }
            EXPECT_TRUE(test::close(s.p[i], static_cast<double>(before.p[i]) - 0.1 * d, 1e-6, 1e-7)) << i;
            EXPECT_EQ(s.g[i], before.g[i]);
          }
        }
      }
    }
  }
}

template <bool Decoupled> void check_adam(bool amsgrad, bool maximize, std::int64_t t) {
  using Rule = AdamRule<Decoupled>;
  State s;
  const State before;
  const auto constants = Rule::constants({0.05, {0.9, 0.99}, 0.03, 0.02, amsgrad, maximize}, t, t == 1);
  void* state[3] = {s.a.data(), s.b.data(), amsgrad ? s.c.data() : nullptr};
  cpu::loops().update[0][kIndexOf<UpdateRules, Rule>](s.p.data(), s.g.data(), state, kN, &constants.step_size);
  const auto step = static_cast<double>(t);
  for (std::size_t i = 0; i < kN; ++i) {
    double p = before.p[i];
    double g = maximize ? -static_cast<double>(before.g[i]) : static_cast<double>(before.g[i]);
    if (Decoupled) p -= 0.05 * 0.02 * p;
    else g += 0.02 * p;
    const double m = 0.9 * static_cast<double>(before.a[i]) + 0.1 * g;
    const double v = 0.99 * static_cast<double>(before.b[i]) + 0.01 * g * g;
    const double largest = amsgrad ? std::max(v, static_cast<double>(before.c[i])) : v;
    p -= 0.05 / (1 - std::pow(0.9, step)) * m / (std::sqrt(largest) / std::sqrt(1 - std::pow(0.99, step)) + 0.03);
    EXPECT_TRUE(test::close(s.p[i], p, 2e-6, 1e-6)) << Rule::kName << " " << i << ": " << s.p[i] << ", expected " << p;
    EXPECT_TRUE(test::close(s.a[i], m, 1e-6, 1e-7));
    EXPECT_TRUE(test::close(s.b[i], v, 1e-6, 1e-7));
    if (amsgrad) { EXPECT_TRUE(test::close(s.c[i], largest, 1e-6, 1e-7)); }
    EXPECT_EQ(s.g[i], before.g[i]);
  }
}

TEST_P(Update, AdamFollowsItsFormula) {
  for (const bool amsgrad : {false, true}) {
    for (const bool maximize : {false, true}) {
      for (const std::int64_t step : {1, 2, 100}) {
        check_adam<false>(amsgrad, maximize, step);
        check_adam<true>(amsgrad, maximize, step);
      }
    }
  }
}

}  // namespace
}  // namespace minnow
