#include <gtest/gtest.h>
#include <string_view>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/autograd/record.h>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/ctc_loss.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/module/containers.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/captured_step.h>
#include "errors.h"
#include "thrown.h"

/// Errors name the operation that the user called, and the user's line, however deep they are thrown.
namespace minnow {
namespace {

using test::error_of;
using test::expect_errors;
using test::Misuse;

constexpr SourceLocation line(unsigned number) { return {"user.cpp", number}; }

TEST(CallSite, OutermostIsCurrent) {
  EXPECT_FALSE(CallSite::is_open());
  EXPECT_EQ(CallSite::op_or("other"), "other");
  {
    const CallSite outer("outer", line(1)), inner("inner", line(2));
    EXPECT_EQ(CallSite::op(), "outer");
    EXPECT_EQ(CallSite::where().line, 1U);
    {
      const CallSite users = CallSite::none();
      EXPECT_FALSE(CallSite::is_open());
      EXPECT_EQ(CallSite::where_or(line(7)).line, 7U);
      const CallSite own("own", line(3));
      EXPECT_EQ(CallSite::op(), "own");
      EXPECT_EQ(CallSite::where().line, 3U);
    }
    EXPECT_EQ(CallSite::op(), "outer");
    {
      const CallSite earlier = CallSite::instead("earlier", line(4));
      EXPECT_EQ(CallSite::op(), "earlier");
      EXPECT_EQ(CallSite::where().line, 4U);
    }
    EXPECT_EQ(CallSite::where().line, 1U);
  }
  EXPECT_FALSE(CallSite::is_open());
  EXPECT_EQ(CallSite::where().line, 0U);
}

TEST(CallSite, LineWithoutNameKeepsTheOperationsNames) {
  const CallSite layer(line(5));
  EXPECT_FALSE(CallSite::is_open());
  const CallSite op("op", line(6));
  EXPECT_EQ(CallSite::op(), "op");
  EXPECT_EQ(CallSite::where().line, 5U);
}

TEST(CallSite, EndsWithAnException) {
  EXPECT_THROW(matmul(ones({2, 3}), ones({2, 3})), ShapeError);
  EXPECT_FALSE(CallSite::is_open());
  const Error mine("Error", "mine", {});
  EXPECT_STREQ(mine.what(), "Error: mine");
}

TEST(CallSite, ErrorsAndNodesNameTheOutermost) {
  const CallSite site("outer", line(8));
  const Tensor x = ones({2, 3}).requires_grad_();
  EXPECT_EQ((x * 2).slot()->producer->where().line, 8U);
  EXPECT_NE(error_of<ShapeError>([&] { (void)matmul(x, x); }).find("outer: "), std::string::npos);
}

struct Bad : nn::Module {
  Tensor forward(const Tensor& x) override { return matmul(x, x); }
};

/// Functions of the user that the library calls are not part of the library's operation.
TEST(Errors, UserFunctions) {
  const Tensor x = ones({2, 3}).requires_grad_(), wide = ones({2, 3}, {float64}).requires_grad_();
  const char* const shown = "float32[2, 3] on cpu";
  expect_errors({
      Misuse{"ShapeError", "matmul", shown,
             [=] {
               const auto hook = register_hook(x, [](const Tensor& g) { return matmul(g, g); });
               sum(x).backward();
             }},
      Misuse{"ShapeError", "matmul", shown,
             [=] {
               const Tensor y = x * 2;
               const auto hook = register_hook(y, [](const Tensor& g) { return matmul(g, g); });
               sum(y).backward();
             }},
      Misuse{"ShapeError", "matmul", shown,
             [=] { record("mine", x.detach(), {x}, [](const Tensor& g) { return matmul(g, g); }).sum().backward(); }},
      Misuse{"ShapeError", "matmul", "float64[2, 3] on cpu",
             [=] { gradcheck([](const std::vector<Tensor>& in) { return matmul(in[0], in[0]); }, {wide}); }},
      Misuse{"ShapeError", "matmul", shown,
             [=] {
               nn::Sequential net([](const Tensor& t) { return matmul(t, t); });
               net(x);
             }},
      Misuse{"ShapeError", "matmul", shown,
             [=] {
               nn::ReLU act;
               const auto hook = act.register_forward_hook(
                   [](nn::Module&, const Tensor& in, const Tensor&) { (void)matmul(in, in); });
               act(x);
             }},
      Misuse{"ShapeError", "matmul", shown,
             [=] {
               CapturedStep step([](const Tensor& t) { return matmul(t, t); }, {.device = Device()});
               step(x);
             }},
  });
  try {
    nn::Sequential net{Bad()};
    net(x);
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_LT(e.where().line, static_cast<unsigned>(__LINE__) - 40) << e.what();  // in forward()
    EXPECT_NE(std::string_view(e.where().file).find("call_site_test"), std::string_view::npos);
  }
  EXPECT_FALSE(CallSite::is_open());
}

/// Operations that the library composes belong to the function that the user called, in backward too.
TEST(Errors, GradientFunctionsNameTheForwardCall) {
  const Tensor x = ones({2, 3}).requires_grad_();
  const auto second = [=](const Tensor& y) {
    const Tensor first = grad(sum(y), x, {.create_graph = true});
    (void)grad(sum(first), x);
  };
  const auto overwrite = [](const Tensor& loss, const Tensor& of) {
    fill_(of.detach(), 3);
    loss.backward();
  };
  const nn::Linear layer(3, 4);
  expect_errors({
      Misuse{"AutogradError", "ctc_loss", "it has no second derivative",
             [=] {
               second(nn::ctc_loss(log_softmax(x.view({2, 1, 3}), 2), tensor({1}), tensor({2}), tensor({1})));
             }},
      Misuse{"AutogradError", "cross_entropy", "overwritten",
             [=] {
               const Tensor y = x * 1;
               overwrite(nn::cross_entropy(y, tensor({0, 1})), y);
             }},
      Misuse{"AutogradError", "linear", "overwritten",
             [=] {
               const Tensor y = x * 1;
               overwrite(sum(layer(y)), y);
             }},
  });
}

}  // namespace
}  // namespace minnow
