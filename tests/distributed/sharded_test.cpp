#include <gtest/gtest.h>
#include <minnow/distributed/distributed.h>
#include <minnow/minnow.h>
#include "devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

struct Net : nn::Module {
  nn::Linear a = child("a", nn::Linear(5, 40));
  nn::Linear b = child("b", nn::Linear(40, 3));
  Tensor forward(const Tensor& x) override { return b(tanh(a(x))); }
};

void expect_equal(const StateDict& a, const StateDict& b) {
  ASSERT_EQ(a.size(), b.size());
  auto other = b.begin();
  for (const auto& [name, tensor] : a) {
    EXPECT_EQ(name, (*other).first);
    EXPECT_TRUE(equal(tensor.cpu(), (*other).second.cpu())) << name;
    ++other;
  }
}

class Sharded : public test::DeviceTest {
 protected:
  /// Two networks with one beginning; steps of both have the same gradients on all ranks.
  template <class A, class B> void steps(Net& net, A& optimizer, Net& other, B& plain, int count) {
    for (int i = 0; i < count; ++i) {
      const Tensor x = sin(arange(35, {.dtype = float32}).reshape({7, 5}) * (1 + i)).to(device());
      optimizer.zero_grad();
      mean(square(net(x) - 1)).backward();
      optimizer.step();
      plain.zero_grad();
      mean(square(other(x) - 1)).backward();
      plain.step();
    }
  }
  std::pair<Net, Net> pair() const {
    manual_seed(3);
    Net net, other;
    net.to(device());
    other.to(device());
    other.load_state_dict(net.state_dict());
    return {net, other};
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Sharded, test::all_devices(), test::device_test_name);

TEST_P(Sharded, StepsAreThoseOfTheOptimizer) {
  auto [net, other] = pair();
  dist::Sharded<optim::Adam> sharded(net.parameters(), {.lr = 0.01});
  optim::Adam plain(other.parameters(), {.lr = 0.01});
  optim::StepLR schedule(sharded.optimizer(), 2), plain_schedule(plain, 2);
  for (int i = 0; i < 5; ++i) {
    steps(net, sharded, other, plain, 1);
    schedule.step();
    plain_schedule.step();
  }
  expect_equal(net.state_dict(), other.state_dict());
  expect_equal(sharded.state_dict(), plain.state_dict());
  // Each rank has a part of the state.
  std::int64_t own = 0, all = 0;
  for (const auto& [name, tensor] : sharded.optimizer().state_dict()) own += tensor.numel();
  for (const auto& [name, tensor] : plain.state_dict()) all += tensor.numel();
  EXPECT_EQ(own<all, dist::size()> 1);
}

TEST_P(Sharded, ARunGoesOnWithAnotherNumberOfRanks) {
  auto [net, other] = pair();
  dist::Sharded<optim::Adam> sharded(net.parameters(), {.lr = 0.01});
  optim::Adam plain(other.parameters(), {.lr = 0.01});
  steps(net, sharded, other, plain, 3);
  // From many ranks to one, and from one to many.
  auto [net2, other2] = pair();
  net2.load_state_dict(other.state_dict());
  other2.load_state_dict(net.state_dict());
  dist::Sharded<optim::Adam> sharded2(net2.parameters(), {.lr = 0.5});
  optim::Adam plain2(other2.parameters(), {.lr = 0.5});
  sharded2.load_state_dict(plain.state_dict());
  plain2.load_state_dict(sharded.state_dict());
  steps(net, sharded, other, plain, 3);
  steps(net2, sharded2, other2, plain2, 3);
  expect_equal(net2.state_dict(), other.state_dict());
  expect_equal(other2.state_dict(), net.state_dict());
}

TEST(ShardedErrors, AreNamed) {
  std::vector<Tensor> few;
  for (int i = 1; i < dist::size(); ++i) few.push_back(zeros({3}).requires_grad_());
  expect_contains(error_of<ValueError>([&] { const dist::Sharded<optim::SGD> sgd(few); }),
                  dist::size() > 1 ? "use fewer ranks" : "ranks and 0 parameters");
  Net net;
  dist::Sharded<optim::Adam> adam(net.parameters());
  StateDict values = adam.state_dict();
  values.set("state.x.step", zeros({}, {.dtype = float64}));
  values.set("state.99.step", zeros({}, {.dtype = float64}));
  expect_contains(error_of<ValueError>([&] { adam.load_state_dict(values); }), "names belong to these groups");
  Net more;
  adam.optimizer().add_param_group(more.parameters(), {.lr = 0.5});
  for (const Tensor& p : more.parameters()) p.set_grad(ones_like(p.detach()));
  adam.step();
  expect_contains(error_of<ValueError>([&] { adam.state_dict(); }), "there is one group of them");
}

}  // namespace
}  // namespace minnow
