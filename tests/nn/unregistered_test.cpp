#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include "support/thrown.h"

/// The warning about a module that forward() calls and that is not registered.
namespace minnow {
namespace {

using test::expect_contains;

class Unregistered : public testing::Test {
 protected:
  Unregistered() {
    before_ = set_warning_handler([this](const std::string& text) { warnings.push_back(text); });
    detail::give_late_warnings([](const void*) { return true; });
  }
  ~Unregistered() override { set_warning_handler(before_); }

  std::vector<std::string> warnings;

 private:
  WarningHandler before_;
};

template <int> struct ForgetfulNet : nn::Module {
  nn::Linear registered = child("registered", nn::Linear(3, 3));
  nn::Linear unregistered{3, 3};
  nn::ReLU act;  // has no parameters
  Tensor forward(const Tensor& x) override { return act(unregistered(registered(x))); }
};

TEST_F(Unregistered, WarnsOnceAtTheFirstStep) {
  ForgetfulNet<0> net;
  optim::SGD sgd(net.parameters(), 0.1);
  for (int i = 0; i < 3; ++i) {
    sum(net(ones({1, 3}))).backward();
    EXPECT_EQ(warnings.size(), i ? 1U : 0U);
    sgd.step();
  }
  ASSERT_EQ(warnings.size(), 1U);
  expect_contains(warnings[0], "ForgetfulNet<0> calls a Linear(3, 3) that is not registered");
  expect_contains(warnings[0], "child(\"name\", ...)");
}

TEST_F(Unregistered, WarnsAtStateDict) {
  ForgetfulNet<1> net;
  net(ones({1, 3}));
  EXPECT_TRUE(warnings.empty());
  (void)net.state_dict();
  (void)net.state_dict();
  ASSERT_EQ(warnings.size(), 1U);
  expect_contains(warnings[0], "ForgetfulNet<1> calls a Linear(3, 3)");
}

TEST_F(Unregistered, IsListedBySummary) {
  const ForgetfulNet<2> net;
  const std::string text = nn::summary(net, {1, 3});
  expect_contains(text, "not registered: Linear(3, 3), which ForgetfulNet<2> calls");
  EXPECT_EQ(text.find("ReLU"), std::string::npos);
  (void)net.state_dict();
  EXPECT_TRUE(warnings.empty()) << warnings[0];  // a summary does not record
}

TEST_F(Unregistered, NoWarningIfTheOptimizerHasItsParameters) {
  ForgetfulNet<3> net;
  auto parameters = net.parameters();
  for (const Tensor& p : net.unregistered.parameters()) parameters.push_back(p);
  optim::SGD sgd(parameters, 0.1);
  sum(net(ones({1, 3}))).backward();
  sgd.step();
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

/// A frozen teacher, modules of a container, a module that is registered elsewhere, and one called in no_grad.
struct Student : nn::Module {
  explicit Student(nn::Linear& other) : teacher(nn::Linear(3, 3)), shared(other) { teacher.requires_grad_(false); }
  nn::Linear teacher, shared;
  nn::Sequential body = child("body", nn::Sequential(nn::Linear(3, 3), relu));
  Tensor forward(const Tensor& x) override {
    Tensor late;
    {
      NoGradGuard guard;
      late = nn::Linear(3, 3)(x);
    }
    return body(teacher(x)) + shared(x) + late;
  }
};

TEST_F(Unregistered, NoWarningForFrozenSharedOrUnrecordedModules) {
  struct Owner : nn::Module {
    nn::Linear fc = child("fc", nn::Linear(3, 3));
  };
  Owner owner;
  Student student(owner.fc);
  nn::Linear alone(3, 3);
  optim::SGD sgd(student.parameters(), 0.1);
  sum(student(alone(ones({1, 3})))).backward();
  sgd.step();
  (void)student.state_dict();
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

TEST_F(Unregistered, CloneKeepsRegistration) {
  struct Inner : nn::Module {
    nn::Linear fc = child("fc", nn::Linear(3, 3));
    Tensor forward(const Tensor& x) override { return fc(x); }
  };
  struct Outer : nn::Module {
    Inner inner = child("inner", Inner());
    Tensor forward(const Tensor& x) override { return inner(x); }
  };
  Outer copy = nn::clone(Outer());
  copy(ones({1, 3}));
  (void)copy.state_dict();
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  struct Holder : nn::Module {
    explicit Holder(const Inner& from) : copy(nn::clone(from)) {}
    Inner copy;
    Tensor forward(const Tensor& x) override { return copy(x); }
  };
  Holder holder(copy.inner);
  holder(ones({1, 3}));
  (void)holder.state_dict();
  ASSERT_EQ(warnings.size(), 1U);
  expect_contains(warnings[0], "Holder calls a Inner");
}

TEST_F(Unregistered, HandlerThatThrowsDoesNotStopTheStep) {
  ForgetfulNet<4> net;
  optim::SGD sgd(net.parameters(), 0.1);
  const WarningHandler previous = set_warning_handler([](const std::string&) { throw 1; });
  sum(net(ones({1, 3}))).backward();
  EXPECT_NO_THROW(sgd.step());
  set_warning_handler(previous);
}

}  // namespace
}  // namespace minnow
