#include <cmath>
#include <gtest/gtest.h>
#include <support/devices.h>
#include <minnow/minnow.h>
#include "errors.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

using nn::Reduction;

class LossOn : public test::DeviceTest {
 protected:
  /// -log softmax(x)[n][c] for x = {{0, log 3}, {log 4, 0}}.
  Tensor logits() { return tensor({{0., std::log(3.)}, {std::log(4.), 0.}}).to(device()); }
  Tensor classes(std::int64_t a, std::int64_t b) { return tensor(std::vector<std::int64_t>{a, b}).to(device()); }
  const double l00 = std::log(4.), l01 = std::log(4. / 3), l10 = std::log(5. / 4), l11 = std::log(5.);
};
INSTANTIATE_TEST_SUITE_P(Devices, LossOn, test::all_devices(), test::device_test_name);

TEST_P(LossOn, CrossEntropyOfClasses) {
  EXPECT_NEAR(nn::cross_entropy(logits(), classes(0, 1)).item(), (l00 + l11) / 2, 1e-6);
  EXPECT_NEAR(nn::cross_entropy(logits(), classes(0, 1), {.reduction = Reduction::sum}).item(), l00 + l11, 1e-6);
  const auto each = nn::cross_entropy(logits(), classes(1, 0), {.reduction = Reduction::none}).to_vector<float>();
  EXPECT_NEAR(each[0], l01, 1e-6);
  EXPECT_NEAR(each[1], l10, 1e-6);
  EXPECT_NEAR(nn::cross_entropy(logits(), classes(-100, 1)).item(), l11, 1e-6);
  EXPECT_TRUE(std::isnan(nn::cross_entropy(logits(), classes(-100, -100)).item()));
  const Tensor bytes = classes(0, 1).to(DType::uint8);
  EXPECT_NEAR(nn::cross_entropy(logits(), bytes).item(), (l00 + l11) / 2, 1e-6);
  EXPECT_NEAR(nn::nll_loss(log_softmax(logits(), 1), bytes).item(), (l00 + l11) / 2, 1e-6);
}

TEST_P(LossOn, BroadcastsWithAWarning) {
  std::vector<std::string> warnings;
  const WarningHandler before = set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  using Loss = Tensor (*)(const Tensor&, const Tensor&);
  const Loss all[] = {[](const Tensor& x, const Tensor& y) { return nn::mse_loss(x, y); },
                      [](const Tensor& x, const Tensor& y) { return nn::l1_loss(x, y); },
                      [](const Tensor& x, const Tensor& y) { return nn::smooth_l1_loss(x, y); },
                      [](const Tensor& x, const Tensor& y) { return nn::huber_loss(x, y); },
                      [](const Tensor& x, const Tensor& y) { return nn::kl_div(x, y); },
                      [](const Tensor& x, const Tensor& y) { return nn::poisson_nll_loss(x, y, {.full = true}); },
                      [](const Tensor& x, const Tensor& y) { return nn::gaussian_nll_loss(x, y, x.detach() + 1); },
                      [](const Tensor& x, const Tensor& y) { return nn::hinge_embedding_loss(x, y); }};
  const Tensor y = tensor({1., 2., 5.}).to(device());
  for (const Loss loss : all) {
    Tensor x = tensor({{0.5}, {2.}}).to(device()).requires_grad_();
    const Tensor value = loss(x, y);
    value.backward();
    const Tensor got = x.grad();
    x.set_grad({});
    const Tensor want = loss(x.expand({2, 3}), y.expand({2, 3}).contiguous());
    want.backward();
    EXPECT_NEAR(value.item(), want.item(), 1e-6);
    EXPECT_TRUE(allclose(got, x.grad(), 1e-5, 1e-6));
    (void)loss(ones({4, 1}, x.device()), ones({4}, x.device()));  // no second warning for other sizes
  }
  set_warning_handler(before);
  if (!warnings.empty()) {  // once for each line: on the first device
    EXPECT_EQ(warnings.size(), std::size(all));
    expect_contains(warnings[0], "mse_loss: x [2, 1] and y [3] are broadcast to [2, 3]");
    expect_contains(warnings[0], "loss_test.cpp");
  }
}

TEST_P(LossOn, WeightSmoothingAndIgnoring) {
  const Tensor w = tensor({2., 3.}).to(device());
  EXPECT_NEAR(nn::cross_entropy(logits(), classes(0, 1), {.weight = w}).item(), (2 * l00 + 3 * l11) / 5, 1e-6);
  EXPECT_NEAR(nn::cross_entropy(logits(), classes(0, 7), {.weight = w, .ignore_index = 7}).item(), l00, 1e-6);
  const double smooth = 0.8 * l00 + 0.1 * (l00 + l01);
  EXPECT_NEAR(nn::cross_entropy(logits(), classes(0, 7), {.ignore_index = 7, .label_smoothing = 0.2}).item(), smooth,
              1e-6);
  EXPECT_NEAR(nn::nll_loss(log_softmax(logits(), 1), classes(0, 1), {.weight = w}).item(), (2 * l00 + 3 * l11) / 5,
              1e-6);
}

TEST_P(LossOn, NllWithAndWithoutIgnored) {
  const Tensor logs = log_softmax(logits(), 1).detach().requires_grad_();
  const auto of = [&](std::int64_t second, Reduction reduction) {
    return nn::nll_loss(logs, classes(0, second), {.ignore_index = 7, .reduction = reduction});
  };
  EXPECT_NEAR(of(1, Reduction::mean).item(), (l00 + l11) / 2, 1e-6);
  EXPECT_NEAR(of(1, Reduction::sum).item(), l00 + l11, 1e-6);
  EXPECT_NEAR(of(7, Reduction::mean).item(), l00, 1e-6);
  EXPECT_NEAR(of(7, Reduction::sum).item(), l00, 1e-6);
  of(1, Reduction::mean).backward();
  EXPECT_EQ(logs.grad().to_vector<float>(), (std::vector<float>{-0.5F, 0, 0, -0.5F}));
  EXPECT_EQ(of(7, Reduction::none).to_vector<float>()[1], 0);
}

TEST_P(LossOn, MeansOfManyHalves) {
  const Tensor x = full({70000, 2}, -2, {float16, device()}), weight = ones({2}, {float16, device()});
  const Tensor rows = zeros({256, 100}, {float16, device()}).sub(1), classes = full({256, 100}, -1, {int64, device()});
  classes.narrow(1, 0, 50).copy_(arange(50, 100).to(device()).unsqueeze(0).expand({256, 50}));
  EXPECT_EQ(nn::multilabel_margin_loss(rows, classes).item<float>(), 25);
  Tensor target = zeros({70000}, {int64, device()});
  target.index({0}).fill_(-100);
  EXPECT_EQ(nn::nll_loss(x, target).item<float>(), 2);
  EXPECT_EQ(nn::nll_loss(x, target, {.weight = weight}).item<float>(), 2);
  EXPECT_NEAR(nn::cross_entropy(x, target, {.weight = weight}).item<float>(), std::log(2.0f), 1e-3f);
}

TEST_P(LossOn, Probabilities) {
  const Tensor p = tensor({{0.25, 0.75}, {1., 0.}}).to(device());
  EXPECT_NEAR(nn::cross_entropy(logits(), p).item(), (0.25 * l00 + 0.75 * l01 + l10) / 2, 1e-6);
}

TEST_P(LossOn, ImagesAreRows) {
  // [N, C, W] against the same rows as [N W, C].
  const Tensor x = randn({2, 3, 4}, {.device = device()}).requires_grad_();
  const Tensor t = randint(0, 3, {2, 4}, {.device = device()});
  const Tensor rows = x.detach().permute({0, 2, 1}).reshape({8, 3});
  EXPECT_NEAR(nn::cross_entropy(x, t).item(), nn::cross_entropy(rows, t.reshape({8})).item(), 1e-6);
  EXPECT_EQ(nn::cross_entropy(x, t, {.reduction = Reduction::none}).shape(), (Shape{2, 4}));
  nn::cross_entropy(x, t).backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  const Tensor image = randn({2, 3, 4, 5}, {.device = device()}),
               labels = randint(0, 3, {2, 4, 5}, {.device = device()});
  const Tensor pixels = image.permute({0, 2, 3, 1}).reshape({40, 3});
  const auto each = [](const Tensor& losses) { return losses.flatten().to_vector<double>(); };
  const Tensor losses = nn::cross_entropy(image, labels, {.reduction = Reduction::none});
  EXPECT_EQ(losses.shape(), labels.shape());
  EXPECT_EQ(each(losses), each(nn::cross_entropy(pixels, labels.flatten(), {.reduction = Reduction::none})));
  const Tensor logs = nn::nll_loss(log_softmax(image, 1), labels, {.reduction = Reduction::none});
  EXPECT_EQ(logs.shape(), labels.shape());
  const Tensor shares = nn::cross_entropy(image, softmax(image, 1), {.reduction = Reduction::none});
  EXPECT_EQ(shares.shape(), labels.shape());
}

TEST_P(LossOn, SmoothL1AtInfiniteDistance) {
  Tensor x = tensor({HUGE_VAL, -HUGE_VAL, 0.5, 3.0}).to(device()).requires_grad_();
  const Tensor loss = nn::smooth_l1_loss(x, zeros({4}, {.device = device()}));
  EXPECT_EQ(loss.item(), HUGE_VAL);
  loss.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0.25F, -0.25F, 0.125F, 0.25F}));
  EXPECT_EQ(
      nn::smooth_l1_loss(x.detach(), full_like(x.detach(), 1), {.beta = 0, .reduction = Reduction::none})(slice(2, {}))
          .to_vector<float>(),
      (std::vector<float>{0.5F, 2.0F}));
}

TEST_P(LossOn, Regression) {
  const Tensor x = tensor({0., 2.}).to(device()), y = tensor({0.5, 0.}).to(device());
  EXPECT_NEAR(nn::mse_loss(x, y).item(), (0.25 + 4) / 2, 1e-6);
  EXPECT_NEAR(nn::l1_loss(x, y, {Reduction::sum}).item(), 2.5, 1e-6);
  EXPECT_NEAR(nn::smooth_l1_loss(x, y, {.reduction = Reduction::sum}).item(), 0.125 + 1.5, 1e-6);
  EXPECT_NEAR(nn::binary_cross_entropy_with_logits(x, y, {.reduction = Reduction::sum}).item(),
              std::log(2.) + 2 + std::log(1 + std::exp(-2.)), 1e-6);
  EXPECT_EQ(nn::binary_cross_entropy_with_logits(tensor({1e4}), tensor({1.})).item(), 0);
  // |d| = 0.5 and 2 around beta 1.5: 0.25 / 3 and 2 - 0.75.
  EXPECT_NEAR(nn::smooth_l1_loss(x, y, {.beta = 1.5, .reduction = Reduction::sum}).item(), 0.25 / 3 + 1.25, 1e-6);
  const Tensor three = tensor({3., 3.}).to(device()), weight = tensor({2., 0.5}).to(device());
  const double first = 0.5 * std::log(2.) * 3 + 0.5 * std::log(2.), second = 2 + std::log(1 + std::exp(-2.));
  EXPECT_NEAR(nn::binary_cross_entropy_with_logits(x, y, {.pos_weight = three, .reduction = Reduction::sum}).item(),
              first + second, 1e-6);
  EXPECT_NEAR(
      nn::binary_cross_entropy_with_logits(x, y, {.weight = weight, .pos_weight = three, .reduction = Reduction::sum})
          .item(),
      2 * first + 0.5 * second, 1e-6);
}

TEST(Loss, GradientsMatchCentralDifferences) {
  const RandomOptions f64{.dtype = DType::float64};
  const Tensor x = randn({4, 3}, f64).requires_grad_(), t = tensor({0, 2, 1, -100});
  const Tensor w = rand({3}, f64);
  EXPECT_TRUE(gradcheck([&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], t); }, {x}));
  EXPECT_TRUE(gradcheck(
      [&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], t, {.weight = w, .label_smoothing = 0.1}); },
      {x}));
  const Tensor y = rand({4, 3}, f64).requires_grad_();
  EXPECT_TRUE(gradcheck([&](const std::vector<Tensor>& in) { return nn::cross_entropy(in[0], in[1]); }, {x, y}));
  EXPECT_TRUE(gradcheck([&](const std::vector<Tensor>& in) { return nn::mse_loss(in[0], in[1]); }, {x, y}));
  EXPECT_TRUE(gradcheck(
      [&](const std::vector<Tensor>& in) { return nn::binary_cross_entropy_with_logits(in[0], in[1]); }, {x, y}));
}

TEST(Loss, RefusesBadInputs) {
  const Tensor x = ones({2, 3}), t = tensor({0, 1});
  expect_contains(error_of<ShapeError>([&] { nn::cross_entropy(x, tensor({0, 1, 2})); }), "int64[2]");
  expect_contains(error_of<DTypeError>([&] { nn::cross_entropy(x, t.to(DType::int32)); }), ".to(int64)");
  expect_contains(error_of<IndexError>([&] { nn::cross_entropy(x, tensor({0, 3})); }), "loss_test.cpp");
  expect_contains(error_of<ValueError>([&] { nn::cross_entropy(x, t, {.label_smoothing = 2}); }), "label_smoothing");
  expect_contains(error_of<ShapeError>([&] { nn::cross_entropy(x, t, {.weight = ones({2})}); }), "weight");
  expect_contains(error_of<ShapeError>([&] { nn::cross_entropy(x, ones({2, 2})); }), "logits");
  expect_contains(error_of<DeviceError>([&] { nn::cross_entropy(x, t.to(Device("sim:0"))); }), "target");
  expect_contains(error_of<DTypeError>([&] { nn::nll_loss(x, x); }), "int64");
  expect_contains(error_of<ShapeError>([&] { nn::mse_loss(x, ones({2, 2})); }), "broadcast");
  expect_contains(error_of<ValueError>([&] { nn::mse_loss(x, Tensor()); }), "undefined");
  expect_contains(error_of<ValueError>([&] { nn::smooth_l1_loss(x, x, {.beta = -1}); }), "beta");
  expect_contains(error_of<ValueError>([&] { nn::cross_entropy(x, x, {.ignore_index = 0}); }), "no class 0 to ignore");
}

TEST(Init, DistributionsAndErrors) {
  manual_seed(0);
  const Tensor w = empty({400, 300});
  nn::init::uniform_(w, -2, 3);
  EXPECT_NEAR(mean(w).item(), 0.5, 0.02);
  EXPECT_GE(amin(w).item(), -2);
  EXPECT_LE(amax(w).item(), 3);
  nn::init::kaiming_normal_(w, {.nonlinearity = "relu"});
  EXPECT_NEAR(sqrt(var(w)).item(), std::sqrt(2. / 300), 1e-3);
  nn::init::xavier_uniform_(w);
  EXPECT_NEAR(amax(w).item(), std::sqrt(6. / 700), 1e-3);
  nn::init::trunc_normal_(w, {.mean = 0.5, .a = -1, .b = 1});
  EXPECT_GE(amin(w).item(), -1);
  EXPECT_LE(amax(w).item(), 1);
  const nn::Linear fc(300, 400);
  EXPECT_NEAR(amax(fc.weight).item(), 1 / std::sqrt(300.), 1e-3);
  EXPECT_NEAR(sqrt(var(fc.weight)).item(), 1 / std::sqrt(900.), 1e-3);
  const Tensor q = empty({5, 8});
  nn::init::orthogonal_(q, 2);
  const auto gram = matmul(q, q.t()).to_vector<float>();
  for (std::size_t i = 0; i < 25; ++i) EXPECT_NEAR(gram[i], i % 6 ? 0 : 4, 1e-5);
  double total = 0;  // of rotations, half of which turn around
  for (int i = 0; i < 64; ++i) total += nn::init::orthogonal_(empty({1, 1})).item();
  EXPECT_LT(std::abs(total), 48);
  const Tensor s = empty({10, 4});
  nn::init::sparse_(s, 0.3);
  EXPECT_EQ(sum(eq(s, 0)).item(), 12);
  EXPECT_NE(sum(eq(s, 0), {1}).to_vector<double>(), (std::vector<double>{4, 4, 4, 0, 0, 0, 0, 0, 0, 0}));
  nn::init::sparse_(s, 0.25);  // of 10 rows, rounded up
  EXPECT_EQ(sum(eq(s, 0)).item(), 12);
  const Tensor tall = empty({8, 5});
  nn::init::orthogonal_(tall);
  const auto columns = matmul(tall.t(), tall).to_vector<float>();
  for (std::size_t i = 0; i < 25; ++i) EXPECT_NEAR(columns[i], i % 6 ? 0 : 1, 1e-5);
  const Tensor d = empty({2, 2, 3});
  nn::init::dirac_(d);
  EXPECT_EQ(d.to_vector<float>(), (std::vector<float>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  const Tensor few = empty({4, 3, 1});
  nn::init::dirac_(few, 2);  // two filters in each group
  EXPECT_EQ(few.to_vector<float>(), (std::vector<float>{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}));
  expect_contains(error_of<ValueError>([&] { nn::init::uniform_(w, 1, 0); }), "uniform_");
  expect_contains(error_of<ShapeError>([&] { nn::init::xavier_normal_(ones({3})); }), "two dimensions");
  expect_contains(error_of<DTypeError>([&] { nn::init::normal_(tensor({1, 2})); }), "not floating-point");
  expect_contains(error_of<ValueError>([&] { nn::init::calculate_gain("relo"); }), "relo");
}

TEST(Layers, RefuseBadSizesAndDescribeThemselves) {
  expect_contains(error_of<ValueError>([] { nn::Linear(0, 3); }), "Linear");
  expect_contains(error_of<ValueError>([] { nn::Conv2d(3, 4, 3, {.groups = 2}); }), "groups");
  expect_contains(error_of<ValueError>([] { nn::Conv2d(3, 4, 0); }), "kernel");
  expect_contains(error_of<ValueError>([] { nn::Conv2d(3, 4, 3, {.padding = -1}); }), "padding");
  expect_contains(error_of<ValueError>([] { nn::MaxPool2d(2, {.padding = 2}); }), "padding");
  expect_contains(error_of<ValueError>([] { nn::Dropout(1.5); }), "1.5");
  EXPECT_EQ(nn::Conv2d(2, 4, {3, 5}, {.stride = 2, .groups = 2, .bias = false}).describe(),
            "Conv2d(2, 4, kernel 3x5, stride 2, groups 2, no bias)");
  EXPECT_EQ(nn::LeakyReLU().describe(), "LeakyReLU(0.01)");
  EXPECT_EQ(nn::Hardtanh()(tensor({-3., 0.5, 4.})).to_vector<float>(), (std::vector<float>{-1, 0.5, 1}));
}

TEST(LinearCrossEntropy, RefusesWhatCannotWork) {
  const Tensor x = ones({2, 4}), weight = ones({3, 4}), target = zeros({2}, int64);
  const nn::LinearCrossEntropyLoss loss(4, 3);
  test::expect_errors({
      test::Misuse{"ValueError", "linear_cross_entropy", "'x' is undefined",
                   [=] { (void)nn::linear_cross_entropy(Tensor(), weight, target); }},
      test::Misuse{"ValueError", "linear_cross_entropy", "'linear_weight' is undefined",
                   [=] { (void)nn::linear_cross_entropy(x, Tensor(), target); }},
      test::Misuse{"ValueError", "linear_cross_entropy", "'target' is undefined", [=] { (void)loss(x, Tensor()); }},
      test::Misuse{"ShapeError", "linear_cross_entropy", "x must be",
                   [=] {
                     (void)nn::linear_cross_entropy(ones({2, 3, 4}), weight, target);
                   }},
      test::Misuse{"ValueError", "LinearCrossEntropyLoss", "out_features [-1, -1]",
                   [] {
                     nn::LinearCrossEntropyLoss(4, 3, {.out_features = {-1, -1}});
                   }},
      test::Misuse{"ValueError", "LinearCrossEntropyLoss", "num_classes -3",
                   [] { nn::LinearCrossEntropyLoss(4, -3, {.out_features = {-1}}); }},
      test::Misuse{"ValueError", "LinearCrossEntropyLoss", "num_classes 0", [] { nn::LinearCrossEntropyLoss(4, 0); }},
  });
  EXPECT_THROW(nn::LinearCrossEntropyLoss(0, 3), ValueError);
  EXPECT_NEAR(nn::linear_cross_entropy(ones({2, 0}), ones({3, 0}), target).item(), std::log(3.), 1e-6) << "no features";
}

}  // namespace
}  // namespace minnow
