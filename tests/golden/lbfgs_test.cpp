#include <minnow/minnow.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using namespace minnow::optim;

class GoldenLbfgs : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenLbfgs, all_devices(), device_test_name);

Tensor bowl(const Tensor& z) {
  const Tensor weights = arange(1, 11).to(z.device(), z.dtype());
  return sum(weights * z * z) / 2 + sum(pow(z, 4)) / 4;
}
Tensor valley(const Tensor& z) {
  const Tensor left = z.narrow(0, 0, 9), right = z.narrow(0, 1, 9);
  return sum(100 * pow(right - left * left, 2) + pow(1 - left, 2));
}

struct Case {
  Tensor (*loss)(const Tensor&);
  LBFGSOptions options;
};

TEST_P(GoldenLbfgs, EightStepsAgreeWithPyTorch) {
  const Book book("lbfgs", device());
  constexpr LineSearch kWolfe = LineSearch::strong_wolfe;
  const std::map<std::string, Case> all{
      {"bowl", {bowl, {.lr = 0.3, .max_iter = 3}}},
      {"bowl, short history", {bowl, {.lr = 0.1, .max_iter = 5, .history_size = 2}}},
      {"bowl, up", {[](const Tensor& z) { return -bowl(z); }, {.lr = 0.3, .max_iter = 3, .maximize = true}}},
      {"bowl, wolfe", {bowl, {.max_iter = 2, .line_search_fn = kWolfe}}},
      {"valley, wolfe", {valley, {.max_iter = 4, .line_search_fn = kWolfe}}},
      {"valley, wolfe, few",
       {valley, {.lr = 2, .max_iter = 4, .max_eval = 6, .history_size = 3, .line_search_fn = kWolfe}}}};
  for (const auto& [name, c] : all) {
    SCOPED_TRACE(name);
    const std::vector<Tensor> params{book[name + "/p0"].requires_grad_(), book[name + "/p1"].requires_grad_()};
    LBFGS lbfgs(params, c.options);
    const std::vector<double> losses = book[name + "/losses"].to_vector<double>(),
                              evaluations = book[name + "/func_evals"].to_vector<double>();
    for (int step = 0; step < 8; ++step) {
      const auto at = static_cast<std::size_t>(step);
      const Tensor loss = lbfgs.step([&, &f = c.loss] {
        lbfgs.zero_grad();
        Tensor l = f(cat({params[0].flatten(), params[1].flatten()}));
        l.backward();
        return l;
      });
      EXPECT_NEAR(loss.item<double>(), losses[at], 1e-8 * std::abs(losses[at]) + 1e-10) << step;
      EXPECT_EQ(static_cast<double>(lbfgs.func_evals()), evaluations[at]) << step;
      for (std::size_t i = 0; i < 2; ++i)
        expect_close(params[i].detach(), book[name + "/after" + std::to_string(i)].select(0, step),
                     "parameter " + std::to_string(i) + " after step " + std::to_string(step + 1), {1e-7, 1e-7});
    }
  }
}

}  // namespace
}  // namespace minnow::test
