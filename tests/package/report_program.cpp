// Writes the reports that report.py looks at: report_program FOLDER
#include <cmath>
#include <limits>
#include <string>
#include <minnow/minnow.h>

using namespace minnow;

namespace {

/// Of a training, with what may go wrong in a page.
void write_full(const std::string& path) {
  manual_seed(1);
  training::History history;
  for (std::int64_t i = 1; i <= 900; ++i) {
    const double x = static_cast<double>(i), noise = 0.3 * std::sin(x * 1.7) / std::sqrt(x);
    history.log("train/loss", 2.3 * std::exp(-x / 150) + 0.05 + std::abs(noise), {.step = i, .epoch = (i - 1) / 300});
    history.log("learning rate", 1e-3 * std::pow(0.5, static_cast<double>((i - 1) / 300)), {i, (i - 1) / 300});
    if (i % 100 != 0) continue;
    history.log("valid/loss", 2.0 * std::exp(-x / 180) + 0.12, {i, (i - 1) / 300});
    history.log("valid/accuracy", 1 - 0.9 * std::exp(-x / 200), {i, (i - 1) / 300});
    const double strange = i == 300   ? std::numeric_limits<double>::quiet_NaN()
                           : i == 600 ? std::numeric_limits<double>::infinity()
                                      : x / 10;
    history.log("<script>alert(1)</script> & norm", strange, {i, (i - 1) / 300});
  }
  const data::SyntheticDigits digits(200, {.seed = 1});
  const Tensor images = digits.images(), labels = digits.labels();
  Tensor found = labels.clone();
  for (std::int64_t i = 0; i < 200; i += 11) found(i) = (labels(i) + 1 + i % 3) % 10;
  metrics::ConfusionMatrix matrix(10);
  matrix.update(found, labels);
  nn::Sequential net(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(5408, 10));
  training::report(path, history,
                   {.title = "Digits <b>& more</b>",
                    .class_names = {"zero", "one", "two", "three", "four", "five", "six", "<i>", "\"eight\"", "nine"},
                    .confusion = matrix,
                    .images = {images, labels, found, rand({200}), 12},
                    .layers = nn::summary(net, {1, 1, 28, 28}),
                    .times = {{"data", 1.2}, {"forward", 8.4}, {"backward", 14.9}, {"step", 2.1}, {"test", 0.7}},
                    .facts = {{"learning rate", "0.001"}}});
}

/// Whose values no scale can show, and many of them.
void write_hard(const std::string& path) {
  training::History history;
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t i = 0; i < 100'000; ++i) history.log("many", std::sin(static_cast<double>(i) / 3000), {i, 0});
  const std::vector<std::vector<double>> all{
      {1}, {2, 2, 2}, {kNan, kNan}, {kInf, -kInf, kNan}, {1e308, -1e308}, {0, -1, -2}, {1e-320, 1e-300}, {5, 5e9}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t s = 0; s < all[i].size(); ++s)
      history.log("hard " + std::to_string(i), all[i][s], {static_cast<std::int64_t>(s), 0});
  for (int i = 0; i < 12; ++i) history.log("a class " + std::to_string(i) + "/together", i, {1, 0});
  training::report(path, history);
}

}  // namespace

int main(int, char** argv) {
  const std::string folder = argv[1];
  write_full(folder + "/full.html");
  write_hard(folder + "/hard.html");
}
