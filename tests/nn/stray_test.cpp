#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include "support/thrown.h"

/// A module that forward() calls and that is nobody's child: nothing trains it, saves it or moves it.
namespace minnow {
namespace {

using test::expect_contains;

class Strays : public testing::Test {
 protected:
  Strays() {
    before_ = set_warning_handler([this](const std::string& text) { said.push_back(text); });
    detail::give_late_warnings([](const void*) { return true; });
  }
  ~Strays() override { set_warning_handler(before_); }

  std::vector<std::string> said;

 private:
  WarningHandler before_;
};

template <int> struct Forgetful : nn::Module {
  nn::Linear kept = child("kept", nn::Linear(3, 3));
  nn::Linear lost{3, 3};
  nn::ReLU act;  // has nothing to lose
  Tensor forward(const Tensor& x) override { return act(lost(kept(x))); }
};

TEST_F(Strays, AreNamedOnceAtTheFirstStep) {
  Forgetful<0> net;
  optim::SGD sgd(net.parameters(), 0.1);
  for (int i = 0; i < 3; ++i) {
    sum(net(ones({1, 3}))).backward();
    EXPECT_EQ(said.size(), i ? 1U : 0U);
    sgd.step();
  }
  ASSERT_EQ(said.size(), 1U);
  expect_contains(said[0], "Forgetful<0> calls a Linear(3, 3) that is not registered");
  expect_contains(said[0], "child(\"name\", ...)");
}

TEST_F(Strays, AreNamedWhenTheStateIsTaken) {
  Forgetful<1> net;
  net(ones({1, 3}));
  EXPECT_TRUE(said.empty());
  (void)net.state_dict();
  (void)net.state_dict();
  ASSERT_EQ(said.size(), 1U);
  expect_contains(said[0], "Forgetful<1> calls a Linear(3, 3)");
}

TEST_F(Strays, AreInTheSummary) {
  const Forgetful<2> net;
  const std::string text = nn::summary(net, {1, 3});
  expect_contains(text, "not registered: Linear(3, 3), which Forgetful<2> calls");
  EXPECT_EQ(text.find("ReLU"), std::string::npos);
  (void)net.state_dict();
  EXPECT_TRUE(said.empty()) << said[0];  // a summary records nothing
}

TEST_F(Strays, ThatTheOptimizerHasAreNoMatter) {
  Forgetful<3> net;
  auto parameters = net.parameters();
  for (const Tensor& p : net.lost.parameters()) parameters.push_back(p);
  optim::SGD sgd(parameters, 0.1);
  sum(net(ones({1, 3}))).backward();
  sgd.step();
  EXPECT_TRUE(said.empty()) << said[0];
}

/// A frozen teacher, modules of a container, a module that another one owns, one on its own, one in no_grad.
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

TEST_F(Strays, NoFalseAlarm) {
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
  EXPECT_TRUE(said.empty()) << said[0];
}

TEST_F(Strays, ACloneIsRegisteredAsItsOriginalWas) {
  struct Inner : nn::Module {
    nn::Linear fc = child("fc", nn::Linear(3, 3));
    Tensor forward(const Tensor& x) override { return fc(x); }
  };
  struct Outer : nn::Module {
    Inner inner = child("inner", Inner());
    Tensor forward(const Tensor& x) override { return inner(x); }
  };
  Outer twin = nn::clone(Outer());
  twin(ones({1, 3}));
  (void)twin.state_dict();
  EXPECT_TRUE(said.empty()) << said[0];
  struct Holder : nn::Module {
    explicit Holder(const Inner& from) : copy(nn::clone(from)) {}
    Inner copy;
    Tensor forward(const Tensor& x) override { return copy(x); }
  };
  Holder holder(twin.inner);
  holder(ones({1, 3}));
  (void)holder.state_dict();
  ASSERT_EQ(said.size(), 1U);
  expect_contains(said[0], "Holder calls a Inner");
}

TEST_F(Strays, AHandlerThatThrowsDoesNotStopTheStep) {
  Forgetful<4> net;
  optim::SGD sgd(net.parameters(), 0.1);
  const WarningHandler mine = set_warning_handler([](const std::string&) { throw 1; });
  sum(net(ones({1, 3}))).backward();
  EXPECT_NO_THROW(sgd.step());
  set_warning_handler(mine);
}

}  // namespace
}  // namespace minnow
