#include <minnow/training/report.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/ops/random/sample.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/training/detail/report_page.h>
#include <minnow/training/run.h>

#include "devices.h"
#include "support/thrown.h"
#include "training/memory_folder.h"

namespace minnow::test {
namespace {

using training::History;
using training::ReportOptions;

std::string report_of(const History& history, const ReportOptions& options = {}) {
  const TemporaryFolder folder;
  training::report(folder / "report.html", history, options);
  return read_bytes(folder / "report.html");
}
/// The text between two others.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  return text.substr(at + begin.size(), text.find(end, at + begin.size()) - at - begin.size());
}
std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(Report, HasNothingThatIsNotGiven) {
  const std::string page = report_of(History());
  expect_contains(page, "<h1>Training report</h1>");
  expect_contains(page, "<th>processor</th>");
  for (const char* const part : {"<script", "Curves", "Confusion", "mistakes", "Layers", "Time by part"})
    EXPECT_FALSE(has(page, part)) << part;
}

TEST(Report, EscapesWhatTheUserNames) {
  const std::string evil = "</script><script>alert('&\"')</script>";
  History history;
  history.log(evil, 1, {});
  metrics::ConfusionMatrix matrix(2);
  matrix.update(tensor({0, 1, 1}), tensor({0, 0, 1}));
  const Tensor images = zeros({2, 1, 4, 4}, DType::uint8);
  const std::string page = report_of(history, {.title = evil,
                                               .class_names = {evil, "b"},
                                               .confusion = matrix,
                                               .images = {images, tensor({0, 1}), tensor({1, 0}), {}},
                                               .layers = evil,
                                               .times = {{evil, 1.0}},
                                               .facts = {{evil, evil}}});
  EXPECT_EQ(count_of(page, "alert("), count_of(page, "&gt;alert(&#39;&amp;&quot;&#39;)&lt;") + 1);
  expect_contains(page, R"("name":"\u003c/script>\u003cscript>alert('&\"')\u003c/script>")");
  EXPECT_EQ(count_of(page, "<script"), 2);
  EXPECT_EQ(count_of(page, "</script"), 2);
}

TEST(Report, KeepsTheExtremesOfManyPoints) {
  History history;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const double value = i == 31'415 ? 777.5 : i == 27'182 ? -333.25 : i == 5000 ? NAN : i == 6000 ? kInf : std::sin(i);
    history.log("loss", value, {.step = i});
  }
  const std::string page = report_of(history);
  const std::string steps = "," + between(page, "\"steps\":[", "]") + ",", values = between(page, "\"values\":[", "]");
  EXPECT_LT(page.size(), 100'000U);
  EXPECT_LE(count_of(steps, ","), 2002U);
  for (const char* const step : {",0,", ",31415,", ",27182,", ",5000,", ",6000,", ",99999,"})
    expect_contains(steps, step);
  for (const char* const value : {",777.5,", ",-333.25,", ",null,", ",1e999,"}) expect_contains(values, value);
  expect_contains(page, "\"count\":100000,\"strange\":2,\"from\":5000,");
  EXPECT_EQ(count_of(steps, ",") - 2, count_of(values, ","));
}

TEST(Report, SaysTheSameOfTheSame) {
  const auto page = [](const std::vector<std::string>& names) {
    History history;
    for (int i = 0; i < 5; ++i)
      for (const std::string& name : names) history.log(name, i, {.step = i});
    const std::string all = report_of(history, {.times = {{"data", 1}, {"forward", 3}}});
    return all.substr(0, all.find("<h2>Run and machine"));  // what memory is used differs
  };
  EXPECT_EQ(page({"train/loss", "lr"}), page({"train/loss", "lr"}));
  const std::string names = page({"b", "a"});
  EXPECT_LT(names.find("\"name\":\"b\""), names.find("\"name\":\"a\""));  // as they were logged
  expect_contains(names, "75.0 %");
}

class ReportOn : public testing::TestWithParam<Device> {
 protected:
  const Device device = GetParam();
};

TEST_P(ReportOn, ShowsTheWorstMistakes) {
  const Tensor images = rand({6, 3, 4, 4}, device);
  const Tensor labels = tensor({0, 1, 2, 0, 1, 2}, {DType::int64, device});
  const Tensor predictions = tensor({0, 2, 1, 1, 1, 0}, {DType::int64, device});
  const Tensor losses = tensor({9.0f, 1.0f, NAN, 3.0f, 8.0f, 2.0f}, {DType::float32, device});
  const auto numbers = [&](std::int64_t count, const Tensor& by) {
    const std::string page =
        report_of(History(), {.images = {images, labels, predictions, by, count}, .device = device});
    std::string found;
    for (std::size_t at = 0; (at = page.find("number ", at)) != std::string::npos; at += 7) found += page[at + 7];
    EXPECT_EQ(count_of(page, "data:image/png;base64,iVBORw0KGgo"), found.size());
    expect_contains(page, "4 of 6 are wrong");
    return found;
  };
  EXPECT_EQ(numbers(24, losses), "2351");
  EXPECT_EQ(numbers(2, losses), "23");
  EXPECT_EQ(numbers(3, Tensor()), "123");
  EXPECT_EQ(numbers(0, losses), "");
}
INSTANTIATE_TEST_SUITE_P(Devices, ReportOn, all_devices(), device_test_name);

TEST(Report, ShowsTheConfusionsOfManyClasses) {
  metrics::ConfusionMatrix matrix(100);
  matrix.update(tensor({7, 7, 5, 5, 5, 99}), tensor({7, 5, 9, 9, 9, 0}));
  const std::string page = report_of(History(), {.confusion = matrix});
  expect_contains(page, "Most frequent confusions");
  EXPECT_LT(page.find("<tr><th>9</th><td class=\"n\">5</td><td class=\"n\">3</td>"), page.find("<tr><th>0</th>"));
}

TEST(Report, NamesWhatDoesNotFit) {
  const TemporaryFolder folder;
  const auto refused = [&](const ReportOptions& options) {
    return [options, path = folder / "report.html"] { training::report(path, History(), options); };
  };
  const Tensor two = tensor({0, 1});
  metrics::ConfusionMatrix matrix(3);
  expect_contains(error_of<ValueError>(refused({.class_names = {"a"}, .confusion = matrix})), "report_test.cpp:");
  for (const Shape& shape : {Shape{2, 4, 4}, {3, 1, 4, 4}, {2, 2, 4, 4}, {2, 1, 0, 4}})
    expect_contains(error_of<ShapeError>(refused({.images = {zeros(shape), two, two, {}}})), "give those of the same");
  EXPECT_THROW(refused({.images = {zeros({2, 1, 4, 4}), two, {}, {}}})(), ShapeError);
  EXPECT_THROW(refused({.images = {zeros({2, 1, 4, 4}, DType::int64), two, two, {}}})(), DTypeError);
  EXPECT_THROW(refused({.images = {zeros({2, 1, 4, 4}), two, two, {}, -1}})(), ValueError);
  const Tensor images = zeros({2, 1, 4, 4}), halves = tensor({0.5, 1.5});
  EXPECT_THROW(refused({.images = {images, halves, two, {}}})(), DTypeError);
  EXPECT_THROW(refused({.images = {images, two, halves, {}}})(), DTypeError);
  EXPECT_THROW(refused({.images = {images, two, two, two}})(), DTypeError);
  expect_contains(error_of<DTypeError>(refused({.images = {images.to(DType::bool_), two, two, {}}})), ".to(float32)");
  EXPECT_FALSE(std::filesystem::exists(folder / "report.html"));
  EXPECT_THROW(training::report(folder / "no/such/report.html", History()), IoError);
}

TEST(Report, OfAnEmptyMatrixHasNoNumbers) {
  const std::string page = report_of(History(), {.confusion = metrics::ConfusionMatrix(3)});
  expect_contains(page, "no samples");
  EXPECT_FALSE(has(page, "nan"));
}

TEST(Report, StretchesTheLargestRange) {
  const auto picture_of = [](double most) {
    Tensor images = zeros({1, 1, 2, 2});
    images(0, 0, 0) = -most, images(0, 0, 1) = most;
    return between(report_of(History(), {.images = {images, tensor({0}), tensor({1}), {}}}), "base64,", "\"");
  };
  EXPECT_EQ(picture_of(3e38), picture_of(3));
}

/// A loop that adds 1 to a number above 2^53 would not end.
TEST(Report, CountsTheMarksOfLargeSteps) {
  if (std::system("node --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "node is not installed";
  const TemporaryFolder folder;
  const std::string page = training::detail::kReportScript;
  write_bytes(folder / "ticks.js", "function ticks(" + between(page, "function ticks(", "function logTicks") +
                                       "if (String(ticks(0, 10, 5)) !== '0,2,4,6,8,10') throw 0;\n"
                                       "if (String(ticks(-0.3, 0.3, 3)) !== '-0.2,0,0.2') throw 1;\n"
                                       "if (ticks(1.7e18, 1.7e18 + 256, 5).length > 12) throw 2;\n");
  EXPECT_EQ(std::system(("timeout 20 node '" + (folder / "ticks.js") + "'").c_str()), 0);
}

TEST(Report, OfARunHasItsHistoryAndItsName) {
  const TemporaryFolder folder;
  training::Run run(folder / "my-run", {.epochs = 2});
  for (auto epoch : run.epochs()) {
    epoch.log("loss", full({}, 0.5 - static_cast<double>(epoch.number()), Device("sim:0")));
    run.report(folder / "report.html");
  }
  const std::string page = read_bytes(folder / "report.html");
  expect_contains(page, "<title>my-run</title>");
  expect_contains(page, "\"values\":[0.5,-0.5]");
}

}  // namespace
}  // namespace minnow::test
