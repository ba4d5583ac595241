#include <minnow/training/history.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/tensor/error.h>

#include "training/memory_folder.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace minnow::test {
namespace {

using training::History, training::HistoryEntry;

void expect_equal(const std::vector<HistoryEntry>& a, const std::vector<HistoryEntry>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].step, b[i].step);
    EXPECT_EQ(a[i].epoch, b[i].epoch);
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(a[i].value == b[i].value || (std::isnan(a[i].value) && std::isnan(b[i].value))) << i;
  }
}

class HistoryFiles : public ::testing::TestWithParam<const char*> {
 protected:
  TemporaryFolder folder;
  std::string path = folder / "history" + GetParam();

  static void fill(History& history) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::int64_t step = 0;
    for (const std::string name : {"train/loss", "a, \"b\"", "ü\\", "\"", "value\":1"})
      for (const double value : {0.1, -1e-300, 3.0, kInfinity, -kInfinity, std::nan(""), 5e-324})
        history.log(name, value, {.step = step, .epoch = step / 7}), ++step;
  }
};
INSTANTIATE_TEST_SUITE_P(Formats, HistoryFiles, ::testing::Values(".csv", ".jsonl"),
                         [](const auto& format) { return format.param + 1; });

TEST_P(HistoryFiles, AreReadAsTheyWereWritten) {
  History history(path);
  fill(history);
  EXPECT_EQ(history.of("train/loss").size(), 7);
  expect_equal(History::read(path), history.entries());  // while it is open
  history.save(folder / "other.csv");
  history.save(folder / "other.jsonl");
  expect_equal(History::read(folder / "other.csv"), history.entries());
  expect_equal(History::read(folder / "other.jsonl"), history.entries());
  EXPECT_EQ(read_bytes(path), read_bytes(folder / "other" + GetParam()));
}

TEST_P(HistoryFiles, CutOffAtAnyByteKeepTheWholeLines) {
  {
    History history(path);
    fill(history);
  }
  const std::string whole = read_bytes(path);
  const std::vector<HistoryEntry> all = History::read(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_bytes(path, whole.substr(0, size));
    History history(path);
    const std::string kept = whole.substr(0, size);
    // A whole object is one without its end too.
    const auto lines = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), '\n')) + kept.ends_with('}');
    const std::size_t header = path.ends_with(".csv") && lines > 0 ? 1 : 0;
    ASSERT_EQ(history.entries().size(), lines - header) << size;
    history.log("next", 1, {.step = 99});
    std::vector<HistoryEntry> want(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(lines - header));
    want.push_back({99, 0, "next", 1});
    expect_equal(History::read(path), want);
  }
}

#ifndef _WIN32
TEST_P(HistoryFiles, AreThereAfterAKill) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    History history(path);
    for (int i = 0; i < 100; ++i) history.log("loss", i, {.step = i});
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(History::read(path).size(), 100);
}
#endif

TEST_P(HistoryFiles, GoOnFromAStep) {
  History history(path);
  for (int i = 0; i < 6; ++i) history.log("loss", i, {.step = i});
  history.keep_first(4);
  EXPECT_EQ(History::read(path).size(), 4);
  history.log("loss", 40, {.step = 4});
  expect_equal(History::read(path), history.entries());
  EXPECT_EQ(history.entries().back().value, 40);
  EXPECT_EQ(history.entries().size(), 5);
}

TEST_P(HistoryFiles, OfOthersAreRefusedAndStay) {
  for (const std::string text :
       {"name,age\nx,3\n", "step,epoch,name,value\n1,2,x\n", "step,epoch,name,value\n1,x,y,2\n", "{\"step\":1}\n",
        "{\"step\":1,\"epoch\":0,\"name\":\"x\",\"value\":}\n",
        "{\"step\":1,\"epoch\":0,\"name\":\"x\",\"value\":1,\"more\":2}\n", "\n", "1\n", "name;price;my only copy",
        "a long text without an end", "1,-1,a,2\n", "1,2,,3\n"}) {
    write_bytes(path, text);
    EXPECT_THROW(History{path}, FormatError) << text;
    EXPECT_THROW((void)History::read(path), FormatError) << text;
    EXPECT_EQ(read_bytes(path), text);
  }
}

TEST_P(HistoryFiles, AreReadWhileOneWritesAndWrittenByOne) {
  History history(path);
  history.log("loss", 1, {});
  EXPECT_THROW(History{path}, IoError);
  EXPECT_THROW(history.save(path), ValueError);
  const std::string text = read_bytes(path);
  write_bytes(folder / "copy" + GetParam(), text + text.substr(text.rfind('\n', text.size() - 2) + 1, 9));
  EXPECT_EQ(History::read(folder / "copy" + GetParam()).size(), 1);
  history.log("loss", 2, {});
  EXPECT_EQ(History::read(path).size(), 2);
}

TEST_P(HistoryFiles, KeepALastLineThatAnEditorEnded) {
  {
    History history(path);
    history.log("loss", 1, {}), history.log("loss", 2, {});
  }
  const std::string text = read_bytes(path);
  write_bytes(path, text.substr(0, text.size() - 1));
  History history(path);
  history.log("loss", 3, {});
  EXPECT_EQ(History::read(path).size(), GetParam()[1] == 'c' ? 2 : 3);  // a number of CSV may have been cut
}

TEST_P(HistoryFiles, ThatCannotBeWrittenAreErrors) {
  EXPECT_THROW(History(folder / "none/x" + GetParam()), IoError);
  EXPECT_THROW(History("/proc/version" + std::string(GetParam())), IoError);
}

TEST(History, RefusesNamesThatAreNone) {
  History history;
  for (const std::string name : {"", "a\nb", "\x7f", "\xff"}) EXPECT_THROW(history.log(name, 1, {}), ValueError);
  EXPECT_THROW(history.log("loss", 1, {.step = -1}), ValueError);
  EXPECT_TRUE(history.entries().empty());
  EXPECT_THROW(History("history.txt"), ValueError);
  history.log("loss", 1, {});
  EXPECT_EQ(history.entries().size(), 1);
}

}  // namespace
}  // namespace minnow::test
