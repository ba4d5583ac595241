// LBFGS: what it learns, how it resumes and what it refuses.

#include <cmath>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow::optim {
namespace {

using test::error_of;
using test::expect_contains;

struct Fit {
  Tensor w = zeros({3}).requires_grad_(), b = zeros({}).requires_grad_();
  Tensor x = tensor({{1., 2., 0.}, {0., 1., 3.}, {2., 0., 1.}, {1., 1., 1.}, {3., 2., 2.}});
  Tensor y = tensor({1., 2., 3., 5., 4.});
  LBFGS lbfgs{{w, b}, {.max_iter = 4, .line_search_fn = LineSearch::strong_wolfe}};

  Tensor step() {
    return lbfgs.step([&] {
      lbfgs.zero_grad();
      Tensor loss = nn::mse_loss(mv(x, w) + b, y);
      loss.backward();
      return loss;
    });
  }
};

TEST(LBFGS, FitsALineInFewSteps) {
  Fit fit;
  const double first = fit.step().item();
  for (int i = 0; i < 5; ++i) fit.step();
  EXPECT_LT(fit.step().item(), 0.2 * first);
  for (const Tensor& p : fit.lbfgs.parameters()) EXPECT_LT(p.grad().abs().amax().item(), 1e-3);
  EXPECT_EQ(fit.lbfgs.parameters().size(), 2U);
}

TEST(LBFGS, ResumesWithTheSameBits) {
  Fit a, b;
  for (int i = 0; i < 2; ++i) a.step();
  const NoGradGuard guard;
  b.w.copy_(a.w);
  b.b.copy_(a.b);
  b.lbfgs.load_state_dict(a.lbfgs.state_dict());
  EXPECT_EQ(b.lbfgs.n_iter(), a.lbfgs.n_iter());
  EXPECT_EQ(a.step().item(), b.step().item());
  EXPECT_EQ(a.w.to_vector<float>(), b.w.to_vector<float>());
  // Nothing has changed when it throws.
  StateDict less = a.lbfgs.state_dict(), more = less, shaped = less;
  less.erase("d");
  more.set("x", ones({}));
  shaped.set("d", ones({5}));
  expect_contains(error_of<ValueError>([&] { b.lbfgs.load_state_dict(less); }), "'d' is missing");
  expect_contains(error_of<ValueError>([&] { b.lbfgs.load_state_dict(more); }), "names belong to an LBFGS");
  expect_contains(error_of<ValueError>([&] { b.lbfgs.load_state_dict(shaped); }), "'d' must have 4 elements");
  EXPECT_EQ(a.step().item(), b.step().item());
}

TEST(LBFGS, RestoresTheParametersWhenTheClosureThrows) {
  Fit fit;
  fit.step();
  const auto before = fit.w.to_vector<float>();
  int calls = 0;
  EXPECT_THROW(fit.lbfgs.step([&]() -> Tensor {
    if (++calls == 2) throw std::runtime_error("no");
    fit.lbfgs.zero_grad();
    Tensor loss = nn::mse_loss(mv(fit.x, fit.w) + fit.b, fit.y);
    loss.backward();
    return loss;
  }),
               std::runtime_error);
  EXPECT_EQ(fit.w.to_vector<float>(), before);
}

TEST(LBFGS, RefusesWhatDoesNotFit) {
  const Tensor p = ones({2}).requires_grad_(), far = ones({2}, {.device = "sim:0"}).requires_grad_(),
               wide = ones({2}, {.dtype = DType::float64}).requires_grad_();
  using List = std::vector<Tensor>;
  expect_contains(error_of<ValueError>([] { LBFGS{List{}}; }), "list of parameters is empty");
  expect_contains(error_of<ValueError>([&] { LBFGS(List{p, p}); }), "twice");
  expect_contains(error_of<AutogradError>([&] { LBFGS(List{p * 2}); }), "non-leaf");
  expect_contains(error_of<DTypeError>([&] { LBFGS(List{p, wide}); }), "one dtype");
  expect_contains(error_of<DeviceError>([&] { LBFGS(List{p, far}); }), "one device");
  expect_contains(error_of<ValueError>([&] { LBFGS(List{p}, {.lr = -1}); }), "lr must be finite and at least 0");
  expect_contains(error_of<ValueError>([&] { LBFGS(List{p}, {.max_iter = 0}); }), "max_iter must be positive");
  expect_contains(error_of<ValueError>([&] { LBFGS(List{p}, {.history_size = 0}); }), "lbfgs_test.cpp");
  expect_contains(error_of<ValueError>([&] { LBFGS(List{p}, {.tolerance_grad = NAN}); }), "tolerance_grad");
}

}  // namespace
}  // namespace minnow::optim
