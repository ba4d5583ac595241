#include <gtest/gtest.h>
#include <pty.h>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>
#include <minnow/data/loader.h>
#include <minnow/data/progress.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/tensor/create.h>
#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::has;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

/// The text that a terminal shows after this was written to it.
std::string shown(const std::string& written) {
  std::string line;
  std::size_t at = 0;
  for (const char c : written) {
    if (c == '\r') {
      at = 0;
      continue;
    }
    if (at == line.size()) line += ' ';
    line[at++] = c;
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

TEST(Progress, ALoaderThatContinuesIsShownWhereItIs) {
  std::ostringstream out;
  data::DataLoader loader(data::TensorDataset{zeros({12, 2})}, {.batch_size = 2});
  loader.set_position({4, 3});
  for (auto& [x] : progress(loader, {.out = &out, .terminal = false, .interval = 0})) EXPECT_EQ(x.size(0), 2);
  EXPECT_TRUE(has(out.str(), "epoch 5  4/6")) << out.str();
  EXPECT_TRUE(has(out.str(), "epoch 5  6/6")) << out.str();
}

TEST(ProgressBar, RedrawsOneLineOnATerminal) {
  std::ostringstream out;
  data::ProgressBar bar(40, {.label = "train", .out = &out, .terminal = true, .interval = 0});
  bar.start("epoch 1");
  bar.show("a value with a long name", 0.5);
  for (int i = 0; i < 10; ++i) bar.step(8);
  EXPECT_TRUE(has(shown(out.str()), "train  [=====>              ]  10/40  a value")) << out.str();
  EXPECT_FALSE(has(out.str(), "\n"));
  EXPECT_EQ(split(out.str(), '\r').size(), 11U);
  EXPECT_TRUE(has(bar.line(), "  a value with a long name 0.5000  ")) << bar.line();
  EXPECT_TRUE(has(bar.line(), " images/s  ETA 0:0")) << bar.line();
  for (int i = 10; i < 40; ++i) bar.step(8);
  bar.finish();
  const std::string last = split(out.str(), '\r').back();
  EXPECT_TRUE(has(last, "train  [====================]  40/40")) << last;
  EXPECT_EQ(last.back(), '\n');
  EXPECT_EQ(std::count(last.begin(), last.end(), '\n'), 1);
  EXPECT_FALSE(has(last, "ETA"));
}

TEST(ProgressBar, ShorterLineErasesTheLonger) {
  std::ostringstream out;
  data::ProgressBar bar(5, {.label = "", .out = &out, .terminal = true, .interval = 0});
  bar.start("");
  bar.show("loss", 123456.0).step(1);
  const std::string longer = shown(out.str());
  bar.show("loss", 1.0).step(1);
  EXPECT_LT(shown(out.str()).size(), longer.size());
  EXPECT_TRUE(has(shown(out.str()), "loss 1.0000  "));
  EXPECT_FALSE(has(shown(out.str()), "123456"));
}

TEST(ProgressBar, EndsItsLineWhenTheLoopIsLeft) {
  std::ostringstream out;
  {
    data::ProgressBar bar(5, {.out = &out, .terminal = true, .interval = 0});
    bar.start("epoch 1");
    bar.step(1);
    EXPECT_FALSE(has(out.str(), "\n"));
    data::ProgressBar moved = std::move(bar);
  }
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST(ProgressBar, ShowsTensorsThatAreReadWhenDrawn) {
  std::ostringstream out;
  data::ProgressBar bar(5, {.out = &out, .terminal = false, .interval = 1000});
  bar.start("e");
  const Tensor loss = tensor({2.5}).to("sim:0");
  bar.show("loss", loss);
  EXPECT_TRUE(has(bar.line(), "loss 2.5000")) << bar.line();
  bar.step(1);
  EXPECT_EQ(out.str(), "");  // 1,000 seconds have not passed
  bar.finish();
  EXPECT_TRUE(has(out.str(), "loss 2.5000"));
}

/// Replaces the standard output by a pseudo-terminal for a scope.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) {
    winsize size{};
    size.ws_col = columns, size.ws_row = 20;
    termios raw{};
    ::cfmakeraw(&raw);  // what is written arrives unchanged
    if (::openpty(&main_, &side_, nullptr, &raw, &size) != 0) return;
    std::fflush(stdout);
    before_ = ::dup(STDOUT_FILENO);
    ::dup2(side_, STDOUT_FILENO);
  }
  bool works() const { return before_ >= 0; }
  /// Ends the scope and returns what was written.
  std::string close() {
    std::cout.flush();
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
    ::close(side_);
    std::string text;
    char part[256];
    for (ssize_t n; (n = ::read(main_, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
    ::close(main_);
    return text;
  }

 private:
  int main_ = -1, side_ = -1, before_ = -1;
};

TEST(ProgressBar, DetectsTheTerminalAndItsWidth) {
  Terminal terminal(40);
  if (!terminal.works()) GTEST_SKIP() << "no pseudo-terminal to be had";
  data::DataLoader loader(data::TensorDataset(ones({30})), {.batch_size = 10});
  auto bar = data::progress(loader, {.interval = 0});
  for (auto& [x] : bar) bar.show("loss", x(0));
  const std::string text = terminal.close();
  const auto drawings = split(text, '\r');
  ASSERT_EQ(drawings.size(), 4U) << text;
  for (const std::string& d : drawings) EXPECT_LE(d.size() - (d.ends_with('\n') ? 1 : 0), 39U) << d;
  EXPECT_TRUE(has(drawings[1], "epoch 1  [======>")) << text;
  EXPECT_TRUE(has(drawings[3], "epoch 1  [====================]  3/3")) << text;
}

}  // namespace
}  // namespace minnow
