#include <cmath>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/training/detail/checkpoint_file.h>
#include "devices.h"
#include "support/thrown.h"
#include "training/memory_folder.h"

#ifndef _WIN32
#include <sys/resource.h>
#endif

namespace minnow {
namespace {

using data::DataLoaderOptions;
using test::error_of;
using test::expect_contains;
using test::has;
using test::read_bytes;
using test::TemporaryFolder;
using test::write_bytes;

/// The warnings of a scope.
class Warnings {
 public:
  Warnings() : before_(set_warning_handler([this](const std::string& text) { texts += text + "\n"; })) {}
  ~Warnings() { set_warning_handler(before_); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  std::string texts;

 private:
  WarningHandler before_;
};

#ifndef _WIN32
/// No file of this process gets longer, as on a full disk.
class FullDisk {
 public:
  FullDisk() {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = 100;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
};
#endif

std::vector<std::string> names_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder)) names.push_back(file.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class CheckpointOnDevice : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CheckpointOnDevice, test::all_devices(), test::device_test_name);

TEST(CheckpointFile, EachChangeOfAByteAndEachCutIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder / "x";
  const StateDict saved{{"a", tensor({1.0, 2.0, 3.0})}, {"b", tensor({true, false, true})}, {"c", zeros({0, 2})}};
  detail::write_checkpoint(path, saved, {{"part a", "Net"}}, SourceLocation::current());
  const std::string good = read_bytes(path);
  const auto refused = [&](const std::string& bytes) {
    write_bytes(path, bytes);
    try {
      static_cast<void>(detail::read_checkpoint(path, SourceLocation::current()));
    } catch (const FormatError&) { return true; }
    return false;
  };
  EXPECT_FALSE(refused(good));
  EXPECT_EQ(load(path).at("a").to_vector<float>(), (std::vector<float>{1, 2, 3}));  // it is a safetensors file
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_TRUE(refused(good.substr(0, size))) << size;
  ASSERT_TRUE(refused(good + '\0'));
  ASSERT_TRUE(refused(good + ' '));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const int flip : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      ASSERT_TRUE(refused(bad)) << "byte " << at << " ^ " << flip;
    }
  save(saved, path);  // without checksums
  EXPECT_TRUE(refused(read_bytes(path)));
}

TEST(CheckpointFile, LoadChecksTheChecksums) {
  const TemporaryFolder folder;
  const std::string path = folder / "x", copy = folder / "copy";
  const StateDict saved{{"net.a", tensor({1.0, 2.0, 3.0})}, {"net.b", tensor({4.0, 5.0})}};
  detail::write_checkpoint(path, saved, {{"part net", "Net"}}, SourceLocation::current());
  const std::string good = read_bytes(path);
  EXPECT_EQ(load_metadata(path), (Metadata{{"part net", "Net"}}));
  save({{"net.a", zeros({3})}}, copy, load_metadata(path));  // other tensors, with what the file says of itself
  EXPECT_TRUE(load(copy).at("net.a").equal(zeros({3})));
  std::string bad = good;
  bad.back() = static_cast<char>(bad.back() ^ 1);  // in net.b, which is still a float
  write_bytes(path, bad);
  const std::string what = error_of<FormatError>([&] { static_cast<void>(load(path)); });
  expect_contains(what, "is damaged  (checkpoint_test.cpp");
  expect_contains(what, "\n  found     the tensor 'net.b' with the checksum ");
  EXPECT_TRUE(load(path, {.prefix = "net.a"}).at("net.a").equal(saved.at("net.a")));
  const SafetensorsFile file(path);
  EXPECT_TRUE(file.load("net.a").equal(saved.at("net.a")));
  EXPECT_THROW(static_cast<void>(file.load("net.b")), FormatError);
  bad = good;
  bad.replace(good.find("net.a"), 5, "net.c");  // the name beside a checksum
  write_bytes(path, bad);
  expect_contains(error_of<FormatError>([&] { static_cast<void>(load(path)); }), "a header with the checksum ");
}

TEST(Checkpoint, MakesTheFoldersAboveItsOwn) {
  const TemporaryFolder folder;
  int steps = 7;
  Checkpoint checkpoint(folder / "runs/today/1");
  checkpoint.add("steps", steps).save();
  EXPECT_EQ(names_of(folder / "runs/today"), std::vector<std::string>{"1"});
  write_bytes(folder / "file", "");
  expect_contains(error_of<IoError>([&] { Checkpoint(folder / "file/1"); }), "Not a directory");
}

TEST_P(CheckpointOnDevice, KeepsNumbersTensorsAndNamedStates) {
  const TemporaryFolder folder;
  const auto cases = [&](std::int64_t count, double value, bool flag, float single, double element, bool first) {
    Tensor x = full({2, 3}, element, {.dtype = float32, .device = device()});
    StateDict more{{"y", x.t() + 1}};
    auto seed = static_cast<std::uint64_t>(count);
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("count", count).add("value", value).add("flag", flag).add("single", single).add("seed", seed);
    checkpoint.add("x", x).add("more", more);
    if (first) checkpoint.save();
    else EXPECT_TRUE(checkpoint.resume());
    EXPECT_EQ(count, -(std::int64_t{1} << 62) - 1);
    EXPECT_EQ(value, 0.1);
    EXPECT_TRUE(flag);
    EXPECT_EQ(single, 0.1f);
    EXPECT_EQ(seed, 0xbfffffffffffffff);
    EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 0.25f));
    EXPECT_EQ(x.device(), device());
    EXPECT_EQ(more.at("y").to_vector<float>(), std::vector<float>(6, 1.25f));
  };
  cases(-(std::int64_t{1} << 62) - 1, 0.1, true, 0.1f, 0.25, true);
  cases(0, 0, false, 0, 0, false);
}

TEST(Checkpoint, KeepsTheLastAndTheBest) {
  const TemporaryFolder folder;
  int steps = 0;
  {
    Checkpoint none(folder / "n");
    EXPECT_FALSE(has(none.save({.metric = std::nan("")}), "best"));
    EXPECT_TRUE(has(none.save({.metric = 2}), "best"));
    EXPECT_FALSE(has(none.save({.metric = 2}), "best"));  // as good is not better
  }
  {
    Checkpoint checkpoint(folder / "c", {.higher_is_better = true});
    checkpoint.add("steps", steps);
    EXPECT_FALSE(checkpoint.resume());
    EXPECT_EQ(checkpoint.best_path(), "");
    for (const double metric : {0.5, 0.9, 0.7, std::nan(""), 0.8}) {
      ++steps;
      checkpoint.save({.metric = metric});
    }
    EXPECT_EQ(names_of(folder / "c"),
              (std::vector<std::string>{"checkpoint-00000002-best.safetensors", "checkpoint-00000004.safetensors",
                                        "checkpoint-00000005.safetensors"}));
    EXPECT_EQ(checkpoint.best_path(), folder / "c/checkpoint-00000002-best.safetensors");
  }
  steps = 0;
  Checkpoint next(folder / "c", {.keep = 1, .higher_is_better = true});
  next.add("steps", steps);
  const auto found = next.resume();
  ASSERT_TRUE(found);
  EXPECT_EQ(steps, 5);
  EXPECT_EQ(found->number, 5);
  EXPECT_EQ(found->metric, 0.8);
  EXPECT_EQ(found->best, 0.9);
  EXPECT_TRUE(has(next.save({.metric = 0.85}), "checkpoint-00000006.safetensors"));
  EXPECT_EQ(names_of(folder / "c"),
            (std::vector<std::string>{"checkpoint-00000002-best.safetensors", "checkpoint-00000006.safetensors"}));
  next.save({.metric = 0.95});
  next.save();
  EXPECT_EQ(names_of(folder / "c"),
            (std::vector<std::string>{"checkpoint-00000007-best.safetensors", "checkpoint-00000008.safetensors"}));
}

TEST(Checkpoint, OneNameMayBeginWithAnother) {
  const TemporaryFolder folder;
  StateDict net{{"weight", ones({2})}}, net2{{"weight", zeros({3})}};
  Checkpoint checkpoint(folder / "c");
  checkpoint.add("net", net).add("net2", net2);
  checkpoint.save();
  net = net2 = StateDict();
  EXPECT_TRUE(checkpoint.resume());
  EXPECT_EQ(net.size(), 1U);
  EXPECT_EQ(net.at("weight").to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(net2.size(), 1U);
  EXPECT_EQ(net2.at("weight").to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Checkpoint, ARateThatWasSetByHandComesBack) {
  const TemporaryFolder folder;
  nn::Linear net(2, 2);
  for (const bool first : {true, false}) {
    optim::SGD sgd(net.parameters(), {.lr = 0.1});
    optim::StepLR schedule(sgd, 5);
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("sgd", sgd).add("schedule", schedule);
    if (first) {
      sgd.set_lr(0.025);
      checkpoint.save();
    } else {
      ASSERT_TRUE(checkpoint.resume());
      EXPECT_EQ(sgd.lr(), 0.025);
    }
  }
}

TEST(Checkpoint, ARunThatIsNotResumedLeavesTheFilesOfOthers) {
  const TemporaryFolder folder;
  int steps = 1;
  for (int run = 0; run < 2; ++run) {
    Checkpoint checkpoint(folder / "c", {.keep = 1});
    checkpoint.add("steps", steps);
    for (int i = 0; i < 3; ++i) checkpoint.save();
  }
  EXPECT_EQ(names_of(folder / "c"),
            (std::vector<std::string>{"checkpoint-00000003.safetensors", "checkpoint-00000006.safetensors"}));
}

TEST(Checkpoint, ADamagedFileIsLeftAndTheOneBeforeIsUsed) {
  const TemporaryFolder folder;
  int steps = 0;
  Checkpoint checkpoint(folder / "c");
  checkpoint.add("steps", steps);
  std::string last;
  for (steps = 1; steps < 4; ++steps) last = checkpoint.save({.metric = 1.0 / steps});
  write_bytes(last, read_bytes(last).substr(0, 100));
  {
    Warnings warnings;
    const auto found = checkpoint.resume();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->number, 2);
    EXPECT_EQ(steps, 2);
    EXPECT_EQ(found->best, 0.5);
    expect_contains(warnings.texts, "00000003-best.safetensors' is");
  }
  EXPECT_TRUE(has(checkpoint.save(), "00000004.safetensors"));
  EXPECT_EQ(names_of(folder / "c").size(), 3U);  // 2, the best, 4, and 3, which is damaged
  for (const std::string& name : names_of(folder / "c")) write_bytes(folder / ("c/" + name), "x");
  steps = 77;
  Warnings warnings;
  expect_contains(error_of<FormatError>([&] { checkpoint.resume(); }), "00000004.safetensors'");
  EXPECT_EQ(steps, 77);
}

struct Small : nn::Module {
  explicit Small(std::int64_t n) : fc(child("fc", nn::Linear(n, 2))) {}
  nn::Linear fc;
  Tensor forward(const Tensor& x) override { return fc(x); }
};

// The loader is the first that does not fit: what was loaded before it goes back.
TEST_P(CheckpointOnDevice, WhatDoesNotFitIsNamedAndChangesNothing) {
  const TemporaryFolder folder;
  const data::TensorDataset set(ones({8, 3}));
  const auto step = [](Small& net, optim::Optimizer& optimizer) {
    net(ones({1, net.fc.weight.size(1)}, {.device = net.fc.weight.device()})).sum().backward();
    optimizer.step();
  };
  Small net(3);
  net.to(device());
  optim::Adam adam(net.parameters());
  data::DataLoader loader(set, {.batch_size = 2, .num_workers = 0});
  step(net, adam);
  Checkpoint checkpoint(folder / "c");
  checkpoint.add("model", net).add("adam", adam).add("train", loader);
  checkpoint.save();

  const auto refused = [&](Small& other, auto& optimizer, const DataLoaderOptions& like, const char* second,
                           const std::vector<std::string>& texts) {
    data::DataLoader train(set, like);
    step(other, optimizer);
    train.set_position({4, 1});
    Checkpoint next(folder / "c");
    next.add("model", other).add(second, optimizer).add("train", train);
    const auto values = [&] {
      std::vector<std::vector<double>> all;
      for (const StateDict& state :
           {other.state_dict(), optimizer.state_dict(), train.state_dict(), default_generator().state_dict()})
        for (const auto& [name, tensor] : state) all.push_back(tensor.reshape({-1}).template to_vector<double>());
      return all;
    };
    manual_seed(99);
    const auto before = values();
    const std::string what = error_of<ValueError>([&] { next.resume(); });
    for (const std::string& text : texts) expect_contains(what, text);
    expect_contains(what, "checkpoint-00000001.safetensors");
    EXPECT_EQ(values(), before) << what;
  };
  Small wide(4), same(3);
  wide.to(device());
  same.to(device());
  optim::Adam of_wide(wide.parameters()), of_same(same.parameters(), {.lr = 0.5});
  optim::AdamW other(same.parameters());
  const DataLoaderOptions two{.batch_size = 2, .num_workers = 0}, four{.batch_size = 4, .num_workers = 0};
  refused(wide, of_wide, two, "adam", {"'model' of '", "'fc.weight' is float32[2, 3], the module has float32[2, 4]"});
  refused(same, other, two, "adam", {"'adam' is of class Adam in the file, here of class AdamW"});
  refused(same, of_same, two, "sgd", {"'sgd' is not in the file", "'adam' of the file was not added here"});
  refused(same, of_same, four, "adam", {"'train' of '", "batch_size  saved 2, this loader 4"});
}

TEST_P(CheckpointOnDevice, InTheBackgroundTheFileHasTheStateAtTheCall) {
  const TemporaryFolder folder;
  const Tensor begin = arange(2'000'000, {.dtype = float32}).reshape({2000, 1000});
  Tensor x = begin.clone().to(device());
  Tensor columns = x.t();
  Checkpoint checkpoint(folder / "c");
  checkpoint.add("x", x).add("columns", columns);
  for (int i = 1; i <= 4; ++i) {
    const std::string path = checkpoint.save({.background = true});
    for (int k = 0; k < 5; ++k) x.add_(1);  // goes on while it is copied and written
    checkpoint.wait();
    const Tensor want = begin + (5 * i - 5);
    EXPECT_TRUE(equal(load(path).at("x"), want)) << i;
    EXPECT_TRUE(equal(load(path).at("columns"), want.t())) << i;
  }
  EXPECT_EQ(names_of(folder / "c").size(), 2U);
}

#ifndef _WIN32
TEST(Checkpoint, WhatFailsInTheBackgroundIsNotLost) {
  const TemporaryFolder folder;
  std::signal(SIGXFSZ, SIG_IGN);
  Tensor x = ones({1000});
  Warnings warnings;
  {
    Checkpoint checkpoint(folder / "c");
    checkpoint.add("x", x);
    const std::string first = checkpoint.save({.metric = 3});
    const auto fail = [&] {
      const FullDisk disk;
      checkpoint.save({.metric = 2, .background = true});
      while (names_of(folder / "c").size() > 1) std::this_thread::yield();
      usleep(100'000);
    };
    fail();
    expect_contains(error_of<IoError>([&] { checkpoint.wait(); }), "cannot write '");
    checkpoint.wait();
    fail();
    expect_contains(error_of<IoError>([&] { checkpoint.save(); }), "cannot write '");
    EXPECT_EQ(checkpoint.best_path(), first);
    {
      const FullDisk disk;
      EXPECT_THROW(checkpoint.save(), IoError);
    }
    EXPECT_EQ(names_of(folder / "c").size(), 1U);
    EXPECT_TRUE(has(checkpoint.save({.metric = 2.5}), "00000002-best"));  // 2 was not saved
    EXPECT_EQ(warnings.texts, "");
    const FullDisk disk;
    checkpoint.save({.background = true});
    while (names_of(folder / "c").size() > 2) std::this_thread::yield();
    usleep(100'000);
  }
  expect_contains(warnings.texts, "the last save in the background has failed: IoError");
}
#endif

TEST(Checkpoint, RefusesNamesAndFolders) {
  const TemporaryFolder folder;
  int n = 0;
  Tensor none;
  EXPECT_THROW(Checkpoint(folder / "c", {.keep = 0}), ValueError);
  write_bytes(folder / "file", "x");
  expect_contains(error_of<IoError>([&] { Checkpoint(folder / "file"); }), "Not a directory");
  Checkpoint checkpoint(folder / "c");
  for (const std::string name : {"", "a.b", "checkpoint", "__metadata__", "\xff", "default_generator"})
    expect_contains(error_of<ValueError>([&] { checkpoint.add(name, n); }), "'" + name + "' is");
  checkpoint.add("n", n);
  EXPECT_THROW(checkpoint.add("n", n), ValueError);
  checkpoint.add("none", none);
  const std::string what = error_of<ValueError>([&] { checkpoint.save(); });
  expect_contains(what, "'none' is undefined");
  expect_contains(what, "checkpoint_test.cpp");
  EXPECT_EQ(names_of(folder / "c").size(), 0U);
  none = zeros({1});
  EXPECT_NE(checkpoint.save(), "");
}

#ifndef _WIN32
TEST(Interrupt, TheFirstSignalIsRemembered) {
  const auto handler = [] {
    struct sigaction now = {};
    sigaction(SIGINT, nullptr, &now);
    return now.sa_handler;
  };
  const auto before = handler();
  {
    const InterruptGuard guard;
    EXPECT_EQ(interrupted(), 0);
    std::raise(SIGTERM);
    std::raise(SIGINT);  // within 0.2 s: the same
    EXPECT_EQ(interrupted(), SIGTERM);
    EXPECT_NE(handler(), before);
  }
  EXPECT_EQ(handler(), before);
  const InterruptGuard guard;
  EXPECT_EQ(interrupted(), 0);
  EXPECT_EXIT(
      {
        std::raise(SIGINT);
        usleep(300'000);
        std::raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
}
#endif

}  // namespace
}  // namespace minnow
